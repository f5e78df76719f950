#include "sampler/capture/transfers.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/thread_slots.h"

/// Behind queue_sample_of()'s system call.
extern "C" const char sample_is_queued;

namespace sample::capture {
namespace {

// Of ThreadState::transfer. Frames are aligned, and none lies at these addresses.
constexpr std::uintptr_t kNone = 0;
constexpr std::uintptr_t kSignalComes = 2;
constexpr std::uintptr_t kSampleDue = 1;

constinit std::atomic<bool> g_is_watched{false};

/// The thread that the sampling thread is looking at: it may be about to send it a signal.
constinit std::atomic<std::uint32_t> g_asks{0};

/// The sampling thread may be kept from its processor as long as others keep theirs; by a debugger
/// for ever.
constexpr int kMostWaits = 2000;

/// It is sent to this thread: it is delivered with the end of any system call.
void await_signal(const std::atomic<std::uintptr_t>& word) noexcept {
    raw_syscall(SYS_gettid);
    for (int wait = 0; wait < kMostWaits && word.load(std::memory_order_relaxed) == kSignalComes;
         ++wait) {
        sleep_briefly();
    }
}

}  // namespace

void watch_transfers(bool wanted) noexcept {
    g_is_watched.store(wanted, std::memory_order_relaxed);
}

bool begin_transfer(std::uintptr_t frame) noexcept {
    if (!g_is_watched.load(std::memory_order_relaxed)) {
        return false;
    }
    Area* const area = current_area();
    // Busy: a handler of the program's has interrupted us.
    if (area == nullptr || t_thread.busy != 0 || g_shares_locals.load(std::memory_order_relaxed)) {
        return false;
    }
    const bool is_new = t_thread.state == nullptr;
    claim_own_slot(*area);
    if (t_thread.state == nullptr) {
        return false;
    }
    if (is_new) {
        static_cast<void>(await_signal_on_its_way());
    }
    std::atomic<std::uintptr_t>& word = t_thread.state->transfer;
    std::uintptr_t before = word.load(std::memory_order_relaxed);
    do {
        if (before == kSignalComes) {
            await_signal(word);
            before = word.load(std::memory_order_relaxed);
        }
        if ((before & ~kSampleDue) > frame) {
            return false;  // inside of a handler that has interrupted one
        }
        // A sample that is due since a call that was left by a jump stays so. Fails where the
        // sampling thread has just announced a signal.
    } while (!word.compare_exchange_strong(
        before, frame | (before == kSignalComes ? 0 : before & kSampleDue)));
    return true;
}

bool end_transfer() noexcept {
    // None in a child of a fork in between, whose parent's it was.
    return current_area() != nullptr && t_thread.state != nullptr &&
           (t_thread.state->transfer.exchange(kNone) & kSampleDue) != 0;
}

static_assert(SYS_rt_tgsigqueueinfo == 297);
// A leaf: at its system call the stack is as at any function's entry.
[[gnu::naked, gnu::noinline]] long queue_sample_of(long /*process*/, long /*thread*/,
                                                   long /*signal*/, const siginfo_t* /*info*/,
                                                   std::uintptr_t /*function*/) noexcept {
    // The fourth argument is the kernel's in r10; the fifth, in r8, is for the handler.
    asm("mov %rcx, %r10\n\t"
        "mov $297, %eax\n\t"
        "syscall\n"
        ".globl sample_is_queued\n"
        ".hidden sample_is_queued\n"
        "sample_is_queued:\n\t"
        "ret");
}

std::uintptr_t function_of_sample(const ucontext_t& context) noexcept {
    const auto& registers = context.uc_mcontext.gregs;
    return static_cast<std::uintptr_t>(registers[REG_RIP]) ==
                   reinterpret_cast<std::uintptr_t>(&sample_is_queued)
               ? static_cast<std::uintptr_t>(registers[REG_R8])
               : 0;
}

ThreadState* find_thread_state(ThreadState* last, std::uint32_t tid) noexcept {
    const auto is_its = [tid](const ThreadState* state) {
        return state != nullptr && state->slot != nullptr &&
               state->slot->tid.load(std::memory_order_relaxed) == tid;
    };
    if (is_its(last)) {
        return last;
    }
    for (std::uint32_t index = 0; index < kMaxThreads; ++index) {
        ThreadState* const state = thread_states().claimed(index);
        if (state == nullptr) {
            break;  // slots are claimed from the first one on
        }
        if (is_its(state)) {
            return state;
        }
    }
    return nullptr;
}

bool await_signal_on_its_way() noexcept {
    const auto tid = static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
    // Either who asks finds what was written before, or this finds who asks: pairs with
    // begin_asking().
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (int wait = 0; wait < kMostWaits && g_asks.load() == tid; ++wait) {
        sleep_briefly();
    }
    raw_syscall(SYS_gettid);
    return g_asks.load() != tid;
}

void begin_asking(std::uint32_t tid) noexcept {
    g_asks.store(tid);
}

void end_asking() noexcept {
    g_asks.store(0);
}

Interruption ask_to_interrupt(ThreadState& thread) noexcept {
    std::uintptr_t seen = kNone;
    if (thread.transfer.compare_exchange_strong(seen, kSignalComes)) {
        return Interruption::comes;
    }
    if (seen == kSignalComes || (seen & kSampleDue) != 0) {
        return Interruption::was_owed;
    }
    // If the call has ended meanwhile, the next look finds that.
    return thread.transfer.compare_exchange_strong(seen, seen | kSampleDue)
               ? Interruption::is_owed
               : Interruption::was_owed;
}

void interrupt_all_the_same(ThreadState& thread) noexcept {
    thread.transfer.store(kSignalComes);
}

void note_unsent(ThreadState& thread) noexcept {
    std::uintptr_t seen = kSignalComes;
    thread.transfer.compare_exchange_strong(seen, kNone);
}

bool may_be_interrupted() noexcept {
    if (!g_is_watched.load(std::memory_order_relaxed)) {
        return false;
    }
    const auto tid = static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
    const ThreadState* const state = find_thread_state(nullptr, tid);
    return state == nullptr || state->transfer.load(std::memory_order_relaxed) == kSignalComes;
}

void note_interruption() noexcept {
    if (t_thread.state != nullptr) {
        std::uintptr_t seen = kSignalComes;
        t_thread.state->transfer.compare_exchange_strong(seen, kNone);
    }
}

}  // namespace sample::capture
