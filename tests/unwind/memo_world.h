// Stacks that change as programs change them, and as nothing should: by damage. After each change a
// walk with a memory of the last ones has to find what a walk without it finds.
//
// One world a process at a time.
#pragma once

#include "tests/unwind/memo_stack.h"
#include "unwind/walk/walk.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace sample::unwind::testing {

class World {
public:
    explicit World(Choices choices) : choices_{choices} {}
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    ~World() = default;

    [[nodiscard]] bool exhausted() const { return choices_.exhausted(); }

    /// One change of the stack, the registers, or what is known of them; then the comparison. Empty
    /// if both walks agree, else what they found.
    std::string step() {
        change();
        return compare();
    }

    struct Counts {
        std::uint64_t walks = 0;
        std::uint64_t joined = 0;   ///< Walks that took something over.
        std::uint64_t at_root = 0;  ///< Walks that reached the root.
        std::uint64_t elided = 0;
        std::uint64_t guessed = 0;
        std::uint64_t restored = 0;
    };
    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    struct Written {
        std::uint64_t address;
        std::uint64_t value;
    };

    [[nodiscard]] bool has_moved() const { return generation_ % 2 == 0; }

    /// One for all worlds: it is large.
    static StackMemo* empty_memo() {
        static const auto memo = std::make_unique<StackMemo>();
        memo->reset();
        return memo.get();
    }

    std::size_t pick_max_depth() {
        static constexpr std::array<std::size_t, 4> kDepths{StackMemo::kMinDepth, 17, 40,
                                                            StackMemo::kMaxFrames};
        return kDepths[choices_.below(kDepths.size())];
    }

    void change() {
        // Damage is undone most of the time, or no stack would stay whole.
        if (!choices_.one_in(4)) {
            for (; !damage_.empty(); damage_.pop_back()) {
                stack_.word_at(damage_.back().address) = damage_.back().value;
            }
            for (std::uint64_t& error : register_errors_) {
                error = 0;
            }
        }
        switch (choices_.below(16)) {
            case 0:
            case 1:
            case 2:
                damage_word();
                break;
            case 3:
                register_errors_[choices_.below(3)] =
                    choices_.one_in(2) ? 8 * (1 + choices_.below(8)) - 40 : choices_.word();
                break;
            case 4:
                if (choices_.one_in(4)) {
                    damage_.clear();
                    stack_.start(has_moved());
                }
                break;
            case 5:
                if (choices_.one_in(4)) {
                    ++generation_;
                }
                break;
            case 6:
                change_bounds();
                break;
            case 7:
                if (choices_.one_in(8)) {
                    max_depth_ = pick_max_depth();
                }
                break;
            default:
                stack_.move_on(has_moved());
        }
    }
    void damage_word() {
        // Mostly one that the frames use.
        const FrameStack::Frame& frame = stack_.any_frame();
        std::uint64_t address = frame.sp + 8 * choices_.below(12) - 32;
        if (choices_.one_in(6)) {
            address = stack_.any_address();
        }
        address = std::clamp(address & ~std::uint64_t{7}, stack_.low(), stack_.high() - 8);
        std::uint64_t& word = stack_.word_at(address);
        damage_.push_back({address, word});
        word = choices_.one_in(3) ? word + 8 * choices_.below(9) - 32 : stack_.anything();
    }
    void change_bounds() {
        switch (choices_.below(5)) {
            case 0:
                bounds_ = {stack_.any_address(), stack_.high()};
                break;
            case 1:
                bounds_ = {stack_.low(), stack_.any_address() + choices_.below(8)};
                break;
            case 2:
                bounds_ = {0, 0};
                break;
            default:
                bounds_ = {stack_.low(), stack_.high()};
        }
        outside_ = choices_.one_in(2) ? StackMemory::Outside::probe : StackMemory::Outside::fail;
    }

    [[nodiscard]] Registers registers() const {
        const FrameStack::Frame& leaf = stack_.leaf();
        Registers registers{};
        registers.value[Registers::kPc] = leaf.pc + register_errors_[0];
        registers.value[Registers::kSp] = leaf.sp + register_errors_[1];
        registers.value[Registers::kBp] = leaf.bp + register_errors_[2];
        registers.value[Registers::kBx] = leaf.bx;
        registers.value[5] = stack_.di();
        return registers;
    }

    /// What walk()'s contract makes of a whole walk, root first.
    [[nodiscard]] std::vector<FrameAddress> contracted(std::span<const FrameAddress> leaf_first,
                                                       StopReason reason) const {
        std::vector<FrameAddress> kept{leaf_first.begin(), leaf_first.end()};
        if (kept.size() > max_depth_) {
            const std::size_t leaf_half = max_depth_ / 2;
            kept.resize(leaf_half);
            if (reason == StopReason::root) {
                const auto root_half = leaf_first.last(max_depth_ - 1 - leaf_half);
                kept.push_back(FrameAddress::elided());
                kept.insert(kept.end(), root_half.begin(), root_half.end());
            }
        }
        std::reverse(kept.begin(), kept.end());
        return kept;
    }

    /// Where no root is found: the leaf's half as it is expected, below a root's end that the last
    /// stack had.
    [[nodiscard]] bool ends_in_last_root(std::span<const FrameAddress> found,
                                         std::span<const FrameAddress> expected) const {
        const auto mark = std::find(found.begin(), found.end(), FrameAddress::elided());
        const auto root = static_cast<std::size_t>(mark - found.begin());
        return mark != found.end() && root > 0 && root <= last_.size() &&
               std::equal(found.begin(), mark, last_.begin()) &&
               std::equal(mark + 1, found.end(), expected.begin(), expected.end());
    }

    std::string compare() {
        static const std::array<WorldModules, 2> modules{WorldModules{false}, WorldModules{true}};
        const ModuleTable table{modules[has_moved() ? 1 : 0].modules(), generation_,
                                LoaderLookup::off};
        RowCache cache{*rows_};
        const Registers start = registers();
        const auto memory = [this] { return StackMemory::live(bounds_, outside_); };

        std::array<std::byte, sizeof(*rows_)> before;
        std::memcpy(before.data(), rows_->data(), before.size());
        StackMemory memory_without = memory();
        static std::array<FrameAddress, 4096> frames;
        const WalkResult without = walk(table, cache, start, memory_without, frames);
        const std::vector<FrameAddress> expected =
            contracted(std::span{frames}.first(without.depth), without.reason);

        // What the cache remembers of guesses counts, too: both start from the same.
        std::memcpy(static_cast<void*>(rows_->data()), before.data(), before.size());
        StackMemory memory_with = memory();
        const WalkResult with = walk(table, cache, start, memory_with, *memo_, max_depth_);
        const auto found = memo_->root_first();

        ++counts_.walks;
        counts_.joined += memo_->joined() != 0 ? 1 : 0;
        counts_.at_root += with.reason == StopReason::root ? 1 : 0;
        counts_.elided += without.depth > max_depth_ ? 1 : 0;
        counts_.guessed += with.guessed != 0 ? 1 : 0;
        counts_.restored += with.restored_all ? 1 : 0;

        const bool kept_is_right =
            memo_->kept() <= last_.size() && memo_->kept() <= found.size() &&
            std::equal(found.begin(), found.begin() + memo_->kept(), last_.begin());
        bool equal = std::equal(found.begin(), found.end(), expected.begin(), expected.end());
        std::uint32_t guessed = without.guessed;
        if (!equal && without.reason == StopReason::depth_limit) {
            equal = ends_in_last_root(found, expected);
            ++guessed;
        }
        last_.assign(found.begin(), found.end());
        if (equal && kept_is_right && with.depth == found.size() && with.reason == without.reason &&
            with.guessed == guessed && with.restored_all == without.restored_all) {
            return {};
        }
        std::ostringstream text;
        text << std::hex << "kept " << memo_->kept() << (kept_is_right ? "" : " (not the same)")
             << " joined " << memo_->joined() << " max_depth " << max_depth_ << "\nwith: reason "
             << static_cast<int>(with.reason) << " guessed " << with.guessed << " restored "
             << with.restored_all;
        print(text, found);
        text << "\nwithout: reason " << static_cast<int>(without.reason) << " guessed "
             << without.guessed << " restored " << without.restored_all;
        print(text, expected);
        return text.str();
    }
    static void print(std::ostringstream& text, std::span<const FrameAddress> frames) {
        for (const FrameAddress frame : frames) {
            text << ' ' << frame.bits();
        }
    }

    Choices choices_;
    std::unique_ptr<std::array<RowCache::Entry, 64>> rows_ =
        std::make_unique<std::array<RowCache::Entry, 64>>();
    StackMemo* memo_ = empty_memo();
    FrameStack stack_{choices_};
    StackBounds bounds_{stack_.low(), stack_.high()};
    StackMemory::Outside outside_ = StackMemory::Outside::fail;
    std::uint64_t generation_ = 1;
    std::size_t max_depth_ = pick_max_depth();
    std::vector<Written> damage_;
    std::array<std::uint64_t, 3> register_errors_{};
    std::vector<FrameAddress> last_;
    Counts counts_;
};

}  // namespace sample::unwind::testing
