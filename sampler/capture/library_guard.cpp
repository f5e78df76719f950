#include "sampler/capture/library_guard.h"

#include "sampler/capture/raw_syscall.h"

#include <atomic>
#include <cstdint>

namespace sample::capture {
namespace {

constinit std::atomic<std::uint32_t> g_unloads{0};
constinit std::atomic<std::uint32_t> g_readers{0};

}  // namespace

LibraryReader::LibraryReader() noexcept {
    // Sequentially consistent with close_library_guard(): either it sees this reader, or this sees
    // the unload.
    g_readers.fetch_add(1, std::memory_order_seq_cst);
    // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): it must come second.
    allowed_ = g_unloads.load(std::memory_order_seq_cst) == 0;
    if (!allowed_) {
        g_readers.fetch_sub(1, std::memory_order_release);
    }
}

LibraryReader::~LibraryReader() {
    if (allowed_) {
        g_readers.fetch_sub(1, std::memory_order_release);
    }
}

void close_library_guard() noexcept {
    g_unloads.fetch_add(1, std::memory_order_seq_cst);
    while (g_readers.load(std::memory_order_seq_cst) != 0) {
        raw_syscall(SYS_sched_yield);
    }
}

void open_library_guard() noexcept {
    g_unloads.fetch_sub(1, std::memory_order_seq_cst);
}

void reset_library_guard() noexcept {
    g_readers.store(0, std::memory_order_relaxed);
    g_unloads.store(0, std::memory_order_relaxed);
}

}  // namespace sample::capture
