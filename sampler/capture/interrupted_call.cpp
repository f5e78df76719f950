#include "sampler/capture/interrupted_call.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/raw_syscall.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>

namespace sample::capture {
namespace {

constinit std::atomic<bool> g_may_ask{true};

constexpr long kSyscallBytes = 2;
constexpr greg_t kResumeFlag = 0x10000;
constexpr long kSetBytes = 8;
constexpr int kSignals = 64;

bool is_at_restarted_call(const gregset_t& regs) noexcept {
    return regs[REG_RCX] == regs[REG_RIP] + kSyscallBytes &&
           ((regs[REG_R11] ^ regs[REG_EFL]) & ~kResumeFlag) == 0;
}

/// Files on a disk answer without waiting.
bool waits_for_others(long fd) noexcept {
    struct stat status {};
    return raw_syscall(SYS_fstat, fd, as_argument(&status)) == 0 && !S_ISREG(status.st_mode) &&
           !S_ISDIR(status.st_mode) && !S_ISBLK(status.st_mode) &&
           (raw_syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK) == 0;
}

/// Whether the call is one that a signal ends by EINTR or restarts, as its handler says, and waits.
/// Source: signal(7).
bool may_wait(const gregset_t& regs) noexcept {
    const auto flag_of = [](greg_t word, int flag) { return (word & flag) != 0; };
    switch (regs[REG_RAX]) {
        case SYS_read:
        case SYS_readv:
        case SYS_write:
        case SYS_writev:
        case SYS_accept:
        case SYS_accept4:
        case SYS_connect:
            return waits_for_others(regs[REG_RDI]);
        case SYS_recvfrom:
        case SYS_sendto:
        case SYS_recvmmsg:
        case SYS_sendmmsg:
            return !flag_of(regs[REG_R10], MSG_DONTWAIT) && waits_for_others(regs[REG_RDI]);
        case SYS_recvmsg:
        case SYS_sendmsg:
            return !flag_of(regs[REG_RDX], MSG_DONTWAIT) && waits_for_others(regs[REG_RDI]);
        case SYS_wait4:
            return !flag_of(regs[REG_RDX], WNOHANG);
        case SYS_waitid:
            return !flag_of(regs[REG_R10], WNOHANG);
        case SYS_fcntl:
            return regs[REG_RSI] == F_SETLKW || regs[REG_RSI] == F_OFD_SETLKW;
        case SYS_flock:
        case SYS_mq_timedsend:
        case SYS_mq_timedreceive:
            return true;
        case SYS_futex: {
            const auto operation = static_cast<int>(regs[REG_RSI]) & FUTEX_CMD_MASK;
            return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
        }
        default:
            return false;
    }
}

/// What the first of the signals that come next says: its handler interrupts.
bool is_to_be_interrupted(std::uint64_t blocked) noexcept {
    std::uint64_t pending = 0;
    if (raw_syscall(SYS_rt_sigpending, as_argument(&pending), kSetBytes) != 0) {
        return false;
    }
    for (std::uint64_t left = pending & ~blocked; left != 0; left &= left - 1) {
        KernelAction action{};
        raw_syscall(SYS_rt_sigaction, std::countr_zero(left) + 1, 0, as_argument(&action),
                    kSetBytes);
        if (action.handler != SIG_DFL && action.handler != SIG_IGN) {
            return (action.flags & SA_RESTART) == 0;
        }
    }
    return false;
}

/// The number that the code before a system call's return address puts into rax, as libc does it;
/// -1: something else is there, or it may not be read.
long number_before(greg_t pc) noexcept {
    std::array<unsigned char, 7> code{};
    const iovec here{code.data(), code.size()};
    const iovec there{reinterpret_cast<void*>(pc - static_cast<greg_t>(code.size())), code.size()};
    if (raw_syscall(SYS_process_vm_readv, raw_syscall(SYS_getpid), as_argument(&here), 1,
                    as_argument(&there), 1, 0) != static_cast<long>(code.size()) ||
        code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05) {
        return -1;
    }
    std::int32_t number = 0;
    __builtin_memcpy(&number, &code[1], sizeof number);
    return number;
}

/// Ends with EINTR whatever the handler says, and has done nothing then. Source: signal(7).
bool is_never_restarted(long number) noexcept {
    switch (number) {
        case SYS_poll:
        case SYS_ppoll:
        case SYS_select:
        case SYS_pselect6:
        case SYS_epoll_wait:
        case SYS_epoll_pwait:
        case SYS_nanosleep:
        case SYS_clock_nanosleep:
        case SYS_futex:
        case SYS_semop:
        case SYS_semtimedop:
        case SYS_msgrcv:
        case SYS_msgsnd:
        case SYS_rt_sigtimedwait:
        case SYS_recvfrom:
        case SYS_recvmsg:
        case SYS_sendto:
        case SYS_sendmsg:
        case SYS_accept:
        case SYS_accept4:
            return true;
        default:
            return false;
    }
}

bool has_handlers() noexcept {
    for (int signal = 1; signal <= kSignals; ++signal) {
        KernelAction action{};
        if (signal != SIGTRAP && signal != kAsyncSignal &&
            raw_syscall(SYS_rt_sigaction, signal, 0, as_argument(&action), kSetBytes) == 0 &&
            action.handler != SIG_DFL && action.handler != SIG_IGN) {
            return true;
        }
    }
    return false;
}

/// The registers that carry arguments are as they were before the call.
void make_again(gregset_t& regs) noexcept {
    const long number = number_before(regs[REG_RIP]);
    if (is_never_restarted(number) && !has_handlers()) {
        regs[REG_RAX] = number;
        regs[REG_RIP] -= kSyscallBytes;
    }
}

}  // namespace

void leave_calls_restarted() noexcept {
    g_may_ask.store(false, std::memory_order_relaxed);
}
bool may_ask_who_waits() noexcept {
    return g_may_ask.load(std::memory_order_relaxed);
}

void answer_interrupted_call(ucontext_t& context, bool was_awake) noexcept {
    gregset_t& regs = context.uc_mcontext.gregs;
    if (regs[REG_RAX] == -EINTR && was_awake && may_ask_who_waits()) {
        make_again(regs);
        return;
    }
    if (!is_at_restarted_call(regs) || !may_ask_who_waits() || !may_wait(regs)) {
        return;
    }
    std::uint64_t blocked = 0;
    __builtin_memcpy(&blocked, &context.uc_sigmask, sizeof blocked);
    if (is_to_be_interrupted(blocked)) {
        regs[REG_RAX] = -EINTR;
        regs[REG_RIP] += kSyscallBytes;
    }
}

}  // namespace sample::capture
