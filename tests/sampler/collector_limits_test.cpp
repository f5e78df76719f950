// A program that writes whatever it likes into its area: how much memory of the collector's that
// takes, and that what there was no room for is counted.
#include "core/stack_break.h"
#include "tests/sampler/process_fixture.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

namespace sample::collector {
namespace {

#if defined(SAMPLE_SANITIZED)
/// What an allocation takes then, and keeps after it is freed, is the sanitizer's.
constexpr bool kMeasuresMemory = false;
#else
constexpr bool kMeasuresMemory = true;
#endif

/// Of this process. The area is shared memory, and not counted.
std::size_t private_bytes() {
    std::ifstream status{"/proc/self/statm"};
    std::size_t whole = 0;
    std::size_t resident = 0;
    std::size_t shared = 0;
    status >> whole >> resident >> shared;
    return (resident - shared) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

class CollectorLimits : public ProfiledProcessTest {
protected:
    static constexpr std::size_t kMiB = std::size_t{1} << 20U;

    /// Calls `write` until it says that it is done; the collector drains whenever chunks run out.
    void attack(const std::function<bool()>& write) {
        for (bool done = false; !done;) {
            for (int i = 0; i < 256 && !done; ++i) {
                done = write();
            }
            process->drain();
            recorder.flush(trace::FlushMode::worthwhile);
        }
    }
    /// The collector has taken no more memory than that since the test began.
    void expect_growth_below(std::size_t mib) const {
        if (kMeasuresMemory) {
            EXPECT_LT(private_bytes() - before_, mib * kMiB);
        }
    }
    [[nodiscard]] bool is_said(const std::string& words) const {
        const auto notes = recorder.notes();
        return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
            return note.find(words) != std::string::npos;
        });
    }

private:
    std::size_t before_ = private_bytes();
};

TEST_F(CollectorLimits, stacks_without_end) {
    start(0);
    std::uint64_t samples = 0;
    // Twice as many different frames as there is room for: below another root each time.
    constexpr std::size_t kFrames = 8000;
    HandSample deep;
    deep.fresh.assign(kFrames, exact(kApp));
    attack([&] {
        deep.fresh.back() = exact(kApp + samples);
        test.add_sample(main, deep);
        return ++samples * kFrames > 2 * std::size_t{kMostNodes};
    });
    EXPECT_LE(recorder.nodes(), kMostNodes + 100U);
    expect_growth_below(400);
    EXPECT_TRUE(is_said("samples have no stack"));
    // A stack that is known still is.
    deep.fresh.back() = exact(kApp);
    test.add_sample(main, deep);
    process->end(trace::EndKind::exited, 0, {});
    EXPECT_EQ(recorder.beyond().stacks, samples - kMostNodes / kFrames);
    read_back();
    ASSERT_EQ(read.samples.size(), samples + 1);
    EXPECT_EQ(stack_of(read.samples.back().node).size(), kFrames);
    const auto no_room = static_cast<std::uint64_t>(StackBreak::no_room);
    EXPECT_EQ(stack_of(read.samples[samples - 1].node),
              std::vector{trace::kStackIncomplete + ("+" + std::to_string(no_room))});
}

TEST_F(CollectorLimits, modules_without_end) {
    start(0);
    std::uint64_t modules = 0;
    attack([&] {
        const std::uint64_t at = 0x100000 + modules * 0x1000;
        test.add_module(main, "/no/such/" + std::to_string(modules) + std::string(3000, 'x'), at,
                        at + 0x1000);
        return ++modules == 50'000;
    });
    expect_growth_below(300);
    EXPECT_GT(recorder.beyond().modules, 0U);
    EXPECT_TRUE(is_said("no room"));
    // Code in one of them is code, if not known.
    test.add_sample(main, {{exact(0x100000 + (modules - 1) * 0x1000)}});
    end(1'000'000);
    ASSERT_EQ(read.samples.size(), 1U);
    EXPECT_EQ(stack_of(read.samples[0].node).at(0).find(trace::kUnknownCode), 0U);
}

TEST_F(CollectorLimits, libraries_of_threads_without_end) {
    start(0);
    std::uint64_t records = 0;
    attack([&] {
        const std::uint64_t at = 0x100000 + records * 0x1000;
        test.add_module(main, "/no/such/library", at, at + 0x1000, capture::kModulePlugin);
        return ++records == 600'000;
    });
    expect_growth_below(200);
    EXPECT_GT(recorder.beyond().modules, 0U);
}

TEST_F(CollectorLimits, threads_without_end) {
    start(0);
    std::uint32_t threads = 0;
    attack([&] {
        capture::ThreadRecord record;
        record.head.kind = capture::RecordKind::thread_start;
        record.tid = 1000 + threads;
        test.write(main, record, nullptr, 0);
        test.add_sample(main, {{exact(kApp + 0x10)}});
        return ++threads == kMostThreads + 10'000;
    });
    expect_growth_below(300);
    EXPECT_GE(recorder.beyond().threads, 10'000U);
    EXPECT_TRUE(is_said("threads are recorded together"));
}

TEST_F(CollectorLimits, threads_that_are_only_seen_without_end) {
    start(0);
    test.area().header.observes_waits.store(1);
    std::uint32_t waits = 0;
    attack([&] {
        test.add_wait(main, {1'000'000'000U + waits, capture::WaitKind::clocks, waits});
        return ++waits == 20'000;
    });
    expect_growth_below(100);
    EXPECT_EQ(recorder.beyond().threads, 20'000U - capture::kMaxThreads);
}

TEST_F(CollectorLimits, deep_stacks_of_all_threads) {
    start(0);
    // One chunk after the other says that it is another slot's.
    HandSample deep;
    for (std::uint64_t i = 0; i < 8000; ++i) {
        deep.fresh.push_back(exact(kApp + i));
    }
    std::uint32_t slot = 1;
    attack([&] {
        test.slot(slot).chunk = capture::kNoIndex;
        test.slot(slot).tid.store(5000 + slot);
        test.add_sample(slot, deep);
        test.chunk_of(slot).full.store(1);
        return ++slot == capture::kMaxThreads;
    });
    expect_growth_below(150);
}

TEST_F(CollectorLimits, damage_is_counted) {
    start(0);
    test.add_sample(main, {{exact(kApp)}, 77});
    process->end(trace::EndKind::exited, 0, {});
    EXPECT_EQ(recorder.beyond().damaged, 1U);
    EXPECT_TRUE(is_said("damaged"));
}

TEST_F(CollectorLimits, notes_without_end) {
    for (int i = 0; i < 1000; ++i) {
        recorder.add_note("process " + std::to_string(i));
    }
    EXPECT_EQ(recorder.notes().size(), kMostNotes + 1);
    EXPECT_TRUE(is_said("notes more"));
}

}  // namespace
}  // namespace sample::collector
