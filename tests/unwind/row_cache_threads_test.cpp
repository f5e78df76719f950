// One small cache, many threads, different stacks: entries and their links to callers are rewritten
// all the time, and no walk may take another's row.
#include "tests/unwind/cfi_builder.h"
#include "unwind/walk/walk.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace sample::unwind {
namespace {

using testing::Bytes;
using testing::CfiBuilder;

constexpr std::int32_t kFunctions = 40;
constexpr std::size_t kThreads = 4;
constexpr std::size_t kStacks = 16;
constexpr int kRounds = 1500;

/// A stack, and what a walk of it must find.
struct Known {
    std::vector<std::uint64_t> words;
    Registers registers{};
    std::vector<FrameAddress> frames;
};

class RowCacheThreads : public ::testing::Test {
protected:
    RowCacheThreads() {
        // Function i has a frame of its own size, so that a wrong row leads astray.
        for (std::int32_t i = 0; i < kFunctions; ++i) {
            builder_.fde(16 * i, 16, Bytes{0x0e, static_cast<std::uint8_t>(frame_bytes(i))});
        }
        const cfi::Tables tables = builder_.tables();
        module_.span = {builder_.pc(0), builder_.pc(0x1000)};
        module_.header = tables.header;
        module_.header_size = tables.header_size;
        module_.tables = {tables.low, tables.high};
    }
    static std::uint64_t frame_bytes(std::int32_t function) {
        return 8 * (2 + static_cast<std::uint64_t>(function) % 13);
    }

    /// The same functions in another order for each seed.
    [[nodiscard]] Known make(std::uint64_t seed) const {
        Known known;
        std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
        std::vector<std::int32_t> functions;
        for (std::size_t depth = 20 + seed % 20; depth > 0; --depth) {
            state = state * 6364136223846793005 + 1442695040888963407;
            functions.push_back(static_cast<std::int32_t>((state >> 33) % kFunctions));
        }
        const auto pc_in = [this](std::int32_t function) {
            return builder_.pc(16 * static_cast<std::uint64_t>(function) + 9);
        };
        known.frames.emplace_back(Pc{pc_in(functions[0])});
        for (std::size_t i = 0; i < functions.size(); ++i) {
            known.words.resize(known.words.size() + frame_bytes(functions[i]) / 8, 0);
            if (i + 1 < functions.size()) {
                known.words.back() = pc_in(functions[i + 1]);
                known.frames.emplace_back(ReturnAddress{pc_in(functions[i + 1])});
            }
        }
        known.registers.value[Registers::kPc] = pc_in(functions[0]);
        known.registers.value[Registers::kSp] = reinterpret_cast<std::uint64_t>(known.words.data());
        return known;
    }
    [[nodiscard]] const Module& module() const { return module_; }

private:
    CfiBuilder builder_;
    Module module_;
};

TEST_F(RowCacheThreads, find_their_own_rows_in_a_cache_that_all_rewrite) {
    for (const std::size_t entries : {1U, 8U, 32U}) {
        std::vector<RowCache::Entry> storage(entries);
        std::atomic<std::size_t> wrong{0};
        std::atomic<std::size_t> compiled{0};
        std::vector<std::thread> crowd;
        for (std::size_t thread = 0; thread < kThreads; ++thread) {
            crowd.emplace_back([&, thread] {
                std::vector<Known> stacks;
                for (std::size_t i = 0; i < kStacks; ++i) {
                    stacks.push_back(make(thread * kStacks + i));
                }
                RowCache cache{storage};
                std::array<FrameAddress, 64> out{};
                for (int round = 0; round < kRounds; ++round) {
                    const Known& known = stacks[static_cast<std::size_t>(round) % kStacks];
                    // Every other thread under a generation of its own: other keys, same entries.
                    const ModuleTable modules{{&module(), 1}, 1 + thread / 2, LoaderLookup::off};
                    StackMemory memory = StackMemory::live(
                        {known.registers.sp(), known.registers.sp() + 8 * known.words.size()},
                        StackMemory::Outside::fail);
                    const WalkResult result = walk(modules, cache, known.registers, memory, out);
                    compiled += result.rows_compiled;
                    const auto found = std::span{out}.first(result.depth);
                    wrong += result.reason == StopReason::root &&
                                     std::equal(found.begin(), found.end(), known.frames.begin(),
                                                known.frames.end())
                                 ? 0
                                 : 1;
                }
            });
        }
        for (std::thread& thread : crowd) {
            thread.join();
        }
        EXPECT_EQ(wrong.load(), 0U) << entries << " entries";
        EXPECT_GT(compiled.load(), std::size_t{kRounds}) << "nothing was ever rewritten";
    }
}

}  // namespace
}  // namespace sample::unwind
