#include "sampler/inject/held_thread.h"

#include "core/fd.h"
#include "sampler/inject/way_back.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

namespace sample::inject {
namespace {

using namespace std::chrono_literals;

/// On a busy machine it gets a processor that late.
constexpr auto kMostToStop = 5s;
constexpr auto kMostToRun = 5s;
constexpr long kLookNs = 20'000;
constexpr int kAtCall = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
constexpr std::uint64_t kCallBytes = 2;  // of the instruction `syscall`

// What the kernel says inside itself of a call that it starts over. Source: Linux
// include/linux/errno.h.
constexpr long kRestartSys = 512;
constexpr long kRestartNoIntr = 513;
constexpr long kRestartNoHandler = 514;
constexpr long kRestartBlock = 516;

/// Calls that wait, and fail with EINTR when they are interrupted, though nothing has come for the
/// program. Source: signal(7), "Interruption of system calls and library functions by stop
/// signals".
constexpr std::array<long, 5> kNotStartedOver{SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2,
                                              SYS_rt_sigtimedwait, SYS_read};

Error has_ended() {
    return {ErrorCode::not_found, 0, "the process has ended"};
}

long request(int what, pid_t tid, std::uint64_t address, const void* data) {
    return ::syscall(SYS_ptrace, what, tid, address, data);
}

bool is_left_to_kernel(long result) {
    return result == -kRestartSys || result == -kRestartNoIntr || result == -kRestartNoHandler ||
           result == -kRestartBlock;
}

bool is_not_started_over(const user_regs_struct& registers) {
    return static_cast<long>(registers.rax) == -EINTR &&
           std::find(kNotStartedOver.begin(), kNotStartedOver.end(),
                     static_cast<long>(registers.orig_rax)) != kNotStartedOver.end();
}

/// As they are before its system call.
void start_over(user_regs_struct& registers) {
    registers.rax = registers.orig_rax;
    registers.orig_rax = ~0ULL;
    registers.rip -= kCallBytes;
}

/// Masks are in base 16.
std::uint64_t number_in(const std::string& status, std::string_view key) {
    const std::size_t at = status.find(key);
    return at == std::string::npos ? 0
                                   : std::strtoull(status.c_str() + at + key.size(), nullptr, 16);
}

std::string status_of(pid_t pid, pid_t tid) {
    return read_small_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) +
                           "/status");
}

bool has_pending_signal(const std::string& status) {
    return ((number_in(status, "\nSigPnd:") | number_in(status, "\nShdPnd:")) &
            ~number_in(status, "\nSigBlk:")) != 0;
}

/// How long it could run, and others had the processors, in nanoseconds. Source: Linux
/// Documentation/scheduler/sched-stats.rst.
std::int64_t waited_for_processor(pid_t pid, pid_t tid) {
    const std::string text = read_small_file("/proc/" + std::to_string(pid) + "/task/" +
                                             std::to_string(tid) + "/schedstat");
    char* rest = nullptr;
    std::strtoll(text.c_str(), &rest, 10);
    return std::strtoll(rest, nullptr, 10);
}

}  // namespace

HeldThread::HeldThread(HeldThread&& other) noexcept
    : pid_{other.pid_},
      tid_{std::exchange(other.tid_, 0)},
      since_{other.since_},
      waited_ns_{other.waited_ns_},
      at_first_{other.at_first_},
      stands_{other.stands_},
      way_back_{other.way_back_},
      ours_from_{other.ours_from_},
      ours_to_{other.ours_to_},
      mask_{other.mask_},
      has_moved_{other.has_moved_} {}

HeldThread::~HeldThread() {
    if (tid_ != 0) {
        let_go();
    }
}

Result<HeldThread> HeldThread::seize(pid_t pid, pid_t tid) {
    if (request(PTRACE_SEIZE, tid, 0, reinterpret_cast<void*>(PTRACE_O_TRACESYSGOOD)) != 0) {
        return unexpected(errno == ESRCH
                              ? has_ended()
                              : Error{ErrorCode::permission, 0,
                                      "the kernel does not let this user trace it "
                                      "(kernel.yama.ptrace_scope), or somebody else does"});
    }
    HeldThread held{pid, tid};
    SAMPLE_CHECK(held.interrupt(Clock::now() + kMostToStop));
    held.since_ = Clock::now();
    held.waited_ns_ = waited_for_processor(pid, tid);
    if (request(PTRACE_GETREGS, tid, 0, &held.at_first_) != 0 ||
        request(PTRACE_GETSIGMASK, tid, sizeof held.mask_, &held.mask_) != 0) {
        return unexpected(has_ended());
    }
    const std::string status = status_of(pid, tid);
    if (has_pending_signal(status)) {
        // What its call returns is the signal's doing.
        held.at_first_.orig_rax = ~0ULL;
        return unexpected(ErrorCode::unsupported, "a signal is on its way to it");
    }
    if (is_not_started_over(held.at_first_) && !held.set(held.to_go_on())) {
        return unexpected(has_ended());
    }
    if (number_in(status, "\nSeccomp:") != 0) {
        return unexpected(ErrorCode::unsupported, "a filter may end it for a call of ours");
    }
    return held;
}

std::optional<long> HeldThread::interrupted_call() const {
    const bool is_in_call =
        static_cast<long>(at_first_.orig_rax) >= 0 &&
        (is_left_to_kernel(static_cast<long>(at_first_.rax)) || is_not_started_over(at_first_));
    return is_in_call ? std::optional{static_cast<long>(at_first_.orig_rax)} : std::nullopt;
}

bool HeldThread::is_in_restartable_sequence() const {
    __ptrace_rseq_configuration configuration{};
    if (request(PTRACE_GET_RSEQ_CONFIGURATION, tid_, sizeof configuration, &configuration) !=
            sizeof configuration ||
        configuration.rseq_abi_pointer == 0) {
        return false;
    }
    constexpr std::uint64_t kSequenceAt = 8;  // rseq_cs of struct rseq
    errno = 0;
    std::uint64_t sequence = 0;
    const long got =
        request(PTRACE_PEEKDATA, tid_, configuration.rseq_abi_pointer + kSequenceAt, &sequence);
    return got != 0 || sequence != 0;
}

user_regs_struct HeldThread::to_start_over() const {
    user_regs_struct registers = at_first_;
    if (interrupted_call()) {
        start_over(registers);
    }
    return registers;
}

user_regs_struct HeldThread::to_go_on() const {
    user_regs_struct registers = at_first_;
    if (is_not_started_over(registers)) {
        start_over(registers);
    }
    return registers;
}

Result<int> HeldThread::await_stop(Clock::time_point deadline) {
    for (;;) {
        int status = 0;
        const pid_t who = ::waitpid(tid_, &status, __WALL | WNOHANG);
        if (who == tid_ && WIFSTOPPED(status)) {
            stands_ = true;
            return status;
        }
        if (who == tid_ || (who < 0 && errno != EINTR)) {
            tid_ = 0;
            return unexpected(has_ended());
        }
        if (Clock::now() > deadline) {
            return unexpected(ErrorCode::unsupported, "it does not stop");
        }
        const timespec pause{0, kLookNs};
        ::nanosleep(&pause, nullptr);
    }
}

Result<void> HeldThread::interrupt(Clock::time_point deadline) {
    request(PTRACE_INTERRUPT, tid_, 0, nullptr);
    int signal = 0;
    for (;;) {
        if (stands_) {
            go_on(PTRACE_CONT, signal);  // runs no more of its program before it stops
        }
        SAMPLE_TRY(status, await_stop(deadline));
        if (status >> 16 == PTRACE_EVENT_STOP) {
            return {};
        }
        signal = WSTOPSIG(status) == kAtCall ? 0 : WSTOPSIG(status);
    }
}

Result<void> HeldThread::stop_at(int what, Clock::time_point deadline) {
    int signal = 0;
    for (;;) {
        go_on(what, signal);
        SAMPLE_TRY(status, await_stop(deadline));
        if (WSTOPSIG(status) == kAtCall) {
            return {};
        }
        signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;
    }
}

void HeldThread::go_on(int what, int signal) {
    stands_ = false;
    // A signal's number goes by the place of an address.
    request(what, tid_, 0, reinterpret_cast<void*>(static_cast<std::uintptr_t>(signal)));
}

bool HeldThread::set(const user_regs_struct& registers) const {
    return request(PTRACE_SETREGS, tid_, 0, &registers) == 0;
}

bool HeldThread::block_signals() const {
    const std::uint64_t all = ~std::uint64_t{0};
    return request(PTRACE_SETSIGMASK, tid_, sizeof all, &all) == 0;
}

Result<long> HeldThread::call(const CallPlaces& libc, long number,
                              const std::array<std::uint64_t, 6>& arguments) {
    if (way_back_ == 0) {
        SAMPLE_TRY(frame, leave_way_back(tid_, to_start_over(), mask_, libc.signal_return));
        way_back_ = frame;
        has_moved_ = true;
    }
    user_regs_struct registers = at_first_;
    registers.rip = libc.system_call;
    registers.rsp = way_back_;
    registers.rax = static_cast<unsigned long long>(number);
    registers.orig_rax = ~0ULL;
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    registers.r10 = arguments[3];
    registers.r8 = arguments[4];
    registers.r9 = arguments[5];
    const auto deadline = Clock::now() + kMostToRun;
    // Signals, as a handler's system calls would pass for ours; behind the registers, which lead to
    // the way back, as that has the mask.
    if (!set(registers) || !block_signals()) {
        return unexpected(has_ended());
    }
    SAMPLE_CHECK(stop_at(PTRACE_SYSCALL, deadline));  // before it
    SAMPLE_CHECK(stop_at(PTRACE_SYSCALL, deadline));  // and behind
    if (request(PTRACE_GETREGS, tid_, 0, &registers) != 0) {
        return unexpected(has_ended());
    }
    return static_cast<long>(registers.rax);
}

Result<void> HeldThread::run(std::uint64_t pc, std::uint64_t stack, std::uint64_t flags) {
    ours_from_ = pc;
    ours_to_ = stack;
    user_regs_struct registers = to_start_over();
    registers.orig_rax = ~0ULL;
    registers.rip = pc;
    registers.rsp = stack;
    registers.eflags = flags;
    has_moved_ = true;
    if (!block_signals() || !set(registers)) {
        return unexpected(has_ended());
    }
    go_on(PTRACE_CONT, 0);
    return {};
}

std::chrono::nanoseconds HeldThread::stood_still() const {
    const auto waited = std::chrono::nanoseconds{waited_for_processor(pid_, tid_) - waited_ns_};
    return std::max(std::chrono::nanoseconds{0}, Clock::now() - since_ - waited);
}

void HeldThread::let_go() {
    // Only where the kernel looks for signals it starts system calls over, so it has to stop there.
    if (has_moved_ && !interrupt(Clock::now() + kMostToRun)) {
        return;  // it has ended
    }
    user_regs_struct registers{};
    const auto is_ours = [this](std::uint64_t address) {
        return address >= ours_from_ && address <= ours_to_;
    };
    if (ours_to_ != 0 && (request(PTRACE_GETREGS, tid_, 0, &registers) != 0 ||
                          (!is_ours(registers.rip) && !is_ours(registers.rsp)))) {
        request(PTRACE_DETACH, tid_, 0, nullptr);  // it has gone on by itself
        return;
    }
    if (has_moved_) {
        // Its registers last: until they are its own, it gets them back by itself.
        request(PTRACE_SETSIGMASK, tid_, sizeof mask_, &mask_);
        static_cast<void>(set(to_go_on()));  // or it has ended
    }
    request(PTRACE_DETACH, tid_, 0, nullptr);
    tid_ = 0;
}

}  // namespace sample::inject
