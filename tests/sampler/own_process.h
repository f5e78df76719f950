// What the agent does around the handler, done for the test program itself: its modules, the stack
// of the calling thread, the signal, an event.
#pragma once

#include "bench/unwind/loaded_modules.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/clocks.h"
#include "sampler/source/perf_event.h"
#include "sampler/source/signal_cost.h"
#include "unwind/cfi/fde.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

namespace sample::capture {

/// The modules of the test program, under one generation after the other.
class OwnModules {
public:
    OwnModules() { renew(); }
    /// After an unload. Handlers may still read the last table.
    const unwind::ModuleTable* renew() {
        next_ = next_ % tables_.size();
        tables_[next_] = {modules_, ++generation_, unwind::LoaderLookup::ask};
        return &tables_[next_++];
    }
    [[nodiscard]] const unwind::ModuleTable* table() const { return &tables_[next_ - 1]; }

    /// Where the function of a frame begins, by its unwind table; 0 if unknown.
    [[nodiscard]] std::uint64_t function_of(std::uint64_t frame_bits) const {
        const Pc pc = FrameAddress::from_bits(frame_bits).lookup_pc();
        const unwind::Module* module = table()->find(pc);
        unwind::cfi::Fde fde;
        if (module == nullptr || unwind::cfi::find_fde(module->local_tables(), pc.value, fde) !=
                                     unwind::cfi::Found::yes) {
            return 0;
        }
        return fde.pc_begin;
    }

private:
    std::vector<unwind::Module> modules_ = unwind::loaded_modules();
    std::array<unwind::ModuleTable, 4> tables_;
    std::size_t next_ = 0;
    std::uint64_t generation_ = 0;
};

inline void tell_own_stack() {
    pthread_attr_t attributes;
    void* low = nullptr;
    std::size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    const auto begin = reinterpret_cast<std::uint64_t>(low);
    set_stack_bounds(begin, begin + size);
}

/// Sets a handler, and what was there before at the end.
class SignalAction {
public:
    SignalAction(int signal, void (*handler)(int, siginfo_t*, void*)) : signal_{signal} {
        struct sigaction action = {};
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        ::sigfillset(&action.sa_mask);
        ::sigaction(signal, &action, &before_);
    }
    SignalAction(const SignalAction&) = delete;
    SignalAction& operator=(const SignalAction&) = delete;
    ~SignalAction() { ::sigaction(signal_, &before_, nullptr); }

private:
    int signal_;
    struct sigaction before_ = {};
};

/// 10 kHz, or seldom enough that samples take a quarter of a thread's time at most: else nothing
/// but samples might go on.
inline std::uint64_t affordable_period_ns() {
    static const std::uint64_t period_ns = [] {
        constexpr std::uint64_t kPeriodNs = 100'000;
        constexpr std::uint32_t kSeldomHz = 1000;
        const std::atomic<bool> is_over{false};
        const auto cost = source::measure_signal_cost(control::Source::sigtrap, kSeldomHz, is_over);
        return std::max(kPeriodNs, cost ? 4 * cost->ns : 0);
    }();
    return period_ns;
}

/// A sigtrap event on the calling thread, and on those that it starts. Off until switched on.
class TrapEvent {
public:
    explicit TrapEvent(std::uint64_t period_ns) {
        source::PerfRequest request;
        request.period = period_ns;
        request.cookie = kSampleCookie;
        request.sigtrap = true;
        fd_ = source::open_event(request, 0);
    }
    TrapEvent(const TrapEvent&) = delete;
    TrapEvent& operator=(const TrapEvent&) = delete;
    ~TrapEvent() {
        if (fd_ >= 0) {
            off();
            ::close(fd_);
        }
    }
    /// 0, or why the kernel refused.
    [[nodiscard]] int problem() const { return fd_ < 0 ? -fd_ : 0; }
    void on() const { ::ioctl(fd_, PERF_EVENT_IOC_ENABLE, 0); }
    void off() const { ::ioctl(fd_, PERF_EVENT_IOC_DISABLE, 0); }

private:
    int fd_ = -1;
};

/// The siginfo of an expiry of our event. Source: Linux include/uapi/asm-generic/siginfo.h.
inline siginfo_t sample_info(std::uint64_t cookie = kSampleCookie) {
    siginfo_t info{};
    info.si_signo = SIGTRAP;
    info.si_code = 6;  // TRAP_PERF
    std::memcpy(reinterpret_cast<char*>(&info) + 24, &cookie, sizeof cookie);
    return info;
}

}  // namespace sample::capture

/// Skips the test where the kernel has no such event for us. Under CI that is a failure.
#define SAMPLE_NEEDS_EVENT(event)                                                            \
    if ((event).problem() != 0) {                                                            \
        GTEST_SKIP() << "perf_event_open with sigtrap: " << std::strerror((event).problem()) \
                     << "; see `sample doctor`";                                             \
    }
