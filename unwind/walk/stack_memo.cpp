// Keeping and checking a stack; the contracts are in the header.
#include "unwind/walk/stack_memo.h"

namespace sample::unwind {

namespace {

using cfi::BpRule;
using cfi::Row;
using cfi::RowKind;

constexpr std::uint64_t kAboveEveryStack = ~std::uint64_t{0};

}  // namespace

void StackMemo::begin_walk(std::uint64_t generation) noexcept {
    if (generation != generation_) {
        linked_ = 0;
    }
    generation_ = generation;
    verified_words_ = 0;
    sps_[0] = kAboveEveryStack;
}

/// Whether the first `words` words are unchanged. If one is not, the frames that depend on it are
/// linked no longer.
bool StackMemo::verify(const StackMemory::Verified& stack, std::uint32_t words) noexcept {
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
    while (linked_ > 0 && word_ends_[linked_ - 1] > at) {
        --linked_;
    }
    return false;
}

void StackMemo::truncate(std::uint32_t depth) noexcept {
    depth_ = depth;
    kept_ = depth;
    linked_ = linked_ < depth ? linked_ : depth;
}

void StackMemo::append(FrameAddress frame) noexcept {
    if (kept_ == depth_ && depth_ < old_depth_ && frames_[depth_] == frame) {
        ++kept_;
    }
    frames_[depth_++] = frame;
}

/// Keeps one word that the step read. False: it can't be checked later.
bool StackMemo::add_word(const StackMemory& memory, std::uint64_t above, Word word,
                         std::uint32_t& words) noexcept {
    // Below rsp anything may have been written between two walks, and between two reads of one.
    if (word.address < above || !memory.verified().contains(word.address)) {
        return false;
    }
    words_[words++] = word;
    high_ = high_ > word.address + 8 ? high_ : word.address + 8;
    return true;
}

/// Keeps what the step by `state` to the frame at `caller` read.
bool StackMemo::add_step(const FrameState& state, const StackMemory& memory, Caller caller,
                         std::uint32_t& words) noexcept {
    const Row row = state.row;
    const std::uint64_t cfa = caller.sp;
    if (words + 3 > kMaxWords || cfa <= state.sp ||
        !add_word(memory, state.sp, {cfa - 8, caller.pc}, words)) {
        return false;
    }
    switch (row.kind()) {
        case RowKind::cfa_sp:
        case RowKind::cfa_bp:
            break;
        case RowKind::deref: {
            const std::uint64_t base = row.reg() == Registers::kSp ? state.sp : state.bp;
            if ((row.reg() != Registers::kSp && row.reg() != Registers::kBp) ||
                !add_word(memory, state.sp, {base + row.offset(), cfa - row.offset2()}, words)) {
                return false;
            }
            break;
        }
        default:
            return false;
    }
    const std::uint64_t saved_bp = (row.bp() == BpRule::at_bp ? state.bp : cfa) + row.bp_offset();
    return row.bp() == BpRule::same || add_word(memory, state.sp, {saved_bp, caller.bp}, words);
}

/// Links the frame that was appended last, if its way to the root can be checked.
bool StackMemo::link(const FrameState& state, const StackMemory& memory) noexcept {
    const std::uint32_t index = depth_ - 1;
    if (linked_ != index || index >= kMaxLinked) {
        return false;
    }
    std::uint32_t words = index == 0 ? 0 : word_ends_[index - 1];
    if (index == 0) {
        high_ = state.sp + 8;
        if (!link_root(state, memory, words)) {
            return false;
        }
    } else {
        const FrameAddress caller = frames_[index - 1];
        if (caller != FrameAddress{ReturnAddress{caller.bits()}} ||
            !add_step(state, memory, {caller.bits(), sps_[index], bps_[index - 1]}, words)) {
            return false;
        }
    }
    sps_[index + 1] = state.sp;
    bps_[index] = state.bp;
    word_ends_[index] = words;
    ++linked_;
    return true;
}

/// The outermost frame: its row says so, or its return address is zero.
bool StackMemo::link_root(const FrameState& state, const StackMemory& memory,
                          std::uint32_t& words) noexcept {
    switch (state.row.kind()) {
        case RowKind::root:
            return true;
        case RowKind::cfa_sp:
            return add_word(memory, state.sp, {state.sp + state.row.offset() - 8, 0}, words);
        case RowKind::cfa_bp:
            return add_word(memory, state.sp, {state.bp + state.row.offset() - 8, 0}, words);
        default:
            return false;
    }
}

}  // namespace sample::unwind
