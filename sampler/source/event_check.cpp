#include "core/fd.h"
#include "sampler/source/event_spec.h"
#include "sampler/source/perf_event.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

namespace sample::source {
namespace {

/// A descriptor, or a negative errno.
int open_on_this_thread(const EventSpec& event, bool sigtrap, bool exclude_kernel) {
    constexpr std::uint64_t kAnyClockPeriod = 1'000'000;
    PerfRequest request;
    request.type = event.type;
    request.config = event.config;
    request.period = event.is_clock ? kAnyClockPeriod : event.period;
    request.exclude_kernel = exclude_kernel;
    request.sigtrap = sigtrap;
    return open_event(request, 0);
}

Unexpected refuse(const EventSpec& event, ErrorCode code, const std::string& why) {
    return unexpected(code, "--event " + event.name + " " + why);
}

Unexpected refuse_open(const EventSpec& event, int failure) {
    constexpr const char* kInstead =
        "; the events of the kernel work: page-faults, context-switches, ... (`sample record "
        "--help`)";
    switch (failure) {
        case ENOENT:
        case ENODEV:
        case EOPNOTSUPP:
            return refuse(event, ErrorCode::unsupported,
                          std::string{"is not counted by this machine: virtual machines mostly "
                                      "have no hardware counters"} +
                              kInstead);
        case EACCES:
        case EPERM:
            return refuse(event, ErrorCode::permission,
                          "is refused to unprivileged users here: sudo sysctl "
                          "kernel.perf_event_paranoid=1, or run sample as root");
        case EINVAL:
            return refuse(event, ErrorCode::invalid_argument,
                          "is nothing that this machine's counters understand, or needs Linux "
                          "5.13: see the processor's manual, or --source perf");
        default: {
            Error error;
            error.errno_value = failure;
            error.context = "--event " + event.name + " cannot be opened";
            return unexpected(std::move(error));
        }
    }
}

// The trial.

constexpr int kEndless = 200;
constinit volatile std::sig_atomic_t g_hits = 0;
constinit volatile std::sig_atomic_t g_event = -1;

void count_hit(int /*signal*/) {
    g_hits = g_hits + 1;
    if (g_hits >= kEndless) {
        ::ioctl(g_event, PERF_EVENT_IOC_DISABLE, 0);
    }
}

/// In a child of its own: sends itself one signal while the event is on. Never returns.
[[noreturn]] void run_trial(const EventSpec& event) {
    struct sigaction action = {};
    action.sa_handler = count_hit;
    ::sigfillset(&action.sa_mask);
    ::sigaction(SIGTRAP, &action, nullptr);
    sigset_t none{};
    ::sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    g_event = open_on_this_thread(event, true, false);
    if (g_event >= 0) {
        ::ioctl(g_event, PERF_EVENT_IOC_ENABLE, 0);
        ::raise(SIGTRAP);
        ::ioctl(g_event, PERF_EVENT_IOC_DISABLE, 0);
    }
    ::_exit(g_hits >= kEndless ? 1 : 0);
}

/// Whether each sample of the event would cause the next. A child that does not end is one, too.
bool causes_itself(const EventSpec& event) {
    constexpr int kPatienceMs = 2000;
    const pid_t child = ::fork();
    if (child < 0) {
        return false;
    }
    if (child == 0) {
        run_trial(event);
    }
    const Fd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, child, 0))};
    pollfd ended{pidfd.get(), POLLIN, 0};
    if (::poll(&ended, 1, kPatienceMs) <= 0) {
        ::kill(child, SIGKILL);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

}  // namespace

OpenAttempt try_event(const EventSpec& event, bool sigtrap) {
    int fd = sigtrap ? open_on_this_thread(event, true, false) : -EACCES;
    const bool exclude_kernel = fd == -EACCES || fd == -EPERM;
    if (exclude_kernel) {
        fd = open_on_this_thread(event, sigtrap, true);
    }
    if (fd < 0) {
        return {.errno_value = -fd};
    }
    Fd{fd}.reset();
    return {.works = true, .exclude_kernel = exclude_kernel};
}

Result<void> check_event(const EventSpec& event, control::Source source) {
    using control::Source;
    bool by_sigtrap = source != Source::perf;
    OpenAttempt attempt = try_event(event, by_sigtrap);
    if (!attempt.works && by_sigtrap && source == Source::none) {
        by_sigtrap = false;
        attempt = try_event(event, false);
    }
    if (!attempt.works) {
        return refuse_open(event, attempt.errno_value);
    }
    if (event.in_kernel && attempt.exclude_kernel) {
        return by_sigtrap ? refuse(event, ErrorCode::permission,
                                   "happens inside the kernel, which unprivileged users may not "
                                   "see here: it would count nothing; sudo sysctl "
                                   "kernel.perf_event_paranoid=1, or run sample as root")
                          : refuse(event, ErrorCode::unsupported,
                                   "happens inside the kernel, where source perf would cut system "
                                   "calls short: it needs source sigtrap (Linux 5.13)");
    }
    if (event.type == PERF_TYPE_TRACEPOINT && causes_itself(event)) {
        return refuse(event, ErrorCode::unsupported,
                      "is caused by the sampling signal itself, so each sample would cause the "
                      "next: choose one that is not on the signal's way, e.g. "
                      "syscalls:sys_enter_read for raw_syscalls:sys_enter");
    }
    return {};
}

}  // namespace sample::source
