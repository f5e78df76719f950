#include "cli/record/parts.h"

#include "cli/output.h"
#include "cli/refuse.h"
#include "core/regular_file.h"
#include "trace/recording_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>
#include <utility>

namespace sample::cli {
namespace {

std::uint64_t bytes_of_file(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

/// The same file, which is not open here.
NewRecording file_called(const std::string& path, const NewRecording& file) {
    return {Fd{}, path, file.device, file.inode, {}};
}

/// 0: it may have any size. What is kept is removed by parts, so they are small.
std::uint64_t bytes_of_part(const PartOptions& options) {
    constexpr int kPartsOfAll = 8;
    return options.max_bytes.value_or(0) / kPartsOfAll;
}

trace::PartLimits limits_of(const PartOptions& options) {
    // Of what --keep leaves, the oldest part is more than is wanted.
    constexpr int kPartsOfKept = 6;
    trace::PartLimits limits;
    if (options.rotate || options.keep) {
        limits.time_ns = static_cast<std::uint64_t>(
            (options.rotate ? *options.rotate : *options.keep / kPartsOfKept).count());
    }
    if (options.max_bytes) {
        limits.bytes = bytes_of_part(options);
    }
    return limits;
}

}  // namespace

Result<std::unique_ptr<Parts>> Parts::begin(const RecordOptions& options,
                                            const PreparedRecording& recording) {
    if (!options.parts.are_wanted()) {
        return std::unique_ptr<Parts>{};
    }
    if (recording.file.created.empty()) {
        return refuse(
            "{} is no regular file, so there are no parts of it: name a file, or leave "
            "--rotate, --keep and --max-size out",
            recording.path);
    }
    std::unique_ptr<Parts> parts{new Parts{options, recording}};
    try {
        parts->thread_ = std::thread{[self = parts.get()] { self->run(); }};
    } catch (const std::system_error&) {  // no thread to be had: they are named at the end
    }
    return parts;
}

Parts::Parts(const RecordOptions& options, const PreparedRecording& recording)
    : options_{options}, current_{file_called(recording.file.created, recording.file)} {
    options_.exports.clear();
}

Parts::~Parts() {
    if (thread_.joinable()) {
        {
            const std::lock_guard lock{mutex_};
            is_over_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
}

std::unique_ptr<trace::RecordSink> Parts::sink(Parts* parts, PreparedRecording& recording) {
    Fd file = std::move(recording.file.fd);
    if (parts == nullptr) {
        return std::make_unique<trace::RecordingWriter>(std::move(file));
    }
    const auto clock = [] {
        return trace::PartMoment{read_kernel_clock_ns(CLOCK_MONOTONIC),
                                 read_kernel_clock_ns(CLOCK_REALTIME)};
    };
    auto sink = std::make_unique<trace::RecordingParts>(
        std::move(file), limits_of(parts->options_.parts), *parts, clock);
    parts->sink_ = sink.get();
    return sink;
}

std::function<Fd()> Parts::opener(Parts* parts) {
    if (parts == nullptr) {
        return {};
    }
    return [parts] {
        const NewRecording& current = parts->current_;
        Fd file = open_regular(current.created);
        struct stat info {};
        const bool is_it = file.is_open() && ::fstat(file.get(), &info) == 0 &&
                           info.st_dev == current.device && info.st_ino == current.inode;
        return is_it ? std::move(file) : Fd{};
    };
}

void Parts::follow(Parts* parts, const collector::Recorder& recorder) {
    if (parts != nullptr) {
        parts->recorder_ = &recorder;
    }
}

ModuleSources Parts::finish(Parts* parts, PreparedRecording& recording,
                            const collector::Recorder& recorder) {
    if (parts == nullptr) {
        return sources_of(recorder);
    }
    {
        const std::lock_guard lock{parts->mutex_};
        parts->is_over_ = true;
        parts->session_ended_ = KernelClock::now();
    }
    parts->changed_.notify_one();
    // From here on somebody waits.
    while (parts->name_next()) {
    }
    if (parts->thread_.joinable()) {
        parts->thread_.join();
    }
    recording.file = file_called(parts->current_.created, parts->current_);
    return parts->sources(parts->sink_->modules());
}

void Parts::tell(Parts* parts) {
    if (parts == nullptr) {
        return;
    }
    parts->remove_old(bytes_of_file(parts->current_.created));
    const auto& there = parts->parts_;
    const std::uint64_t removed = parts->removed_;
    if (parts->options_.quiet || (there.empty() && removed == 0)) {
        return;
    }
    std::string line = fmt::format("{} earlier part{}", there.size(), there.size() == 1 ? "" : "s");
    if (!there.empty()) {
        line += ": " + there.front()->recording.path;
    }
    if (there.size() > 1) {
        line += " to " + there.back()->recording.path;
    }
    if (removed != 0) {
        line += removed == 1 ? "; an older one was removed"
                             : fmt::format("; {} older ones were removed", removed);
    }
    print_error(line);
}

std::string Parts::path_of(std::uint64_t number) const {
    const std::string& path = current_.created;
    const std::size_t name = path.rfind('/') + 1;
    const std::size_t dot = path.rfind('.');
    const std::size_t end = dot == std::string::npos || dot <= name ? path.size() : dot;
    return fmt::format("{}.{:04}{}", path.substr(0, end), number, path.substr(end));
}

Result<Fd> Parts::make_next() {
    if (current_.is_replaced() || ::access(current_.created.c_str(), F_OK) != 0) {
        return refuse("{} is not the recording any more", current_.created);
    }
    while (true) {
        const std::string path = path_of(number_ + 1);
        Fd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)};
        struct stat info {};
        if (file.is_open() && ::fstat(file.get(), &info) == 0) {
            next_ = {Fd{}, path, info.st_dev, info.st_ino, {}};
            return file;
        }
        if (errno != EEXIST) {
            return unexpected(Error::from_errno("cannot write " + path));
        }
        ++number_;
    }
}

Result<void> Parts::put_in_place() {
    if (::renameat2(AT_FDCWD, next_.created.c_str(), AT_FDCWD, current_.created.c_str(),
                    RENAME_EXCHANGE) != 0) {
        const Error error = Error::from_errno("cannot exchange the names of " + current_.created +
                                              " and " + next_.created);
        return unexpected(error);
    }
    ++number_;
    std::swap(next_.device, current_.device);
    std::swap(next_.inode, current_.inode);
    return {};
}

void Parts::ended(std::span<const ModuleId> modules) {
    is_troubled_ = false;
    NewRecording file = std::exchange(next_, {});
    std::string path = file.created;
    auto part = std::make_shared<Part>(
        Part{{std::move(path), std::move(file)}, sources(modules), KernelClock::now()});
    {
        const std::lock_guard lock{mutex_};
        parts_.push_back(std::move(part));
    }
    changed_.notify_one();
    remove_old(bytes_of_part(options_.parts));
}

void Parts::trouble(const Error& error) {
    std::exchange(next_, {}).discard();
    if (!is_troubled_) {
        is_troubled_ = true;
        print_error("the recording goes on in the part that it is in: " + error.message());
    }
}

/// By the ids of a part, whose modules the session numbers so.
ModuleSources Parts::sources(std::span<const ModuleId> modules) const {
    ModuleSources of_part;
    if (recorder_ == nullptr) {
        return of_part;
    }
    const ModuleSources all = sources_of(*recorder_);
    for (std::uint32_t i = 0; i < modules.size(); ++i) {
        const ModuleId here{i + 1};
        if (const auto file = all.files.find(modules[i]); file != all.files.end()) {
            of_part.files.emplace(here, file->second);
        }
        if (const auto reader = all.readers.find(modules[i]); reader != all.readers.end()) {
            of_part.readers.emplace(here, reader->second);
        }
    }
    return of_part;
}

void Parts::run() {
    constexpr int kLast = 19;
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, kLast));
    while (true) {
        {
            std::unique_lock lock{mutex_};
            changed_.wait(lock, [this] { return is_over_ || next_unnamed() != nullptr; });
            if (is_over_) {
                return;
            }
        }
        name_next();
    }
}

/// nullptr: there is none.
std::shared_ptr<Parts::Part> Parts::next_unnamed() const {
    const auto unnamed = std::find_if(parts_.begin(), parts_.end(),
                                      [](const auto& part) { return !part->is_named; });
    return unnamed == parts_.end() ? nullptr : *unnamed;
}

/// False: there is no part without names.
bool Parts::name_next() {
    std::shared_ptr<Part> part;
    {
        const std::lock_guard lock{mutex_};
        part = next_unnamed();
        if (part == nullptr) {
            return false;
        }
        part->is_named = true;
    }
    name(part->recording, part->sources);
    part->sources = {};
    remove_old(bytes_of_part(options_.parts));
    return true;
}

void Parts::name(const PreparedRecording& recording, const ModuleSources& sources) {
    try {
        for (const Error& error :
             finish_recording(options_, recording, sources, true, false).errors) {
            // Meanwhile it may have been removed.
            if (::access(recording.path.c_str(), F_OK) == 0) {
                print_error(error.message());
            }
        }
    } catch (const std::exception& error) {
        print_error(recording.path + " has no names: " + error.what());
    }
}

/// Beside the part that is being written, which is to have room for `current_bytes`.
void Parts::remove_old(std::uint64_t current_bytes) {
    const std::lock_guard lock{mutex_};
    const auto now = session_ended_.value_or(KernelClock::now());
    std::uint64_t bytes = current_bytes;
    for (const auto& part : parts_) {
        bytes += bytes_of_file(part->recording.path);
    }
    while (!parts_.empty()) {
        const Part& oldest = *parts_.front();
        const bool is_old = options_.parts.keep && now - oldest.ended > *options_.parts.keep;
        const bool is_too_much = options_.parts.max_bytes && bytes > *options_.parts.max_bytes;
        if (!is_old && !is_too_much) {
            break;
        }
        bytes -= std::min(bytes, bytes_of_file(oldest.recording.path));
        oldest.recording.file.discard();
        parts_.pop_front();
        ++removed_;
    }
}

}  // namespace sample::cli
