// What the doorkeeper hands to the session's loop: who has come, in the order of their coming.
//
// The loop may be writing to a slow disk: nobody waits for it here, but for wait_until_taken(),
// which is bounded. Thread-safe.
#pragma once

#include "core/fd.h"
#include "sampler/collector/process/area_mapping.h"
#include "sampler/collector/process/process_account.h"
#include "sampler/control/protocol.h"

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

namespace sample::collector {

/// A process has said Hello, and waits: if one of this id was known, another image runs in it now.
struct Greeted {
    pid_t pid = 0;
    std::uint64_t ticket = 0;             ///< Of the conversation: that of its Joined.
    std::optional<std::uint64_t> cpu_ns;  ///< The process's clock then.
    bool forked = false;
    pid_t parent = 0;
    InheritedCode at_fork;  ///< What the parent's own code was named by when it forked.
};

/// It has its area, and its events, if any, are the gatekeeper's.
struct Joined {
    ProcessIdentity identity;
    std::uint64_t ticket = 0;
    std::shared_ptr<AreaMapping> mapping;
    Fd pidfd;
    control::Armed armed;
};

/// Somebody starts a program that will not join.
struct Announced {
    control::Unprofiled said;
    pid_t peer = 0;
    std::uint64_t time_ns = 0;
};

using Arrival = std::variant<Greeted, Joined, Announced>;

class Arrivals {
public:
    Arrivals();

    /// Readable when somebody has come who is more than greeted: of such a one more is to be heard,
    /// and its program waits for its answer, which comes later where the loop is woken before.
    [[nodiscard]] int fd() const { return event_.get(); }

    void add(Arrival arrival);
    [[nodiscard]] std::vector<Arrival> take();
    /// All that take() returned has been seen to.
    void done();
    /// Waits until all that was added is done. False: it took longer than `most`.
    bool wait_until_done(std::chrono::milliseconds most);

private:
    void wake();

    Fd event_;
    std::mutex mutex_;
    std::condition_variable is_done_;
    std::vector<Arrival> waiting_;  // guarded by mutex_, like the counts
    std::uint64_t added_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t done_ = 0;
};

}  // namespace sample::collector
