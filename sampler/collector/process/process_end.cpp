#include "sampler/collector/process/process_end.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

namespace sample::collector {
namespace {

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

}  // namespace

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
    return {};
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
