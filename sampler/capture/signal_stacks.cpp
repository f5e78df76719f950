#include "sampler/capture/signal_stacks.h"

#include "sampler/capture/raw_syscall.h"

#include <atomic>
#include <cerrno>

namespace sample::capture {
namespace {

constinit std::array<std::atomic<SignalStack*>, kStackSlabs> g_slabs{};
/// The thread that each stack belongs to, slab after slab; 0: free.
constinit std::array<std::atomic<std::uint32_t>, kMaxSignalStacks> g_owners{};
/// Roughly, while threads come and go.
constinit std::atomic<std::int32_t> g_free_stacks{0};

constexpr std::size_t kNone = ~std::size_t{0};

/// Of the first stack of `slab` among all.
constexpr std::size_t first_index(std::size_t slab) noexcept {
    return kFirstSlabStacks * ((std::size_t{1} << slab) - 1);
}
static_assert(first_index(kStackSlabs) == kMaxSignalStacks);

SignalStack* at(std::size_t index) noexcept {
    std::size_t slab = 0;
    while (index >= first_index(slab + 1)) {
        ++slab;
    }
    return g_slabs[slab].load(std::memory_order_acquire) + (index - first_index(slab));
}

/// kNone: not a stack of ours.
std::size_t index_of(const void* bytes) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes);
    for (std::size_t slab = 0; slab < kStackSlabs; ++slab) {
        const auto low =
            reinterpret_cast<std::uintptr_t>(g_slabs[slab].load(std::memory_order_acquire));
        if (low == 0) {
            break;
        }
        if (address >= low && address - low < stacks_in_slab(slab) * SignalStack::kBytes) {
            return first_index(slab) + (address - low) / SignalStack::kBytes;
        }
    }
    return kNone;
}

void release(std::atomic<std::uint32_t>& owner) noexcept {
    // Pairs with the acquire in claim_signal_stack().
    owner.store(0, std::memory_order_release);
    g_free_stacks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

std::size_t count_stack_slabs() noexcept {
    std::size_t count = 0;
    while (count < kStackSlabs && g_slabs[count].load(std::memory_order_acquire) != nullptr) {
        ++count;
    }
    return count;
}

std::span<const std::byte> stack_slab(std::size_t slab) noexcept {
    return std::as_bytes(
        std::span{g_slabs[slab].load(std::memory_order_acquire), stacks_in_slab(slab)});
}

bool add_stack_slab(std::size_t slab, SignalStack* stacks) noexcept {
    SignalStack* none = nullptr;
    // Release pairs with the acquire of whoever looks a stack up.
    if (!g_slabs[slab].compare_exchange_strong(none, stacks, std::memory_order_acq_rel)) {
        return false;
    }
    g_free_stacks.fetch_add(static_cast<std::int32_t>(stacks_in_slab(slab)),
                            std::memory_order_relaxed);
    return true;
}

SignalStack* find_signal_stack(const stack_t& kernels) noexcept {
    const std::size_t index = index_of(kernels.ss_sp);
    if (index == kNone) {
        return nullptr;
    }
    SignalStack* stack = at(index);
    const bool is_whole = kernels.ss_sp == stack->stack.data() &&
                          kernels.ss_size <= stack->stack.size() &&
                          kernels.ss_size > stack->stack.size() - kStackViews;
    return is_whole ? stack : nullptr;
}

SignalStack* claim_signal_stack(std::uint32_t tid) noexcept {
    const std::size_t count = first_index(count_stack_slabs());
    std::size_t first_free = kNone;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t owner = g_owners[i].load(std::memory_order_relaxed);
        if (owner == tid) {
            return at(i);  // also what a thread of that number left behind
        }
        if (owner == 0 && first_free == kNone) {
            first_free = i;
        }
    }
    for (std::size_t i = first_free; i < count; ++i) {
        std::uint32_t free = 0;
        // Acquire pairs with the release in release(): its last user is off it.
        if (g_owners[i].compare_exchange_strong(free, tid, std::memory_order_acquire,
                                                std::memory_order_relaxed)) {
            g_free_stacks.fetch_sub(1, std::memory_order_relaxed);
            return at(i);
        }
    }
    return nullptr;
}

bool has_spare_signal_stack() noexcept {
    return g_free_stacks.load(std::memory_order_relaxed) > 0;
}

void free_signal_stack(const SignalStack& stack) noexcept {
    release(g_owners[index_of(&stack)]);
}

void free_stacks_of_gone_threads() noexcept {
    const std::size_t count = first_index(count_stack_slabs());
    const long pid = raw_syscall(SYS_getpid);
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t owner = g_owners[i].load(std::memory_order_relaxed);
        if (owner != 0 && raw_syscall(SYS_tgkill, pid, owner, 0) == -ESRCH &&
            g_owners[i].compare_exchange_strong(owner, 0, std::memory_order_relaxed)) {
            g_free_stacks.fetch_add(1, std::memory_order_relaxed);
        }
    }
}

void keep_one_signal_stack(const SignalStack* own, std::uint32_t tid) noexcept {
    const std::size_t count = first_index(count_stack_slabs());
    for (std::size_t i = 0; i < count; ++i) {
        if (g_owners[i].load(std::memory_order_relaxed) != 0) {
            release(g_owners[i]);
        }
    }
    if (own != nullptr) {
        g_owners[index_of(own)].store(tid, std::memory_order_relaxed);
        g_free_stacks.fetch_sub(1, std::memory_order_relaxed);
    }
}

void adopt_interrupted_thread(stack_t& kernels) noexcept {
    if (!has_spare_signal_stack()) {
        return;
    }
    SignalStack* stack = claim_signal_stack(static_cast<std::uint32_t>(raw_syscall(SYS_gettid)));
    if (stack != nullptr) {
        stack->begin({nullptr, 0, 0});
        kernels = stack->as_kernels(0);
    }
}

}  // namespace sample::capture
