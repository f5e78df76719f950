// Keeping and checking a stack; the contracts are in the header.
#include "unwind/walk/stack_memo.h"

namespace sample::unwind {

namespace {

using cfi::BpRule;
using cfi::Row;
using cfi::RowKind;

}  // namespace

/// Keeps the word that the step read as return address `address`, whatever signature it has.
template <class Arch>
bool StackMemo::add_return(const StackMemory& memory, std::uint64_t above, std::uint64_t slot,
                           std::uint64_t address, std::uint32_t& words) noexcept {
    std::uint64_t word = address;
    if constexpr (Arch::kHasLinkRegister) {
        if (!memory.verified().read(slot, word) || Arch::code_address(word) != address) {
            return false;
        }
    }
    return add_word(memory, above, {slot, word}, words);
}

/// Keeps what the step by `state` to the frame at `caller` read, and whether rbp was among it.
template <class Arch>
bool StackMemo::add_step(const FrameState& state, const StackMemory& memory, const Caller& caller,
                         Link& link) noexcept {
    const Row row = state.row;
    const std::uint64_t cfa = caller.sp;
    if (link.words + 3 > kMaxWords || cfa <= state.sp ||
        !add_return<Arch>(memory, state.sp, cfa + cfi::return_offset<Arch>(row), caller.pc,
                          link.words)) {
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
            reads_bp = row.reg() == Arch::Numbers::kBp;
            const std::uint64_t base = reads_bp ? state.bp : state.sp;
            if ((!reads_bp && row.reg() != Arch::Numbers::kSp) ||
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
            if (link.reads_bp && !add_word(memory, state.sp,
                                           {cfi::bp_slot<Arch>(row, cfa), caller.bp}, link.words)) {
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
template <class Arch>
bool StackMemo::link(const FrameState& state, const StackMemory& memory) noexcept {
    const std::uint32_t index = depth_ - 1;
    if (linked_ != index || index >= kMaxLinked) {
        return false;
    }
    Link link;
    if (index == 0) {
        high_ = state.sp + 8;
        if (!link_root<Arch>(state, memory, link)) {
            return false;
        }
    } else {
        link = links_[index - 1];
        const FrameAddress caller = frames_[index - 1];
        if (caller != FrameAddress{ReturnAddress{caller.bits()}} ||
            !add_step<Arch>(state, memory, {caller.bits(), sps_[index], bps_[index - 1]}, link)) {
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
template <class Arch>
bool StackMemo::link_root(const FrameState& state, const StackMemory& memory, Link& link) noexcept {
    const std::uint64_t from_base = state.row.offset() + cfi::return_offset<Arch>(state.row);
    switch (state.row.kind()) {
        case RowKind::root:
            return true;
        case RowKind::cfa_sp:
            return add_return<Arch>(memory, state.sp, state.sp + from_base, 0, link.words);
        case RowKind::cfa_bp:
            link.reads_bp = true;
            return add_return<Arch>(memory, state.sp, state.bp + from_base, 0, link.words);
        default:
            return false;
    }
}

template bool StackMemo::link<arch::Built>(const FrameState& state,
                                           const StackMemory& memory) noexcept;

}  // namespace sample::unwind
