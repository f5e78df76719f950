// A session as whoever watches it sees it: a recording in memory that is kept up to date, with the
// sums of the last seconds, its names as far as they are known, and profiles of it at any time.
//
//   session's loop ─▶ RecordQueue ─▶ LiveRecording ─▶ Profile, now and then
//                                        ▲ │
//                                   names │ ▼ addresses
//                                       LiveNames
//
// Samples are not kept, only what threads spent in stacks: O(1) for each entry of a batch. Memory
// is bounded by what the session holds at most (docs/sampling.md) and kMostWeights. Not
// thread-safe: it is the watcher's thread's.
#pragma once

#include "analysis/live/live_names.h"
#include "analysis/live/record_queue.h"
#include "callgraph/build_profile.h"
#include "callgraph/intern_table.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "callgraph/selection.h"
#include "core/result.h"
#include "core/symbols.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace sample::analysis {

/// Behind so many pairs of a thread and a stack, further ones are kept by their stacks alone, of no
/// thread.
inline constexpr std::size_t kMostWeights = std::size_t{1} << 22U;

/// How far back "the last seconds" goes.
inline constexpr std::uint64_t kLastSeconds = 10;

/// What one second of the session's own metric held.
struct LiveSecond {
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;     ///< Of samples, and booked.
    std::uint64_t length_ns = 0;  ///< Less than a second: it goes on, or the session ended in it.
};

struct LiveChoice {
    bool only_last_seconds = false;
    bool group_memory = false;            ///< As callgraph::BuildOptions has it.
    callgraph::Selection selection = {};  ///< Of threads and processes.
};

class LiveRecording {
public:
    explicit LiveRecording(LiveNaming naming) : names_{std::move(naming)} {}

    void add(const RecordBatch& batch);
    /// It is `now_ns` (CLOCK_MONOTONIC): seconds that are past are closed, names that were found
    /// are taken over, and more are asked for. Cheap; to be called a few times a second.
    void advance(std::uint64_t now_ns);

    /// What was spent until now; its stats' wall_ns is what it is of. Errors: not_found, as of
    /// callgraph::select_threads(). O(nodes + weights).
    [[nodiscard]] Result<callgraph::Profile> profile(const LiveChoice& choice) const;

    /// Who and what was recorded; its weights are the totals.
    [[nodiscard]] const callgraph::Recording& recording() const { return recording_; }
    /// The last second that is over; of the first one, what there is of it.
    [[nodiscard]] LiveSecond last_second() const;
    /// Since the session's start; of one that has ended, its length.
    [[nodiscard]] std::uint64_t elapsed_ns() const;
    /// Samples that were dropped, as far as is known.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }
    [[nodiscard]] bool has_ended() const { return recording_.end().has_value(); }

private:
    /// A part of what recording_ has at `weight`.
    struct Share {
        std::uint32_t weight = 0;
        std::uint64_t sampled = 0;
        std::uint64_t samples = 0;
        std::uint64_t booked = 0;
    };
    struct ShareTraits {
        static std::uint64_t hash(const Share& one) { return callgraph::mix_bits(one.weight); }
        static bool equal(const Share& left, const Share& right) {
            return left.weight == right.weight;
        }
    };
    struct Second {
        std::uint64_t number = 0;  ///< Since the session's start.
        callgraph::InternTable<Share, ShareTraits> shares;
        LiveSecond sum;
    };

    void add(const SampleSum& sum, Second* second);
    [[nodiscard]] std::vector<callgraph::StackWeight> last_weights() const;
    [[nodiscard]] Result<std::vector<callgraph::StackWeight>> chosen(
        std::vector<callgraph::StackWeight> weights, const callgraph::Selection& selection) const;
    /// Takes over what was found, and asks for what is not known.
    void learn_names();
    void ask_for_names();

    callgraph::Recording recording_;
    std::deque<Second> seconds_;  ///< The last one goes on.
    std::map<ModuleId, std::shared_ptr<const FileRights>> readers_;
    std::uint64_t lost_ = 0;
    std::uint64_t now_ns_ = 0;
    Symbols symbols_;
    std::size_t looked_at_ = 0;  ///< Of recording_.addresses(), the first ones.
    std::map<ModuleId, NamesWanted> wanted_;
    std::map<ModuleId, std::uint64_t> rests_until_ns_;
    LiveNames names_;
};

}  // namespace sample::analysis
