#include "sampler/agent/signals/signal_relay.h"

#include "sampler/agent/modules.h"
#include "sampler/agent/process_state.h"
#include "sampler/agent/signals/alternate_stack.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/capture/inherited_state.h"
#include "sampler/capture/interrupted_call.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/signal_stacks.h"

#include <ucontext.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void sample_signal_relay(int signal, siginfo_t* info, void* context) noexcept;
void sample_place_relayed(void* kernels_frame, void* entry, int signal) noexcept;
std::uint64_t sample_relayed_handler(int signal) noexcept;
void sample_handlers_return() noexcept;
void* sample_leave_handler(void* context) noexcept;
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace sample::agent {
namespace {

using capture::SignalStack;

constexpr int kSignals = 64;
constexpr std::uint64_t kAllSignals = ~std::uint64_t{0};
constexpr std::uint64_t kRedZoneBytes = 128;
constexpr std::uint64_t kFpuAlignment = 64;
constexpr std::uint64_t kFrameAlignment = 16;

/// What the kernel writes for a handler, and rsp points at when that begins. Of libc's ucontext_t
/// only the first words are there. Source: Linux arch/x86/include/asm/sigframe.h, rt_sigframe.
struct KernelFrame {
    void* return_address;
    std::array<char, 304> context;
    siginfo_t info;

    [[nodiscard]] ucontext_t& words() noexcept {
        return *reinterpret_cast<ucontext_t*>(context.data());
    }
};
static_assert(sizeof(KernelFrame) == 440 && offsetof(KernelFrame, info) == 312);
static_assert(offsetof(ucontext_t, uc_sigmask) == 296);

/// A context to enter a handler with, for rt_sigreturn.
using Entry = decltype(KernelFrame::context);

struct Handler {
    std::uint64_t address = 0;
    std::uint64_t mask = 0;
    std::uint64_t flags = 0;
};

/// The program's handlers that are relayed. A handler of the same signal may read while another
/// thread sets: the last entries stay as they were.
class HandlerTable {
public:
    [[nodiscard]] Handler get(int signal) const noexcept {
        const Row& row = rows_[static_cast<std::size_t>(signal)];
        for (;;) {
            // Acquire pairs with the release in set().
            const std::uint32_t newest = row.newest.load(std::memory_order_acquire);
            const Cell& cell = row.cells[newest % kCells];
            const Handler copy{cell.address.load(std::memory_order_relaxed),
                               cell.mask.load(std::memory_order_relaxed),
                               cell.flags.load(std::memory_order_relaxed)};
            std::atomic_thread_fence(std::memory_order_acquire);
            if (row.newest.load(std::memory_order_relaxed) - newest < kCells - 1) {
                return copy;
            }
        }
    }
    /// One caller at a time.
    void set(int signal, const Handler& handler) noexcept {
        Row& row = rows_[static_cast<std::size_t>(signal)];
        const std::uint32_t next = row.newest.load(std::memory_order_relaxed) + 1;
        Cell& cell = row.cells[next % kCells];
        std::atomic_thread_fence(std::memory_order_release);
        cell.address.store(handler.address, std::memory_order_relaxed);
        cell.mask.store(handler.mask, std::memory_order_relaxed);
        cell.flags.store(handler.flags, std::memory_order_relaxed);
        row.newest.store(next, std::memory_order_release);
    }

private:
    static constexpr std::uint32_t kCells = 4;
    struct Cell {
        std::atomic<std::uint64_t> address;
        std::atomic<std::uint64_t> mask;
        std::atomic<std::uint64_t> flags;
    };
    struct Row {
        std::array<Cell, kCells> cells;
        std::atomic<std::uint32_t> newest;
    };
    std::array<Row, kSignals + 1> rows_{};
};

constinit HandlerTable g_handlers;
/// libc's way back out of a handler, by rt_sigreturn(2).
constinit std::atomic<void*> g_way_back{nullptr};
constinit std::atomic<bool> g_relays{false};
/// A handler may be installed already: an exec leaves none.
constinit std::atomic<bool> g_may_have_handlers{false};

struct MaskNote {
    std::uint64_t mask;
    std::uint64_t sp;  ///< 0: none.
    bool opens_own;
};
constinit thread_local MaskNote t_temporary_mask{};

bool is_relay(const struct sigaction& action) noexcept {
    return action.sa_sigaction == sample_signal_relay;
}

Handler as_handler(const struct sigaction& action) noexcept {
    return {reinterpret_cast<std::uint64_t>(action.sa_sigaction), mask_of(action.sa_mask),
            static_cast<std::uint64_t>(action.sa_flags)};
}

void put(const Handler& handler, struct sigaction& action) noexcept {
    action.sa_sigaction = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(handler.address);
    action.sa_mask = set_of(handler.mask);
}

/// What the kernel says of `signal`, as the program set it.
struct sigaction as_set(struct sigaction kernels, const Handler& relayed) noexcept {
    // SA_RESETHAND leaves the relay's mask, but for what nobody blocks.
    constexpr std::uint64_t kBlockable =
        kAllSignals & ~(std::uint64_t{1} << (SIGKILL - 1) | std::uint64_t{1} << (SIGSTOP - 1));
    const bool was_reset = kernels.sa_handler == SIG_DFL &&
                           (static_cast<unsigned>(kernels.sa_flags) & SA_RESETHAND) != 0 &&
                           mask_of(kernels.sa_mask) == kBlockable;
    if (is_relay(kernels)) {
        put(relayed, kernels);
    } else if (was_reset) {
        put({0, relayed.mask, 0}, kernels);
    }
    return kernels;
}

/// Of the program's own SIGSEGV: a handler's frame does not fit on its alternate stack.
[[noreturn]] void die_of_overflow() noexcept {
    die_by(SIGSEGV);
    __builtin_trap();
}

/// Source: Linux arch/x86/include/uapi/asm/sigcontext.h, _fpx_sw_bytes in the last 48 of 512 bytes.
std::uint64_t fpu_bytes(const void* state) noexcept {
    constexpr std::size_t kLegacyBytes = 512;
    constexpr std::uint32_t kMagic = 0x46505853;
    std::array<std::uint32_t, 2> words{};
    memcpy(words.data(), static_cast<const char*>(state) + kLegacyBytes - 48, sizeof words);
    return words[0] == kMagic ? words[1] : kLegacyBytes;
}

/// In the frames of a call that waits under a mask of its own.
bool is_near_wait(const ucontext_t& words) noexcept {
    constexpr std::uint64_t kMostOfTheCallsFrames = 1024;
    const auto sp = static_cast<std::uint64_t>(words.uc_mcontext.gregs[REG_RSP]);
    return capture::has_thread_locals() && t_temporary_mask.sp - sp < kMostOfTheCallsFrames;
}

/// A system call was: it left its address in rcx. Source: SYSCALL in the processor's manual.
bool is_call_cut_short(const ucontext_t& words) noexcept {
    const auto& registers = words.uc_mcontext.gregs;
    return registers[REG_RAX] == -EINTR && registers[REG_RCX] == registers[REG_RIP];
}

/// The mask that a handler's own is added to: of a call that waits under a mask of its own, that.
std::uint64_t mask_at_delivery(const ucontext_t& words) noexcept {
    if (is_call_cut_short(words) && is_near_wait(words)) {
        t_temporary_mask.sp = 0;
        return t_temporary_mask.mask;
    }
    return mask_of(words.uc_sigmask);
}

/// Moves a frame from `own` to where the kernel would have put it. The memory there may be missing:
/// SIGSEGV is blocked, and ends the process, as it would. Source: Linux
/// arch/x86/kernel/signal.c, get_sigframe.
KernelFrame* move_frame(KernelFrame& from, const SignalStack& own, const stack_t& view,
                        bool on_stack) noexcept {
    ucontext_t& words = from.words();
    const auto interrupted = static_cast<std::uint64_t>(words.uc_mcontext.gregs[REG_RSP]);
    bool is_bounded = is_on(view, interrupted);
    std::uint64_t top = interrupted - kRedZoneBytes;
    if (on_stack && view.ss_size != 0 && !is_on(view, top)) {
        top = reinterpret_cast<std::uint64_t>(view.ss_sp) + view.ss_size;
        is_bounded = true;
    }
    const void* fpu = words.uc_mcontext.fpregs;
    const std::uint64_t bytes = fpu != nullptr && own.holds(fpu) ? fpu_bytes(fpu) : 0;
    const std::uint64_t fpu_to = (top - bytes) & ~(kFpuAlignment - 1);
    const std::uint64_t to = ((fpu_to - sizeof(KernelFrame)) & ~(kFrameAlignment - 1)) - 8;
    if (is_bounded && !lies_on(view, to)) {
        die_of_overflow();
    }
    auto* frame = reinterpret_cast<KernelFrame*>(to);
    if (bytes != 0) {
        memcpy(reinterpret_cast<void*>(fpu_to), fpu, bytes);
    }
    memcpy(frame, &from, sizeof from);
    if (bytes != 0) {
        frame->words().uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(fpu_to);
    }
    return frame;
}

/// sigaltstack(2) as if called at the stack pointer `sp`: who is on the stack may not change it,
/// and later kernels look before rt_sigreturn restores the registers. All signals are blocked.
void set_kernels_stack(const stack_t& stack, const void* sp) noexcept {
    long number = SYS_sigaltstack;
    asm volatile(
        "xchgq %%rsp, %[sp]\n\t"
        "syscall\n\t"
        "xchgq %%rsp, %[sp]"
        : "+a"(number), [sp] "+r"(sp)
        : "D"(&stack), "S"(nullptr)
        : "rcx", "r11", "memory");
}

/// Where a handler of the program runs: where the kernel has put its frame, or elsewhere.
enum class HandlerStack : std::uint8_t { as_it_is, interrupted, programs_alternate };

HandlerStack alternate_stack_for(std::uint64_t handler) noexcept {
    return is_go_code(handler) ? HandlerStack::as_it_is : HandlerStack::programs_alternate;
}

/// The frame where the program is to find it, and `entry` for `handler` to be entered with it.
void place(int signal, KernelFrame& from, HandlerStack stack, const Handler& handler,
           Entry& entry) noexcept {
    const stack_t kernels = from.words().uc_stack;
    SignalStack* own = capture::find_signal_stack(kernels);
    KernelFrame* frame = &from;
    stack_t during = kernels;
    if (own != nullptr) {
        const stack_t view = own->view_of(kernels);
        if (own->holds(&from) && stack != HandlerStack::as_it_is) {
            frame = move_frame(from, *own, view, stack == HandlerStack::programs_alternate);
        }
        if ((view.ss_flags & kAutodisarm) != 0) {
            during = show_view(*own, {}, kernels);
            set_kernels_stack(during, frame);
        }
    } else if ((kernels.ss_flags & kAutodisarm) != 0) {
        during = {nullptr, SS_DISABLE, 0};  // as the kernel has it now
    }
    entry = frame->context;
    // As at any handler's entry. Source: Linux arch/x86/kernel/signal_64.c, x64_setup_rt_frame.
    constexpr greg_t kTrap = 0x100;
    constexpr greg_t kDirection = 0x400;
    constexpr greg_t kResume = 0x10000;
    constexpr greg_t kSegments = static_cast<greg_t>(0xffff00000000ffffULL);  // SS and CS
    constexpr greg_t kUserSegments = 0x2b000000000033;
    auto& words = *reinterpret_cast<ucontext_t*>(entry.data());
    auto& registers = words.uc_mcontext.gregs;
    registers[REG_RIP] = static_cast<greg_t>(handler.address);
    registers[REG_RSP] = capture::as_argument(frame);
    registers[REG_RDI] = signal;
    registers[REG_RSI] = capture::as_argument(&frame->info);
    registers[REG_RDX] = capture::as_argument(&frame->context);
    registers[REG_RAX] = 0;
    registers[REG_EFL] &= ~(kTrap | kDirection | kResume);
    registers[REG_CSGSFS] = (registers[REG_CSGSFS] & ~kSegments) | kUserSegments;
    words.uc_mcontext.fpregs = nullptr;  // the initial state
    words.uc_stack = during;
    memcpy(&words.uc_sigmask, &handler.mask, sizeof handler.mask);
}

/// The mask that `handler` runs with, and what its frame is to tell it and us.
void begin_handler(int signal, KernelFrame& frame, Handler& handler) noexcept {
    ucontext_t& words = frame.words();
    const int own = own_signal();
    const std::uint64_t own_bit = own != 0 ? std::uint64_t{1} << (own - 1) : 0;
    const bool opened =
        own != 0 && is_call_cut_short(words) && in_open_wait(words) == InOpenWait::in_the_call;
    const std::uint64_t kernels = mask_of(words.uc_sigmask);
    handler.mask |= mask_at_delivery(words);
    if ((handler.flags & SA_NODEFER) == 0) {
        handler.mask |= std::uint64_t{1} << (signal - 1);
    }
    const bool holds =
        signal == own ? (handler.mask & own_bit) != 0 : program_view().mask_held(signal);
    // Blocked for real it is in a thread that cannot be sampled, and around some waits.
    handler.mask &= ~own_bit | kernels;
    if (own != 0) {
        capture::answer_for_handler(words, handler.flags);
    }
    if (frame.return_address == g_way_back.load(std::memory_order_relaxed) &&
        show_view_in(words, holds, opened)) {
        frame.return_address = reinterpret_cast<void*>(sample_handlers_return);
    }
}

/// One caller at a time.
int set_relayed(int signal, struct sigaction action, struct sigaction* old,
                ActionCall* real) noexcept {
    if (!has_handler(action)) {
        return real(signal, &action, old);
    }
    const Handler before = g_handlers.get(signal);
    g_handlers.set(signal, as_handler(action));
    action.sa_sigaction = sample_signal_relay;
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    const int result = real(signal, &action, old);
    if (result != 0) {
        g_handlers.set(signal, before);
    }
    return result;
}

}  // namespace

void note_handlers() noexcept {
    g_may_have_handlers.store(true, std::memory_order_relaxed);
}

void note_way_back(int signal) noexcept {
    capture::KernelAction action{};
    if (capture::raw_syscall(SYS_rt_sigaction, signal, 0, capture::as_argument(&action),
                             sizeof action.mask) == 0) {
        g_way_back.store(reinterpret_cast<void*>(action.restorer), std::memory_order_relaxed);
    }
}

void begin_relaying() noexcept {
    capture::set_relay(sample_signal_relay);
    if (g_relays.exchange(true) || !g_may_have_handlers.load(std::memory_order_relaxed)) {
        return;
    }
    for (int signal = 1; signal <= kSignals; ++signal) {
        struct sigaction action {};
        if (next_sigaction(signal, nullptr, &action) == 0 && has_handler(action)) {
            program_sigaction(signal, &action, nullptr, next_sigaction);
        }
    }
}

void end_relaying() noexcept {
    if (!g_relays.exchange(false)) {
        return;
    }
    for (int signal = 1; signal <= kSignals; ++signal) {
        struct sigaction action {};
        if (next_sigaction(signal, nullptr, &action) == 0 && is_relay(action)) {
            put(g_handlers.get(signal), action);
            next_sigaction(signal, &action, nullptr);
        }
    }
}

int program_sigaction(int signal, const struct sigaction* action, struct sigaction* old,
                      ActionCall* real) noexcept {
    if (!g_relays.load(std::memory_order_relaxed)) {
        if (action != nullptr) {
            note_handlers();
        }
        return real(signal, action, old);
    }
    const Handler before = g_handlers.get(signal);
    struct sigaction passed {};
    if (action != nullptr) {
        passed = *action;
        if (is_relay(passed)) {
            // From a call of libc's that we do not stand before.
            passed.sa_sigaction =
                reinterpret_cast<void (*)(int, siginfo_t*, void*)>(before.address);
        }
    }
    int result = 0;
    if (action == nullptr) {
        result = real(signal, nullptr, old);
    } else if (!gives_alternate_stacks()) {
        // A filter may know no other call than the program's own.
        result = set_relayed(signal, passed, old, real);
    } else if (!is_owner()) {
        // A vfork child has actions of its own, but its parent's table.
        result = real(signal, &passed, old);
    } else {
        const source::Locked locked{process_state().actions_lock};
        result = set_relayed(signal, passed, old, real);
    }
    if (result == 0 && old != nullptr) {
        *old = as_set(*old, before);
    }
    return result;
}

sighandler_t program_signal(int signal, sighandler_t handler, SignalCall* real) noexcept {
    const bool is_relayed = g_relays.load(std::memory_order_relaxed) && gives_alternate_stacks() &&
                            signal >= 1 && signal <= kSignals && is_owner();
    if (!is_relayed) {
        return real(signal, handler);
    }
    const source::Locked locked{process_state().actions_lock};
    struct sigaction action {};
    action.sa_handler = real(signal, handler);
    if (is_relay(action)) {
        put(g_handlers.get(signal), action);
    }
    const sighandler_t old = action.sa_handler;
    if (next_sigaction(signal, nullptr, &action) == 0 && has_handler(action) && !is_relay(action)) {
        set_relayed(signal, action, nullptr, next_sigaction);
    }
    return old;
}

TemporaryMask::TemporaryMask(const sigset_t* set, const void* frame, bool opens_own) noexcept
    : set_{set}, frame_{frame}, opens_own_{opens_own} {
    note_again();
}

TemporaryMask::~TemporaryMask() {
    forget();
}

void TemporaryMask::note_again() const noexcept {
    // Nobody but the relay and our own handler asks for it.
    if (set_ == nullptr || !g_relays.load(std::memory_order_relaxed)) {
        return;
    }
    t_temporary_mask.mask = mask_of(*set_);
    t_temporary_mask.opens_own = opens_own_;
    std::atomic_signal_fence(std::memory_order_release);
    t_temporary_mask.sp = reinterpret_cast<std::uint64_t>(frame_);
}

void TemporaryMask::forget() noexcept {
    t_temporary_mask.sp = 0;
}

InOpenWait in_open_wait(const ucontext_t& words) noexcept {
    if (!is_near_wait(words) || !t_temporary_mask.opens_own) {
        return InOpenWait::no;
    }
    return is_call_cut_short(words) ? InOpenWait::in_the_call : InOpenWait::beside_the_call;
}

void run_programs_handler(int signal, ucontext_t& words, const struct sigaction& action) noexcept {
    auto& frame = *reinterpret_cast<KernelFrame*>(reinterpret_cast<char*>(&words) -
                                                  offsetof(KernelFrame, context));
    Handler handler = as_handler(action);
    const HandlerStack stack = (handler.flags & SA_ONSTACK) == 0
                                   ? HandlerStack::interrupted
                                   : alternate_stack_for(handler.address);
    begin_handler(signal, frame, handler);
    Entry entry;
    place(signal, frame, stack, handler, entry);
    asm volatile(
        "movq %0, %%rsp\n\t"
        "movl %1, %%eax\n\t"
        "syscall"
        :
        : "r"(entry.data()), "i"(SYS_rt_sigreturn)
        : "memory");
    __builtin_unreachable();
}

}  // namespace sample::agent

/// Makes `entry` of what the kernel wrote for the relay.
void sample_place_relayed(void* kernels_frame, void* entry, int signal) noexcept {
    using namespace sample::agent;  // NOLINT(google-build-using-namespace)
    sample::capture::allow_misaligned_access();
    auto& frame = *static_cast<KernelFrame*>(kernels_frame);
    Handler handler = g_handlers.get(signal);
    const HandlerStack stack = (handler.flags & SA_ONSTACK) == 0
                                   ? HandlerStack::as_it_is
                                   : alternate_stack_for(handler.address);
    begin_handler(signal, frame, handler);
    place(signal, frame, stack, handler, *static_cast<Entry*>(entry));
}

/// Where the relay goes on when it is called as a function.
std::uint64_t sample_relayed_handler(int signal) noexcept {
    using namespace sample::agent;  // NOLINT(google-build-using-namespace)
    const std::uint64_t handler =
        signal >= 1 && signal <= kSignals ? g_handlers.get(signal).address : 0;
    return handler != 0 ? handler : reinterpret_cast<std::uint64_t>(+[]() noexcept {});
}

/// What the handler has left in its frame, at `context`, becomes the program's view. Returns where
/// the way back goes on.
void* sample_leave_handler(void* context) noexcept {
    using namespace sample::agent;  // NOLINT(google-build-using-namespace)
    sample::capture::allow_misaligned_access();
    take_view_from(*static_cast<ucontext_t*>(context));
    return g_way_back.load(std::memory_order_relaxed);
}

// The relay: room for an Entry below the kernel's frame, which keeps the stack aligned;
// rt_sigreturn takes it from where rsp points. The kernel hands over where its frame has the
// context and the siginfo_t. Called as a function, by somebody who has asked the kernel past our
// wrappers for the handler that was there before, it goes on to that.
//
// The way back: a handler returns to it as to libc's, with rsp at the frame's context. To unwinders
// it is a signal's frame, whose registers lie there; they look behind the address, so that the nop
// belongs to it. Source: glibc sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c.
asm(R"(
    .pushsection .text.sample_signal_relay, "ax", @progbits
    .hidden sample_signal_relay
    .globl sample_signal_relay
    .type sample_signal_relay, @function
    .p2align 4
sample_signal_relay:
    .cfi_startproc
    endbr64
    leaq 8(%rsp), %rax
    cmpq %rax, %rdx
    jne 1f
    leaq 312(%rsp), %rax
    cmpq %rax, %rsi
    jne 1f
    movl %edi, %edx
    movq %rsp, %rdi
    subq $312, %rsp
    .cfi_adjust_cfa_offset 312
    movq %rsp, %rsi
    call sample_place_relayed
    movl $15, %eax              # SYS_rt_sigreturn
    syscall
    ud2
    .cfi_adjust_cfa_offset -312
1:
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    call sample_relayed_handler
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmp *%rax
    .cfi_endproc
    .size sample_signal_relay, . - sample_signal_relay

    .hidden sample_handlers_return
    .globl sample_handlers_return
    .type sample_handlers_return, @function
    .p2align 4
    .cfi_startproc simple
    .cfi_signal_frame
    .cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06     # the CFA: *(rsp + 160)
    .cfi_escape 0x10, 8, 2, 0x77, 0x28              # r8 at rsp + 40, and so on
    .cfi_escape 0x10, 9, 2, 0x77, 0x30
    .cfi_escape 0x10, 10, 2, 0x77, 0x38
    .cfi_escape 0x10, 11, 3, 0x77, 0xc0, 0x00
    .cfi_escape 0x10, 12, 3, 0x77, 0xc8, 0x00
    .cfi_escape 0x10, 13, 3, 0x77, 0xd0, 0x00
    .cfi_escape 0x10, 14, 3, 0x77, 0xd8, 0x00
    .cfi_escape 0x10, 15, 3, 0x77, 0xe0, 0x00
    .cfi_escape 0x10, 5, 3, 0x77, 0xe8, 0x00        # rdi
    .cfi_escape 0x10, 4, 3, 0x77, 0xf0, 0x00        # rsi
    .cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0x00        # rbp
    .cfi_escape 0x10, 3, 3, 0x77, 0x80, 0x01        # rbx
    .cfi_escape 0x10, 1, 3, 0x77, 0x88, 0x01        # rdx
    .cfi_escape 0x10, 0, 3, 0x77, 0x90, 0x01        # rax
    .cfi_escape 0x10, 2, 3, 0x77, 0x98, 0x01        # rcx
    .cfi_escape 0x10, 7, 3, 0x77, 0xa0, 0x01        # rsp
    .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01       # rip
    nop
sample_handlers_return:
    movq %rsp, %rdi
    call sample_leave_handler
    jmp *%rax
    .cfi_endproc
    .size sample_handlers_return, . - sample_handlers_return
    .popsection
)");
static_assert(SYS_rt_sigreturn == 15);
