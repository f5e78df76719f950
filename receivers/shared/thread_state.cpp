#include "receivers/shared/thread_state.h"

#include "receivers/shared/arena.h"

#include <pthread.h>

#include <atomic>

namespace sample::receivers {
namespace {

/// The first of those that no thread has, and above its address a number that changes each time: so
/// one that has gone and come again is not taken for what it was.
constinit std::atomic<std::uint64_t> g_free{0};
constexpr unsigned kAddressBits = 48;
constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << kAddressBits) - 1;

std::uint64_t following(std::uint64_t head, const ThreadState* first) noexcept {
    return ((head & ~kAddressMask) + kAddressMask + 1) | reinterpret_cast<std::uintptr_t>(first);
}

void give_back(ThreadState* state) noexcept {
    std::uint64_t head = g_free.load(std::memory_order_relaxed);
    do {
        __atomic_store_n(&state->next, reinterpret_cast<ThreadState*>(head & kAddressMask),
                         __ATOMIC_RELAXED);
    } while (!g_free.compare_exchange_weak(head, following(head, state), std::memory_order_release,
                                           std::memory_order_relaxed));
}

ThreadState* take() noexcept {
    std::uint64_t head = g_free.load(std::memory_order_acquire);
    for (;;) {
        auto* const first = reinterpret_cast<ThreadState*>(head & kAddressMask);
        if (first == nullptr) {
            return keep_new<ThreadState>();
        }
        // Of another thread already, it may be: then the exchange fails.
        const ThreadState* const next = __atomic_load_n(&first->next, __ATOMIC_RELAXED);
        if (g_free.compare_exchange_weak(head, following(head, next), std::memory_order_acquire)) {
            first->zones = {};
            first->is_ignored = false;
            first->names_seen = 0;
            return first;
        }
    }
}

/// The last 4 rounds of a thread's end: whoever says something behind us gets a state once more.
void end_thread(void* state) noexcept {
    detail::t_state = nullptr;
    give_back(static_cast<ThreadState*>(state));
}

struct Key {
    Key() noexcept : is_there{::pthread_key_create(&key, end_thread) == 0} {}
    pthread_key_t key{};
    bool is_there;
};
/// Made when the library is loaded: early, so that it is one of the first 32, which libc keeps in
/// the thread itself.
const Key g_key;

}  // namespace

namespace detail {

constinit thread_local ThreadState* t_state [[gnu::tls_model("initial-exec")]] = nullptr;

[[gnu::cold, gnu::noinline]] ThreadState* begin_thread() noexcept {
    ThreadState* const state = take();
    t_state = state;
    if (state != nullptr && g_key.is_there) {
        ::pthread_setspecific(g_key.key, state);
    }
    return state;
}

}  // namespace detail
}  // namespace sample::receivers
