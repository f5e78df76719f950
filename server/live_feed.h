// What readers of a session's live data get, message by message: between the thread that watches
// the session, which publishes, and the server's, which never makes it wait for a reader.
//
// Each publication is one delta; the last few are kept. A reader that fell behind these, as a new
// one, goes on with a snapshot: so memory is bounded, however slow readers are.
#pragma once

#include "callgraph/profile.h"
#include "core/fd.h"
#include "core/result.h"
#include "server/live_state.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace sample::server {

struct LiveMessage {
    bool is_snapshot = false;
    std::uint64_t sequence = 0;                    ///< A reader has all up to this then.
    std::shared_ptr<const std::string> text = {};  ///< nullptr: there is none.
};

/// All is thread-safe; publish() and end() are the watcher's, the rest is the server's.
class LiveFeed {
public:
    /// Errors: system (no descriptor is left).
    [[nodiscard]] static Result<std::unique_ptr<LiveFeed>> create();

    /// Whether anybody waits for a publication.
    [[nodiscard]] bool is_wanted() const { return is_wanted_.load(std::memory_order_relaxed); }
    void publish(const callgraph::Profile& profile, const LiveFigures& figures);
    /// There is nothing more to come.
    void end();

    void set_wanted(bool is_wanted) { is_wanted_.store(is_wanted, std::memory_order_relaxed); }
    /// Readable when something was published, or all is over, until seen().
    [[nodiscard]] int fd() const { return news_.get(); }
    void seen() const;
    [[nodiscard]] bool has_ended() const;
    /// The number of the last publication; 0: there was none.
    [[nodiscard]] std::uint64_t sequence() const;
    /// For a reader that has all up to `sequence` (0: nothing): the next delta, or, if that is not
    /// kept, a snapshot; no text if it has everything.
    [[nodiscard]] LiveMessage after(std::uint64_t sequence);
    [[nodiscard]] LiveMessage snapshot();

private:
    explicit LiveFeed(Fd news) : news_{std::move(news)} {}

    [[nodiscard]] LiveMessage snapshot_now();

    static constexpr std::size_t kMostKept = 4;

    mutable std::mutex mutex_;
    LiveState state_;
    std::deque<LiveMessage> deltas_;  ///< The last one is of state_.sequence().
    LiveMessage snapshot_;            ///< The last one that was asked for.
    bool has_ended_ = false;
    std::atomic<bool> is_wanted_{false};
    Fd news_;  ///< An eventfd.
};

}  // namespace sample::server
