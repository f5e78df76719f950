#include "sampler/capture/interrupted_call.h"

#include "sampler/capture/calls_that_go_on.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/inherited_state.h"
#include "sampler/capture/raw_syscall.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>

namespace sample::capture {
namespace {

constinit std::atomic<bool> g_may_ask{true};
constinit std::atomic<std::uint64_t> g_relay{0};
constinit thread_local bool t_leaves_eintr = false;
constinit std::atomic<std::uint64_t> g_libc_begin{0};
constinit std::atomic<std::uint64_t> g_libc_bytes{0};

constexpr long kSyscallBytes = 2;
constexpr greg_t kResumeFlag = 0x10000;
constexpr long kSetBytes = 8;
constexpr int kSignals = 64;
/// libc's own, of which a process with threads has handlers that mean to end no call. Source: glibc
/// sysdeps/unix/sysv/linux/internal-signals.h.
constexpr int kCancelSignal = 32;
constexpr int kSetxidSignal = 33;

/// Whether the last system call, as rcx and r11 have it, returns `bytes` behind the thread's place.
bool has_made_call(const gregset_t& regs, greg_t bytes) noexcept {
    return regs[REG_RCX] == regs[REG_RIP] + bytes &&
           ((regs[REG_R11] ^ regs[REG_EFL]) & ~kResumeFlag) == 0;
}

bool is_at_restarted_call(const gregset_t& regs) noexcept {
    return has_made_call(regs, kSyscallBytes);
}

/// make_again() has ended it, and it has not begun once more: r11, which the call overwrites, says
/// so.
constexpr greg_t kMadeAgain = 0x6167'6169'6e00;
bool is_to_be_made_again(const gregset_t& regs) noexcept {
    return regs[REG_RCX] == regs[REG_RIP] + kSyscallBytes && regs[REG_R11] == kMadeAgain;
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
        case SYS_pread64:
        case SYS_preadv:
        case SYS_preadv2:
        case SYS_write:
        case SYS_writev:
        case SYS_pwrite64:
        case SYS_pwritev:
        case SYS_pwritev2:
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
            return !flag_of(regs[REG_RSI], LOCK_NB);
        case SYS_splice:
            return !flag_of(regs[REG_R9], SPLICE_F_NONBLOCK);
        case SYS_tee:
        case SYS_vmsplice:
            return !flag_of(regs[REG_R10], SPLICE_F_NONBLOCK);
        case SYS_sendfile:
            return waits_for_others(regs[REG_RDI]) || waits_for_others(regs[REG_RSI]);
        case SYS_getrandom:
            return !flag_of(regs[REG_RDX], GRND_NONBLOCK);
        case SYS_futex: {
            const auto operation = static_cast<int>(regs[REG_RSI]) & FUTEX_CMD_MASK;
            return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
        }
        default:
            return !goes_on(regs[REG_RAX]);
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

/// What lies at `address`, if anything does. By the thread's own id: the process's is its first
/// thread's, which may have left.
bool read_memory(greg_t address, void* to, std::size_t bytes) noexcept {
    const iovec here{to, bytes};
    const iovec there{reinterpret_cast<void*>(address), bytes};
    return raw_syscall(SYS_process_vm_readv, raw_syscall(SYS_gettid), as_argument(&here), 1,
                       as_argument(&there), 1, 0) == static_cast<long>(bytes);
}

constexpr bool is_prefix(unsigned char byte) noexcept {
    return (byte & 0xf0) == 0x40;  // REX
}

/// The register that an instruction `mov %REGISTER, %eax` (or %rax) copies, by its last three
/// bytes; -1: it is another one, it cannot be told, or the call has written that register.
int copied_register(const unsigned char* code) noexcept {
    constexpr std::array<int, 8> kPlaces{-1,      -1,      REG_RDX, REG_RBX,
                                         REG_RSP, REG_RBP, REG_RSI, REG_RDI};
    constexpr unsigned char kMove = 0x89;
    constexpr unsigned char kToRax = 0xc0;
    constexpr unsigned char kRegister = 0x38;
    constexpr unsigned char kOtherRegisters = 0x05;
    // What looks like a prefix may be the end of the instruction before.
    if (code[1] != kMove || (code[2] & ~kRegister) != kToRax ||
        (is_prefix(code[0]) && (code[0] & kOtherRegisters) != 0)) {
        return -1;
    }
    return kPlaces[static_cast<std::size_t>((code[2] & kRegister) >> 3)];
}

/// The bytes of a `mov OFFSET(%rsp), %REGISTER` that ends at `end`; 0: none does, or into rax.
std::size_t load_before(const unsigned char* end) noexcept {
    constexpr unsigned char kLoad = 0x8b;
    constexpr unsigned char kStack = 0x24;
    constexpr unsigned char kRegister = 0x38;
    constexpr unsigned char kUpperRegister = 0x04;
    std::size_t bytes = 0;
    if (end[-3] == kLoad && (end[-2] & ~kRegister) == 0x04 && end[-1] == kStack) {
        bytes = 3;
    } else if (end[-4] == kLoad && (end[-3] & ~kRegister) == 0x44 && end[-2] == kStack) {
        bytes = 4;
    } else {
        return 0;
    }
    const unsigned char* const begin = end - bytes;
    const bool has_prefix = is_prefix(begin[-1]);
    if ((begin[1] & kRegister) == 0 && !(has_prefix && (begin[-1] & kUpperRegister) != 0)) {
        return 0;
    }
    return bytes + (has_prefix ? 1 : 0);
}

/// Whether `mov $NUMBER, %eax` ends at `end`. In code that nobody has looked at the bytes may be
/// another instruction's, by the two that stand before: of a place in memory, or of r8.
bool is_constant(const unsigned char* end, bool is_libcs) noexcept {
    const unsigned char before = end[-6];
    const bool may_be_place = (before & 0x07) == 0x04 && (before & 0xc0) != 0xc0;
    const bool may_be_longer = is_prefix(end[-7]) && (end[-7] & 0x01) != 0;
    return end[-5] == 0xb8 && !is_prefix(before) && (is_libcs || !(may_be_place || may_be_longer));
}

/// libc's syscall() has moved it away. Our own, in front of it, leaves it in the red zone, with the
/// return address beside: what lies there is of this very call. -1: it is not there.
long number_of_libcs_syscall(const gregset_t& regs) noexcept {
    struct {
        std::uint64_t caller;
        std::int64_t number;
        std::uint64_t return_address;
    } words{};
    return read_memory(regs[REG_RSP] - 16, &words, sizeof words) &&
                   words.caller == words.return_address
               ? words.number
               : -1;
}

/// The number that the code before a system call's return address puts into rax, as compilers do
/// it: `mov $NUMBER, %eax`, right before; in libc's code moreover `xor %eax, %eax`, a copy of a
/// register, two loads in between, or its syscall(). -1: something else is there, or it may not be
/// read.
long number_before(const gregset_t& regs) noexcept {
    constexpr std::size_t kBytes = 20;
    std::array<unsigned char, kBytes> code{};
    if (!read_memory(regs[REG_RIP] - static_cast<greg_t>(kBytes), code.data(), kBytes) ||
        code[kBytes - 2] != 0x0f || code[kBytes - 1] != 0x05) {
        return -1;
    }
    const auto pc = static_cast<std::uint64_t>(regs[REG_RIP]);
    const bool is_libcs = pc - g_libc_begin.load(std::memory_order_relaxed) <
                          g_libc_bytes.load(std::memory_order_relaxed);
    const unsigned char* end = &code[kBytes - kSyscallBytes];
    // mov %r9, %r8; mov 8(%rsp), %r9. Source: glibc sysdeps/unix/sysv/linux/x86_64/syscall.S.
    constexpr std::array<unsigned char, 8> kLibcsSyscall{0x4d, 0x89, 0xc8, 0x4c,
                                                         0x8b, 0x4c, 0x24, 0x08};
    if (is_libcs &&
        std::equal(kLibcsSyscall.begin(), kLibcsSyscall.end(), end - kLibcsSyscall.size())) {
        return number_of_libcs_syscall(regs);
    }
    const std::size_t loads = is_libcs ? load_before(end) : 0;
    end -= loads;
    end -= loads != 0 ? load_before(end) : 0;
    if (is_constant(end, is_libcs)) {
        std::int32_t number = 0;
        __builtin_memcpy(&number, end - sizeof number, sizeof number);
        return number;
    }
    if (!is_libcs) {
        return -1;
    }
    if (end[-2] == 0x31 && end[-1] == 0xc0 && !is_prefix(end[-3])) {
        return 0;
    }
    // A load may have written the register, and no compiler copies a 0.
    const int place = loads == 0 ? copied_register(end - 3) : -1;
    return place < 0 || regs[place] == 0 ? -1 : static_cast<std::int32_t>(regs[place]);
}

/// Whether a connect(2) that a signal has ended goes on when it is made again: the kernel does so
/// itself where the socket has no timeout. (With one it ends by EALREADY, and not EINPROGRESS, when
/// that is over.) Sockets of other kinds begin anew, or are of no more use. Source: Linux
/// net/ipv4/af_inet.c, __inet_stream_connect; net/unix/af_unix.c, unix_stream_connect.
bool goes_on_connecting(const gregset_t& regs) noexcept {
    sa_family_t family = AF_UNSPEC;
    return read_memory(regs[REG_RSI], &family, sizeof family) &&
           (family == AF_INET || family == AF_INET6 || family == AF_UNIX);
}

/// Ends with EINTR whatever the handler says, and has done nothing then, or goes on when it is made
/// again. Not close(2), which has closed. Source: signal(7); inotify(7), whose read(2) is the one
/// that ends so; in io_uring_enter(2) even a sample by sigtrap is delivered while it waits.
bool is_never_restarted(long number) noexcept {
    static constexpr std::array kCalls{SYS_poll,          SYS_ppoll,           SYS_select,
                                       SYS_pselect6,      SYS_epoll_wait,      SYS_epoll_pwait,
                                       SYS_epoll_pwait2,  SYS_nanosleep,       SYS_futex,
                                       SYS_futex_waitv,   SYS_clock_nanosleep, SYS_pause,
                                       SYS_rt_sigsuspend, SYS_semop,           SYS_semtimedop,
                                       SYS_msgrcv,        SYS_msgsnd,          SYS_rt_sigtimedwait,
                                       SYS_io_getevents,  SYS_io_pgetevents,   SYS_io_uring_enter,
                                       SYS_recvfrom,      SYS_recvmsg,         SYS_recvmmsg,
                                       SYS_sendto,        SYS_sendmsg,         SYS_sendmmsg,
                                       SYS_accept,        SYS_accept4,         SYS_read,
                                       SYS_connect};
    return std::find(kCalls.begin(), kCalls.end(), number) != kCalls.end();
}

void give_eintr(gregset_t& regs) noexcept {
    regs[REG_RAX] = -EINTR;
    regs[REG_RIP] += kSyscallBytes;
}

/// Whether a handler of the program, and not the sample, may have ended the call that `regs` are
/// right behind.
bool may_be_programs(const gregset_t& regs, std::uint64_t blocked) noexcept {
    if (!has_made_call(regs, 0)) {
        return true;  // one that has returned has left its mark
    }
    std::uint64_t handled = 0;
    for (int signal = 1; signal <= kSignals; ++signal) {
        KernelAction action{};
        const bool is_set =
            signal != kCancelSignal && signal != kSetxidSignal &&
            raw_syscall(SYS_rt_sigaction, signal, 0, as_argument(&action), kSetBytes) == 0 &&
            action.handler != SIG_DFL && action.handler != SIG_IGN;
        const auto handler = reinterpret_cast<std::uint64_t>(action.handler);
        if (!is_set || handler == reinterpret_cast<std::uint64_t>(&on_signal)) {
            continue;
        }
        if (handler != g_relay.load(std::memory_order_relaxed)) {
            return true;
        }
        handled |= std::uint64_t{1} << (signal - 1);
    }
    std::uint64_t pending = 0;
    return handled != 0 && (raw_syscall(SYS_rt_sigpending, as_argument(&pending), kSetBytes) != 0 ||
                            (pending & ~blocked & handled) != 0);
}

/// The registers that carry arguments are as they were before the call.
void make_again(gregset_t& regs, std::uint64_t blocked) noexcept {
    const long number = number_before(regs);
    if (is_never_restarted(number) && (number != SYS_connect || goes_on_connecting(regs)) &&
        !may_be_programs(regs, blocked)) {
        regs[REG_RCX] = regs[REG_RIP];
        regs[REG_R11] = kMadeAgain;
        regs[REG_RAX] = number;
        regs[REG_RIP] -= kSyscallBytes;
    }
}

}  // namespace

bool is_behind_call(const ucontext_t& context) noexcept {
    return has_made_call(context.uc_mcontext.gregs, 0);
}

void set_relay(void (*relay)(int, siginfo_t*, void*)) noexcept {
    g_relay.store(reinterpret_cast<std::uint64_t>(relay), std::memory_order_relaxed);
}

void answer_for_handler(ucontext_t& context, std::uint64_t flags) noexcept {
    gregset_t& regs = context.uc_mcontext.gregs;
    if (regs[REG_RAX] == -EINTR && has_made_call(regs, 0)) {
        regs[REG_RCX] = 0;
    } else if (is_to_be_made_again(regs) || ((flags & SA_RESTART) == 0 && may_ask_who_waits() &&
                                             is_at_restarted_call(regs) && may_wait(regs))) {
        give_eintr(regs);
        regs[REG_RCX] = 0;
    }
}

void set_libc_code(std::uint64_t begin, std::uint64_t bytes) noexcept {
    g_libc_begin.store(begin, std::memory_order_relaxed);
    g_libc_bytes.store(bytes, std::memory_order_relaxed);
}

void leave_eintr(bool leave) noexcept {
    t_leaves_eintr = leave;
}

void leave_calls_restarted() noexcept {
    g_may_ask.store(false, std::memory_order_relaxed);
}
bool may_ask_who_waits() noexcept {
    return g_may_ask.load(std::memory_order_relaxed);
}

void answer_interrupted_call(ucontext_t& context, bool has_just_begun) noexcept {
    gregset_t& regs = context.uc_mcontext.gregs;
    std::uint64_t blocked = 0;
    __builtin_memcpy(&blocked, &context.uc_sigmask, sizeof blocked);
    if (regs[REG_RAX] == -EINTR && has_just_begun && may_ask_who_waits()) {
        if (!has_thread_locals() || !t_leaves_eintr) {
            make_again(regs, blocked);
        }
        return;
    }
    if (!is_at_restarted_call(regs) || !may_ask_who_waits() || !may_wait(regs)) {
        return;
    }
    if (is_to_be_interrupted(blocked)) {
        give_eintr(regs);
    }
}

}  // namespace sample::capture
