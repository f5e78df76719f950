// A profiler module that watches malloc: how much memory is in use and was at most, and where the
// blocks come from that are big: the stack of each new biggest one is printed.
//
//     sample --trace memory --module big_blocks -- ./app
//     sample --trace memory --module big_blocks:65536 -- ./app      at least so big
#include "sample/profiler_module.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

class Watcher {
public:
    explicit Watcher(std::uint64_t least) : biggest_{least - 1} {}

    void allocated(const void* block, std::uint64_t bytes) {
        blocks_.fetch_add(1, std::memory_order_relaxed);
        add(usable_bytes(block));
        std::uint64_t biggest = biggest_.load(std::memory_order_relaxed);
        while (bytes > biggest && !biggest_.compare_exchange_weak(biggest, bytes)) {
        }
        if (bytes > biggest) {
            print_stack(bytes);
        }
    }

    void freed(std::uint64_t bytes) { add(-static_cast<std::int64_t>(bytes)); }

    void print() const {
        std::fprintf(stderr, "big_blocks: %llu blocks, at most %lld bytes at once\n",
                     static_cast<unsigned long long>(blocks_.load()),
                     static_cast<long long>(most_.load()));
    }

private:
    static std::int64_t usable_bytes(const void* block) {
        return static_cast<std::int64_t>(malloc_usable_size(const_cast<void*>(block)));
    }

    void add(std::int64_t bytes) {
        const std::int64_t now = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        std::int64_t most = most_.load(std::memory_order_relaxed);
        while (now > most && !most_.compare_exchange_weak(most, now)) {
        }
    }

    /// Nothing that allocates or locks: whoever allocates may hold any lock.
    static void print_stack(std::uint64_t bytes) {
        std::array<std::uintptr_t, 8> pcs{};
        const std::uint32_t count =
            sample_profiler_stack(pcs.data(), static_cast<std::uint32_t>(pcs.size()));
        std::array<char, 256> line{};
        int size = std::snprintf(line.data(), line.size(), "big_blocks: %llu bytes at",
                                 static_cast<unsigned long long>(bytes));
        for (std::uint32_t i = 0; i < count && size < static_cast<int>(line.size()) - 24; ++i) {
            size += std::snprintf(line.data() + size, line.size() - static_cast<std::size_t>(size),
                                  " %#llx", static_cast<unsigned long long>(pcs[i]));
        }
        line[static_cast<std::size_t>(size++)] = '\n';
        static_cast<void>(!::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(size)));
    }

    std::atomic<std::uint64_t> blocks_{0};
    std::atomic<std::int64_t> in_use_{0};
    std::atomic<std::int64_t> most_{0};
    std::atomic<std::uint64_t> biggest_;
};

Watcher& watcher(void* user) {
    return *static_cast<Watcher*>(user);
}

}  // namespace

SAMPLE_PROFILER_EXPORT void sample_profiler_init_big_blocks(const char* description) {
    const char* const colon = std::strchr(description, ':');
    const unsigned long long least =
        colon == nullptr ? 1 : std::max(std::strtoull(colon + 1, nullptr, 10), 1ULL);
    if (sample_profiler_enable_allocations() == 0) {
        std::fprintf(stderr, "big_blocks: allocations are not told: use sample --trace memory\n");
        return;
    }
    const sample_profiler_handle handle = sample_profiler_create(new Watcher{least});
    sample_profiler_set_allocated_callback(handle,
                                           [](void* user, const void* block, std::uint64_t bytes) {
                                               watcher(user).allocated(block, bytes);
                                           });
    sample_profiler_set_freed_callback(
        handle,
        [](void* user, const void* /*block*/, std::uint64_t bytes) { watcher(user).freed(bytes); });
    sample_profiler_set_reallocated_callback(
        handle, [](void* user, const void* /*before*/, std::uint64_t before_bytes,
                   const void* block, std::uint64_t bytes) {
            watcher(user).freed(before_bytes);
            watcher(user).allocated(block, bytes);
        });
    sample_profiler_set_session_ended_callback(handle, [](void* user) { watcher(user).print(); });
    sample_profiler_set_cleanup_callback(handle,
                                         [](void* user) { delete static_cast<Watcher*>(user); });
}
