// The callgraph of a session that goes on, as readers of live data have it: everything has a number
// that stays, so that what changed since the last time can be said by numbers alone.
//
//   Profile ─▶ update() ─▶ text of what is new, changed or gone; snapshot(): text of all there is
//
// Each profile is made anew, and its numbers with it: functions are found again by what they are,
// nodes by their parent and function. A node goes when its function turns out to have another name.
// Numbers are not used again. docs/format-live.md describes the texts. Not thread-safe.
#pragma once

#include "callgraph/intern_table.h"
#include "callgraph/profile.h"

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace sample::server {

/// What is known of the session besides its profile.
struct LiveFigures {
    std::uint64_t elapsed_ns = 0;
    std::uint64_t lost = 0;            ///< Samples.
    std::uint64_t second_samples = 0;  ///< Of the last second that is over.
    std::uint64_t second_weight = 0;
    bool has_ended = false;
};

class LiveState {
public:
    /// Takes over what `profile` has and returns the text of a delta. O(nodes).
    [[nodiscard]] std::string update(const callgraph::Profile& profile, const LiveFigures& figures);
    /// The text of all that there is now. O(nodes).
    [[nodiscard]] std::string snapshot() const;
    /// How often there was an update.
    [[nodiscard]] std::uint64_t sequence() const { return sequence_; }

private:
    // Of each, identity() is what it is found again by.
    struct Module {
        std::string path;

        [[nodiscard]] auto identity() const { return std::tie(path); }
    };
    struct Function {
        std::string name;
        std::uint32_t module = 0;
        std::string source;
        std::uint32_t line = 0;

        [[nodiscard]] auto identity() const { return std::tie(name, module, source, line); }
    };
    struct Category {
        std::string name;

        [[nodiscard]] auto identity() const { return std::tie(name); }
    };
    struct Thread {
        std::uint32_t pid = 0;
        std::uint32_t tid = 0;
        std::int64_t start_ns = 0;
        std::string name;
        std::string process;
        std::uint64_t total = 0;
        std::uint64_t samples = 0;

        [[nodiscard]] auto identity() const { return std::tie(pid, tid, start_ns); }
    };
    struct Node {
        std::uint32_t parent = 0;
        std::uint32_t what = 0;  ///< A function; of the root's children, a category.
        std::uint64_t self = 0;
        std::uint64_t total = 0;
        std::uint64_t samples = 0;
        std::uint64_t seen = 0;  ///< The last update that had it.

        [[nodiscard]] auto identity() const { return std::tie(parent, what); }
    };
    template <class Entry>
    struct ByIdentity {
        static std::uint64_t hash(const Entry& entry) {
            return std::apply(
                [](const auto&... parts) {
                    std::uint64_t all = 0;
                    ((all = callgraph::hash_pair(
                          all, std::hash<std::remove_cvref_t<decltype(parts)>>{}(parts))),
                     ...);
                    return all;
                },
                entry.identity());
        }
        static bool equal(const Entry& left, const Entry& right) {
            return left.identity() == right.identity();
        }
    };
    template <class Entry>
    using Table = callgraph::InternTable<Entry, ByIdentity<Entry>>;

    /// Numbers of what a text is to have.
    struct Rows {
        std::vector<std::uint32_t> threads;
        std::vector<std::uint32_t> nodes;
        std::vector<std::uint32_t> changed;  ///< Nodes, known before: their figures alone.
        std::vector<std::uint32_t> gone;
        std::uint32_t first_module = 0;  ///< From here on all of them, likewise below.
        std::uint32_t first_function = 0;
        std::uint32_t first_category = 0;
        bool has_session = true;
    };

    void update_threads(const callgraph::Profile& profile, Rows& rows);
    void update_nodes(const callgraph::Profile& profile, Rows& rows);
    [[nodiscard]] std::vector<std::uint32_t> functions_of(const callgraph::Profile& profile);
    /// Returns its number.
    std::uint32_t put_node(const Node& now, Rows& rows);
    [[nodiscard]] bool is_present(const Node& node) const { return node.seen == sequence_; }
    [[nodiscard]] std::string text(const Rows& rows) const;

    std::uint64_t sequence_ = 0;
    std::string session_;  ///< As JSON.
    LiveFigures figures_;
    std::uint64_t samples_ = 0;
    Table<Module> modules_;
    Table<Function> functions_;
    Table<Category> categories_;
    Table<Thread> threads_;
    Table<Node> nodes_;  ///< [0] is the root.
};

}  // namespace sample::server
