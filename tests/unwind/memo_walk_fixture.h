// Walks with a memory of the last one, on stacks made by hand.
#pragma once

#include "tests/unwind/cfi_builder.h"
#include "unwind/walk/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace sample::unwind::testing {

class MemoWalk : public ::testing::Test {
protected:
    MemoWalk() : stack_(256) {
        // 0: CFA = rsp + 8. 16: rsp + 16. 32: rbp + 16, rbp saved at CFA - 16. 48: realigned.
        // 64: *(rsp + 8) + 8. 80: root. 96: CFA = rsp + 24, rbp saved at CFA - 16.
        builder_.fde(0, 16, {}).fde(16, 16, {0x0e, 16}).fde(32, 16, {0x0c, 6, 16, 0x86, 2});
        builder_.fde(48, 16, {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
        builder_.fde(64, 16, {0x0f, 5, 0x77, 8, 0x06, 0x23, 8}).fde(80, 16, {0x07, 16});
        builder_.fde(96, 16, {0x0e, 24, 0x86, 2});
        signals_.augmentation = "zRS";
        signals_.fde(0, 16, {0x0f, 4, 0x77, 0xa0, 0x01, 0x06});
        modules_ = {module_of(builder_), module_of(signals_)};
        modules_.resize(sort_modules(modules_));
        registers_.value[Registers::kSp] = at(0);
        registers_.value[Registers::kPc] = pc(0);
    }

    static Module module_of(CfiBuilder& builder) {
        const cfi::Tables tables = builder.tables();
        Module module;
        module.span = {builder.pc(0), builder.pc(0x400)};
        module.header = tables.header;
        module.header_size = tables.header_size;
        module.tables = {tables.low, tables.high};
        return module;
    }

    [[nodiscard]] std::uint64_t pc(std::uint64_t offset) const { return builder_.pc(offset); }
    [[nodiscard]] std::uint64_t at(std::uint64_t word) const {
        return reinterpret_cast<std::uint64_t>(stack_.data() + word);
    }
    [[nodiscard]] FrameAddress caller(std::uint64_t offset) const {
        return FrameAddress{ReturnAddress{pc(offset)}};
    }
    [[nodiscard]] StackMemory memory() const {
        return StackMemory::live({at(0), at(stack_.size())}, StackMemory::Outside::fail);
    }

    WalkResult walk(std::size_t max_depth = StackMemo::kMaxFrames) {
        const ModuleTable modules{modules_, generation_, LoaderLookup::off};
        RowCache cache{*rows_};
        StackMemory stack = memory();
        return unwind::walk(modules, cache, registers_, stack, *memo_, max_depth);
    }
    /// Root first, by a walk that remembers nothing.
    std::vector<FrameAddress> whole() {
        const ModuleTable modules{modules_, generation_, LoaderLookup::off};
        RowCache cache{*rows_};
        StackMemory stack = memory();
        std::vector<FrameAddress> frames(std::size_t{kMaxWalked} * 2);
        const WalkResult result = unwind::walk(modules, cache, registers_, stack, frames);
        frames.resize(result.depth);
        std::reverse(frames.begin(), frames.end());
        return frames;
    }
    [[nodiscard]] std::vector<FrameAddress> found() const {
        const auto frames = memo_->root_first();
        return {frames.begin(), frames.end()};
    }
    void expect_whole() { EXPECT_EQ(found(), whole()); }

    /// A stack `depth` frames deep, each two words; the innermost `changed` of them differ from
    /// those of another `seed`.
    void make_deep(std::size_t depth, std::size_t changed, unsigned seed) {
        if (stack_.size() < 2 * depth + 2) {
            stack_.resize(2 * depth + 2);
        }
        // The root's return address is the last word; a deeper stack begins further down.
        const std::size_t first = stack_.size() - 2 * depth - 2;
        for (std::size_t frame = 0; frame + 1 < depth; ++frame) {
            const std::size_t from_root = depth - 2 - frame;
            const std::uint64_t site = frame < changed ? 20 + seed % 8 : 17 + from_root % 3;
            stack_[first + 2 * frame + 1] = pc(site);
        }
        stack_[first + 2 * (depth - 1) + 1] = 0;
        registers_.value[Registers::kPc] = pc(16 + seed % 16);
        registers_.value[Registers::kSp] = at(first);
    }

    CfiBuilder builder_;
    CfiBuilder signals_;
    Registers registers_{};
    std::vector<std::uint64_t> stack_;
    std::uint64_t generation_ = 1;
    std::unique_ptr<StackMemo> memo_ = std::make_unique<StackMemo>();

private:
    std::vector<Module> modules_;
    std::unique_ptr<std::array<RowCache::Entry, 256>> rows_ =
        std::make_unique<std::array<RowCache::Entry, 256>>();
};

}  // namespace sample::unwind::testing
