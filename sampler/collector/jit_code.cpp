#include "sampler/collector/jit_code.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>

namespace sample::collector {
namespace {

constexpr const char* kTemporary = "/tmp";
constexpr std::string_view kDeleted = " (deleted)";
/// Samples that are drained are not older, if the machine is not past help.
constexpr std::uint64_t kPastNs = 1'000'000'000;
/// A drain takes in no more of a dump, so that nobody waits for it.
constexpr int kMostRecords = 1 << 16;

/// Opens `path` as a process with `root` as its root would. No magic links: those lead out.
Fd open_in(const Fd& root, const char* path, int flags) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return Fd{static_cast<int>(::syscall(SYS_openat2, root.get(), path, &how, sizeof how))};
}

std::string path_without_mark(const std::string& path) {
    return path.ends_with(kDeleted) ? path.substr(0, path.size() - kDeleted.size()) : path;
}

}  // namespace

JitCode::JitCode(pid_t pid, Recorder& recorder)
    : recorder_{recorder}, pid_{pid}, own_pid_{pid}, owner_{::geteuid()} {
    if (const auto identity = identity_in_own_namespace(pid)) {
        own_pid_ = identity->pid;
        owner_ = identity->user;
    }
    const std::string root = "/proc/" + std::to_string(pid) + "/root";
    root_ = Fd{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    temporary_ = root_.is_open() ? open_in(root_, kTemporary, O_PATH | O_DIRECTORY)
                                 : Fd{::open(kTemporary, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    trace::Module module;
    module.kind = trace::ModuleKind::jit;
    module.path = std::string{kTemporary} + "/perf-" + std::to_string(own_pid_) + ".map";
    module_ = recorder_.own_module(module);
}

bool JitCode::is_dump(const std::string& path) {
    std::string name = path_without_mark(path);
    name.erase(0, name.rfind('/') + 1);
    constexpr std::string_view kStart = "jit-";
    constexpr std::string_view kEnd = ".dump";
    return name.size() > kStart.size() + kEnd.size() && name.starts_with(kStart) &&
           name.ends_with(kEnd) &&
           std::all_of(name.begin() + kStart.size(),
                       name.end() - static_cast<std::ptrdiff_t>(kEnd.size()),
                       [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

bool JitCode::is_trusted(const Fd& fd) const {
    struct stat info = {};
    return fd.is_open() && ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) &&
           (info.st_uid == owner_ || info.st_uid == 0);
}

Fd JitCode::open_dump(const Mapping& mapping) const {
    // The very file, whatever its name is by now; needs CAP_CHECKPOINT_RESTORE. Source: proc(5).
    char range[64] = {};
    std::snprintf(range, sizeof range, "/map_files/%llx-%llx",
                  static_cast<unsigned long long>(mapping.start),
                  static_cast<unsigned long long>(mapping.end));
    Fd file{::open(("/proc/" + std::to_string(pid_) + range).c_str(),
                   O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (!file.is_open() && root_.is_open()) {
        file = open_in(root_, path_without_mark(mapping.path).c_str(), O_RDONLY | O_NONBLOCK);
    }
    return is_trusted(file) ? std::move(file) : Fd{};
}

void JitCode::found_dump(const Mapping& mapping) {
    if (reader_ || refused_) {
        return;
    }
    Fd file = open_dump(mapping);
    if (!file.is_open()) {
        return;
    }
    auto reader = jitdump::Reader::open(file.get());
    const bool has_tick_times = reader && reader->header().has_tick_times;
    if (!reader && reader.error().code != ErrorCode::unsupported) {
        return;  // there may be more of it soon
    }
    dump_ = std::move(file);
    dump_path_ = path_without_mark(mapping.path);
    if (!reader || has_tick_times) {
        refused_ = true;
        recorder_.add_note(dump_path_ + ": not followed, for it is " +
                           (reader ? "timed by the processor's counter: have the JIT compiler use "
                                     "CLOCK_MONOTONIC"
                                   : reader.error().context));
        return;
    }
    trace::Module module;
    module.kind = trace::ModuleKind::jit;
    module.path = dump_path_;
    module.build_id = jitdump::identity_of(reader->header());
    dump_module_ = recorder_.module(module);
    reader_.emplace(std::move(*reader));
    read_on();
}

void JitCode::read_on() {
    if (!reader_) {
        return;
    }
    for (int i = 0; i < kMostRecords; ++i) {
        const auto record = reader_->next();
        if (!record) {
            break;
        }
        if (record->kind == jitdump::Kind::load) {
            history_.load(record->address, record->code_size, record->code_offset, record->time);
        } else if (record->kind == jitdump::Kind::move) {
            history_.move(record->old_address, record->address, record->code_size, record->time);
        }
    }
    const std::uint64_t now = monotonic_ns();
    history_.forget_before(now - std::min(now, kPastNs));
}

JitCode::Place JitCode::locate(Pc pc, std::uint64_t time_ns) {
    if (reader_) {
        if (const auto found = history_.find(pc.value, time_ns)) {
            return {dump_module_, found->code_offset, found->until_ns};
        }
    }
    return {module_, pc.value, JitHistory::kForever};
}

void JitCode::take_map() {
    const std::string name = "perf-" + std::to_string(own_pid_) + ".map";
    const Fd map{
        ::openat(temporary_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    if (is_trusted(map)) {
        recorder_.keep_copy(module_, map);
    } else if (map.is_open()) {
        recorder_.add_note(std::string{kTemporary} + "/" + name +
                           ": not used, for it does not belong to the user of process " +
                           std::to_string(pid_));
    } else if (dump_.is_open()) {
        // Code that was told of after it ran can be looked up there, too.
        recorder_.keep_file(module_, Fd{::fcntl(dump_.get(), F_DUPFD_CLOEXEC, 0)});
    }
}

void JitCode::finish() {
    if (finished_) {
        return;
    }
    finished_ = true;
    read_on();
    take_map();
    if (history_.late() != 0) {
        recorder_.add_note(dump_path_ + " was written late: " + std::to_string(history_.late()) +
                           " functions may have samples of the code that came to lie where they "
                           "had been");
    }
    if (history_.is_full()) {
        recorder_.add_note(dump_path_ +
                           " tells of more code than can be followed: of what came "
                           "last only the latest code at an address has a name");
    }
    if (reader_) {
        recorder_.keep_file(dump_module_, std::move(dump_));
        reader_.reset();
    }
}

}  // namespace sample::collector
