// Walks one stack from registers, by the call frame information of the modules that its frames lie
// in.
//
// The same code walks the live stack of the current thread, inside a signal handler, and a copied
// one: what differs is the StackMemory it reads through. Rules are found on demand (binary search
// in .eh_frame_hdr, one bounded run of the frame's program) and kept in a RowCache.
//
// The architecture is that of the registers. Its description is in unwind/arch/; walks of another
// one than the native need that one's library.
//
// The usual walk follows pc, rsp and rbp only. Where a caller's rule needs another callee-saved
// register the walk starts over and restores them all, without the cache. docs/unwinding.md has the
// whole story.
#pragma once

#include "core/address.h"
#include "unwind/walk/module_table.h"
#include "unwind/walk/registers.h"
#include "unwind/walk/row_cache.h"
#include "unwind/walk/stack_memo.h"
#include "unwind/walk/stack_memory.h"

#include <cstdint>
#include <span>

namespace sample::unwind {

enum class StopReason : std::uint8_t {
    root,              ///< Reached the outermost frame: an undefined return address, or a zero one.
    depth_limit,       ///< `out` is full. Normal, not an error.
    no_module,         ///< A pc in no known module.
    no_cfi,            ///< A module without a rule for the pc.
    unsupported_rule,  ///< A rule that the walker does not evaluate.
    unreadable_memory,  ///< The next word lies outside the stack.
    no_progress,        ///< The next frame is not further out: a corrupt or cyclic stack.
};

struct WalkResult {
    std::uint32_t depth = 0;
    StopReason reason = StopReason::root;
    std::uint32_t guessed = 0;        ///< Frames that no rule covers, found by guess_caller().
    bool too_deep = false;            ///< Frames were left out for the depth's sake.
    bool restored_all = false;        ///< The walk started over, restoring all registers.
    std::uint32_t rows_compiled = 0;  ///< Rules that were not in the cache.
};

/// Signal frames that one walk crosses; past that a forged one could lead in circles.
inline constexpr std::uint32_t kMaxSignalFrames = 16;

/// Guesses that one walk makes: machine code made at run time may lie on a stack frame by frame.
inline constexpr std::uint32_t kMaxGuesses = 256;
/// Frames that one walk follows, whatever it keeps of them.
inline constexpr std::uint32_t kMaxWalked = 65536;

/// Walks one stack. `out` receives frames, leaf first; returns how many and why the walk stopped. A
/// stack deeper than `out` is truncated. The leaf, a signal trampoline and the frame that it
/// interrupted are exact pcs, all others return addresses. A pc that no user address can be is not
/// written. O(depth); no system calls while the stack stays inside `memory`'s verified bounds and
/// pcs inside `modules`. At most 2.5 KiB of stack. Async-signal-safe. Thread-safe for distinct
/// `out` and `memory`. Source: DWARF 5 section 6.4; the ABIs named in unwind/arch/.
template <class Arch>
[[nodiscard]] WalkResult walk(const ModuleTable& modules, RowCache& cache,
                              const BasicRegisters<Arch>& registers, StackMemory& memory,
                              std::span<FrameAddress> out) noexcept;

/// As above, into `memo`, root first, taking over from its last stack what provably is the same:
/// the frames are those of a walk without it. Of a stack deeper than `max_depth` (taken to lie in
/// [StackMemo::kMinDepth, StackMemo::kMaxFrames]) the leaf's half and the root's are kept, with
/// FrameAddress::elided() between them. Where no root is found within the memo's reach, the root's
/// end is that of the last stack if its words are unchanged, which counts as a guess; else the
/// leaf's half is all there is. The result's depth counts what is kept, the mark too. O(frames that
/// changed + words read by the rest). Async-signal-safe. Thread-safe for distinct `memo` and
/// `memory`.
template <class Arch>
[[nodiscard]] WalkResult walk(const ModuleTable& modules, RowCache& cache,
                              const BasicRegisters<Arch>& registers, StackMemory& memory,
                              StackMemo& memo, std::size_t max_depth) noexcept;

}  // namespace sample::unwind
