#include "sampler/capture/library_guard.h"

#include "sampler/capture/raw_syscall.h"

#include <atomic>
#include <cstdint>

namespace sample::capture {
namespace {

// One word for two counts, so that a sample writes to it twice and not four times: who is inside,
// and above it who of them reads.
constexpr std::uint64_t kInside = 1;
constexpr std::uint64_t kReads = std::uint64_t{1} << 32;

constinit std::atomic<std::uint32_t> g_unloads{0};
constinit std::atomic<std::uint64_t> g_counts{0};

template <class Done>
void wait_until(const Done& done) noexcept {
    while (!done(g_counts.load(std::memory_order_seq_cst))) {
        raw_syscall(SYS_sched_yield);
    }
}

}  // namespace

LibraryReader::LibraryReader() noexcept {
    // Sequentially consistent with close_library_guard(): either it sees this reader, or this sees
    // the unload.
    g_counts.fetch_add(kInside + kReads, std::memory_order_seq_cst);
    // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): it must come second.
    allowed_ = g_unloads.load(std::memory_order_seq_cst) == 0;
    if (!allowed_) {
        g_counts.fetch_sub(kReads, std::memory_order_release);
    }
}

LibraryReader::~LibraryReader() {
    g_counts.fetch_sub(allowed_ ? kInside + kReads : kInside, std::memory_order_release);
}

void close_library_guard() noexcept {
    g_unloads.fetch_add(1, std::memory_order_seq_cst);
    wait_until([](std::uint64_t counts) { return counts < kReads; });
}

void open_library_guard() noexcept {
    g_unloads.fetch_sub(1, std::memory_order_seq_cst);
}

void wait_until_all_are_out() noexcept {
    // As for an unload: who is not seen here sees that word changed, and what was written before.
    g_unloads.fetch_add(1, std::memory_order_seq_cst);
    wait_until([](std::uint64_t counts) { return counts == 0; });
    g_unloads.fetch_sub(1, std::memory_order_seq_cst);
}

void reset_library_guard() noexcept {
    g_counts.store(0, std::memory_order_relaxed);
    g_unloads.store(0, std::memory_order_relaxed);
}

}  // namespace sample::capture
