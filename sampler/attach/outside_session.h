// A recording from outside, whoever is in it: perf events write into rings, which one loop reads.
//
// Which processes there are, and when the recording is over, is a derived class's matter. One
// thread. Not thread-safe.
#pragma once

#include "core/result.h"
#include "sampler/attach/attached_process.h"
#include "sampler/attach/event_watch.h"
#include "sampler/collector/events/throttling.h"
#include "sampler/collector/recorder.h"
#include "sampler/collector/session_options.h"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::attach {

struct OutsideOutcome {
    bool have_all_ended = false;  ///< The processes that were asked for.
    std::uint64_t samples = 0;
    std::optional<Error> failure;  ///< The recording is not whole because writing it failed.
};

class OutsideSession : protected EventSink {
public:
    OutsideSession(const OutsideSession&) = delete;
    OutsideSession& operator=(const OutsideSession&) = delete;
    ~OutsideSession() override = default;

    /// Records until there is nobody left, the time is over, or stop_fd says so; then writes the
    /// end.
    OutsideOutcome run();

    /// What was kept of the modules' files. After run(), and as long as this session lives.
    [[nodiscard]] const collector::Recorder& recorder() const { return recorder_; }

protected:
    OutsideSession(collector::SessionOptions options, std::unique_ptr<trace::RecordSink> sink,
                   Watching whom);

    void on_lost(std::uint64_t records) override;
    void on_waking(const Waking& waking) override;
    /// Records were lost: of all threads. How many waits are in no figure for that.
    [[nodiscard]] virtual std::uint64_t lose_switches() = 0;
    /// The frame of who woke the thread that gets a processor, if that is known; forgets it.
    [[nodiscard]] std::optional<ModuleId> take_waker(const Switch& change);

    /// Behind each drain; `is_second`: about once a second.
    virtual void housekeeping(bool is_second) = 0;
    [[nodiscard]] virtual bool have_all_ended() const = 0;
    /// Descriptors that become readable when there is something to do.
    [[nodiscard]] virtual std::vector<int> wakers() const = 0;
    /// Everything was drained: ends all processes.
    virtual void end_all() = 0;
    /// Lines that a person should see, of this kind of session.
    [[nodiscard]] virtual std::vector<std::string> own_notes() const = 0;

    static constexpr std::uint64_t kMost = ~std::uint64_t{0};
    /// Hands out what was written before `until`, by CLOCK_MONOTONIC.
    void drain(std::uint64_t until);

    [[nodiscard]] const collector::SessionOptions& options() const { return options_; }
    [[nodiscard]] std::uint64_t period_ns() const { return around_.sampling.period_ns; }
    collector::Recorder& recording() { return recorder_; }
    Surroundings& around() { return around_; }
    EventWatch& watch() { return watch_; }
    void count_sample() { ++samples_; }
    /// Records that were lost since this was asked last.
    [[nodiscard]] std::uint64_t take_lost() { return lost_ - std::exchange(told_lost_, lost_); }

private:
    /// Waits for the next thing to do; true: to stop.
    [[nodiscard]] bool wait() const;
    OutsideOutcome finish();
    [[nodiscard]] bool is_of_machine() const { return whom_ == Watching::machine; }
    [[nodiscard]] std::string note();

    collector::SessionOptions options_;
    std::unique_ptr<trace::RecordSink> sink_;
    collector::Recorder recorder_;
    Surroundings around_;
    Watching whom_;
    EventWatch watch_;
    collector::ThrottleWatch throttling_;
    std::uint64_t samples_ = 0;
    std::unordered_map<pid_t, ModuleId> wakers_;  ///< Of threads that have not run since.
    std::uint64_t lost_waits_ = 0;
    std::uint64_t lost_ = 0;
    std::uint64_t told_lost_ = 0;
    bool over_ = false;
};

}  // namespace sample::attach
