// Both walks of each sample, as it arrives, and what came of them.
#pragma once

#include "tests/unwind/differential/call_sites.h"
#include "tests/unwind/differential/capture.h"
#include "tests/unwind/differential/compare.h"
#include "tests/unwind/differential/process.h"
#include "tests/unwind/differential/reference.h"
#include "unwind/walk/row_cache.h"
#include "unwind/walk/stack_memo.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace sample::unwind::differential {

/// A difference of one kind at one place: the last frame that both walks have.
struct DifferenceKey {
    Kind kind = Kind::equal;
    Verdict verdict = Verdict::equal;
    Cause cause = Cause::none;
    CodePlace place;
    // NOLINTNEXTLINE(modernize-use-nullptr): misread by clang-tidy 14
    auto operator<=>(const DifferenceKey&) const = default;
};

/// What the copy of the stack lacks, where a walk ended for that. No walker could go on.
enum class Missing : std::uint8_t {
    nothing,
    rest,      ///< The copy is as long as a record can be; the stack is longer.
    page,      ///< It ends at a page that was not in memory; the stack is known to go on.
    red_zone,  ///< The rule reads below rsp, where the copy begins.
};

[[nodiscard]] const char* name_of(Missing missing) noexcept;

/// A walk that did not reach the root, and the last frame that it has.
struct StopKey {
    StopReason reason = StopReason::root;
    Missing missing = Missing::nothing;
    CodePlace place;
    // NOLINTNEXTLINE(modernize-use-nullptr): misread by clang-tidy 14
    auto operator<=>(const StopKey&) const = default;
};

struct Example {
    std::vector<CodePlace> ours;
    std::vector<CodePlace> theirs;
    StopReason reason = StopReason::root;
    int end = 0;  ///< See ReferenceWalk.
    std::uint64_t sp = 0;
    std::size_t stack_bytes = 0;
};

/// Every sample is in exactly one of `no_stack`, `equal` and `differences`; and, but for
/// `no_stack`, in either `root` or `stops`.
struct Tally {
    std::uint64_t samples = 0;
    std::uint64_t no_stack = 0;  ///< Nothing to walk: the thread had no memory, in exec or exit.
    std::uint64_t frames = 0;    ///< Ours.
    std::uint64_t guessed = 0;   ///< Ours, of frames that no rule covers.
    std::uint64_t joined = 0;    ///< Frames that a walk with the thread's memo took over.
    std::uint64_t memo_different = 0;  ///< Samples whose walk with the memo has other frames.
    std::uint64_t equal = 0;
    std::uint64_t root = 0;
    std::map<DifferenceKey, std::uint64_t> differences;
    std::map<DifferenceKey, Example> examples;
    std::vector<Example> memo_examples;  ///< The first few; theirs is the memo's walk.
    std::map<StopKey, std::uint64_t> stops;
    std::map<StopKey, Example> stop_examples;
    /// Samples in which a frame of ours has a refuted link, whatever libunwind says, by the callee.
    std::map<CodePlace, std::uint64_t> uncalled;
    std::map<CodePlace, Example> uncalled_examples;

    /// Samples with this verdict.
    [[nodiscard]] std::uint64_t with(Verdict verdict) const;
    /// Samples whose copy of the stack lacked this.
    [[nodiscard]] std::uint64_t lacking(Missing missing) const;
    /// Samples whose difference is not is_explained().
    [[nodiscard]] std::uint64_t unexplained() const;
};

class Comparison final : public CaptureSink {
public:
    Comparison();

    void on_mapping(pid_t pid, const CodeMapping& mapping) override;
    void on_fork(pid_t parent, pid_t child) override;
    void on_exec(pid_t pid) override;
    void on_exit(pid_t pid) override;
    void on_sample(const StackSample& sample) override;

    [[nodiscard]] const Tally& tally() const noexcept { return tally_; }

    /// Walks `ours` and `theirs`, which are the same stack unless a test damages one, and counts.
    Difference compare_walks(const StackSample& ours, const StackSample& theirs);

private:
    /// A walk that ended with the copy, before any sample of the thread had shown that the stack
    /// goes on.
    struct Doubt {
        pid_t tid;
        std::uint64_t end;
        StopKey key;
    };

    /// One process and libunwind's view of it.
    struct Watched {
        Process process;
        std::unique_ptr<Reference> cached;
        std::map<pid_t, std::uint64_t> stack_ends;  ///< By thread: the highest that was seen.
        std::vector<Doubt> doubts;
        std::map<pid_t, std::unique_ptr<StackMemo>> memos;  ///< By thread.
    };

    static constexpr std::size_t kEntries = 1 << 18;
    static constexpr std::size_t kDepth = 8192;

    void walk_with_memo(const StackSample& sample, Watched& watched, const WalkResult& plain);
    [[nodiscard]] Missing missing_for(const StackSample& sample, const Watched& watched) const;
    void see_stack_end(const StackSample& sample, Watched& watched);
    void count_stop(const StackSample& sample, Watched& watched, StopReason reason, bool equal);
    void count_links(const StackSample& sample, Process& process, StopReason reason);
    void count_difference(const Difference& difference, const StackSample& sample,
                          const Process& process, StopReason reason);
    [[nodiscard]] Example example_of(const StackSample& sample, const Process& process,
                                     StopReason reason) const;

    ImageStore images_;
    std::map<pid_t, Watched> processes_;
    std::unique_ptr<std::array<RowCache::Entry, kEntries>> storage_;
    RowCache rows_;
    Reference exact_{false};
    std::vector<FrameAddress> frames_;
    std::vector<std::uint64_t> addresses_;  ///< Of frames_.
    ReferenceWalk theirs_;                  ///< What ours is compared with.
    ReferenceWalk theirs_exact_;
    Tally tally_;
};

}  // namespace sample::unwind::differential
