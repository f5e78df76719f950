// A Profile in the making: what all formats do alike.
//
// A parser names threads, functions and the places of a tree, and adds weights to them; totals,
// counts of samples and the timeline follow here. Names are copied, each once. Whatever exceeds the
// limits is kept as problem(): the parser asks for it once a stack and says where it happened.
#pragma once

#include "callgraph/intern_table.h"
#include "callgraph/profile.h"
#include "callgraph/timeline.h"
#include "callgraph/tree.h"
#include "import/import.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::imports {

/// Categories: of all samples where a format knows no threads, and of those that name none.
inline constexpr std::string_view kAll = "all";
inline constexpr std::string_view kUnknown = "[unknown]";
/// No index.
inline constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// What tells functions apart. Views may end with the call that takes them. A name that is one for
/// linkers becomes Function::linkage_name, beside the readable one.
struct FunctionKey {
    std::string_view name;
    std::string_view source;
    std::string_view linkage_name;
    std::uint32_t line = 0;
    std::uint32_t column = 0;  ///< From 1 on; 0: not known. It is shown where nothing else differs.
    std::uint32_t module = 0;
    std::uint32_t flags = 0;

    bool operator==(const FunctionKey&) const = default;
    [[nodiscard]] std::uint64_t hash() const;
};

/// What tells threads apart; 0 and empty: unknown.
struct ThreadKey {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::string_view name;
    std::string_view process;
    std::size_t number = 0;  ///< Of threads of which nothing else tells that they are several.

    bool operator==(const ThreadKey&) const = default;
    [[nodiscard]] std::uint64_t hash() const;
};

class ProfileMaker {
public:
    using Place = callgraph::TreeBuilder::Index;

    explicit ProfileMaker(const Options& options);

    /// For facts about the session, and notes.
    [[nodiscard]] callgraph::Profile& profile() { return profile_; }
    /// A note of what was counted, if there was any: "7 `what`".
    void note_count(std::uint64_t count, const std::string& what);

    [[nodiscard]] FunctionId function(const FunctionKey& key);
    [[nodiscard]] callgraph::Function& function(FunctionId id) {
        return profile_.functions[id.value - 1];
    }
    /// An index into Profile::modules; 0 for an empty path.
    [[nodiscard]] std::uint32_t module(std::string_view path, std::string_view build_id = {});
    /// An index into Profile::threads.
    [[nodiscard]] std::uint32_t thread(const ThreadKey& key);

    /// The top-level place called `name`.
    [[nodiscard]] Place category(std::string_view name);
    /// The category of a thread: its name, or what is known instead; threads of one process named
    /// alike but for a number share one, as in a recording (callgraph/categories.h).
    [[nodiscard]] Place category_of_thread(std::uint32_t thread);
    /// A line counts only where the caller asked for lines.
    [[nodiscard]] Place child(Place parent, FunctionId function, callgraph::CallSite site = {});

    /// `weight` at `place` alone.
    void add(Place place, std::uint64_t weight, std::uint64_t samples);
    /// The same, in a thread. `samples` is 0 or 1 where the time is known: when it was over, since
    /// the session's start. Below 2^62 ns to both sides.
    void add(Place place, std::uint64_t weight, std::uint64_t samples, std::uint32_t thread,
             std::optional<std::int64_t> time_ns);

    /// `weight` at `place` alone, of Profile::further[metric].
    void add_further(std::size_t metric, Place place, std::uint64_t weight);

    /// Why the profile cannot be made; empty: it can.
    [[nodiscard]] const std::string& problem() const { return problem_; }

    /// With `from_first`, times came by any clock: the session starts where the earliest sample
    /// begins.
    [[nodiscard]] callgraph::Profile finish(bool from_first = false) &&;

private:
    template <class Key>
    struct Traits {
        static std::uint64_t hash(const Key& key) { return key.hash(); }
        static bool equal(const Key& left, const Key& right) { return left == right; }
    };
    struct ThreadState {
        std::optional<Place> category;
        std::shared_ptr<callgraph::SampleSeries> samples;
        bool is_sorted = true;
    };

    /// Threads that share a category.
    struct Group {
        Place place = 0;
        std::string first_name;
        bool has_more_names = false;
    };

    [[nodiscard]] std::string_view keep(std::string_view text);
    void note_time(ThreadState& thread, const callgraph::TimedWeight& sample);
    void make_timeline(std::vector<NodeId> node_of_place, std::int64_t start_ns);
    /// Functions that differ in the column alone are told apart by it.
    void name_columns();
    void name_groups(const std::vector<NodeId>& node_of_place);
    /// A process is called like its main thread, where nothing else is known.
    void name_processes();
    void fill_stats(std::int64_t start_ns);

    Options options_;
    callgraph::Profile profile_;
    callgraph::TreeBuilder tree_;
    callgraph::InternTable<FunctionKey, Traits<FunctionKey>> functions_;
    callgraph::InternTable<ThreadKey, Traits<ThreadKey>> threads_;
    std::vector<ThreadState> thread_states_;
    std::unordered_map<std::string_view, Place> categories_;
    std::map<std::pair<std::string, std::string>, Group> groups_;  ///< By process and stem.
    std::unordered_map<std::string_view, std::uint32_t> modules_;
    std::deque<std::string> kept_;  ///< What the keys above view.
    std::uint64_t total_ = 0;
    std::uint64_t samples_ = 0;
    std::vector<std::uint64_t> further_totals_;
    std::uint64_t untimed_ =
        0;  ///< Weights without a time: a timeline has all of them, or is none.
    std::optional<std::int64_t> first_ns_;  ///< Where the earliest sample begins.
    std::optional<std::int64_t> last_ns_;
    std::string problem_;
};

}  // namespace sample::imports
