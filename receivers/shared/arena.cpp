#include "receivers/shared/arena.h"

#include <array>
#include <atomic>

namespace sample::receivers {
namespace {

/// Pages that nobody has written to are no memory yet.
constexpr std::size_t kBytes = std::size_t{16} << 20U;
alignas(4096) constinit std::array<std::byte, kBytes> g_memory{};
constinit std::atomic<std::size_t> g_used{0};

}  // namespace

void* keep(std::size_t bytes) noexcept {
    if (bytes > kBytes) {
        return nullptr;
    }
    bytes = (bytes + 15) & ~std::size_t{15};
    std::size_t used = g_used.load(std::memory_order_relaxed);
    do {
        if (bytes > kBytes - used) {
            return nullptr;
        }
    } while (!g_used.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return &g_memory[used];
}

}  // namespace sample::receivers
