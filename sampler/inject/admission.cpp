// Whether the agent may be brought into a process: what /proc tells of it.
#include "core/fd.h"
#include "core/text.h"
#include "sampler/collector/code/elf_facts.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/inject/inject.h"
#include "sampler/inject/libc_places.h"
#include "sampler/inject/remote_code.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace sample::inject {
namespace {

using collector::living_path;
using collector::proc_path;

Unexpected refuse(pid_t pid, const std::string& why) {
    return unexpected(ErrorCode::unsupported, "the agent cannot be brought into process " +
                                                  std::to_string(pid) + ": " + why);
}

/// What stands behind `key` ("State:"); empty: there is no such line.
std::string_view value_of(std::string_view status, std::string_view key) {
    const std::size_t at = status.find("\n" + std::string{key});
    if (at == std::string_view::npos) {
        return {};
    }
    const std::size_t begin = status.find_first_not_of(" \t", at + 1 + key.size());
    return status.substr(begin, status.find('\n', begin) - begin);
}

bool is_same_place(pid_t pid, const char* file) {
    struct stat ours {};
    struct stat theirs {};
    return ::stat((std::string{"/proc/self/"} + file).c_str(), &ours) == 0 &&
           ::stat(living_path(pid, file).c_str(), &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

/// Whether the signal that samples come by is in a mask ("SigBlk:") of a process or thread.
bool is_in_mask(const std::string& status, std::string_view key) {
    constexpr std::uint64_t kUrgent = std::uint64_t{1} << (SIGURG - 1);
    const std::string mask{value_of(status, key)};
    return (std::strtoull(mask.c_str(), nullptr, 16) & kUrgent) != 0;
}

/// Whether a thread of it blocks that signal, and not only for a moment: libc blocks all signals in
/// a thread that makes one, or that begins or ends. Threads that cannot be listed count as such.
bool blocks_signal(pid_t pid) {
    constexpr int kLooks = 100;
    const auto is_open = [pid](pid_t tid) {
        const std::string file = "task/" + std::to_string(tid) + "/status";
        return !is_in_mask(read_small_file(proc_path(pid, file)), "SigBlk:");
    };
    std::vector<pid_t> blocking = collector::threads_of(pid);
    const bool is_listed = !blocking.empty();
    for (int look = 0; look < kLooks; ++look) {
        blocking.erase(std::remove_if(blocking.begin(), blocking.end(), is_open), blocking.end());
        if (blocking.empty()) {
            break;
        }
        ::usleep(1000);
    }
    return !is_listed || !blocking.empty();
}

/// One that has just begun has it a moment later.
Result<LibcPlaces> await_libc(pid_t pid) {
    constexpr int kLooks = 100;
    auto libc = LibcPlaces::of(pid);
    for (int look = 0; !libc && look < kLooks; ++look) {
        ::usleep(5000);
        libc = LibcPlaces::of(pid);
    }
    return libc;
}

bool has_agent(pid_t pid) {
    for (const collector::Mapping& each : collector::mappings_of(pid)) {
        const std::string_view name = file_name(each.path);
        if (name.starts_with("libsample.so") || name.starts_with("libsample-memory.so")) {
            return true;
        }
    }
    return false;
}

}  // namespace

Result<void> check_process(pid_t pid, const std::string& library) {
    const std::string status = collector::status_of(pid);
    const std::string_view state = value_of(status, "State:");
    if (state.empty()) {
        return refuse(pid, "it has ended");
    }
    if (state.front() == 'T' || state.front() == 't' || value_of(status, "TracerPid:") != "0") {
        return refuse(pid, "it is stopped, or a debugger traces it");
    }
    if (value_of(status, "Seccomp:") != "0") {
        return refuse(pid,
                      "it runs under seccomp, which might end it for a system call of ours: "
                      "leave --inject out, or start it with sample record");
    }
    if (value_of(status, "x86_Thread_features:").find("shstk") != std::string_view::npos) {
        return refuse(pid, "it has a shadow stack");
    }
    if (!is_same_place(pid, "ns/mnt") || !is_same_place(pid, "ns/pid") ||
        !is_same_place(pid, "root")) {
        return refuse(pid,
                      "it lives in another container or root, or may not be looked at: run sample "
                      "there, as its user or as root");
    }
    if (collector::auxiliary_value(pid, AT_SECURE).value_or(1) != 0) {
        return refuse(pid, "its program has more rights than who started it (setuid)");
    }
    if (collector::read_elf_facts(living_path(pid, "exe")).interpreter.empty()) {
        return refuse(pid,
                      "its program is statically linked, and has no loader for libsample.so: "
                      "leave --inject out");
    }
    if (has_agent(pid)) {
        return refuse(pid,
                      "it has it already, of a session that is over, or that does not sleep: "
                      "sample sessions lists what runs");
    }
    if (const auto libc = await_libc(pid); !libc) {
        return refuse(pid, libc.error().message());
    }
    if (is_in_mask(collector::status_of(pid), "SigCgt:") || blocks_signal(pid)) {
        return refuse(pid,
                      "its program handles or blocks SIGURG, which samples come by: leave "
                      "--inject out, or start it with sample record");
    }
    if (!can_keep_registers()) {
        return refuse(pid, "this processor, or this kernel, has no XSAVE");
    }
    if (library.size() >= sizeof RemoteData::library) {
        return refuse(pid, "the path of libsample.so is too long");
    }
    return {};
}

}  // namespace sample::inject
