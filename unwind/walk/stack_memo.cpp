// Keeping and checking a stack; the contracts are in the header.
#include "unwind/walk/stack_memo.h"

namespace sample::unwind {

namespace {

using cfi::BpRule;
using cfi::Row;
using cfi::RowKind;

}  // namespace

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
    while (linked_ > 0 && links_[linked_ - 1].words > at) {
        --linked_;
    }
    return false;
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

/// Keeps what the step by `state` to the frame at `caller` read, and whether rbp was among it.
bool StackMemo::add_step(const FrameState& state, const StackMemory& memory, const Caller& caller,
                         Link& link) noexcept {
    const Row row = state.row;
    const std::uint64_t cfa = caller.sp;
    if (link.words + 3 > kMaxWords || cfa <= state.sp ||
        !add_word(memory, state.sp, {cfa - 8, caller.pc}, link.words)) {
        return false;
    }
    bool reads_bp = false;
    switch (row.kind()) {
        case RowKind::cfa_sp:
            break;
        case RowKind::cfa_bp:
            reads_bp = true;
            break;
        case RowKind::deref: {
            reads_bp = row.reg() == Registers::kBp;
            const std::uint64_t base = reads_bp ? state.bp : state.sp;
            if ((!reads_bp && row.reg() != Registers::kSp) ||
                !add_word(memory, state.sp, {base + row.offset(), cfa - row.offset2()},
                          link.words)) {
                return false;
            }
            break;
        }
        default:
            return false;
    }
    switch (row.bp()) {
        case BpRule::same:
            reads_bp = reads_bp || link.reads_bp;
            break;
        case BpRule::at_cfa:
            // Where nobody asks for it further out, its value may change. (It can be read: it lies
            // in the frame, or below rsp, where it does no harm.)
            if (link.reads_bp &&
                !add_word(memory, state.sp, {cfa + row.bp_offset(), caller.bp}, link.words)) {
                return false;
            }
            break;
        case BpRule::at_bp:
            reads_bp = true;
            if (state.bp + row.bp_offset() >= cfa ||
                !add_word(memory, state.sp, {state.bp + row.bp_offset(), caller.bp}, link.words)) {
                return false;
            }
            break;
    }
    link.reads_bp = reads_bp;
    return true;
}

/// Links the frame that was appended last, if its way to the root can be checked.
bool StackMemo::link(const FrameState& state, const StackMemory& memory) noexcept {
    const std::uint32_t index = depth_ - 1;
    if (linked_ != index || index >= kMaxLinked) {
        return false;
    }
    Link link;
    if (index == 0) {
        high_ = state.sp + 8;
        if (!link_root(state, memory, link)) {
            return false;
        }
    } else {
        link = links_[index - 1];
        const FrameAddress caller = frames_[index - 1];
        if (caller != FrameAddress{ReturnAddress{caller.bits()}} ||
            !add_step(state, memory, {caller.bits(), sps_[index], bps_[index - 1]}, link)) {
            return false;
        }
    }
    sps_[index + 1] = state.sp;
    bps_[index] = state.bp;
    links_[index] = link;
    ++linked_;
    return true;
}

/// The outermost frame: its row says so, or its return address is zero.
bool StackMemo::link_root(const FrameState& state, const StackMemory& memory, Link& link) noexcept {
    switch (state.row.kind()) {
        case RowKind::root:
            return true;
        case RowKind::cfa_sp:
            return add_word(memory, state.sp, {state.sp + state.row.offset() - 8, 0}, link.words);
        case RowKind::cfa_bp:
            link.reads_bp = true;
            return add_word(memory, state.sp, {state.bp + state.row.offset() - 8, 0}, link.words);
        default:
            return false;
    }
}

}  // namespace sample::unwind
