// Both walks of each sample, as it arrives, and what came of them.
#pragma once

#include "tests/unwind/differential/call_sites.h"
#include "tests/unwind/differential/capture.h"
#include "tests/unwind/differential/compare.h"
#include "tests/unwind/differential/process.h"
#include "tests/unwind/differential/reference.h"
#include "unwind/walk/row_cache.h"

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
    auto operator<=>(const DifferenceKey&) const = default;
};

/// A walk that did not reach the root, and the last frame that it has.
struct StopKey {
    StopReason reason = StopReason::root;
    CodePlace place;
    auto operator<=>(const StopKey&) const = default;
};

struct Example {
    std::vector<CodePlace> ours;
    std::vector<CodePlace> theirs;
    StopReason reason = StopReason::root;
    int end = 0;
    pid_t pid = 0;
};

/// Every sample is in exactly one of `no_stack`, `equal` and `differences`; and, but for
/// `no_stack`, in one of `root`, `cut`, `red_zone` and `stops`.
struct Tally {
    std::uint64_t samples = 0;
    std::uint64_t no_stack = 0;  ///< Nothing to walk: the thread had no memory, in exec or exit.
    std::uint64_t frames = 0;    ///< Ours.
    std::uint64_t equal = 0;
    std::uint64_t root = 0;
    std::uint64_t cut = 0;  ///< Walked to the end of the copy; the stack is longer.
    /// A rule reads below rsp, where code may write without moving it; the copy begins at rsp.
    std::uint64_t red_zone = 0;
    std::map<DifferenceKey, std::uint64_t> differences;
    std::map<DifferenceKey, Example> examples;
    std::map<StopKey, std::uint64_t> stops;

    /// Samples with this verdict.
    [[nodiscard]] std::uint64_t with(Verdict verdict) const;
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
    Difference compare_walks(pid_t pid, const StackSample& ours, const StackSample& theirs);

private:
    /// One process and libunwind's view of it.
    struct Watched {
        Process process;
        std::unique_ptr<Reference> cached;
    };

    static constexpr std::size_t kEntries = 1 << 18;
    static constexpr std::size_t kDepth = 8192;

    void count_stop(const StackSample& sample, const Process& process, StopReason reason,
                    bool needs_red_zone);
    void count_difference(const Difference& difference, const Process& process, StopReason reason,
                          const ReferenceWalk& theirs, pid_t pid);

    ImageStore images_;
    std::map<pid_t, Watched> processes_;
    std::unique_ptr<std::array<RowCache::Entry, kEntries>> storage_;
    RowCache rows_;
    Reference exact_{false};
    std::vector<FrameAddress> frames_;
    std::vector<std::uint64_t> addresses_;  ///< Of frames_.
    ReferenceWalk reference_;
    ReferenceWalk exact_walk_;
    Tally tally_;
};

}  // namespace sample::unwind::differential
