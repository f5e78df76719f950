#include "sampler/instrument/call_stacks.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/clocks.h"
#include "sampler/capture/libraries.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/capture/thread_slots.h"
#include "unwind/walk/walk.h"

#include <sys/mman.h>

#include <array>
#include <bit>

namespace sample::instrument {
namespace {

using capture::CallStackEntry;
using capture::DefinitionStore;
using capture::kCallStackEntries;

constexpr std::size_t kProbes = 64;
/// As for samples: a walk that goes deeper than is kept is followed by shorter ones for this many
/// times as long.
constexpr std::uint64_t kDeepWalkPause = 8;

/// What a thread keeps of its last stack.
struct LastStack {
    unwind::StackMemo memo;
    std::array<std::uint32_t, unwind::StackMemo::kMaxFrames> numbers;  ///< Of its frames.
    std::uint32_t known;           ///< Frames, from the root, whose numbers those are.
    std::uint32_t root;            ///< Number of what they begin with,
    std::uint64_t root_key;        ///< and what that is.
    const DefinitionStore* table;  ///< Where they have those numbers.
    std::uint64_t deep_walk_ticks;
};

struct ThreadStacks {
    LastStack* last = nullptr;
    std::uint64_t busy_sp = 0;  ///< Where the walk is that is under way; 0: none.
    bool has_left = false;
};

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
constinit thread_local ThreadStacks t_stacks;

/// 0: there is no room.
std::uint32_t number_of(DefinitionStore& store, std::uint32_t parent,
                        std::uint64_t frame) noexcept {
    constexpr unsigned kBits = std::countr_zero(kCallStackEntries);
    std::uint64_t hash = (frame ^ std::uint64_t{parent} << 40U) * 0x9e3779b97f4a7c15U;
    hash = (hash ^ hash >> 32U) * 0x9e3779b97f4a7c15U;
    const std::uint32_t wanted = parent + CallStackEntry::kParent;
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
        const auto number =
            static_cast<std::uint32_t>(((hash >> (64U - kBits)) + probe) % kCallStackEntries);
        CallStackEntry& entry = store.call_stacks[number];
        // Pairs with the release below.
        std::uint32_t state = entry.state.load(std::memory_order_acquire);
        if (state == CallStackEntry::kEmpty && number != 0 &&
            entry.state.compare_exchange_strong(state, CallStackEntry::kBeingWritten,
                                                std::memory_order_relaxed)) {
            __atomic_store_n(&entry.frame, frame, __ATOMIC_RELAXED);
            entry.state.store(wanted, std::memory_order_release);
            return number;
        }
        if (state == wanted && __atomic_load_n(&entry.frame, __ATOMIC_RELAXED) == frame) {
            return number;
        }
    }
    return 0;
}

/// The numbers of the frames that are not known yet. Returns the leaf's; 0: no room.
std::uint32_t look_up(DefinitionStore& store, LastStack& last, std::uint64_t root_key) noexcept {
    const auto frames = last.memo.root_first();
    if (last.table != &store || last.root_key != root_key || last.root == 0) {
        last.table = &store;
        last.root_key = root_key;
        last.root = number_of(store, 0, root_key);
        last.known = 0;
    }
    std::uint32_t number = last.known == 0 ? last.root : last.numbers[last.known - 1];
    while (last.known < frames.size() && number != 0) {
        number = number_of(store, number, frames[last.known].bits());
        last.numbers[last.known] = number;
        last.known += number != 0 ? 1 : 0;
    }
    return number;
}

std::uint32_t walk(capture::Area& area, DefinitionStore& store, LastStack& last,
                   const unwind::Registers& registers) noexcept {
    const capture::InterruptibleReader reader;
    const unwind::ModuleTable modules = capture::readable_modules(reader.allowed());
    unwind::RowCache rows = capture::row_cache();
    unwind::StackMemory memory = unwind::StackMemory::live(capture::stack_in_use(registers.sp()),
                                                           unwind::StackMemory::Outside::probe);
    const std::uint32_t max_depth = area.header.max_depth;
    const bool is_short = last.deep_walk_ticks != 0 && capture::read_ticks() < last.deep_walk_ticks;
    last.memo.set_reach(is_short ? unwind::Reach::leaf_half : unwind::Reach::whole);
    const std::uint64_t ticks = last.memo.linked() == 0 ? capture::read_ticks() : 0;
    const unwind::WalkResult walked = unwind::walk(
        modules, rows, registers, memory, last.memo,
        max_depth == 0 || max_depth > capture::kMaxDepth ? capture::kMaxDepth : max_depth);
    if (walked.too_deep && !is_short && ticks != 0) {
        const std::uint64_t now = capture::read_ticks();
        last.deep_walk_ticks = now + kDeepWalkPause * (now - ticks);
    }
    last.known = last.known < last.memo.kept() ? last.known : last.memo.kept();
    return look_up(store, last,
                   capture::call_stack_root(modules.generation(),
                                            capture::stop_word(walked, reader.allowed())));
}

/// Whether the walk that was under way is one that a handler has interrupted. Else a jump has left
/// it: its frames are gone from the stack.
bool is_interrupted(std::uint64_t sp) noexcept {
    const capture::ThreadLocal& self = capture::t_thread;
    const bool is_same_stack = sp >= self.stack_low && sp < self.stack_high &&
                               t_stacks.busy_sp >= self.stack_low &&
                               t_stacks.busy_sp < self.stack_high;
    return !is_same_stack || sp <= t_stacks.busy_sp;
}

LastStack* make_last_stack() noexcept {
    const long mapped = capture::map_anonymous(sizeof(LastStack), MAP_NORESERVE);
    if (capture::is_failure(mapped)) {
        return nullptr;
    }
    // Neither locked nor filled, whatever the program wants of its own memory: mlockall(2).
    capture::raw_syscall(SYS_munlock, mapped, sizeof(LastStack));
    for (const int advice : {MADV_DONTNEED, MADV_DONTDUMP}) {
        capture::raw_syscall(SYS_madvise, mapped, sizeof(LastStack), advice);
    }
    return reinterpret_cast<LastStack*>(mapped);
}

}  // namespace

std::uint32_t call_stack(const unwind::Registers& registers) noexcept {
    capture::Area* const area = capture::g_attached->area.load(std::memory_order_acquire);
    DefinitionStore* const store = capture::g_attached->definitions.load(std::memory_order_acquire);
    ThreadStacks& self = t_stacks;
    if (area == nullptr || store == nullptr || self.has_left) {
        return 0;
    }
    const std::uint64_t sp = registers.sp();
    if (__atomic_load_n(&self.busy_sp, __ATOMIC_RELAXED) != 0) [[unlikely]] {
        if (is_interrupted(sp)) {
            return 0;
        }
        capture::InterruptibleReader::give_up();
        self.last->memo.reset();
        self.last->known = 0;
    }
    __atomic_store_n(&self.busy_sp, sp, __ATOMIC_RELAXED);
    asm volatile("" ::: "memory");
    if (self.last == nullptr) [[unlikely]] {
        self.last = make_last_stack();
    }
    const std::uint32_t number =
        self.last == nullptr ? 0 : walk(*area, *store, *self.last, registers);
    asm volatile("" ::: "memory");
    __atomic_store_n(&self.busy_sp, 0, __ATOMIC_RELAXED);
    return number;
}

std::uint32_t copy_last_stack(std::uint64_t* pcs, std::uint32_t most) noexcept {
    const LastStack* const last = t_stacks.last;
    return last == nullptr ? 0 : capture::copy_stack(last->memo, pcs, most);
}

void leave_call_stacks() noexcept {
    t_stacks.has_left = true;
    if (t_stacks.last != nullptr && t_stacks.busy_sp == 0) {
        capture::raw_syscall(SYS_munmap, capture::as_argument(t_stacks.last), sizeof(LastStack));
        t_stacks.last = nullptr;
    }
}

void forget_call_stacks() noexcept {
    t_stacks.has_left = false;
    t_stacks.busy_sp = 0;
    if (t_stacks.last != nullptr) {
        t_stacks.last->memo.reset();
        t_stacks.last->known = 0;
        t_stacks.last->table = nullptr;
    }
}

}  // namespace sample::instrument
