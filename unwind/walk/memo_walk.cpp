// The walk that takes over what has not changed; the contract is in walk.h.
#include "unwind/walk/walker.h"

namespace sample::unwind {

/// Collects what is new, leaf first, until a state is met that the memo has linked.
template <class Arch>
class MemoSink {
public:
    MemoSink(StackMemo& memo, const StackMemory& memory, std::uint64_t generation,
             std::size_t max_depth) noexcept
        : memo_{&memo},
          memory_{&memory},
          at_{memo.fresh_.data()},
          leaf_end_{memo.fresh_.data() + max_depth / 2},
          end_{memo.reach_ == Reach::whole ? memo.fresh_.data() + max_depth + 1 : leaf_end_} {
        memo.begin_walk(generation, max_depth);
        change_stack();
    }

    bool push(FrameAddress frame) noexcept {
        if (at_ == end_) [[unlikely]] {
            // Too deep to keep it all: the leaf's half stays, the rest becomes a ring.
            if (end_ == leaf_end_ ||
                count_ + static_cast<std::size_t>(end_ - leaf_end_) > kMaxWalked) {
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
        return *top_ == sp && joins_here(frame, sp, bp);
    }
    void restart() noexcept {
        at_ = memo_->fresh_.data();
        count_ = 0;
        change_stack();
    }
    void change_stack() noexcept { top_ = memo_->sps_.data() + memo_->linked_; }

    /// The usual walk in few instructions: the leaf's row is a hot one, and its caller the
    /// innermost frame that is linked. False: walk.
    [[nodiscard]] bool takes_over_at_once(const RowCache& cache,
                                          const BasicRegisters<Arch>& registers,
                                          std::uint64_t salt) noexcept {
        StackMemo& memo = *memo_;
        std::uint64_t sp = registers.sp();
        std::uint64_t bp = registers.bp();
        std::uint64_t return_address = 0;
        if (memo.linked_ == 0 ||
            !hot_step<Arch>(cache.find(registers.pc() ^ salt ^ kExactKey), memory_->verified(), sp,
                            bp, return_address) ||
            return_address - 1 >= Arch::kUserEnd || *top_ != sp ||
            !joins_here(FrameAddress::from_bits(return_address), sp, bp)) {
            return false;
        }
        memo.old_depth_ = memo.depth_;
        memo.joined_ = memo.linked_;
        memo.truncate(memo.linked_);
        memo.append(FrameAddress{Pc{registers.pc()}});
        return true;
    }

    /// Puts what was found on top of what was taken over. The walk has ended.
    void finish(const Ended& ended, std::size_t max_depth) noexcept {
        StackMemo& memo = *memo_;
        memo.old_depth_ = memo.depth_;
        const std::uint32_t kept = ended.joined ? static_cast<std::uint32_t>(joined_at() + 1) : 0;
        // The frame that was joined is the last one found.
        const std::uint32_t fresh = ended.joined ? count_ - 1 : count_;
        if (ended.reason == StopReason::depth_limit && holds_old_root()) {
            memo.truncate(memo.linked_);
            memo.joined_ = memo.linked_;
            memo.append(FrameAddress::elided());
            const auto leaf = static_cast<std::uint32_t>(max_depth / 2);
            append_fresh(fresh < leaf ? fresh : leaf, 0, false);
            guessed_root_ = true;
            too_deep_ = true;
            return;
        }
        memo.truncate(kept);
        memo.joined_ = kept;
        if (kept + fresh <= max_depth) [[likely]] {
            append_fresh(fresh, 0, ended.reason == StopReason::root);
        } else {
            elide(fresh, max_depth, ended.reason == StopReason::root);
        }
    }

    /// Frames were left out, or not walked to.
    [[nodiscard]] bool too_deep() const noexcept { return too_deep_; }
    /// The root's end is the last stack's, not proved to be this one's.
    [[nodiscard]] bool guessed_root() const noexcept { return guessed_root_; }

private:
    /// Whether a root's end of the last stack lies further out than this walk came, unchanged.
    [[nodiscard]] bool holds_old_root() noexcept {
        StackMemo& memo = *memo_;
        const StackMemory::Verified& stack = memory_->verified();
        if (memo.linked_ == 0 || count_ == 0 ||
            memo.states_[(count_ - 1) % StackMemo::kMaxLinked].sp >= memo.sps_[memo.linked_] ||
            !stack.contains(memo.sps_[memo.linked_]) || !stack.contains(memo.high_ - 8)) {
            return false;
        }
        static_cast<void>(memo.verify(stack, memo.links_[memo.linked_ - 1].words));
        return memo.linked_ > 0;
    }

    /// The index of the linked frame that top_ stands for.
    [[nodiscard]] std::ptrdiff_t joined_at() const noexcept {
        return top_ - memo_->sps_.data() - 1;
    }

    [[nodiscard]] bool joins_here(FrameAddress frame, std::uint64_t sp, std::uint64_t bp) noexcept {
        StackMemo& memo = *memo_;
        const auto index = static_cast<std::size_t>(joined_at());
        const StackMemo::Link link = memo.links_[index];
        if (memo.frames_[index] != frame || (memo.bps_[index] != bp && link.reads_bp)) {
            return false;
        }
        const StackMemory::Verified& stack = memory_->verified();
        if (!stack.contains(sp) || !stack.contains(memo.high_ - 8)) {
            memo.linked_ = 0;
        } else if (memo.verify(stack, link.words)) {
            return true;
        }
        const std::uint64_t* last = memo.sps_.data() + memo.linked_;
        top_ = top_ < last ? top_ : last;
        return false;
    }

    [[gnu::noinline]] void elide(std::uint32_t fresh, std::size_t max_depth,
                                 bool reached_root) noexcept {
        StackMemo& memo = *memo_;
        const auto leaf = static_cast<std::uint32_t>(max_depth / 2);
        too_deep_ = true;
        if (reached_root) {
            const auto root = static_cast<std::uint32_t>(max_depth - 1 - leaf);
            memo.truncate(memo.depth_ < root ? memo.depth_ : root);
            append_fresh(fresh, fresh - (root - memo.depth_), true);
            memo.append(FrameAddress::elided());
        } else {
            memo.truncate(0);
        }
        append_fresh(leaf, 0, false);
    }

    /// Appends the frames [to, from) that were found, outermost first, linked as far as can be.
    void append_fresh(std::uint32_t from, std::uint32_t to, bool linkable) noexcept {
        StackMemo& memo = *memo_;
        for (std::uint32_t index = from; index > to;) {
            --index;
            memo.append(found(index));
            linkable =
                linkable && index != 0 && count_ - index <= StackMemo::kMaxLinked &&
                memo.template link<Arch>(memo.states_[index % StackMemo::kMaxLinked], *memory_);
        }
    }

    /// What was found as number `index`, leaf first, and is not overwritten.
    [[nodiscard]] FrameAddress found(std::uint32_t index) const noexcept {
        const FrameAddress* begin = memo_->fresh_.data();
        const auto room = static_cast<std::uint32_t>(end_ - begin);
        if (index < room) [[likely]] {
            return begin[index];
        }
        const auto leaf = static_cast<std::uint32_t>(leaf_end_ - begin);
        return begin[leaf + (index - leaf) % (room - leaf)];
    }

    StackMemo* memo_;
    const StackMemory* memory_;
    const std::uint64_t* top_ =
        nullptr;  ///< In sps_: the innermost linked frame not further in than here.
    FrameAddress* at_;
    FrameAddress* leaf_end_;
    FrameAddress* end_;
    std::uint32_t count_ = 0;
    bool guessed_root_ = false;
    bool too_deep_ = false;
};

template <class Arch>
WalkResult walk(const ModuleTable& modules, RowCache& cache, const BasicRegisters<Arch>& registers,
                StackMemory& memory, StackMemo& memo, std::size_t max_depth) noexcept {
    max_depth = max_depth < StackMemo::kMinDepth    ? StackMemo::kMinDepth
                : max_depth > StackMemo::kMaxFrames ? StackMemo::kMaxFrames
                                                    : max_depth;
    MemoSink<Arch> sink{memo, memory, modules.generation(), max_depth};
    WalkResult result;
    if (sink.takes_over_at_once(cache, registers, salt_of(modules))) {
        result.depth = memo.depth();
        return result;
    }
    Walker walker{modules, cache, registers, memory, sink};
    const Ended ended = walker.run();
    walker.sink().finish(ended, max_depth);
    result.depth = memo.depth();
    result.reason = ended.reason;
    result.guessed = walker.guessed() + (walker.sink().guessed_root() ? 1 : 0);
    result.too_deep = walker.sink().too_deep();
    result.restored_all = walker.restored_all();
    result.rows_compiled = walker.rows_compiled();
    return result;
}

template WalkResult walk(const ModuleTable& modules, RowCache& cache,
                         const BasicRegisters<arch::Built>& registers, StackMemory& memory,
                         StackMemo& memo, std::size_t max_depth) noexcept;

}  // namespace sample::unwind
