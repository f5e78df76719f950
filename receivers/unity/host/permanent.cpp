#include "receivers/unity/host/permanent.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace sample::unity {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 18U;
constexpr std::size_t kAlignment = 16;

/// The current block: how much of it is used lies in its first word.
constinit std::atomic<std::byte*> g_block{nullptr};

std::atomic<std::size_t>& used_of(std::byte* block) noexcept {
    return *reinterpret_cast<std::atomic<std::size_t>*>(block);
}

/// Puts a new block in the place of `full`, unless somebody else has.
bool begin_block(std::byte* full) noexcept {
    void* const made =
        ::mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
        return false;
    }
    auto* const block = static_cast<std::byte*>(made);
    used_of(block).store(kAlignment, std::memory_order_relaxed);
    if (!g_block.compare_exchange_strong(full, block, std::memory_order_acq_rel)) {
        ::munmap(made, kBlockBytes);
    }
    return true;
}

}  // namespace

void* keep_bytes(std::size_t bytes) noexcept {
    if (bytes > kBlockBytes / 4) {
        return nullptr;
    }
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    for (;;) {
        std::byte* const block = g_block.load(std::memory_order_acquire);
        if (block != nullptr) {
            const std::size_t at = used_of(block).fetch_add(bytes, std::memory_order_relaxed);
            if (at + bytes <= kBlockBytes) {
                return block + at;
            }
        }
        if (!begin_block(block)) {
            return nullptr;
        }
    }
}

const char* keep_text(const char* text, std::size_t most) noexcept {
    const std::size_t size = text == nullptr ? 0 : ::strnlen(text, most);
    auto* const copy = static_cast<char*>(keep_bytes(size + 1));
    if (copy != nullptr && size != 0) {
        std::memcpy(copy, text, size);
    }
    return copy;
}

}  // namespace sample::unity
