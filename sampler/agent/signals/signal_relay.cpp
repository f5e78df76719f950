#include "sampler/agent/signals/signal_relay.h"

#include "sampler/agent/modules.h"
#include "sampler/agent/process_state.h"
#include "sampler/agent/signals/alternate_stack.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/capture/inherited_state.h"
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
void sample_call_handler() noexcept;
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

bool wants_relay(const struct sigaction& action) noexcept {
    return has_handler(action) && (action.sa_flags & SA_ONSTACK) != 0;
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
    constexpr auto kReset = static_cast<int>(SA_RESETHAND) | SA_ONSTACK;
    const bool was_reset = kernels.sa_handler == SIG_DFL && (kernels.sa_flags & kReset) == kReset &&
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
std::uint64_t mask_at_delivery(const void* context) noexcept {
    const auto& words = *static_cast<const ucontext_t*>(context);
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

/// Where a handler of the program runs.
enum class HandlerStack : std::uint8_t { interrupted, programs_alternate, ours };

HandlerStack stack_of(const Handler& handler) noexcept {
    return (handler.flags & SA_ONSTACK) == 0 ? HandlerStack::interrupted
           : is_go_code(handler.address)     ? HandlerStack::ours
                                             : HandlerStack::programs_alternate;
}

/// The frame where the program is to find it, and `entry` for `handler` to be entered with it.
void place(int signal, KernelFrame& from, HandlerStack stack, const Handler& handler,
           Entry& entry) noexcept {
    const stack_t kernels = from.words().uc_stack;
    SignalStack* own = capture::find_signal_stack(kernels);
    KernelFrame* frame = &from;
    stack_t during = kernels;
    if (own != nullptr && own->holds(&from) && stack != HandlerStack::ours) {
        const stack_t view = own->view_of(kernels);
        frame = move_frame(from, *own, view, stack == HandlerStack::programs_alternate);
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
    auto& words = *reinterpret_cast<ucontext_t*>(entry.data());
    auto& registers = words.uc_mcontext.gregs;
    registers[REG_RIP] = static_cast<greg_t>(handler.address);
    registers[REG_RSP] = capture::as_argument(frame);
    registers[REG_RDI] = signal;
    registers[REG_RSI] = capture::as_argument(&frame->info);
    registers[REG_RDX] = capture::as_argument(&frame->context);
    registers[REG_RAX] = 0;
    registers[REG_EFL] &= ~(kTrap | kDirection | kResume);
    words.uc_mcontext.fpregs = nullptr;  // the initial state
    words.uc_stack = during;
    memcpy(&words.uc_sigmask, &handler.mask, sizeof handler.mask);
}

/// One caller at a time.
int set_relayed(int signal, struct sigaction action, struct sigaction* old,
                ActionCall* real) noexcept {
    if (!wants_relay(action)) {
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

void begin_relaying() noexcept {
    if (g_relays.exchange(true) || !g_may_have_handlers.load(std::memory_order_relaxed)) {
        return;
    }
    for (int signal = 1; signal <= kSignals; ++signal) {
        struct sigaction action {};
        if (next_sigaction(signal, nullptr, &action) == 0 && wants_relay(action)) {
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

sighandler_t program_handler(int signal, sighandler_t shown) noexcept {
    struct sigaction action {};
    action.sa_handler = shown;
    if (shown != SIG_ERR && is_relay(action)) {
        put(g_handlers.get(signal), action);
    }
    return action.sa_handler;
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

InOpenWait in_open_wait(const void* context) noexcept {
    const auto& words = *static_cast<const ucontext_t*>(context);
    if (!is_near_wait(words) || !t_temporary_mask.opens_own) {
        return InOpenWait::no;
    }
    return is_call_cut_short(words) ? InOpenWait::in_the_call : InOpenWait::beside_the_call;
}

void run_programs_handler(int signal, void* context, const struct sigaction& action,
                          const Afterwards& afterwards) noexcept {
    auto& frame = *reinterpret_cast<KernelFrame*>(static_cast<char*>(context) -
                                                  offsetof(KernelFrame, context));
    const std::uint64_t own = std::uint64_t{1} << (signal - 1);
    const std::uint64_t mask = mask_at_delivery(context) | mask_of(action.sa_mask);
    Entry entry;
    place(signal, frame, stack_of(as_handler(action)),
          {reinterpret_cast<std::uint64_t>(sample_call_handler), mask & ~own, 0}, entry);
    // Registers that the handler keeps; their own values are in its frame.
    auto& registers = reinterpret_cast<ucontext_t*>(entry.data())->uc_mcontext.gregs;
    registers[REG_RAX] = reinterpret_cast<greg_t>(action.sa_sigaction);
    registers[REG_RBX] = afterwards.argument ? 1 : 0;
    registers[REG_RBP] = reinterpret_cast<greg_t>(afterwards.run);
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
    handler.mask |= mask_at_delivery(frame.context.data());
    if ((handler.flags & SA_NODEFER) == 0) {
        handler.mask |= std::uint64_t{1} << (signal - 1);
    }
    // Blocked for real it is in a thread that cannot be sampled, only.
    const int own = own_signal();
    const std::uint64_t own_bit = own != 0 ? std::uint64_t{1} << (own - 1) : 0;
    handler.mask &= ~own_bit | mask_of(frame.words().uc_sigmask);
    place(signal, frame, stack_of(handler), handler, *static_cast<Entry*>(entry));
}

// The relay: room for an Entry below the kernel's frame, which keeps the stack aligned;
// rt_sigreturn takes it from where rsp points.
asm(R"(
    .pushsection .text.sample_signal_relay, "ax", @progbits
    .hidden sample_signal_relay
    .globl sample_signal_relay
    .type sample_signal_relay, @function
    .p2align 4
sample_signal_relay:
    .cfi_startproc
    endbr64
    movl %edi, %edx
    movq %rsp, %rdi
    subq $312, %rsp
    .cfi_adjust_cfa_offset 312
    movq %rsp, %rsi
    call sample_place_relayed
    movl $15, %eax              # SYS_rt_sigreturn
    syscall
    ud2
    .cfi_endproc
    .size sample_signal_relay, . - sample_signal_relay

    .hidden sample_call_handler
    .globl sample_call_handler
    .type sample_call_handler, @function
    .p2align 4
sample_call_handler:
    .cfi_startproc
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call *%rax
    movl %ebx, %edi
    call *%rbp
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size sample_call_handler, . - sample_call_handler
    .popsection
)");
static_assert(SYS_rt_sigreturn == 15);
