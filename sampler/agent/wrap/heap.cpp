// malloc and its kin: who has allocated what. Part of libsample-memory.so alone, which is preloaded
// only where allocations are asked for; while the channel `memory` is off, each costs a load and a
// branch.
//
// A block is told once it is given out, and before it is taken back: whoever gets its memory next
// tells so later. Nothing of this allocates, locks or changes errno. What a signal handler or the
// loader allocates in between is told, too, if without a stack.
//
// The loader and other libraries' constructors allocate before our constructor has run: the next
// definitions are looked up then, and what looking up should need itself comes from a small arena.
// reallocarray and strdup call realloc and malloc by their names.
//
// Source: malloc(3), posix_memalign(3); glibc manual, "Replacing malloc".
#include "sampler/agent/hosting/hosting.h"
#include "sampler/agent/trace/channels.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/instrument/call_stacks.h"
#include "sampler/instrument/lane_writer.h"

#include <malloc.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sample::agent {
namespace {

SAMPLE_NEXT(g_malloc, "malloc", void*(std::size_t));
SAMPLE_NEXT(g_free, "free", void(void*));
SAMPLE_NEXT(g_calloc, "calloc", void*(std::size_t, std::size_t));
SAMPLE_NEXT(g_realloc, "realloc", void*(void*, std::size_t));
SAMPLE_NEXT(g_posix_memalign, "posix_memalign", int(void**, std::size_t, std::size_t));
SAMPLE_NEXT(g_aligned_alloc, "aligned_alloc", void*(std::size_t, std::size_t));
SAMPLE_NEXT(g_memalign, "memalign", void*(std::size_t, std::size_t));
SAMPLE_NEXT(g_valloc, "valloc", void*(std::size_t));
SAMPLE_NEXT(g_pvalloc, "pvalloc", void*(std::size_t));

constexpr std::size_t kAlignment = alignof(std::max_align_t);

/// 0 while the channel is on.
volatile std::uint32_t g_channel = 1;
constexpr sample_trace_channel kChannel = {"memory", &g_channel};

/// What is allocated while a definition is looked up. Never given back.
alignas(kAlignment) constinit std::array<std::byte, std::size_t{16} * 1024> g_arena{};
constinit std::atomic<std::size_t> g_arena_used{0};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
constinit thread_local bool t_is_finding = false;

void* take_of_arena(std::size_t bytes) noexcept {
    if (bytes > g_arena.size()) {
        return nullptr;
    }
    const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const std::size_t at = g_arena_used.fetch_add(size, std::memory_order_relaxed);
    return at + size <= g_arena.size() ? g_arena.data() + at : nullptr;
}

bool is_of_arena(const void* block) noexcept {
    return reinterpret_cast<std::uintptr_t>(block) -
               reinterpret_cast<std::uintptr_t>(g_arena.data()) <
           g_arena.size();
}

/// Null: it is being looked up by this thread.
template <class Function>
[[gnu::always_inline]] inline Function* real(NextDefinition<Function>& next) noexcept {
    if (next.is_found()) [[likely]] {
        return next.get();
    }
    if (t_is_finding) {
        return nullptr;
    }
    t_is_finding = true;
    Function* const found = next.get();
    t_is_finding = false;
    return found;
}

[[gnu::always_inline]] inline bool is_on() noexcept {
    return __builtin_expect(static_cast<long>(g_channel == 0), 0) != 0;
}

/// Tells what was given out, and returns its call stack. Inlined, so that the stack begins in the
/// wrapper.
[[gnu::always_inline]] inline std::uint32_t tell_given_out(void* block, std::size_t bytes,
                                                           std::size_t alignment,
                                                           bool is_realloc) noexcept {
    const unwind::Registers here = instrument::registers_here();
    const std::uint32_t stack = instrument::call_stack(here);
    instrument::allocate(
        {reinterpret_cast<std::uint64_t>(block), bytes, alignment, 0, stack, is_realloc});
    return stack;
}

/// The same, modules included, if anybody wants to know. `before`: what realloc made it of, unless
/// it has taken that back.
[[gnu::always_inline]] inline void* told(void* block, std::size_t bytes,
                                         std::size_t alignment = kAlignment,
                                         const Before& before = {},
                                         bool is_realloc = false) noexcept {
    if (is_on() && block != nullptr) {
        const std::uint32_t stack = tell_given_out(block, bytes, alignment, is_realloc);
        tell_allocated(before, block, bytes, stack);
    }
    return block;
}

void tell_free(const void* block, bool is_realloc) noexcept {
    instrument::free(reinterpret_cast<std::uint64_t>(block), 0, is_realloc);
}

/// What is recorded of it has no stack. Inlined, so that it begins in the wrapper.
[[gnu::always_inline]] inline void tell_host_of_free(void* block) noexcept {
    if (module_host() != nullptr) [[unlikely]] {
        const unwind::Registers here = instrument::registers_here();
        const std::uint32_t stack = instrument::call_stack(here);
        tell_freed(block, malloc_usable_size(block), stack);
    }
}

std::size_t page_bytes() noexcept {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// One that does not know the arena would end the program.
void* move_from_arena(const void* block, std::size_t bytes) noexcept {
    void* const moved = malloc(bytes);
    if (moved != nullptr) {
        const auto* const end = g_arena.data() + g_arena.size();
        const auto most = static_cast<std::size_t>(end - static_cast<const std::byte*>(block));
        std::memcpy(moved, block, bytes < most ? bytes : most);
    }
    return moved;
}

}  // namespace

void set_up_heap() noexcept {
    add_channel(kChannel);
}

bool tells_heap() noexcept {
    return is_on();
}

}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" {

SAMPLE_WRAPPER void* malloc(std::size_t bytes) noexcept {
    auto* const real = agent::real(agent::g_malloc);
    return real == nullptr ? agent::take_of_arena(bytes) : agent::told(real(bytes), bytes);
}

SAMPLE_WRAPPER void free(void* block) noexcept {
    if (block == nullptr || agent::is_of_arena(block)) {
        return;
    }
    if (agent::is_on()) {
        agent::tell_host_of_free(block);
        agent::tell_free(block, false);
    }
    auto* const real = agent::real(agent::g_free);
    if (real != nullptr) {
        real(block);
    }
}

SAMPLE_WRAPPER void* calloc(std::size_t count, std::size_t bytes) noexcept {
    auto* const real = agent::real(agent::g_calloc);
    return real == nullptr ? agent::take_of_arena(count * bytes)  // zero from the beginning
                           : agent::told(real(count, bytes), count * bytes);
}

SAMPLE_WRAPPER void* realloc(void* block, std::size_t bytes) noexcept {
    if (agent::is_of_arena(block)) {
        return agent::move_from_arena(block, bytes);
    }
    auto* const real = agent::real(agent::g_realloc);
    if (real == nullptr) {
        return agent::take_of_arena(bytes);
    }
    const bool is_told = agent::is_on() && block != nullptr;
    if (is_told) {
        if (bytes == 0) {
            agent::tell_host_of_free(block);
        }
        agent::tell_free(block, true);
    }
    const agent::Before before = {block, is_told ? malloc_usable_size(block) : 0};
    void* const made = real(block, bytes);
    if (made == nullptr && bytes != 0 && is_told) {
        // It is there as before.
        static_cast<void>(agent::tell_given_out(block, before.bytes, agent::kAlignment, true));
        return nullptr;
    }
    return agent::told(made, bytes, agent::kAlignment, bytes == 0 ? agent::Before{} : before,
                       block != nullptr);
}

SAMPLE_WRAPPER int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
    auto* const real = agent::real(agent::g_posix_memalign);
    if (real == nullptr) {
        return ENOMEM;
    }
    const int result = real(block, alignment, bytes);
    if (result == 0) {
        static_cast<void>(agent::told(*block, bytes, alignment));
    }
    return result;
}

SAMPLE_WRAPPER void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    auto* const real = agent::real(agent::g_aligned_alloc);
    return real == nullptr ? nullptr : agent::told(real(alignment, bytes), bytes, alignment);
}

SAMPLE_WRAPPER void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
    auto* const real = agent::real(agent::g_memalign);
    return real == nullptr ? nullptr : agent::told(real(alignment, bytes), bytes, alignment);
}

SAMPLE_WRAPPER void* valloc(std::size_t bytes) noexcept {
    auto* const real = agent::real(agent::g_valloc);
    return real == nullptr ? nullptr : agent::told(real(bytes), bytes, agent::page_bytes());
}

SAMPLE_WRAPPER void* pvalloc(std::size_t bytes) noexcept {
    auto* const real = agent::real(agent::g_pvalloc);
    if (real == nullptr) {
        return nullptr;
    }
    const std::size_t page = agent::page_bytes();
    return agent::told(real(bytes), (bytes + page - 1) / page * page, page);
}

}  // extern "C"
