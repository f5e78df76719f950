#include "sampler/collector/process/proc_files.h"

#include "core/kernel_clock.h"
#include "core/regular_file.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/collector/process/tick_clock.h"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace sample::collector {
namespace {

/// The first number of a line; 0: there is none, or none that is ours.
pid_t pid_in_status(std::string_view status, std::string_view key) {
    const auto numbers = numbers_of_line(status, key);
    return numbers.empty() || !has_own_proc() ? 0 : static_cast<pid_t>(numbers[0]);
}

constexpr int kStatFlags = 9;

/// A field of the text of a stat file. Source: proc(5).
std::optional<std::int64_t> stat_number(const std::string& stat, int field) {
    // Behind the name, which may hold anything, the state is field 3.
    std::size_t at = stat.rfind(')');
    for (int before = 2; before < field && at != std::string::npos; ++before) {
        at = stat.find(' ', at + 1);
    }
    return at == std::string::npos ? std::nullopt
                                   : std::optional{std::atoll(stat.c_str() + at + 1)};
}

/// Leads nowhere if the thread's number in /proc is not known.
std::string thread_path(pid_t pid, pid_t tid, std::string_view file) {
    return proc_path(pid, "task/" + std::to_string(has_own_proc() ? tid : 0) + "/").append(file);
}

std::int64_t ns_of_tick() {
    return 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
}

clockid_t clock_of(pid_t pid) {
    return static_cast<clockid_t>(static_cast<unsigned>(~pid) << 3U | 2U);
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// Parses one line of /proc/PID/maps; source: proc(5).
bool parse_mapping(const char* line, Mapping& out) {
    std::array<char, 5> permissions{};
    unsigned major = 0;
    unsigned minor = 0;
    int path_at = 0;
    if (std::sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &out.start, &out.end, permissions.data(),
                    &out.offset, &major, &minor, &out.inode, &path_at) != 7) {
        return false;
    }
    out.device = std::uint64_t{major} << 32U | minor;
    out.executable = permissions[2] == 'x';
    const std::string_view rest{line + path_at};
    out.path = rest.substr(0, rest.find('\n'));
    return true;
}

// Newer than Debian 12's headers. Source: Linux include/uapi/linux/pidfd.h.
struct PidfdInfo {
    std::uint64_t mask = 0;
    std::uint64_t cgroup_id = 0;
    std::uint32_t ids[11] = {};
    std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kPidfdInfoExit = 1U << 3U;
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);

ProcessFate from_status(int status) {
    if (WIFSIGNALED(status)) {
        return {trace::EndKind::signaled, WTERMSIG(status)};
    }
    return {trace::EndKind::exited, WEXITSTATUS(status)};
}

/// Of one that nobody has waited for yet, as far as we may look at it: to others the kernel says 0.
/// Source: proc(5), stat, exit_code.
ProcessFate fate_of_zombie(pid_t pid) {
    constexpr int kExitCode = 52;
    const std::string stat = read_small_file(proc_path(pid, "stat"));
    const std::size_t name_end = stat.rfind(')');
    const auto users = numbers_of_line(status_of(pid), "Uid:");
    const bool is_ours =
        ::geteuid() == 0 ||
        std::all_of(users.begin(), users.end(), [](uid_t user) { return user == ::geteuid(); });
    const auto code = stat_number(stat, kExitCode);
    if (name_end == std::string::npos || stat.compare(name_end, 3, ") Z") != 0 || users.empty() ||
        !is_ours || !code) {
        return {};
    }
    return from_status(static_cast<int>(*code));
}

}  // namespace

bool has_own_proc() {
    static const bool is_own = [] {
        std::array<char, 16> text{};
        const ssize_t size = ::readlink("/proc/self", text.data(), text.size() - 1);
        return size > 0 && std::atoi(text.data()) == ::getpid();
    }();
    return is_own;
}

std::string proc_path(pid_t pid, std::string_view file) {
    if (!has_own_proc()) {
        // A descriptor of the process tells its number as that /proc has it.
        const Fd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
        const auto numbers = numbers_of_line(
            read_small_file("/proc/self/fdinfo/" + std::to_string(process.get())), "Pid:");
        pid = numbers.empty() ? 0 : static_cast<pid_t>(numbers[0]);
    }
    return ("/proc/" + std::to_string(pid) + "/").append(file);
}

Fd open_task_folder(pid_t pid) {
    return has_own_proc()
               ? Fd{::open(proc_path(pid, "task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)}
               : Fd{};
}

std::string living_path(pid_t pid, std::string_view file) {
    std::string folder = proc_path(pid, "");
    const auto has_left = [](const std::string& thread) {
        std::array<char, 1> first{};
        return ::readlink((thread + "exe").c_str(), first.data(), first.size()) < 0 &&
               errno == ENOENT;
    };
    if (has_left(folder)) {
        std::error_code error;
        for (std::filesystem::directory_iterator at{folder + "task", error}, end;
             !error && at != end; at.increment(error)) {
            if (std::string thread = at->path().string() + "/"; !has_left(thread)) {
                folder = std::move(thread);
                break;
            }
        }
    }
    return folder.append(file);
}

std::vector<pid_t> threads_of(pid_t pid) {
    std::vector<pid_t> threads;
    const bool has_first = living_path(pid, "exe") == proc_path(pid, "exe");
    std::error_code error;
    for (std::filesystem::directory_iterator at{proc_path(pid, "task"), error}, end;
         !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename();
        pid_t tid = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), tid);
        if (parsed.ec == std::errc{} && (tid != pid || has_first)) {
            threads.push_back(tid);
        }
    }
    return threads;
}

std::string status_of(pid_t pid) {
    return read_small_file(proc_path(pid, "status"));
}

Fd open_map_file(pid_t pid, const Mapping& mapping) {
    std::array<char, 64> range{};
    std::snprintf(range.data(), range.size(), "map_files/%lx-%lx", mapping.start, mapping.end);
    return open_regular(proc_path(pid, range.data()));
}

std::string executable_of(pid_t pid) {
    std::array<char, PATH_MAX> path{};
    const ssize_t size = ::readlink(living_path(pid, "exe").c_str(), path.data(), path.size());
    return size > 0 ? std::string{path.data(), static_cast<std::size_t>(size)} : std::string{};
}

bool is_in_another_network(pid_t pid) {
    struct stat own = {};
    struct stat its = {};
    return ::stat("/proc/self/ns/net", &own) == 0 &&
           ::stat(living_path(pid, "ns/net").c_str(), &its) == 0 && own.st_ino != its.st_ino;
}

std::string command_line_of(pid_t pid) {
    std::string text = read_small_file(living_path(pid, "cmdline"));
    while (!text.empty() && text.back() == '\0') {
        text.pop_back();
    }
    std::replace(text.begin(), text.end(), '\0', ' ');
    return text;
}

std::string thread_name_of(pid_t pid, pid_t tid) {
    std::string name = read_small_file(thread_path(pid, tid, "comm"));
    if (!name.empty() && name.back() == '\n') {
        name.pop_back();
    }
    return name;
}

pid_t process_of_thread(pid_t tid) {
    return pid_in_status(status_of(tid), "Tgid:");
}

pid_t tracer_in(std::string_view status) {
    return pid_in_status(status, "TracerPid:");
}

std::optional<std::int64_t> start_time_ns(pid_t pid) {
    const auto since_boot = stat_number(read_small_file(proc_path(pid, "stat")), 22);
    if (!since_boot) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(read_kernel_clock_ns(CLOCK_REALTIME) -
                                     read_kernel_clock_ns(CLOCK_BOOTTIME)) +
           *since_boot * ns_of_tick();
}

std::optional<ProcessStat> stat_of(pid_t pid) {
    const std::string stat = read_small_file(proc_path(pid, "stat"));
    const std::size_t name = stat.find('(') + 1;  // npos + 1 is 0
    const auto parent = stat_number(stat, 4);
    const auto own_system = stat_number(stat, 15);
    const auto user = stat_number(stat, 16);
    const auto system = stat_number(stat, 17);
    if (name == 0 || !parent || !own_system || !user || !system) {
        return std::nullopt;
    }
    return ProcessStat{stat.substr(name, stat.rfind(')') - name),
                       has_own_proc() ? static_cast<pid_t>(*parent) : 0,
                       static_cast<std::uint64_t>(*own_system * ns_of_tick()),
                       static_cast<std::uint64_t>((*user + *system) * ns_of_tick())};
}

pid_t newest_pid() {
    const std::string load = read_small_file("/proc/loadavg");
    return static_cast<pid_t>(std::atoi(load.c_str() + load.rfind(' ') + 1));
}

pid_t most_pid() {
    return static_cast<pid_t>(std::atoi(read_small_file("/proc/sys/kernel/pid_max").c_str()));
}

std::vector<pid_t> processes_after(pid_t first, std::string_view text) {
    std::vector<pid_t> processes;
    const pid_t newest = newest_pid();
    std::error_code error;
    for (std::filesystem::directory_iterator at{"/proc", error}, end;
         has_own_proc() && !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename();
        pid_t pid = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
        const bool is_after =
            newest < first ? pid > first || pid <= newest : pid > first && pid <= newest;
        if (parsed.ec == std::errc{} && is_after &&
            read_small_file(living_path(pid, "environ")).find(text) != std::string::npos) {
            processes.push_back(pid);
        }
    }
    return processes;
}

std::optional<std::uint64_t> auxiliary_value(pid_t pid, std::uint64_t type) {
    const std::string words = read_small_file(living_path(pid, "auxv"));
    Elf64_auxv_t entry;
    for (std::size_t at = 0; at + sizeof entry <= words.size(); at += sizeof entry) {
        std::memcpy(&entry, words.data() + at, sizeof entry);
        if (entry.a_type == type) {
            return entry.a_un.a_val;
        }
    }
    return std::nullopt;
}

bool is_kernel_thread(pid_t pid) {
    constexpr std::int64_t kIsKernelThread = 0x200000;  // PF_KTHREAD
    const auto flags = stat_number(read_small_file(proc_path(pid, "stat")), kStatFlags);
    return flags && (*flags & kIsKernelThread) != 0;
}

pid_t parent_of(pid_t pid) {
    return pid_in_status(status_of(pid), "PPid:");
}

std::optional<OwnIdentity> identity_in_own_namespace(pid_t pid) {
    const std::string status = status_of(pid);
    const auto pids = numbers_of_line(status, "NSpid:");
    const auto users = numbers_of_line(status, "Uid:");
    if (pids.empty() || users.size() < 2) {
        return std::nullopt;
    }
    // The innermost namespace's is the last; of users the second is the effective one.
    return OwnIdentity{static_cast<pid_t>(pids.back()), users[1]};
}

std::vector<Mapping> mappings_of(pid_t pid) {
    std::vector<Mapping> mappings;
    const File file{std::fopen(living_path(pid, "maps").c_str(), "re")};
    std::array<char, PATH_MAX + 128> line{};
    while (file && std::fgets(line.data(), line.size(), file.get()) != nullptr) {
        Mapping mapping;
        if (parse_mapping(line.data(), mapping)) {
            mappings.push_back(std::move(mapping));
        }
    }
    return mappings;
}

Mapping mapping_at(pid_t pid, std::uint64_t address) {
    for (Mapping& mapping : mappings_of(pid)) {
        if (mapping.start <= address && address < mapping.end) {
            return std::move(mapping);
        }
    }
    return {};
}

std::optional<std::uint64_t> resident_bytes_of(pid_t pid, const std::string& text) {
    const File file{std::fopen(living_path(pid, "smaps").c_str(), "re")};
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
    const std::uint64_t ns = read_kernel_clock_ns(clock_of(pid));
    return ns != 0 ? std::optional{ns} : std::nullopt;
}

bool has_process_clock(pid_t pid) {
    timespec spent{};
    return capture::raw_syscall(SYS_clock_gettime, clock_of(pid), capture::as_argument(&spent)) ==
           0;
}

std::optional<std::uint64_t> children_cpu_ns(pid_t pid) {
    siginfo_t info{};
    rusage used{};
    if (::syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT, &used) == 0 &&
        info.si_pid == pid) {
        const auto whole = static_cast<std::uint64_t>(
            (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000'000 +
            (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1'000);
        return whole - std::min(whole, process_cpu_ns(pid).value_or(0));
    }
    const auto stat = stat_of(pid);
    return stat ? std::optional{stat->children_cpu_ns} : std::nullopt;
}

std::uint64_t thread_cpu_ns(pid_t pid, pid_t tid) {
    const std::string text = read_small_file(thread_path(pid, tid, "schedstat"));
    return std::strtoull(text.c_str(), nullptr, 10);
}

ThreadNumbers::ThreadNumbers(pid_t pid, bool are_same) : pid_{pid}, are_same_{are_same} {
    if (are_same_) {
        return;
    }
    for (const pid_t tid : threads_of(pid)) {
        // The innermost namespace's is the last.
        const auto numbers =
            numbers_of_line(read_small_file(thread_path(pid, tid, "status")), "NSpid:");
        if (!numbers.empty()) {
            here_.emplace(numbers.back(), tid);
        }
    }
}

pid_t ThreadNumbers::here(std::uint32_t own) const {
    if (are_same_) {
        return static_cast<pid_t>(own);
    }
    const auto found = here_.find(own);
    return found == here_.end() ? static_cast<pid_t>(own) : found->second;
}

std::unordered_map<std::uint32_t, pid_t> ThreadNumbers::all() const {
    std::unordered_map<std::uint32_t, pid_t> all = here_;
    for (const pid_t tid : are_same_ ? threads_of(pid_) : std::vector<pid_t>{}) {
        all.emplace(static_cast<std::uint32_t>(tid), tid);
    }
    return all;
}

std::vector<RingWorker> ring_workers_of(pid_t pid) {
    constexpr std::int64_t kIsRingWorker = 0x10;  // PF_IO_WORKER, since Linux 5.12
    std::vector<RingWorker> workers;
    for (const pid_t tid : threads_of(pid)) {
        const auto flags = stat_number(read_small_file(thread_path(pid, tid, "stat")), kStatFlags);
        if (flags && (*flags & kIsRingWorker) != 0) {
            workers.push_back({tid, thread_name_of(pid, tid), thread_cpu_ns(pid, tid)});
        }
    }
    return workers;
}

ProcessFate fate_of(pid_t pid, int pidfd) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid) {
        return {info.si_code == CLD_EXITED ? trace::EndKind::exited : trace::EndKind::signaled,
                info.si_status};
    }
    PidfdInfo exit_info;
    exit_info.mask = kPidfdInfoExit;
    if (::ioctl(pidfd, kPidfdGetInfo, &exit_info) == 0 && (exit_info.mask & kPidfdInfoExit) != 0) {
        return from_status(exit_info.exit_code);
    }
    return fate_of_zombie(pid);
}

bool has_died(pid_t pid, int pidfd) {
    if (pidfd >= 0) {
        pollfd end{pidfd, POLLIN, 0};
        return ::poll(&end, 1, 0) > 0;
    }
    return fate_of(pid, -1).kind != trace::EndKind::unknown ||
           (::kill(pid, 0) != 0 && errno == ESRCH);
}

}  // namespace sample::collector
