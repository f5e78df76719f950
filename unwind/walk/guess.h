// The caller of a frame that no rule covers: machine code made at run time, assembly without CFI.
//
// A caller is certain where the code itself says where the return address is:
//
// a. From the pc on it only leaves its function.
// b. At a leaf: the call before the word at rsp leads to shortly before the pc, and no frame is
// made
//    in between.
// c. It has made the frame that rbp points to: of this size, or with this constant in it; or it
//    takes rsp from rbp where it goes on.
// d. It lies in no module, and nothing from rsp to rbp could be a return address: a frame that rbp
//    passes over would have left one.
//
// Otherwise a frame found like this is marked (FrameAddress::guessed()), and a guess is only made
// where something speaks for it: a return address follows a call instruction.
// It is *proved* where that call leads, directly, through a PLT stub or through a global offset
// table, to code without rules of the frame's own module shortly before the frame's pc (or to the
// short function that the frame lies in, whose rules have a hole). It is *weak* where the call is
// computed, or leads elsewhere in such code, which may have jumped on. A frame pointer of zero
// below an address that no call left is a stack's beginning, as Go makes it: proved, but weak at a
// leaf, whose rbp may be its caller's. In this order:
//
// 0. A leaf is at `ret` or at the jump of a PLT stub: the return address is where rsp points.
// 1. rbp is a frame pointer, and the return address above what it points to is proved.
// 2. Of the words from rsp up (to where rbp points, if it may be a frame pointer), the proved one
//    whose call leads nearest to the pc; or, if that comes first and rbp can't be the frame's own
//    pointer, one by weak evidence whose own frame was, by its rule, called rightly: by a computed
//    call, or one to the function that it lies in. At a leaf, where rsp points, that may also be a
//    call to a function with rules that can end by a jump to here. The caller's rbp is what the
//    function pushes among its first instructions, or the pushed word by which it was called
//    rightly.
// 3. rbp may be a frame pointer: it points up the stack, to a larger one or none, and the return
//    address is weak, or lies outside of all modules, in code made at run time.
//
// Outside of modules only the last can be had.
//
// Async-signal-safe.
#pragma once

#include "unwind/cfi/row.h"
#include "unwind/walk/module_table.h"
#include "unwind/walk/registers.h"
#include "unwind/walk/stack_memory.h"

#include <cstdint>

namespace sample::unwind {

/// Words above rsp that are scanned for a return address.
inline constexpr unsigned kScannedWords = 288;

/// How the caller was found the last time from the same pc: what is tried first, as evidence is the
/// same, and dear to look for. Packed into a row of kind `none`.
class GuessHint {
public:
    explicit GuessHint(cfi::Row row) noexcept : row_{row} {}
    static GuessHint frame_pointer() noexcept { return make(cfi::BpRule::at_bp, 0); }
    /// `offset` from rsp to the return address.
    static GuessHint scanned(std::uint64_t offset) noexcept {
        return make(cfi::BpRule::at_cfa, offset);
    }

    [[nodiscard]] cfi::Row row() const noexcept { return row_; }
    [[nodiscard]] bool is_frame_pointer() const noexcept { return row_.bp() == cfi::BpRule::at_bp; }
    [[nodiscard]] bool is_scanned() const noexcept { return row_.bp() == cfi::BpRule::at_cfa; }
    [[nodiscard]] std::uint64_t offset() const noexcept { return row_.offset(); }

private:
    static GuessHint make(cfi::BpRule how, std::uint64_t offset) noexcept {
        cfi::Row::Fields fields;
        fields.kind = cfi::RowKind::none;
        fields.bp = how;
        fields.offset = static_cast<std::int64_t>(offset);
        return GuessHint{cfi::Row::pack(fields)};
    }
    cfi::Row row_;
};

enum class GuessResult : std::uint8_t {
    none,     ///< Nothing speaks for any caller.
    guessed,  ///< The frame is to be marked.
    certain,  ///< No other frame can lie between.
};

/// Moves `frame` to its caller; then pc, rsp and rbp are known (rbp is taken to be unchanged where
/// neither a frame pointer nor the function's first instructions say otherwise). `module` is the
/// one that it lies in, or null; `leaf`: it was interrupted, so that it need not have made a call.
/// `hint` becomes what was found. None: `frame` is unchanged. Reads code and unwind tables of
/// modules in the table, and the stack. A few microseconds at worst (of a walk:
/// StackMemory::kMaxScanned words), some 20 ns a frame where the hint was right. Async-signal-safe.
template <class Arch>
[[nodiscard]] GuessResult guess_caller(const ModuleTable& modules, const Module* module, bool leaf,
                                       GuessHint& hint, BasicKnownRegisters<Arch>& frame,
                                       StackMemory& memory) noexcept;
template <>
[[nodiscard]] GuessResult guess_caller(const ModuleTable& modules, const Module* module, bool leaf,
                                       GuessHint& hint, BasicKnownRegisters<arch::Built>& frame,
                                       StackMemory& memory) noexcept;

/// Whether a call instruction ends at `address`; true also if that can't be read. False of a return
/// address: a program put it on a stack that it made. Async-signal-safe.
template <class Arch>
[[nodiscard]] bool may_follow_call(const Module& module, std::uint64_t address) noexcept;
template <>
[[nodiscard]] bool may_follow_call<arch::Built>(const Module& module,
                                                std::uint64_t address) noexcept;

/// The row of a procedure linkage table's stub, from the code around `pc`, where there is a link
/// register: its stubs have no rules. `none`: it is in no stub. Async-signal-safe.
template <class Arch>
[[nodiscard]] cfi::Row row_of_stub(const Module& module, std::uint64_t pc) noexcept;

/// The next place on the stack, from `address` up, that rbp may point to as a frame pointer: above
/// it lies an address behind a call instruction. For a thread of which only pc and rsp are known.
/// 0: there is none within kScannedWords. Async-signal-safe.
[[nodiscard]] std::uint64_t find_frame_record(const ModuleTable& modules, std::uint64_t address,
                                              StackMemory& memory) noexcept;

}  // namespace sample::unwind
