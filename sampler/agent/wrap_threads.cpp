// pthread_create: the new thread tells capture its stack, gets an event of its own where the source
// wants one, and books its rest when it ends.
//
// Threads that come another way (raw clone, C11 threads) are sampled too, by an inherited event;
// their stacks are read with the kernel's leave, page by page, and their rest is booked when the
// process ends. Start arguments pass through a fixed pool: the program's heap is not touched.
#include "sampler/agent/arming.h"
#include "sampler/agent/export.h"
#include "sampler/agent/real.h"
#include "sampler/agent/session_client.h"
#include "sampler/agent/signals.h"
#include "sampler/agent/threads.h"
#include "sampler/capture/capture.h"

#include <pthread.h>

#include <array>

namespace sample::agent {
namespace {

using Start = void* (*)(void*);

constinit Real<int(pthread_t*, const pthread_attr_t*, Start, void*)> g_pthread_create{
    "pthread_create"};

struct ThreadStart {
    std::atomic<bool> used{false};
    Start start = nullptr;
    void* argument = nullptr;
    std::size_t stack_bytes = 0;
    bool blocks_own_signal = false;
};

constinit std::array<ThreadStart, 512> g_starts{};
constinit std::atomic<std::uint32_t> g_next_start{0};
constinit std::atomic<bool> g_key_made{false};
pthread_key_t g_end_key;
constinit std::atomic<std::size_t> g_default_stack_bytes{0};

ThreadStart* claim_start() noexcept {
    for (std::size_t attempt = 0; attempt < g_starts.size(); ++attempt) {
        ThreadStart& entry = g_starts[g_next_start.fetch_add(1) % g_starts.size()];
        if (!entry.used.exchange(true, std::memory_order_acquire)) {
            return &entry;
        }
    }
    return nullptr;
}

void on_thread_end(void* /*unused*/) {
    disarm_this_thread();
    capture::end_thread();
}

void* run_thread(void* pointer) {
    auto* entry = static_cast<ThreadStart*>(pointer);
    const Start start = entry->start;
    void* argument = entry->argument;
    // glibc keeps its descriptor at the top of every thread's stack, also of one the program
    // brought.
    const auto high = static_cast<std::uint64_t>(pthread_self());
    capture::set_stack_bounds(high - entry->stack_bytes, high);
    set_program_blocks_own_signal(entry->blocks_own_signal);
    entry->used.store(false, std::memory_order_release);
    if (g_key_made.load(std::memory_order_acquire)) {
        pthread_setspecific(g_end_key, &g_end_key);
    }
    begin_thread();
    return start(argument);
}

}  // namespace

void set_up_threads() noexcept {
    if (g_key_made.load(std::memory_order_relaxed)) {
        return;
    }
    pthread_attr_t defaults;
    if (pthread_getattr_default_np(&defaults) == 0) {
        std::size_t bytes = 0;
        pthread_attr_getstacksize(&defaults, &bytes);
        g_default_stack_bytes.store(bytes, std::memory_order_relaxed);
        pthread_attr_destroy(&defaults);
    }
    if (pthread_key_create(&g_end_key, on_thread_end) == 0) {
        g_key_made.store(true, std::memory_order_release);
    }
}

}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" SAMPLE_WRAPPER int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                             void* (*start)(void*), void* argument) noexcept {
    auto* real = agent::g_pthread_create.get();
    agent::ThreadStart* entry =
        sample::capture::current_area() != nullptr ? agent::claim_start() : nullptr;
    if (entry == nullptr) {
        return real(thread, attributes, start, argument);
    }
    entry->start = start;
    entry->argument = argument;
    entry->stack_bytes = agent::g_default_stack_bytes.load(std::memory_order_relaxed);
    entry->blocks_own_signal = agent::program_blocks_own_signal();
    if (attributes != nullptr) {
        std::size_t bytes = 0;
        if (pthread_attr_getstacksize(attributes, &bytes) == 0 && bytes != 0) {
            entry->stack_bytes = bytes;
        }
    }
    const int result = real(thread, attributes, agent::run_thread, entry);
    if (result != 0) {
        entry->used.store(false, std::memory_order_release);
    }
    return result;
}
