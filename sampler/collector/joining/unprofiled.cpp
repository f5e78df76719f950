#include "sampler/collector/joining/unprofiled.h"

#include "sampler/collector/process/proc_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace sample::collector {
namespace {

constexpr std::uint64_t kPatienceNs = 1'000'000'000;

enum class Seen { runs, gone, runs_another };

Seen look_at(pid_t pid, std::uint64_t device, std::uint64_t inode) {
    struct stat info = {};
    if (::stat(living_path(pid, "exe").c_str(), &info) != 0) {
        // A program with other rights than ours does not let us look: it runs.
        return errno == ENOENT || errno == ESRCH ? Seen::gone : Seen::runs;
    }
    return info.st_dev == device && info.st_ino == inode ? Seen::runs : Seen::runs_another;
}

}  // namespace

const char* describe(control::NotProfiled reason) {
    switch (reason) {
        case control::NotProfiled::none:
            break;
        case control::NotProfiled::static_program:
            return "it is statically linked: no library can be preloaded into it";
        case control::NotProfiled::privileged:
            return "it is setuid or setgid: the loader ignores preloaded libraries for it";
        case control::NotProfiled::capabilities:
            return "it has file capabilities: the loader ignores preloaded libraries for it";
        case control::NotProfiled::other_machine:
            return "it is not a 64-bit x86 program";
        case control::NotProfiled::musl:
            return "it is linked against musl: the agent needs glibc";
        case control::NotProfiled::out_of_reach:
            return "libsample.so is not to be found, or not to be read, from its root folder, as "
                   "in a chroot or under Landlock: put it there, at the same path, to have it "
                   "profiled";
        case control::NotProfiled::valgrind:
            return "it is valgrind, which runs the program on a processor that it simulates";
        case control::NotProfiled::traced:
            return "another profiled process traces it, and would be stopped by each sample";
        case control::NotProfiled::little_address_space:
            return "its address space is limited, and left to it: raise `ulimit -v` to 256 MB";
        case control::NotProfiled::two_users:
            return "who started it acts for another user or group than its own: the loader ignores "
                   "preloaded libraries then";
        case control::NotProfiled::no_room:
            return "its arguments and environment are so long that nothing can be added to them";
    }
    return "the agent cannot be loaded into it";
}

void UnprofiledPrograms::announced(const control::Unprofiled& said, pid_t peer,
                                   std::uint64_t now_ns) {
    // Another namespace's numbers mean nothing here but the sender's own, which the kernel told us.
    const bool same_namespace = said.sender_pid == static_cast<std::uint32_t>(peer);
    const auto pid = same_namespace ? said.pid : static_cast<std::uint32_t>(peer);
    if (said.reason == control::NotProfiled::none) {
        std::erase_if(pending_, [&](const Pending& known) {
            return known.program.pid == static_cast<std::uint32_t>(peer);
        });
        return;
    }
    if (pending_.size() >= kMost) {
        ++overlooked_;
        return;
    }
    Pending pending;
    pending.program.pid = pid;
    pending.program.parent_pid = said.parent_pid;
    pending.program.start_ns = now_ns;
    pending.program.executable.assign(said.path.data(),
                                      ::strnlen(said.path.data(), said.path.size()));
    pending.program.reason = describe(said.reason);
    pending.device = said.device;
    pending.inode = said.inode;
    pending_.push_back(std::move(pending));
}

void UnprofiledPrograms::has_run(pid_t pid) {
    for (Pending& known : pending_) {
        known.ran = known.ran || known.program.pid == static_cast<std::uint32_t>(pid);
    }
}

std::vector<trace::UnprofiledProgram> UnprofiledPrograms::settle(std::uint64_t now_ns,
                                                                 Heard heard) {
    std::vector<trace::UnprofiledProgram> certain;
    std::erase_if(pending_, [&](Pending& known) {
        // Once it is gone, its number may be another's.
        const Seen seen = known.ran             ? Seen::runs
                          : known.gone_since_ns ? Seen::gone
                                                : look_at(static_cast<pid_t>(known.program.pid),
                                                          known.device, known.inode);
        if (seen == Seen::gone && !known.gone_since_ns) {
            known.gone_since_ns = now_ns;
        }
        const std::uint64_t since_ns = known.gone_since_ns.value_or(known.program.start_ns);
        const bool is_over = now_ns - since_ns > kPatienceNs;
        if (seen == Seen::runs || (seen == Seen::gone && (is_over || heard == Heard::everything))) {
            certain.push_back(std::move(known.program));
            return true;
        }
        return is_over;
    });
    return certain;
}

}  // namespace sample::collector
