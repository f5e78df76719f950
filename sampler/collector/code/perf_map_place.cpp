#include "sampler/collector/code/perf_map_place.h"

#include "core/regular_file.h"
#include "sampler/collector/process/proc_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sample::collector {
namespace {

constexpr const char* kTemporary = "/tmp";

/// Where the last line ends that is whole; 0 if none does in what is looked at.
std::uint64_t end_of_lines(const Fd& file, std::uint64_t size) {
    std::array<char, 4096> end{};  // No line is longer, or its function has no name of ours.
    const std::uint64_t start = size - std::min<std::uint64_t>(size, end.size());
    const ssize_t got = ::pread(file.get(), end.data(), size - start, static_cast<off_t>(start));
    const std::string_view text{end.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    const std::size_t last = text.rfind('\n');
    return last == std::string_view::npos ? 0 : start + last + 1;
}

}  // namespace

Fd open_in(const Fd& root, const char* path, int flags) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return Fd{static_cast<int>(::syscall(SYS_openat2, root.get(), path, &how, sizeof how))};
}

PerfMapPlace::PerfMapPlace(pid_t pid)
    : own_pid_{pid}, owner_{::geteuid()}, started_ns_{start_time_ns(pid).value_or(0)} {
    if (const auto identity = identity_in_own_namespace(pid)) {
        own_pid_ = identity->pid;
        owner_ = identity->user;
    }
    const std::string root = living_path(pid, "root");
    root_ = Fd{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    temporary_ = root_.is_open() ? open_in(root_, kTemporary, O_PATH | O_DIRECTORY)
                                 : Fd{::open(kTemporary, O_PATH | O_DIRECTORY | O_CLOEXEC)};
}

std::string PerfMapPlace::name() const {
    return "perf-" + std::to_string(own_pid_) + ".map";
}

std::string PerfMapPlace::path() const {
    return std::string{kTemporary} + "/" + name();
}

Fd PerfMapPlace::open() const {
    return open_regular(
        Fd{::openat(temporary_.get(), name().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)});
}

bool PerfMapPlace::is_trusted(const Fd& file) const {
    struct stat info = {};
    return file.is_open() && ::fstat(file.get(), &info) == 0 &&
           (info.st_uid == owner_ || info.st_uid == 0);
}

bool PerfMapPlace::is_stale(const Fd& file) const {
    // The clocks of files and processes tick up to 10 ms apart.
    constexpr std::int64_t kSlackNs = 100'000'000;
    // Not fstat(), which tells of faked times where clocks do.
    struct statx info = {};
    return ::statx(file.get(), "", AT_EMPTY_PATH, STATX_MTIME, &info) == 0 &&
           info.stx_mtime.tv_sec * 1'000'000'000 + info.stx_mtime.tv_nsec + kSlackNs < started_ns_;
}

std::vector<FilePart> PerfMapPlace::snapshot() const {
    auto file = std::make_shared<const Fd>(open());
    struct stat info = {};
    if (!is_trusted(*file) || is_stale(*file) || ::fstat(file->get(), &info) != 0) {
        return {};
    }
    const std::uint64_t bytes = end_of_lines(*file, static_cast<std::uint64_t>(info.st_size));
    return bytes == 0 ? std::vector<FilePart>{} : std::vector{FilePart{std::move(file), bytes}};
}

std::vector<FilePart> perf_map_of(pid_t pid, pid_t own_pid) {
    const std::string map = living_path(pid, "root/tmp/perf-" + std::to_string(own_pid) + ".map");
    if (::access(map.c_str(), F_OK) != 0) {
        return {};
    }
    return PerfMapPlace{pid}.snapshot();
}

}  // namespace sample::collector
