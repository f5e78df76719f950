#include "cli/record/recording.h"

#include "analysis/advice.h"
#include "analysis/load_profile.h"
#include "cli/output.h"
#include "cli/refuse.h"
#include "core/regular_file.h"
#include "sampler/source/event_spec.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <future>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace sample::cli {
namespace {

/// The same for all names of one file, also of one that does not exist yet.
std::string place_of(const std::string& path) {
    constexpr int kMostLinks = 40;  // as many as Linux follows: path_resolution(7)
    std::error_code error;
    std::filesystem::path place = std::filesystem::absolute(path, error);
    for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(place, error); ++links) {
        place = place.parent_path() / std::filesystem::read_symlink(place, error);
    }
    place = std::filesystem::weakly_canonical(place, error);
    return error ? path : place.string();
}

/// Whether `path` may be written as write_export() does it. Devices and pipes are written through.
Result<void> check_file(const std::string& path, bool force, bool& is_file) {
    struct stat info {};
    const bool exists = ::stat(path.c_str(), &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        return refuse("{} is a directory: name a file in it", path);
    }
    if (exists && S_ISBLK(info.st_mode)) {
        return refuse("{} is a disk: name a file", path);
    }
    is_file = !exists || S_ISREG(info.st_mode);
    if (is_file && exists && !force) {
        return already_exists(path);
    }
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (::access(is_file ? folder.c_str() : path.c_str(), W_OK) != 0) {
        return unexpected(Error::from_errno("cannot write " + path));
    }
    return {};
}

bool is_regular_file(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// Its new name, beside it.
Result<std::string> move_aside(const std::string& path) {
    constexpr std::size_t kMostOfTheName = 240;  // NAME_MAX, less what is added
    std::string aside = path.substr(0, path.rfind('/') + 1 + kMostOfTheName) + ".XXXXXX";
    const Fd place{::mkostemp(aside.data(), O_CLOEXEC)};
    if (place.is_open() && ::rename(path.c_str(), aside.c_str()) == 0) {
        return aside;
    }
    const Error error = Error::from_errno("cannot replace " + path);
    if (place.is_open()) {
        ::unlink(aside.c_str());
    }
    return unexpected(error);
}

Result<Fd> open_to_write(const std::string& path) {
    Fd file = open_regular(path, O_WRONLY);
    return file.is_open() ? Result<Fd>{std::move(file)}
                          : unexpected(Error::from_errno("cannot open it"));
}

/// Whether any of the formats shows when samples were taken.
callgraph::Times times_wanted(const std::vector<ExportRequest>& exports) {
    return std::any_of(exports.begin(), exports.end(),
                       [](const ExportRequest& each) { return each.format->wants.times; })
               ? callgraph::Times::kept
               : callgraph::Times::dropped;
}

/// What could not be, or was not whole, is said in `result`.
void write_exports(const RecordOptions& options, const analysis::NamedRecording& named,
                   FinishedRecording& result) {
    for (const ExportRequest& request : options.exports) {
        callgraph::BuildOptions build;
        build.by_line = request.format->wants.lines;
        build.group_memory = request.format->wants.memory;
        build.further = request.format->wants.metrics;
        const Result<std::string> warning =
            write_export(analysis::profile_of_recording(named.recording, named.symbols, build),
                         *request.format, request.path, options.force);
        if (!warning) {
            result.errors.push_back(warning.error());
        } else if (!warning->empty()) {
            result.warnings.push_back(*warning);
        }
    }
}

}  // namespace

std::string expand_pattern(const std::string& pattern, const std::string& executable, pid_t pid) {
    std::string path;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%' || i + 1 == pattern.size()) {
            path += pattern[i];
            continue;
        }
        switch (pattern[++i]) {
            case 'p':
                path += std::to_string(pid);
                break;
            case 'n':
                path += executable.substr(executable.rfind('/') + 1);
                break;
            case 't': {
                std::array<char, 32> text{};
                const std::time_t now = std::time(nullptr);
                std::tm local{};
                ::localtime_r(&now, &local);
                std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
                path += text.data();
                break;
            }
            case '%':
                path += '%';
                break;
            default:
                path += '%';
                path += pattern[i];
        }
    }
    return path;
}

bool NewRecording::is_replaced() const {
    struct stat info {};
    return !created.empty() && ::lstat(created.c_str(), &info) == 0 &&
           (info.st_dev != device || info.st_ino != inode);
}

bool NewRecording::is_gone() const {
    struct stat info {};
    return !created.empty() && ::lstat(created.c_str(), &info) != 0 && errno == ENOENT;
}

void NewRecording::keep() {
    if (older.empty()) {
        return;
    }
    const auto remove = [path = std::exchange(older, {})] { ::unlink(path.c_str()); };
    try {
        std::thread{remove}.detach();
    } catch (const std::system_error&) {  // no thread to be had
        remove();
    }
}

void NewRecording::discard() const {
    if (created.empty() || is_replaced()) {
        return;
    }
    if (older.empty()) {
        ::unlink(created.c_str());
    } else {
        ::rename(older.c_str(), created.c_str());
    }
}

Result<NewRecording> open_recording(const std::string& path, bool force) {
    const std::string target = follow_links(path);
    std::string older;
    struct stat info {};
    if (::stat(target.c_str(), &info) == 0) {
        if (!S_ISREG(info.st_mode)) {
            SAMPLE_TRY(special, open_special(path));
            return NewRecording{std::move(special), {}, 0, 0, {}};
        }
        if (!force) {
            return already_exists(path);
        }
        SAMPLE_TRY(aside, move_aside(target));
        older = std::move(aside);
    }
    Fd fd{::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)};
    if (fd.is_open() && ::fstat(fd.get(), &info) == 0) {
        return NewRecording{std::move(fd), target, info.st_dev, info.st_ino, std::move(older)};
    }
    if (!older.empty()) {
        const Error error = Error::from_errno("cannot replace " + path);
        ::rename(older.c_str(), target.c_str());
        return unexpected(error);
    }
    if (errno == EEXIST) {
        return ::stat(target.c_str(), &info) == 0
                   ? already_exists(path)
                   : refuse(ErrorCode::not_found,
                            "{} is a link that leads to nothing: remove it, or name another file",
                            path);
    }
    return unexpected(Error::from_errno("cannot write " + path));
}

Result<void> name_exports(RecordOptions& options, const std::string& executable, pid_t pid,
                          const std::string& recording) {
    std::set<std::string> places{place_of(recording)};
    for (ExportRequest& request : options.exports) {
        request.path = expand_pattern(request.path, executable, pid);
        if (request.path == "-") {
            return refuse(
                "standard output is the command's: name a file for --export, or send the recording "
                "there afterwards, with sample export");
        }
        bool is_file = true;
        SAMPLE_CHECK(check_file(request.path, options.force, is_file));
        if (is_file && !places.insert(place_of(request.path)).second) {
            return refuse("{} is named twice: give the recording and each export a file of its own",
                          request.path);
        }
    }
    return {};
}

Result<PreparedRecording> prepare_recording(RecordOptions& options, const std::string& executable,
                                            pid_t pid) {
    std::string path =
        expand_pattern(options.output.empty() ? kDefaultOutput : options.output, executable, pid);
    if (path == "-") {
        return refuse(
            "the recording needs a file, and '-' is none: name one, and send what you want of it "
            "to standard output afterwards, with sample export");
    }
    if (path.starts_with('-')) {  // No command that it is named to takes it for an option.
        path.insert(0, "./");
    }
    SAMPLE_CHECK(name_exports(options, executable, pid, path));
    SAMPLE_TRY(file, open_recording(path, options.force));
    return PreparedRecording{std::move(path), std::move(file)};
}

collector::SessionOptions session_options_of(const RecordOptions& options) {
    collector::SessionOptions session;
    session.frequency_hz = options.frequency_hz;
    session.source = options.source;
    session.clock = options.off_cpu ? trace::Clock::wall : options.clock;
    session.off_cpu = options.off_cpu;
    session.event = options.event;
    session.max_stack = options.max_stack;
    session.kernel = options.kernel;
    session.samples = options.samples;
    session.channels = options.trace;
    session.children = options.children;
    session.starts_off = options.starts_off;
    session.delay = options.delay.value_or(std::chrono::nanoseconds{0});
    session.time = options.time;
    session.tool_version = SAMPLE_VERSION;
    return session;
}

Result<void> check_event(const RecordOptions& options) {
    return options.event.is_default() ? Result<void>{}
                                      : source::check_event(options.event, options.source);
}

ModuleSources sources_of(const collector::Recorder& recorder) {
    return {recorder.module_files(), recorder.readers()};
}

FinishedRecording finish_recording(const RecordOptions& options, const PreparedRecording& recording,
                                   const ModuleSources& sources, bool is_whole, bool is_shown,
                                   std::optional<callgraph::Recording> copy) {
    FinishedRecording result;
    const std::string& path = recording.path;
    if (recording.file.is_gone()) {
        result.errors.push_back({ErrorCode::not_found, 0,
                                 path + " was removed or renamed while it was recorded: if it has "
                                        "another name, sample report shows it by that"});
        return result;
    }
    const bool can_keep = options.symbols && is_whole && is_regular_file(path);
    if (!is_shown && !can_keep && options.exports.empty()) {
        return result;
    }
    // Opened before it is looked at: what has its name when names are known may be another's.
    Result<Fd> file = open_to_write(path);
    if (recording.file.is_replaced()) {
        result.errors.push_back({ErrorCode::system, 0,
                                 path + " was replaced by another file while it was recorded: what "
                                        "was recorded is gone with it"});
        return result;
    }
    const auto cache = analysis::user_cache(options.use_cache);
    analysis::NamingOptions naming;
    naming.debug_folders = options.debug_folders;
    naming.cache = cache.get();
    naming.files = sources.files;
    naming.readers = sources.readers;
    const callgraph::Times times = times_wanted(options.exports);
    // A copy has none.
    auto named = copy && is_whole && times == callgraph::Times::dropped
                     ? analysis::name_recording(*std::move(copy), naming)
                     : analysis::name_recording(path, naming, times);
    if (!named) {
        result.errors.push_back(named.error());
        return result;
    }
    const auto keep = [&] {
        return can_keep ? analysis::keep_names(std::move(file), path, *named,
                                               options.code ? &naming : nullptr)
                        : Result<void>{};
    };
    // Beside each other, as far as a thread is to be had: somebody waits.
    std::future<Result<void>> kept = std::async(keep);
    if (is_shown) {
        result.profile = analysis::profile_of_recording(named->recording, named->symbols);
        result.advice = analysis::advise(*result.profile);
    }
    if (const Result<void> done = kept.get(); !done) {
        result.errors.push_back(done.error());
    }
    write_exports(options, *named, result);
    return result;
}

}  // namespace sample::cli
