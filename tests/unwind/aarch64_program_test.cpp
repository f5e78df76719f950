// Walks the recorded lives of real aarch64 programs, instruction by instruction, and compares each
// stack with the truth. The recordings are in tests/unwind/aarch64/, made by record.py there.
#include "tests/built.h"
#include "tests/unwind/aarch64/aarch64.h"
#include "unwind/host/elf_image.h"
#include "unwind/walk/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace sample::unwind {
namespace {

using Arch = arch::Aarch64;
using Numbers = Arch::Numbers;
using Frames = std::vector<FrameAddress>;

std::string path_of(const std::string& file) {
    return std::string{built::kRecordings} + "/" + file;
}

/// A recording, one instruction at a time.
class Recording {
public:
    explicit Recording(const std::string& name) : file_{path_of(name + ".steps")} {
        std::string line;
        std::getline(file_, line);
        std::istringstream range{line};
        range >> std::hex >> low_ >> high_;
        stack_.resize((high_ - low_) / 8);
    }

    [[nodiscard]] bool next() {
        std::string line;
        if (!std::getline(file_, line)) {
            return false;
        }
        registers_.value[Numbers::kPc] += 4;
        std::istringstream words{line};
        for (std::string word; words >> word;) {
            apply(word);
        }
        return true;
    }

    [[nodiscard]] const BasicRegisters<Arch>& registers() const { return registers_; }
    /// All of the stack, or what is left if the part below sp is not known.
    [[nodiscard]] StackMemory memory(bool from_sp) const {
        const std::uint64_t begin = from_sp ? registers_.sp() : low_;
        return StackMemory::recorded(begin,
                                     std::as_bytes(std::span{stack_}.subspan((begin - low_) / 8)));
    }
    [[nodiscard]] Frames truth() const {
        Frames frames{FrameAddress{Pc{registers_.pc()}}};
        frames.insert(frames.end(), callers_.rbegin(), callers_.rend());
        return frames;
    }

private:
    void apply(const std::string& word) {
        const auto number = [](const std::string& text, int base) {
            return std::stoull(text, nullptr, base);
        };
        const std::size_t equals = word.find('=');
        if (word == "p") {
            callers_.pop_back();
        } else if (word[0] == 'x') {
            registers_.value.at(number(word.substr(1, equals - 1), 10)) =
                number(word.substr(equals + 1), 16);
        } else if (equals != std::string::npos) {
            stack_.at((number(word, 16) - low_) / 8) = number(word.substr(equals + 1), 16);
        } else if (word[0] == 'c') {
            callers_.emplace_back(ReturnAddress{number(word.substr(1), 16)});
        } else {
            // No call precedes what a signal interrupted, nor the trampoline.
            callers_.emplace_back(Pc{number(word.substr(1), 16)});
        }
    }

    std::ifstream file_;
    std::uint64_t low_ = 0;
    std::uint64_t high_ = 0;
    BasicRegisters<Arch> registers_{};
    std::vector<std::uint64_t> stack_;
    Frames callers_;  ///< Root first.
};

class WalkAarch64Program : public ::testing::TestWithParam<const char*> {
protected:
    WalkAarch64Program()
        : image_{ElfImage::map(path_of(GetParam() + std::string{".elf"}), EM_AARCH64)},
          module_{image_.value().module_at(0)} {}

    [[nodiscard]] ModuleTable modules() const { return {{&module_, 1}, 1, LoaderLookup::off}; }
    WalkResult walk(const Recording& recording, bool from_sp, Frames& out) {
        StackMemory memory = recording.memory(from_sp);
        RowCache cache{*storage_};
        out.resize(64);
        const WalkResult result =
            unwind::walk(modules(), cache, recording.registers(), memory, std::span{out});
        out.resize(result.depth);
        return result;
    }

    Result<ElfImage> image_;
    Module module_;
    std::unique_ptr<std::array<RowCache::Entry, 1024>> storage_ =
        std::make_unique<std::array<RowCache::Entry, 1024>>();
};

TEST_P(WalkAarch64Program, is_right_at_every_instruction) {
    Recording recording{GetParam()};
    Frames frames;
    std::size_t steps = 0;
    std::size_t deepest = 0;
    for (; recording.next(); ++steps) {
        for (const bool from_sp : {false, true}) {
            const WalkResult result = walk(recording, from_sp, frames);
            ASSERT_EQ(frames, recording.truth())
                << "step " << steps << ", pc " << std::hex << recording.registers().pc();
            EXPECT_EQ(result.reason, StopReason::root);
            EXPECT_EQ(result.guessed, 0U);
        }
        deepest = std::max(deepest, frames.size());
    }
    EXPECT_GT(steps, 800U);
    EXPECT_GE(deepest, 10U);
}

TEST_P(WalkAarch64Program, is_the_same_with_a_memo) {
    Recording recording{GetParam()};
    const auto memo = std::make_unique<StackMemo>();
    RowCache cache{*storage_};
    std::size_t joined = 0;
    while (recording.next()) {
        StackMemory memory = recording.memory(false);
        const WalkResult result =
            unwind::walk(modules(), cache, recording.registers(), memory, *memo, 64);
        const auto root_first = memo->root_first();
        ASSERT_EQ(Frames(root_first.rbegin(), root_first.rend()), recording.truth())
            << std::hex << recording.registers().pc();
        EXPECT_EQ(result.reason, StopReason::root);
        joined += memo->joined();
    }
    EXPECT_GT(joined, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Builds, WalkAarch64Program, ::testing::Values("records", "signed"),
                         [](const auto& build) { return std::string{build.param}; });

TEST(ElfImage, takes_the_architecture_that_it_is_told) {
    EXPECT_TRUE(ElfImage::map(path_of("records.elf"), EM_AARCH64));
    EXPECT_FALSE(ElfImage::map(path_of("records.elf"), EM_X86_64));
}

}  // namespace
}  // namespace sample::unwind
