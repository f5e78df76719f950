// Where one thread is off the processor, and how long: from the kernel's records of its switches.
//
//     watched, new ─▶ runs ─▶ leaving(where), out ─▶ asleep, or ready to run ─▶ in ─▶ runs
//
// Every wait that it tells has an end and a beginning that were seen, or is what a thread that was
// met waiting has waited since. After a loss of records nobody knows where the thread is, until
// it leaves a processor again.
#pragma once

#include "core/ids.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace sample::attach {

/// That is over.
struct Wait {
    std::uint64_t ns = 0;
    bool is_for_processor = false;  ///< The thread could have run.
    std::optional<NodeId> where;    ///< Nothing: that was not seen.
};

/// Times are CLOCK_MONOTONIC. Not thread-safe.
class ThreadSwitches {
public:
    /// Nobody knows where it is.
    ThreadSwitches() = default;
    /// It may be running or waiting, and what it does counts from `time_ns` on.
    static ThreadSwitches watched(std::uint64_t time_ns) { return {State::met, time_ns}; }
    /// It was made then, and has not run yet.
    static ThreadSwitches made(std::uint64_t time_ns) { return {State::ready, time_ns}; }

    /// The stack of the switch that comes next.
    void leaving(NodeId where) { where_ = where; }
    void out(std::uint64_t time_ns, bool is_preempted) {
        if (state_ == State::over) {
            return;
        }
        state_ = is_preempted ? State::ready : State::asleep;
        since_ns_ = time_ns;
    }
    [[nodiscard]] std::optional<Wait> in(std::uint64_t time_ns) { return end(time_ns, true); }
    /// The recording ends, or can't be gone on with. Of one that has never been seen to switch,
    /// `has_waited` is whether it has not run since.
    [[nodiscard]] std::optional<Wait> end(std::uint64_t time_ns, bool has_waited) {
        const State before = state_;
        state_ = before == State::over ? before : State::runs;
        const std::optional<NodeId> where = std::exchange(where_, std::nullopt);
        const bool is_wait = before == State::asleep || before == State::ready ||
                             (before == State::met && has_waited);
        if (!is_wait || time_ns <= since_ns_) {
            return std::nullopt;
        }
        return Wait{time_ns - since_ns_, before == State::ready, where};
    }
    /// Since it is watched, by its clock: if it was not seen to switch, it has not waited.
    void has_run() { state_ = state_ == State::met ? State::runs : state_; }
    /// The thread ends: it leaves a processor once more, and that is no wait.
    void finish() { state_ = State::over; }
    /// Records were lost. True: it waited, and that is in no figure.
    [[nodiscard]] bool lose() {
        const bool has_waited = is_away();
        state_ = state_ == State::over ? state_ : State::unknown;
        where_.reset();
        return has_waited;
    }
    /// As far as is known, it does not run.
    [[nodiscard]] bool is_away() const {
        return state_ == State::asleep || state_ == State::ready || state_ == State::met;
    }

private:
    enum class State : std::uint8_t { unknown, met, runs, asleep, ready, over };

    ThreadSwitches(State state, std::uint64_t since_ns) : state_{state}, since_ns_{since_ns} {}

    State state_ = State::unknown;
    std::uint64_t since_ns_ = 0;
    std::optional<NodeId> where_;
};

}  // namespace sample::attach
