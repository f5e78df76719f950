// Stacks that change as programs change them, and as nothing should: frames of every kind that come
// and go on a stack laid out by their rules, and damage. After each change a walk with a memory of
// the last ones has to find what a walk without it finds.
//
// One world a process at a time.
#pragma once

#include "tests/unwind/memo_modules.h"
#include "unwind/walk/ucontext.h"
#include "unwind/walk/walk.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace sample::unwind::testing {

class World {
public:
    explicit World(Choices choices)
        : choices_{choices}, low_{reinterpret_cast<std::uint64_t>(arena())} {
        std::memset(arena(), 0, kStackBytes);
        start();
    }

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
    static constexpr std::size_t kPage = 4096;
    static constexpr std::size_t kStackBytes = 5 * kPage;

    struct Frame {
        Kind kind;
        std::uint64_t pc;
        std::uint64_t sp;
        std::uint64_t bp;
        std::uint64_t bx;
    };
    struct Written {
        std::uint64_t address;
        std::uint64_t value;
    };

    /// Where the stack ends and another one begins, on which signals may be handled.
    [[nodiscard]] std::uint64_t alternate() const { return high_ - kPage; }
    [[nodiscard]] bool has_moved() const { return generation_ % 2 == 0; }

    /// The stack, between pages that nobody can read.
    static void* arena() {
        static void* const stack = [] {
            void* pages = ::mmap(nullptr, kStackBytes + 2 * kPage, PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            auto* begin = static_cast<std::byte*>(pages) + kPage;
            if (pages == MAP_FAILED ||
                ::mprotect(begin, kStackBytes, PROT_READ | PROT_WRITE) != 0) {
                std::abort();
            }
            return static_cast<void*>(begin);
        }();
        return stack;
    }

    /// One for all worlds: it is large.
    static StackMemo* empty_memo() {
        static const auto memo = std::make_unique<StackMemo>();
        memo->reset();
        return memo.get();
    }

    std::uint64_t& word_at(std::uint64_t address) {
        return *reinterpret_cast<std::uint64_t*>(address);
    }
    std::uint64_t stack_address() { return low_ + 8 * choices_.below(kStackBytes / 8); }
    std::uint64_t any_site() {
        return WorldModules::site(static_cast<Kind>(choices_.below(kKinds)), !choices_.one_in(3));
    }
    /// What may turn up in a word or a register.
    std::uint64_t anything() {
        switch (choices_.below(9)) {
            case 0:
                return 0;
            case 1:
            case 2:
                return any_site();
            case 3:
                return (choices_.one_in(2) ? any_site()
                                           : frames_[choices_.below(frames_.size())].pc) |
                       (1 + choices_.below(3)) << 62;
            case 4:
                return word_at(stack_address());
            case 5:
                return choices_.word();
            case 6:
                return frames_[choices_.below(frames_.size())].bp;
            case 7:
                return frames_[choices_.below(frames_.size())].sp;
            default:
                return stack_address();
        }
    }
    std::size_t pick_max_depth() {
        static constexpr std::array<std::size_t, 4> kDepths{StackMemo::kMinDepth, 17, 40,
                                                            StackMemo::kMaxFrames};
        return kDepths[choices_.below(kDepths.size())];
    }

    void start() {
        frames_.clear();
        const std::uint64_t top = alternate() - 64;
        constexpr std::array<Kind, 4> kOutermost{Kind::root, Kind::small, Kind::frame_pointer,
                                                 Kind::deref};
        const Kind kind = kOutermost[choices_.below(kOutermost.size())];
        Frame frame{kind, WorldModules::begin(kind), top - 24, top - 16, choices_.word()};
        if (kind == Kind::small && has_moved()) {
            frame.sp = top - 40;
        }
        word_at(top - 8) = 0;
        word_at(top - 16) = anything_at_root();
        if (kind == Kind::deref) {
            frame.sp = top - 48;
            word_at(frame.sp + 16) = top - 8;
        }
        frames_.push_back(frame);
    }
    std::uint64_t anything_at_root() { return choices_.one_in(2) ? 0 : choices_.word(); }

    /// A call from the innermost frame, or a signal. Not where the stack is full.
    void push(Kind kind) {
        Frame& outer = frames_.back();
        const std::uint64_t cfa = outer.sp;
        if (cfa < (cfa > alternate() ? alternate() : low_) + 1024) {
            return;
        }
        if (kind != Kind::trampoline && kind != Kind::exact_caller) {
            outer.pc = WorldModules::site(outer.kind, !choices_.one_in(4));
        }
        const std::uint64_t gap = 8 * choices_.below(4);
        Frame inner{kind, WorldModules::begin(kind) + choices_.below(16), cfa, outer.bp, outer.bx};
        word_at(cfa - 8) = outer.pc;
        switch (kind) {
            case Kind::leaf:
                inner.sp = cfa - 8;
                break;
            case Kind::small:
                inner.sp = cfa - (has_moved() ? 40 : 24);
                break;
            case Kind::large:
                inner.sp = cfa - 144;
                break;
            case Kind::saves_bp:
                inner.sp = cfa - 32;
                word_at(cfa - 16) = outer.bp;
                inner.bp = anything();
                break;
            case Kind::frame_pointer:
            case Kind::jit:
                word_at(cfa - 16) = outer.bp;
                [[fallthrough]];
            case Kind::keeps_bp:
                inner.bp = cfa - 16;
                inner.sp = inner.bp - gap;
                break;
            case Kind::bp_above:
                inner.sp = cfa - 16;
                break;
            case Kind::realigned:
                inner.bp = cfa - 32;
                word_at(inner.bp) = outer.bp;
                word_at(inner.bp - 8) = cfa;
                inner.sp = inner.bp - 8 - gap;
                break;
            case Kind::deref:
            case Kind::deref_saves_bp:
            case Kind::deref_at_bp:
                inner.sp = cfa - 48 - gap;
                word_at(inner.sp + 16) = cfa - 8;
                word_at(cfa - 16) = outer.bp;
                word_at(cfa - 24) = outer.bp;
                inner.bp = kind == Kind::deref            ? outer.bp
                           : kind == Kind::deref_saves_bp ? anything()
                                                          : cfa - 24;
                break;
            case Kind::saves_bx:
                inner.sp = cfa - 16;
                word_at(cfa - 16) = outer.bx;
                inner.bx = anything();
                break;
            case Kind::by_bx:
                inner.bx = cfa - 16;
                inner.sp = inner.bx - gap;
                break;
            case Kind::moves_bp:
                inner.sp = cfa - 24;
                break;
            case Kind::in_register:
                di_ = outer.pc;
                break;
            case Kind::popped:
                inner.sp = cfa - 8;
                word_at(cfa - 16) = outer.bp;
                break;
            case Kind::deref_bx:
                inner.bx = cfa - 24;
                word_at(inner.bx) = cfa;
                inner.sp = inner.bx - gap;
                break;
            case Kind::no_rule:
                inner.sp = cfa - 8 - gap;
                break;
            case Kind::exact_caller:
                inner.sp = cfa - 16;
                break;
            case Kind::trampoline:
                // Also on a stack of its own, which lies above.
                inner.sp = (cfa < alternate() && choices_.one_in(2) ? high_ : cfa) - 320;
                interrupt(outer, inner.sp);
                break;
            case Kind::root:
                break;
        }
        frames_.push_back(inner);
    }
    void interrupt(const Frame& frame, std::uint64_t sp) {
        std::uint64_t slot = sp + kSigcontextOffset;
        for (const std::uint8_t reg : kSigcontextOrder) {
            word_at(slot) = reg == Registers::kSp   ? frame.sp
                            : reg == Registers::kBp ? frame.bp
                            : reg == Registers::kPc ? frame.pc
                            : reg == Registers::kBx ? frame.bx
                                                    : choices_.word();
            slot += 8;
        }
    }

    Kind pick_kind() {
        // Mostly what compilers make, or few stacks would be whole.
        if (!choices_.one_in(12)) {
            constexpr std::array<Kind, 8> kUsual{
                Kind::leaf,      Kind::small, Kind::large,          Kind::saves_bp,
                Kind::realigned, Kind::deref, Kind::deref_saves_bp, Kind::frame_pointer};
            return kUsual[choices_.below(kUsual.size())];
        }
        return static_cast<Kind>(choices_.below(kKinds));
    }

    void change() {
        // Damage is undone most of the time, or no stack would stay whole.
        if (!choices_.one_in(4)) {
            for (; !damage_.empty(); damage_.pop_back()) {
                word_at(damage_.back().address) = damage_.back().value;
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
                    start();
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
                move_on();
        }
    }
    /// As a program goes on: some frames end, others begin.
    void move_on() {
        const std::uint64_t ends = choices_.below(choices_.one_in(8) ? 40 : 4);
        frames_.resize(std::max<std::size_t>(
            1, frames_.size() - std::min<std::size_t>(frames_.size() - 1, ends)));
        for (std::uint64_t begins = choices_.below(choices_.one_in(8) ? 40 : 4); begins > 0;
             --begins) {
            push(pick_kind());
        }
        Frame& leaf = frames_.back();
        leaf.pc = WorldModules::begin(leaf.kind) + choices_.below(16);
    }
    void damage_word() {
        // Mostly one that the frames use.
        const Frame& frame = frames_[choices_.below(frames_.size())];
        std::uint64_t address = frame.sp + 8 * choices_.below(12) - 32;
        if (choices_.one_in(6)) {
            address = stack_address();
        }
        address = std::clamp(address & ~std::uint64_t{7}, low_, high_ - 8);
        std::uint64_t& word = word_at(address);
        damage_.push_back({address, word});
        word = choices_.one_in(3) ? word + 8 * choices_.below(9) - 32 : anything();
    }
    void change_bounds() {
        switch (choices_.below(5)) {
            case 0:
                bounds_ = {stack_address(), high_};
                break;
            case 1:
                bounds_ = {low_, stack_address() + choices_.below(8)};
                break;
            case 2:
                bounds_ = {0, 0};
                break;
            default:
                bounds_ = {low_, high_};
        }
        outside_ = choices_.one_in(2) ? StackMemory::Outside::probe : StackMemory::Outside::fail;
    }

    [[nodiscard]] Registers registers() const {
        const Frame& leaf = frames_.back();
        Registers registers{};
        registers.value[Registers::kPc] = leaf.pc + register_errors_[0];
        registers.value[Registers::kSp] = leaf.sp + register_errors_[1];
        registers.value[Registers::kBp] = leaf.bp + register_errors_[2];
        registers.value[Registers::kBx] = leaf.bx;
        registers.value[5] = di_;
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
    std::uint64_t low_;
    std::uint64_t high_ = low_ + kStackBytes;
    StackBounds bounds_{low_, high_};
    StackMemory::Outside outside_ = StackMemory::Outside::fail;
    std::uint64_t generation_ = 1;
    std::size_t max_depth_ = pick_max_depth();
    std::vector<Frame> frames_;
    std::uint64_t di_ = 0;
    std::vector<Written> damage_;
    std::array<std::uint64_t, 3> register_errors_{};
    std::vector<FrameAddress> last_;
    Counts counts_;
};

}  // namespace sample::unwind::testing
