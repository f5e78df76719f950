// How the session's loop takes over the processes that the doorkeeper has let in: who was greeted,
// who has joined, and who was announced but will not.
#pragma once

#include "sampler/collector/joining/arrivals.h"
#include "sampler/collector/joining/unprofiled.h"
#include "sampler/collector/process/live_processes.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace sample::collector {

/// Not thread-safe.
class Welcome {
public:
    /// All outlive it.
    Welcome(Arrivals& arrivals, LiveProcesses& processes, UnprofiledClocks& clocks,
            Recorder& recorder, SessionNotes& notes)
        : arrivals_{arrivals},
          processes_{processes},
          clocks_{clocks},
          recorder_{recorder},
          notes_{notes} {}

    void take_arrivals();
    /// Records programs that were announced, and certainly ran without the agent.
    void list_unprofiled(UnprofiledPrograms::Heard heard);
    /// How many of those were too many to be waited for.
    [[nodiscard]] std::uint64_t overlooked() const { return unprofiled_.overlooked(); }
    /// Why the session's first process is not profiled; empty: it is, or nobody knows.
    [[nodiscard]] const std::string& why_root_is_not() const { return why_root_is_not_; }

private:
    /// What is known of a process that was greeted and has not joined yet.
    struct Greeting {
        std::uint64_t ticket = 0;
        std::uint64_t carried_cpu_ns = 0;
        std::optional<std::pair<std::string, std::string>> parent;  ///< Its program and words.
        InheritedCode inherited;
    };

    void greet(Greeted& greeted);
    void join(Joined joined);

    Arrivals& arrivals_;
    LiveProcesses& processes_;
    UnprofiledClocks& clocks_;
    Recorder& recorder_;
    SessionNotes& notes_;
    UnprofiledPrograms unprofiled_;
    std::deque<Greeting> greetings_;
    std::string why_root_is_not_;
};

}  // namespace sample::collector
