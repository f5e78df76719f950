// The walk that takes over what has not changed; the contract is in walk.h.
#include "unwind/walk/walker.h"

namespace sample::unwind {

/// Collects what is new, leaf first, until a state is met that the memo has linked.
class MemoSink {
public:
    MemoSink(StackMemo& memo, const StackMemory& memory, std::uint64_t generation,
             std::size_t max_depth) noexcept
        : memo_{&memo},
          memory_{&memory},
          at_{memo.fresh_.data()},
          leaf_end_{memo.fresh_.data() + max_depth / 2},
          end_{memo.fresh_.data() + max_depth} {
        memo.begin_walk(generation);
        change_stack();
    }

    bool push(FrameAddress frame) noexcept {
        if (at_ == end_) [[unlikely]] {
            // Too deep to keep it all: the leaf's half stays, the rest becomes a ring.
            if (count_ + static_cast<std::size_t>(end_ - leaf_end_) > kMaxWalked) {
                return false;
            }
            at_ = leaf_end_;
        }
        *at_++ = frame;
        ++count_;
        return true;
    }
    void pop() noexcept {
        --at_;
        --count_;
    }
    [[nodiscard]] FrameAddress& last() noexcept { return at_[-1]; }
    void leave(const FrameState& state) noexcept {
        memo_->states_[(count_ - 1) % StackMemo::kMaxLinked] = state;
    }
    [[nodiscard]] bool joins(FrameAddress frame, std::uint64_t sp, std::uint64_t bp) noexcept {
        while (*top_ < sp) {
            --top_;
        }
        if (*top_ != sp) {
            return false;
        }
        const auto index = static_cast<std::size_t>(joined_at());
        return memo_->frames_[index] == frame &&
               (memo_->bps_[index] == bp || !memo_->links_[index].reads_bp) &&
               joins_here(index, sp);
    }
    void restart() noexcept {
        at_ = memo_->fresh_.data();
        count_ = 0;
        change_stack();
    }
    void change_stack() noexcept { top_ = memo_->sps_.data() + memo_->linked_; }

    /// Puts what was found on top of what was taken over. The walk has ended.
    void finish(const Ended& ended, std::size_t max_depth) noexcept {
        StackMemo& memo = *memo_;
        memo.old_depth_ = memo.depth_;
        const std::uint32_t kept = ended.joined ? static_cast<std::uint32_t>(joined_at() + 1) : 0;
        // The frame that was joined is the last one found.
        std::uint32_t fresh = ended.joined ? count_ - 1 : count_;
        const auto leaf = static_cast<std::uint32_t>(max_depth / 2);
        memo.truncate(kept);
        memo.joined_ = kept;
        if (kept + fresh <= max_depth) {
            append_fresh(fresh, 0, ended.reason == StopReason::root);
            return;
        }
        if (ended.reason == StopReason::root) {
            const auto root = static_cast<std::uint32_t>(max_depth - 1 - leaf);
            if (kept > root) {
                memo.truncate(root);
            }
            append_fresh(fresh, fresh - (root - memo.depth_), true);
            memo.append(FrameAddress::elided());
        } else {
            memo.truncate(0);
        }
        append_fresh(leaf, 0, false);
    }

private:
    /// The index of the linked frame that top_ stands for.
    [[nodiscard]] std::ptrdiff_t joined_at() const noexcept {
        return top_ - memo_->sps_.data() - 1;
    }

    bool joins_here(std::size_t index, std::uint64_t sp) noexcept {
        StackMemo& memo = *memo_;
        if (!memory_->verified().contains(sp) || !memory_->verified().contains(memo.high_ - 8)) {
            memo.linked_ = 0;
        } else if (memo.verify(memory_->verified(), memo.links_[index].words)) {
            return true;
        }
        const std::uint64_t* last = memo.sps_.data() + memo.linked_;
        top_ = top_ < last ? top_ : last;
        return false;
    }

    /// Appends the frames [to, from) that were found, outermost first, linked as far as can be.
    void append_fresh(std::uint32_t from, std::uint32_t to, bool linkable) noexcept {
        StackMemo& memo = *memo_;
        const auto leaf = static_cast<std::uint32_t>(leaf_end_ - memo.fresh_.data());
        const auto ring = static_cast<std::uint32_t>(end_ - leaf_end_);
        for (std::uint32_t index = from; index > to;) {
            --index;
            const std::uint32_t place =
                index < leaf ? index : leaf + (index - leaf) % ring;
            memo.append(memo.fresh_[place]);
            linkable = linkable && index != 0 && count_ - index <= StackMemo::kMaxLinked &&
                       memo.link(memo.states_[index % StackMemo::kMaxLinked], *memory_);
        }
    }

    StackMemo* memo_;
    const StackMemory* memory_;
    const std::uint64_t* top_ = nullptr;  ///< In sps_: the innermost linked frame not further in than here.
    FrameAddress* at_;
    FrameAddress* leaf_end_;
    FrameAddress* end_;
    std::uint32_t count_ = 0;
};

WalkResult walk(const ModuleTable& modules, RowCache& cache, const Registers& registers,
                StackMemory& memory, StackMemo& memo, std::size_t max_depth) noexcept {
    max_depth = max_depth < StackMemo::kMinDepth    ? StackMemo::kMinDepth
                : max_depth > StackMemo::kMaxFrames ? StackMemo::kMaxFrames
                                                    : max_depth;
    Walker walker{modules, cache, registers, memory,
                  MemoSink{memo, memory, modules.generation(), max_depth}};
    const Ended ended = walker.run();
    walker.sink().finish(ended, max_depth);
    WalkResult result;
    result.depth = memo.depth();
    result.reason = ended.reason;
    result.guessed = walker.guessed();
    result.restored_all = walker.restored_all();
    result.rows_compiled = walker.rows_compiled();
    return result;
}

}  // namespace sample::unwind
