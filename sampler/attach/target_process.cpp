#include "sampler/attach/target_process.h"

#include "core/fd.h"
#include "sampler/collector/code/elf_facts.h"
#include "sampler/collector/process/proc_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>

namespace sample::attach {
namespace {

using collector::living_path;
using collector::proc_path;

std::string name_in_words(pid_t pid) {
    const auto stat = collector::stat_of(pid);
    return "process " + std::to_string(pid) + (stat ? " (" + stat->name + ")" : "");
}

/// Z of a zombie, ...; 0: it is gone. Source: proc(5), status.
char state_in(const std::string& status) {
    const std::size_t at = status.find("\nState:");
    const std::size_t letter =
        at == std::string::npos ? at : status.find_first_not_of(" \t", at + 7);
    return letter == std::string::npos ? '\0' : status[letter];
}

bool has_memory(const std::string& status) {
    return status.find("\nVmSize:") != std::string::npos;
}

/// Of a thread that lives, where the first one has left; of the first one, if none does.
std::string living_status(pid_t pid) {
    return read_small_file(collector::living_path(pid, "status"));
}

std::optional<uid_t> owner_of(pid_t pid) {
    const std::vector<std::uint32_t> ids = numbers_of_line(collector::status_of(pid), "Uid:");
    return ids.empty() ? std::nullopt : std::optional<uid_t>{ids[0]};
}

std::vector<pid_t> all_processes() {
    std::vector<pid_t> processes;
    std::error_code error;
    std::filesystem::directory_iterator at{"/proc", error};
    for (; !error && at != std::filesystem::directory_iterator{}; at.increment(error)) {
        const std::string name = at->path().filename();
        pid_t pid = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (parsed.ec == std::errc{} && parsed.ptr == name.data() + name.size()) {
            processes.push_back(pid);
        }
    }
    return processes;
}

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string permission_advice(pid_t pid) {
    const std::optional<uid_t> owner = owner_of(pid);
    if (owner && *owner != ::geteuid()) {
        return "it belongs to another user (" + std::to_string(*owner) +
               "): run sample attach as that user or as root, or let sample have CAP_PERFMON and "
               "CAP_SYS_PTRACE (setcap cap_perfmon,cap_sys_ptrace+ep)";
    }
    const std::string paranoid = read_small_file("/proc/sys/kernel/perf_event_paranoid");
    constexpr int kLastThatAllowsAny = 2;
    if (std::atoi(paranoid.c_str()) > kLastThatAllowsAny && ::geteuid() != 0) {
        return "kernel.perf_event_paranoid is " + paranoid.substr(0, paranoid.find('\n')) +
               ": run sample attach as root, or allow it, sudo sysctl kernel.perf_event_paranoid=1";
    }
    struct stat info {};
    if (::stat(proc_path(pid, "mem").c_str(), &info) == 0 && info.st_uid != ::geteuid()) {
        return "its program has more rights than you, or keeps others from looking at it: run "
               "sample attach as root";
    }
    return "perf_event_open is forbidden here, as containers do by default: docker run --cap-add "
           "PERFMON --security-opt seccomp=unconfined, or run sample attach outside of it";
}

}  // namespace

Result<void> check_target(pid_t pid) {
    if (pid == ::getpid()) {
        return unexpected(
            ErrorCode::invalid_argument,
            "process " + std::to_string(pid) + " is sample itself: name the process to record");
    }
    if (!collector::has_own_proc()) {
        return unexpected(ErrorCode::unsupported,
                          "/proc shows another pid namespace, with other numbers: mount this one's "
                          "(mount -t proc proc /proc, or unshare --mount-proc)");
    }
    const std::string status = living_status(pid);
    const char state = state_in(status);
    if (state == '\0') {
        return unexpected(ErrorCode::not_found,
                          "there is no process " + std::to_string(pid) +
                              ": it may have ended; pgrep -l NAME lists processes by name");
    }
    if (const pid_t process = collector::process_of_thread(pid); process != 0 && process != pid) {
        return unexpected(ErrorCode::invalid_argument,
                          std::to_string(pid) + " is a thread of " + name_in_words(process) +
                              ": all its threads are recorded with it, sample attach " +
                              std::to_string(process));
    }
    if (collector::is_kernel_thread(pid)) {
        return unexpected(
            ErrorCode::unsupported,
            name_in_words(pid) +
                " is a thread of the kernel, which runs no program: name another one");
    }
    if (state == 'Z' || state == 'X' || !has_memory(status)) {
        return unexpected(ErrorCode::not_found,
                          name_in_words(pid) +
                              " has ended, only its parent has not asked for its exit code yet: "
                              "there is nothing to record");
    }
    const collector::ElfFacts program = collector::read_elf_facts(living_path(pid, "exe"));
    if (program.is_elf && !program.is_x86_64) {
        return unexpected(ErrorCode::unsupported,
                          name_in_words(pid) +
                              " runs a 32-bit program, or one for another processor: only x86-64 "
                              "programs can be recorded");
    }
    return {};
}

Error explain_refusal(pid_t pid, const Error& refusal) {
    if (refusal.code == ErrorCode::permission) {
        return refusal;  // it says what to do
    }
    switch (refusal.errno_value) {
        case ESRCH:
            return {ErrorCode::not_found, 0,
                    "process " + std::to_string(pid) + " has ended: there is nothing to record"};
        case EACCES:
        case EPERM:
            return {ErrorCode::permission, 0,
                    name_in_words(pid) + " cannot be watched: " + permission_advice(pid)};
        case ENOSYS:
            return {ErrorCode::unsupported, 0,
                    "this kernel has no perf_event_open, or hides it (gVisor, a seccomp filter): "
                    "start the program with sample record instead"};
        case EMFILE:
        case ENFILE:
            return {ErrorCode::system, 0,
                    name_in_words(pid) +
                        " has too many threads for the descriptors that sample may open, one a "
                        "thread and processor: raise the hard limit, ulimit -Hn"};
        default:
            break;
    }
    Error error = refusal;
    error.context = name_in_words(pid) + " cannot be watched";
    return error;
}

std::vector<pid_t> processes_called(const std::string& name) {
    std::vector<pid_t> found;
    for (const pid_t pid : all_processes()) {
        const auto stat = collector::stat_of(pid);
        const bool is_called =
            (stat && stat->name == name) || file_name(collector::executable_of(pid)) == name;
        if (is_called && pid != ::getpid() && has_memory(living_status(pid))) {
            found.push_back(pid);
        }
    }
    return found;
}

std::vector<pid_t> descendants_of(const std::vector<pid_t>& pids) {
    std::multimap<pid_t, pid_t> children;
    for (const pid_t each : all_processes()) {
        children.emplace(collector::parent_of(each), each);
    }
    std::set<pid_t> looked;
    std::vector<pid_t> found = pids;
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (!looked.insert(found[i]).second) {
            continue;
        }
        const auto [begin, end] = children.equal_range(found[i]);
        for (auto child = begin; child != end; ++child) {
            if (child->second != ::getpid()) {
                found.push_back(child->second);
            }
        }
    }
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(pids.size()));
    return found;
}

}  // namespace sample::attach
