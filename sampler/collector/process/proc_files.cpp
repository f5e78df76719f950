#include "sampler/collector/process/proc_files.h"

#include "core/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string_view>

namespace sample::collector {
namespace {

std::string proc_path(pid_t pid, const char* file) {
    return "/proc/" + std::to_string(pid) + "/" + file;
}

std::string read_small_file(const std::string& path) {
    const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    std::string text;
    std::array<char, 4096> buffer{};
    ssize_t got = 0;
    while (fd.is_open() && (got = ::read(fd.get(), buffer.data(), buffer.size())) > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

/// The number behind `line` in the status of a process or thread; 0: there is none.
pid_t pid_in_status(pid_t pid, std::string_view line) {
    const std::string status = read_small_file(proc_path(pid, "status"));
    const std::size_t at = status.find(line);
    return at == std::string::npos
               ? 0
               : static_cast<pid_t>(std::atoi(status.c_str() + at + line.size()));
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// Parses one line of /proc/PID/maps; source: proc(5).
bool parse_mapping(const char* line, Mapping& out) {
    std::array<char, 5> permissions{};
    int path_at = 0;
    if (std::sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &out.start, &out.end, permissions.data(),
                    &out.offset, &path_at) != 4) {
        return false;
    }
    out.executable = permissions[2] == 'x';
    const std::string_view rest{line + path_at};
    out.path = rest.substr(0, rest.find('\n'));
    return true;
}

}  // namespace

std::string executable_of(pid_t pid) {
    std::array<char, PATH_MAX> path{};
    const ssize_t size = ::readlink(proc_path(pid, "exe").c_str(), path.data(), path.size());
    return size > 0 ? std::string{path.data(), static_cast<std::size_t>(size)} : std::string{};
}

std::string command_line_of(pid_t pid) {
    std::string text = read_small_file(proc_path(pid, "cmdline"));
    while (!text.empty() && text.back() == '\0') {
        text.pop_back();
    }
    std::replace(text.begin(), text.end(), '\0', ' ');
    return text;
}

std::string thread_name_of(pid_t pid, pid_t tid) {
    std::string name = read_small_file(proc_path(pid, "task/") + std::to_string(tid) + "/comm");
    if (!name.empty() && name.back() == '\n') {
        name.pop_back();
    }
    return name;
}

pid_t process_of_thread(pid_t tid) {
    return pid_in_status(tid, "\nTgid:\t");
}

pid_t tracer_of(pid_t pid) {
    return pid_in_status(pid, "\nTracerPid:\t");
}

bool is_traced(pid_t pid) {
    return tracer_of(pid) != 0;
}

std::optional<std::int64_t> start_time_ns(pid_t pid) {
    const std::string stat = read_small_file(proc_path(pid, "stat"));
    // Behind the name, which may hold anything, the state is field 3.
    std::size_t at = stat.rfind(')');
    for (int field = 2; field < 22 && at != std::string::npos; ++field) {
        at = stat.find(' ', at + 1);
    }
    if (at == std::string::npos) {
        return std::nullopt;
    }
    const auto now = [](clockid_t clock) {
        timespec time{};
        ::clock_gettime(clock, &time);
        return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    };
    const std::int64_t since_boot =
        std::atoll(stat.c_str() + at + 1) * (1'000'000'000 / ::sysconf(_SC_CLK_TCK));
    return now(CLOCK_REALTIME) - now(CLOCK_BOOTTIME) + since_boot;
}

pid_t parent_of(pid_t pid) {
    return pid_in_status(pid, "\nPPid:\t");
}

std::optional<OwnIdentity> identity_in_own_namespace(pid_t pid) {
    const std::string status = read_small_file(proc_path(pid, "status"));
    const std::size_t pids = status.find("\nNSpid:\t");
    const std::size_t users = status.find("\nUid:\t");
    if (pids == std::string::npos || users == std::string::npos) {
        return std::nullopt;
    }
    // The innermost namespace's is the last; of users the second is the effective one.
    const std::size_t line_end = std::min(status.find('\n', pids + 1), status.size());
    const std::size_t last = status.find_last_of("\t ", line_end - 1);
    const std::size_t effective = status.find('\t', users + 6);
    if (effective == std::string::npos) {
        return std::nullopt;
    }
    OwnIdentity identity;
    identity.pid = static_cast<pid_t>(std::atoi(status.c_str() + last + 1));
    identity.user = static_cast<uid_t>(std::strtoul(status.c_str() + effective + 1, nullptr, 10));
    return identity;
}

std::vector<Mapping> mappings_of(pid_t pid) {
    std::vector<Mapping> mappings;
    const File file{std::fopen(proc_path(pid, "maps").c_str(), "re")};
    std::array<char, PATH_MAX + 128> line{};
    while (file && std::fgets(line.data(), line.size(), file.get()) != nullptr) {
        Mapping mapping;
        if (parse_mapping(line.data(), mapping)) {
            mappings.push_back(std::move(mapping));
        }
    }
    return mappings;
}

std::optional<std::uint64_t> resident_bytes_of(pid_t pid, const std::string& text) {
    const File file{std::fopen(proc_path(pid, "smaps").c_str(), "re")};
    if (!file) {
        return std::nullopt;
    }
    std::array<char, PATH_MAX + 128> line{};
    std::uint64_t kilobytes = 0;
    bool counts = false;
    while (std::fgets(line.data(), line.size(), file.get()) != nullptr) {
        Mapping mapping;
        if (parse_mapping(line.data(), mapping)) {
            counts = mapping.path.find(text) != std::string::npos;
        } else if (unsigned long resident = 0;
                   counts && std::sscanf(line.data(), "Rss: %lu kB", &resident) == 1) {
            kilobytes += resident;
        }
    }
    return kilobytes * 1024;
}

std::optional<std::uint64_t> process_cpu_ns(pid_t pid) {
    timespec now{};
    const auto clock = static_cast<clockid_t>(static_cast<unsigned>(~pid) << 3U | 2U);
    if (::clock_gettime(clock, &now) != 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace sample::collector
