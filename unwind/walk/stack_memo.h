// A thread's last stack, kept so that the next walk need not walk again what has not changed.
//
// A state is (frame address, rsp, and rbp if a rule further out reads it): together with the module
// generation it decides everything that a walk by rows does from there on, given the words that it
// reads. So for each frame of the last stack its state is kept, and the address and value of every
// word that was read on the way from it to the root: return addresses, dereferenced CFAs, saved rbp
// where it is read later. A new walk that comes to a kept state, and finds all of those words
// unchanged, has proved that it would go the same way: it takes the rest over. The words are
// independent of each other, so that checking them is faster than following even frame pointers
// through a deep stack.
//
// Only frames are linked (may be joined) whose way to the root consists of steps by rows that read
// rsp and rbp alone, reads only verified stack memory above its own rsp, and crosses no signal
// frame. The frames further out than those that are not linked still are. The leaf is not: its pc
// is new nearly every time.
//
// Frames are kept root first, so that what stays the same stays where it is. A stack deeper than
// max_depth keeps its leaf end and its root end, with FrameAddress::elided() between them.
//
// Owned by one thread, about 290 KiB of addresses of which only what a stack needs is touched;
// zeroed memory is an empty memo. No allocation, no system calls. Async-signal-safe.
#pragma once

#include "core/address.h"
#include "unwind/cfi/row.h"
#include "unwind/walk/stack_memory.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::unwind {

/// What decides how a walk by rows goes on.
struct FrameState {
    std::uint64_t sp;
    std::uint64_t bp;
    cfi::Row row;
};

/// How far a walk goes that does not find the root: kMaxWalked frames, or as far as it keeps them.
enum class Reach : std::uint8_t { whole, leaf_half };

class StackMemo {
public:
    static constexpr std::size_t kMaxFrames = 8192;
    static constexpr std::size_t kMaxLinked = 2048;
    static constexpr std::size_t kMaxWords = 4096;
    static constexpr std::size_t kMinDepth = 16;

    /// The last stack, root first.
    [[nodiscard]] std::span<const FrameAddress> root_first() const noexcept {
        return {frames_.data(), depth_};
    }
    [[nodiscard]] std::uint32_t depth() const noexcept { return depth_; }
    /// How many frames, from the root, the last walk left as they were.
    [[nodiscard]] std::uint32_t kept() const noexcept { return kept_; }
    /// How many frames, from the root, the last walk took over without walking them.
    [[nodiscard]] std::uint32_t joined() const noexcept { return joined_; }
    /// How many frames of the last stack a walk may join, from the root.
    [[nodiscard]] std::uint32_t linked() const noexcept { return linked_; }

    /// Of the walks to come.
    void set_reach(Reach reach) noexcept { reach_ = reach; }

    /// As if there had been no walk.
    void reset() noexcept {
        depth_ = 0;
        linked_ = 0;
    }

private:
    template <class Arch>
    friend class MemoSink;

    struct Word {
        std::uint64_t address;
        std::uint64_t value;
    };

    /// A linked frame's way to the root.
    struct Link {
        std::uint32_t words = 0;  ///< It reads the first so many of words_.
        bool reads_bp = false;    ///< It depends on rbp.
    };
    /// Where a step leads.
    struct Caller {
        std::uint64_t pc;
        std::uint64_t sp;
        std::uint64_t bp;
    };

    void begin_walk(std::uint64_t generation, std::size_t max_depth) noexcept {
        constexpr std::uint64_t kAboveEveryStack = ~std::uint64_t{0};
        if (generation != generation_) {
            // The same addresses may mean other modules.
            reset();
            generation_ = generation;
        }
        // What is joined lies in the root's half, if the stack should grow too deep.
        const auto root = static_cast<std::uint32_t>(max_depth - 1 - max_depth / 2);
        linked_ = linked_ < root ? linked_ : root;
        verified_words_ = 0;
        sps_[0] = kAboveEveryStack;
    }
    [[nodiscard]] bool verify(const StackMemory::Verified& stack, std::uint32_t words) noexcept;
    void truncate(std::uint32_t depth) noexcept {
        depth_ = depth;
        kept_ = depth;
        linked_ = linked_ < depth ? linked_ : depth;
    }
    void append(FrameAddress frame) noexcept {
        if (kept_ == depth_ && depth_ < old_depth_ && frames_[depth_] == frame) {
            ++kept_;
        }
        frames_[depth_++] = frame;
    }
    template <class Arch>
    [[nodiscard]] bool link(const FrameState& state, const StackMemory& memory) noexcept;
    template <class Arch>
    [[nodiscard]] bool link_root(const FrameState& state, const StackMemory& memory,
                                 Link& link) noexcept;
    template <class Arch>
    [[nodiscard]] bool add_return(const StackMemory& memory, std::uint64_t above,
                                  std::uint64_t slot, std::uint64_t address,
                                  std::uint32_t& words) noexcept;
    template <class Arch>
    [[nodiscard]] bool add_step(const FrameState& state, const StackMemory& memory,
                                const Caller& caller, Link& link) noexcept;
    [[nodiscard]] bool add_word(const StackMemory& memory, std::uint64_t above, Word word,
                                std::uint32_t& words) noexcept;

    std::uint64_t generation_;
    Reach reach_;
    std::uint64_t high_;  ///< No kept word ends above.
    std::uint32_t depth_;
    std::uint32_t old_depth_;  ///< Frames that the last stack had: what kept_ is counted against.
    std::uint32_t kept_;
    std::uint32_t joined_;
    std::uint32_t linked_;
    std::uint32_t verified_words_;  ///< From the root, found unchanged by the current walk.
    std::array<FrameAddress, kMaxFrames> frames_;
    /// Of linked frames, one further in than its index: sps_[0] is above every stack.
    std::array<std::uint64_t, kMaxLinked + 1> sps_;
    std::array<std::uint64_t, kMaxLinked> bps_;
    std::array<Link, kMaxLinked> links_;
    std::array<Word, kMaxWords> words_;
    // What the current walk has found, leaf first; where it is too deep, a ring.
    std::array<FrameAddress, kMaxFrames + 1> fresh_;  // one may be taken back
    std::array<FrameState, kMaxLinked> states_;
};

/// Whether the first `words` words are unchanged. If one is not, the frames that depend on it are
/// linked no longer.
[[gnu::noinline]] inline bool StackMemo::verify(const StackMemory::Verified& stack,
                                                std::uint32_t words) noexcept {
    const auto changed = [this, stack](std::uint32_t index) {
        return stack.at(words_[index].address) ^ words_[index].value;
    };
    std::uint32_t at = verified_words_;
    // Four at a time, for the processor to have them all under way at once.
    while (at + 4 <= words &&
           (changed(at) | changed(at + 1) | changed(at + 2) | changed(at + 3)) == 0) {
        at += 4;
    }
    while (at < words && changed(at) == 0) {
        ++at;
    }
    verified_words_ = at;
    if (at >= words) {
        return true;
    }
    while (linked_ > 0 && links_[linked_ - 1].words > at) {
        --linked_;
    }
    return false;
}

/// Keeps one word that the step read. False: it can't be checked later.
inline bool StackMemo::add_word(const StackMemory& memory, std::uint64_t above, Word word,
                                std::uint32_t& words) noexcept {
    // Below rsp anything may have been written between two walks, and between two reads of one.
    if (word.address < above || !memory.verified().contains(word.address)) {
        return false;
    }
    words_[words++] = word;
    high_ = high_ > word.address + 8 ? high_ : word.address + 8;
    return true;
}

}  // namespace sample::unwind
