// One program, single-stepped from its first instruction to its exit, and its stack walked before
// each of them: by itself, and by walks that take over what has not changed since they were last
// made (StackMemo), which have to find the same.
#pragma once

#include "tests/unwind/truth/address_space.h"
#include "tests/unwind/truth/shadow_stack.h"
#include "tests/unwind/truth/stack_copy.h"
#include "tests/unwind/truth/tracee.h"
#include "tests/unwind/truth/verdict.h"
#include "unwind/walk/row_cache.h"
#include "unwind/walk/stack_memo.h"
#include "unwind/walk/walk.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sample::unwind::truth {

struct Options {
    std::vector<std::string> command;
    std::vector<std::string> environment;
    std::string symbol_file;   ///< Names the program's functions, if it is stripped; else empty.
    bool from_loader = false;  ///< From the process's first instruction, not the program's.
};

/// Instructions at which the walk failed in one way, by one frame's rule. One that runs again with
/// the same callers counts once, and so do those of the vDSO together, of which the machine's clock
/// decides how many run.
struct Mismatch {
    std::uint64_t count = 0;
    std::set<std::vector<std::uint64_t>> stacks;  ///< Those counted.
    bool is_wrong = false;
    std::string example;  ///< Both stacks at the first of them, and its bytes.
};

struct Report {
    std::uint64_t instructions = 0;
    std::uint64_t equal = 0;
    std::uint64_t guessed = 0;  ///< Of the equal ones: with at least one frame that is a guess.
    std::uint64_t incomplete = 0;
    std::uint64_t misguessed = 0;
    std::uint64_t wrong = 0;
    std::map<std::string, Mismatch> mismatches;  ///< By "verdict module:function".
    std::set<std::string> visited;               ///< "module:function" of every instruction.
    std::uint64_t frames = 0;
    std::uint64_t taken_over = 0;  ///< Of the frames: by the memo, from the walk before.
    Counts counts;
    Tracee::Stop end;
};

class Session {
public:
    /// Starts the program. Errors: those of Tracee and AddressSpace.
    [[nodiscard]] static Result<std::unique_ptr<Session>> start(const Options& options);

    /// To the program's end. Errors: if the truth is lost, see ShadowStack::advance().
    [[nodiscard]] Result<Report> run();

private:
    struct Now {
        Registers registers;
        Standing standing;
        Instruction instruction = Instruction::other;
    };
    /// A walk whose truth is not told yet.
    struct Deferred {
        std::uint64_t pc = 0;
        std::vector<Frame> known;
        std::vector<FrameAddress> walked;
        StopReason reason = StopReason::root;
    };

    /// A memo that is used at every stride-th instruction. Between two of them a frame's callers
    /// can all have become others, at the same places.
    struct Memo {
        std::uint64_t stride = 1;
        std::unique_ptr<StackMemo> memo = std::make_unique<StackMemo>();
    };

    Session(Tracee tracee, const std::string& program, const std::string& symbol_file)
        : tracee_{std::move(tracee)}, space_{tracee_, program, symbol_file}, cache_{*rows_} {}

    [[nodiscard]] Result<void> look();
    [[nodiscard]] Result<void> check();
    void check_memo(StackMemo& memo, const WalkResult& result,
                    std::span<const FrameAddress> walked);
    [[nodiscard]] Result<void> follow(const Now& before, bool may_be_signal);
    [[nodiscard]] Result<void> check_deferred();
    [[nodiscard]] Instruction instruction_at(std::uint64_t pc);
    /// `resumes`: the code at `pc` is switching to the frames of the truth. A mismatch is then its
    /// doing, wherever the walk went astray.
    void count(std::uint64_t pc, std::span<const Frame> truth, std::span<const FrameAddress> walked,
               StopReason reason, bool resumes);
    [[nodiscard]] std::string describe(std::uint64_t pc, std::span<const Frame> truth,
                                       std::span<const FrameAddress> walked, StopReason reason);
    [[nodiscard]] ShadowStack::Reader reader();

    static constexpr std::size_t kRows = 4096;
    static constexpr std::size_t kMaxDepth = 1024;

    Tracee tracee_;
    AddressSpace space_;
    std::unique_ptr<std::array<RowCache::Entry, kRows>> rows_ =
        std::make_unique<std::array<RowCache::Entry, kRows>>();
    RowCache cache_;
    StackCopy stack_;
    std::unique_ptr<ShadowStack> shadow_;
    std::unordered_map<std::uint64_t, Instruction> instructions_;
    std::array<FrameAddress, kMaxDepth> walked_{};
    std::array<Memo, 3> memos_{Memo{1}, Memo{7}, Memo{61}};
    std::uint64_t steps_ = 0;
    std::vector<Deferred> deferred_;
    std::unordered_set<std::uint64_t> visited_;
    Now now_;
    Report report_;
};

}  // namespace sample::unwind::truth
