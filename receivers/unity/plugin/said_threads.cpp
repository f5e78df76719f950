#include "receivers/unity/plugin/said_threads.h"

#include "sample/trace.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace sample::unity {
namespace {

constexpr std::size_t kMostThreads = 1024;

struct Said {
    std::atomic<std::uint64_t> number{0};
    const char* group = nullptr;  // Before the number, which is stored with release.
    const char* name = nullptr;
};

constinit std::array<Said, kMostThreads> g_threads{};
constinit std::atomic<std::size_t> g_count{0};
// How many there were when the thread looked.
constinit thread_local std::size_t t_looked_at = 0;

bool is_this_thread(std::uint64_t number) noexcept {
    return number == static_cast<std::uint64_t>(::gettid()) ||
           number == static_cast<std::uint64_t>(::pthread_self());
}

void say_names(const Said& said) noexcept {
    if (said.name != nullptr) {
        SAMPLE_TRACE_THREAD_NAME(said.name);
    }
    if (said.group != nullptr && *said.group != '\0') {
        SAMPLE_TRACE_THREAD_GROUP(said.group);
    }
}

}  // namespace

void remember_thread(const UnityProfilerThreadDesc& thread) noexcept {
    const std::size_t at = g_count.load(std::memory_order_relaxed) < kMostThreads
                               ? g_count.fetch_add(1, std::memory_order_acq_rel)
                               : kMostThreads;
    if (at < kMostThreads) {
        g_threads[at].group = thread.groupName;
        g_threads[at].name = thread.name;
        g_threads[at].number.store(thread.threadId, std::memory_order_release);
    }
}

void name_this_thread() noexcept {
    const std::size_t count = std::min(g_count.load(std::memory_order_acquire), kMostThreads);
    for (; t_looked_at < count; ++t_looked_at) {
        const Said& each = g_threads[t_looked_at];
        if (is_this_thread(each.number.load(std::memory_order_acquire))) {
            say_names(each);
        }
    }
}

}  // namespace sample::unity
