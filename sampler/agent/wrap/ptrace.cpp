// ptrace, and the calls that wait for what is traced: a process that another one of the session
// traces is not sampled, as each sample's signal would stop it for its tracer, and its next image
// starts without us.
//
// What had been on its way by then stops it all the same, and a thread's own timer goes on. So the
// tracer's calls that wait tell the program of no such stop: the thread goes on as its tracer had
// asked it to, without the signal.
//
// A tracer from outside of the session has chosen to see us; see docs/sources.md for that one.
#include "sampler/agent/confinement/confinement.h"
#include "sampler/agent/session/session_client.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/agent/wrap/numbered_call.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/raw_syscall.h"

#include <linux/ptrace.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

SAMPLE_NEXT(g_ptrace, "ptrace", long(int, pid_t, void*, void*));
SAMPLE_NEXT(g_wait, "wait", pid_t(int*));
SAMPLE_NEXT(g_waitpid, "waitpid", pid_t(pid_t, int*, int));
SAMPLE_NEXT(g_wait3, "wait3", pid_t(int*, int, rusage*));
SAMPLE_NEXT(g_wait4, "wait4", pid_t(pid_t, int*, int, rusage*));
SAMPLE_NEXT(g_waitid, "waitid", int(idtype_t, id_t, siginfo_t*, int));

constinit std::atomic<bool> g_traces{false};

/// How each traced thread was last let run: thread id << 32 | request. One that has no place goes
/// on as after PTRACE_CONT.
constexpr std::size_t kPlacesOfOne = 16;
constinit std::array<std::atomic<std::uint64_t>, 1024> g_requests{};

std::atomic<std::uint64_t>* place_of(pid_t tid) noexcept {
    std::atomic<std::uint64_t>* free_place = nullptr;
    for (std::size_t probe = 0; probe < kPlacesOfOne; ++probe) {
        auto& place = g_requests[(static_cast<std::size_t>(tid) + probe) % g_requests.size()];
        const std::uint64_t entry = place.load(std::memory_order_relaxed);
        if (entry >> 32U == static_cast<std::uint32_t>(tid)) {
            return &place;
        }
        free_place = entry == 0 && free_place == nullptr ? &place : free_place;
    }
    return free_place;
}

bool lets_run(long request) noexcept {
    switch (request) {
        case PTRACE_CONT:
        case PTRACE_SYSCALL:
        case PTRACE_SINGLESTEP:
        case PTRACE_SINGLEBLOCK:
        case PTRACE_SYSEMU:
        case PTRACE_SYSEMU_SINGLESTEP:
        case PTRACE_LISTEN:
            return true;
        default:
            return false;
    }
}

void note_request(long request, pid_t tid) noexcept {
    g_traces.store(true, std::memory_order_relaxed);
    if (auto* const place = place_of(tid); place != nullptr) {
        place->store(static_cast<std::uint64_t>(tid) << 32U | static_cast<std::uint32_t>(request),
                     std::memory_order_relaxed);
    }
}

void forget_request(pid_t tid) noexcept {
    auto* const place = place_of(tid);
    if (place != nullptr) {
        place->store(0, std::memory_order_relaxed);
    }
}

template <class Next>
long trace(long request, pid_t pid, Next next) noexcept {
    if (request == PTRACE_TRACEME) {
        before_being_traced();
    } else if (request == PTRACE_ATTACH || request == PTRACE_SEIZE) {
        note_request(PTRACE_CONT, pid);
        const AnnouncedTracing announced{pid};
        return next();
    } else if (lets_run(request)) {
        note_request(request, pid);
    } else if (request == PTRACE_DETACH) {
        forget_request(pid);
    }
    return next();
}

/// The thread is stopped by a sample, and goes on. False: nothing of the kind; also if another
/// thread of ours traces it.
bool pass_over_sample(pid_t tid, int signal) noexcept {
    siginfo_t info{};
    if ((signal != SIGTRAP && signal != capture::kAsyncSignal) ||
        raw_syscall(SYS_ptrace, PTRACE_GETSIGINFO, tid, 0, as_argument(&info)) != 0 ||
        !capture::is_anybodys_sample(info)) {
        return false;
    }
    const auto* const place = place_of(tid);
    const std::uint64_t entry = place == nullptr ? 0 : place->load(std::memory_order_relaxed);
    const long request =
        entry == 0 ? long{PTRACE_CONT} : static_cast<long>(static_cast<std::uint32_t>(entry));
    return raw_syscall(SYS_ptrace, request, tid, 0, 0) == 0;
}

/// `wait(status)` until it returns something that is the program's.
template <class Wait>
auto wait_past_samples(int* status, Wait wait) {
    int own = 0;
    int* const told = status != nullptr ? status : &own;
    for (;;) {
        const auto tid = wait(g_traces.load(std::memory_order_relaxed) ? told : status);
        if (tid <= 0 || !g_traces.load(std::memory_order_relaxed)) {
            return tid;
        }
        if (!WIFSTOPPED(*told)) {
            forget_request(static_cast<pid_t>(tid));
            return tid;
        }
        if (*told >> 16 != 0 || !pass_over_sample(static_cast<pid_t>(tid), WSTOPSIG(*told))) {
            return tid;
        }
    }
}

/// `wait(info)`, likewise.
template <class Wait>
auto wait_id_past_samples(siginfo_t* info, Wait wait) {
    siginfo_t own{};
    for (;;) {
        const bool traces = g_traces.load(std::memory_order_relaxed);
        siginfo_t* const told = info != nullptr || !traces ? info : &own;
        const auto result = wait(told);
        if (result != 0 || !traces || told->si_pid == 0 || told->si_code != CLD_TRAPPED ||
            !pass_over_sample(told->si_pid, told->si_status)) {
            return result;
        }
    }
}

template <class T>
T* pointer_of(long argument) noexcept {
    return reinterpret_cast<T*>(argument);
}

}  // namespace

long trace_by_number(const NumberedCall& call) noexcept {
    return trace(call.a, static_cast<pid_t>(call.b), [&] { return make(call); });
}

long wait4_by_number(const NumberedCall& call) noexcept {
    return wait_past_samples(pointer_of<int>(call.b), [&](int* status) {
        NumberedCall passed = call;
        passed.b = as_argument(status);
        return make(passed);
    });
}

long waitid_by_number(const NumberedCall& call) noexcept {
    return wait_id_past_samples(pointer_of<siginfo_t>(call.c), [&](siginfo_t* info) {
        NumberedCall passed = call;
        passed.c = as_argument(info);
        return make(passed);
    });
}

}  // namespace sample::agent

extern "C" {

namespace agent = sample::agent;

SAMPLE_WRAPPER long ptrace(int request, ...) noexcept {
    va_list list;
    va_start(list, request);
    const auto pid = va_arg(list, pid_t);
    auto* address = va_arg(list, void*);
    auto* data = va_arg(list, void*);
    va_end(list);
    return agent::trace(request, pid,
                        [&] { return agent::g_ptrace.get()(request, pid, address, data); });
}

// Points of cancellation: not noexcept, but for those that libc declares so.

SAMPLE_WRAPPER pid_t wait(int* status) {
    return agent::wait_past_samples(status, [](int* told) { return agent::g_wait.get()(told); });
}

SAMPLE_WRAPPER pid_t waitpid(pid_t pid, int* status, int options) {
    return agent::wait_past_samples(
        status, [&](int* told) { return agent::g_waitpid.get()(pid, told, options); });
}

SAMPLE_WRAPPER pid_t wait3(int* status, int options, rusage* usage) noexcept {
    return agent::wait_past_samples(
        status, [&](int* told) { return agent::g_wait3.get()(told, options, usage); });
}

SAMPLE_WRAPPER pid_t wait4(pid_t pid, int* status, int options, rusage* usage) noexcept {
    return agent::wait_past_samples(
        status, [&](int* told) { return agent::g_wait4.get()(pid, told, options, usage); });
}

SAMPLE_WRAPPER int waitid(idtype_t kind, id_t id, siginfo_t* info, int options) {
    return agent::wait_id_past_samples(
        info, [&](siginfo_t* told) { return agent::g_waitid.get()(kind, id, told, options); });
}

}  // extern "C"
