#include "sampler/capture/library_guard.h"

#include "sampler/capture/brief_sleep.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sample::capture {
namespace {

// One word for two counts, so that a sample writes to it twice and not four times: who is inside,
// and above it who of them reads.
constexpr std::uint64_t kInside = 1;
constexpr std::uint64_t kReads = std::uint64_t{1} << 32;

/// Each thread counts in one of these, mostly alone: a word that every sample of every thread
/// changes would go from one processor's cache to the next all the time.
struct alignas(64) Counter {
    std::atomic<std::uint64_t> counts{0};
};
constexpr unsigned kCounterBits = 6;
constinit std::array<Counter, std::size_t{1} << kCounterBits> g_counters{};

constinit std::atomic<std::uint32_t> g_unloads{0};

/// By the stack, as no two threads share one. Any counter is right for any thread: where two meet
/// is no matter.
std::size_t index_by(const void* frame) noexcept {
    constexpr unsigned kSmallestStackBits = 14;
    return (reinterpret_cast<std::uint64_t>(frame) >> kSmallestStackBits) * 0x9e3779b97f4a7c15U >>
           (64U - kCounterBits);
}

/// Sees each counter once as it is to be: whoever counts there later sees g_unloads changed, too. A
/// thread counts for some microseconds of each period, so that moment comes.
template <class Done>
void wait_until(const Done& done) noexcept {
    for (const Counter& counter : g_counters) {
        while (!done(counter.counts.load(std::memory_order_seq_cst))) {
            sleep_briefly();
        }
    }
}

}  // namespace

LibraryReader::LibraryReader() noexcept : index_{index_by(this)} {
    // Sequentially consistent with close_library_guard(): either it sees this reader, or this sees
    // the unload.
    std::atomic<std::uint64_t>& counts = g_counters[index_].counts;
    counts.fetch_add(kInside + kReads, std::memory_order_seq_cst);
    // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): it must come second.
    allowed_ = g_unloads.load(std::memory_order_seq_cst) == 0;
    if (!allowed_) {
        counts.fetch_sub(kReads, std::memory_order_release);
    }
}

LibraryReader::~LibraryReader() {
    g_counters[index_].counts.fetch_sub(allowed_ ? kInside + kReads : kInside,
                                        std::memory_order_release);
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
    for (Counter& counter : g_counters) {
        counter.counts.store(0, std::memory_order_relaxed);
    }
    g_unloads.store(0, std::memory_order_relaxed);
}

}  // namespace sample::capture
