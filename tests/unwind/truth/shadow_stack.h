// The truth: which frames a thread has, known from what its instructions did, not from any table.
//
// An entry is the place of a word on the stack that holds a pc to go back to: what a call pushed,
// or what the kernel put there when it delivered a signal. An entry is gone when rsp has moved
// above it: by a return, by longjmp, by an exception. What a frame goes back to is what its word
// holds now, because that is what the processor will use; so code that rewrites its return address
// is followed too.
//
// Every stack (a mapping of memory) has entries of its own: coroutines and alternate signal stacks
// leave the others as they are. A word at the top of a stack that was never used before counts as a
// return address if it points to code: makecontext() puts one there.
//
// Some code leaves a function by loading rsp and then jumping: longjmp, the landing of an
// exception, swapcontext, a switch of coroutines. In between, the frame that is resumed is known to
// the code only. The shadow stack is then `awaiting` it, and the next return or indirect jump
// tells.
//
// Pure: it reads nothing by itself. Not async-signal-safe.
#pragma once

#include "core/result.h"
#include "tests/unwind/truth/instruction.h"
#include "unwind/walk/module_table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace sample::unwind::truth {

struct Frame {
    enum class Kind : std::uint8_t {
        exact,           ///< The leaf, a signal trampoline, an interrupted instruction.
        return_address,  ///< What a call pushed.
        either,          ///< Resumed by a jump, or written where a stack begins: perhaps a return
                         ///< address, perhaps a first address.
    };
    std::uint64_t address = 0;
    Kind kind = Kind::exact;

    bool operator==(const Frame&) const = default;
};

/// Where the thread stands between two instructions.
struct Standing {
    std::uint64_t pc = 0;
    std::uint64_t sp = 0;
    AddressRange stack;  ///< The mapping that sp lies in.
};

/// One instruction, or one delivery of a signal.
struct Transition {
    Standing before;
    Standing after;
    Instruction instruction = Instruction::other;
    bool signal_delivered = false;
    std::uint64_t syscall_number = 0;  ///< rax before, if it is a system call.
    std::uint64_t top = 0;             ///< The word at after.sp.
    bool top_is_code = false;          ///< Whether that word points into executable memory.
};

struct Counts {
    std::uint64_t calls = 0;
    std::uint64_t returns = 0;
    std::uint64_t signals = 0;
    std::uint64_t switches = 0;  ///< From one stack to another.
    std::uint64_t jumps = 0;     ///< Out of frames without returning: longjmp, exceptions.
    std::size_t deepest = 0;
};

class ShadowStack {
public:
    /// Reads the word at an address; false if it cannot.
    using Reader = std::function<bool(std::uint64_t address, std::uint64_t& value)>;

    /// `first` is the stack that the program begins on: nothing called what runs there.
    explicit ShadowStack(const AddressRange& first) noexcept : first_end_{first.end} {}

    /// Follows one transition. Errors: unsupported, if it cannot be told what the frames are now: a
    /// return that skips a call, a far transfer, a signal return without a signal.
    [[nodiscard]] Result<void> advance(const Transition& transition);

    /// The frames, leaf first, to the outermost of this chain of stacks. While awaiting(): only
    /// those inside the code that switches (the resumed frame comes next, then resumed_frames()).
    /// Errors: corrupt, if an entry's word cannot be read.
    [[nodiscard]] Result<std::vector<Frame>> frames(const Standing& now, const Reader& read) const;

    /// What frames() adds to its leaf now; asked right after the awaited frame was told.
    [[nodiscard]] Result<std::vector<Frame>> resumed_frames(const Standing& now,
                                                            const Reader& read) const;

    [[nodiscard]] bool awaiting() const noexcept { return awaiting_; }
    /// Whether the last transition was a return to an address that no call had put there. Then the
    /// frames before it were one too few: musl's sigsetjmp takes its return address away into the
    /// buffer, and pushes it again when it is jumped to.
    [[nodiscard]] bool returned_without_call() const noexcept { return returned_without_call_; }
    /// The frame that was awaited, if the last transition told it.
    [[nodiscard]] std::optional<std::uint64_t> told() const noexcept { return told_; }

    /// The memory that frames() and a walk need: of every stack of the chain, from the lowest word
    /// in use (128 bytes below sp) to its end.
    [[nodiscard]] std::vector<AddressRange> needed(const Standing& now) const;

    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

private:
    struct Entry {
        enum class Kind : std::uint8_t { call, written, trampoline, interrupted };
        std::uint64_t place = 0;
        Kind kind = Kind::call;
        Standing interrupted;  ///< Of kind `interrupted`: where the signal came.
    };
    using Entries = std::vector<Entry>;  ///< Oldest, that is highest, first.

    [[nodiscard]] static Frame::Kind kind_of(Entry::Kind entry) noexcept;
    [[nodiscard]] Entries& of(const AddressRange& stack) { return stacks_[stack.end]; }
    [[nodiscard]] const Entries* find(const AddressRange& stack) const;
    [[nodiscard]] std::vector<Entry> chain(const Standing& now) const;
    [[nodiscard]] Result<void> return_from_signal(const Transition& transition);
    void deliver(const Transition& transition);
    void note_departure(const Transition& transition, std::size_t dropped);

    std::uint64_t first_end_;
    std::map<std::uint64_t, Entries> stacks_;  ///< By their ends.
    bool awaiting_ = false;
    std::size_t resumed_entries_ = 0;  ///< While awaiting: entries of the resumed frames.
    std::optional<std::uint64_t> told_;
    bool returned_without_call_ = false;
    Counts counts_;
};

}  // namespace sample::unwind::truth
