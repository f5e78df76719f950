// A preload library with a signal handler that does nothing: what the sampling source costs by
// itself.
//
// It opens the event that sampler/source uses by default (perf cpu-clock with sigtrap, inherit,
// inherit_thread, remove_on_exec) on the main thread before main, at EMPTY_HANDLER_HZ (10000). The
// handler returns at once. If the event can't be opened it says so and ends the program with 125: a
// silent bare run would pass for a fast one.
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kDefaultHz = 10'000;
int event = -1;

void do_nothing(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {}

int open_event(std::uint64_t period_ns, bool with_kernel) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = period_ns;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.inherit_thread = 1;
    attributes.remove_on_exec = 1;
    attributes.sigtrap = 1;
    attributes.exclude_kernel = with_kernel ? 0 : 1;
    attributes.exclude_hv = 1;
    return static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

[[gnu::constructor]] void start() {
    const char* hz = std::getenv("EMPTY_HANDLER_HZ");  // NOLINT(concurrency-mt-unsafe): before main
    const std::uint64_t frequency = hz != nullptr ? std::strtoull(hz, nullptr, 10) : kDefaultHz;
    const std::uint64_t period_ns = kNsPerSecond / (frequency > 0 ? frequency : kDefaultHz);
    struct sigaction action {};
    action.sa_sigaction = do_nothing;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(SIGTRAP, &action, nullptr);
    event = open_event(period_ns, true);
    if (event < 0) {
        event = open_event(period_ns, false);  // perf_event_paranoid 2
    }
    if (event < 0) {
        std::fprintf(stderr, "empty_handler: perf_event_open: %s\n", strerrordesc_np(errno));
        _exit(125);
    }
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
}

[[gnu::destructor]] void stop() {
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
}

}  // namespace
