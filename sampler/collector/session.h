// A recording session: its loop, and the end of the recording.
//
//   joining/  doorkeeper ─▶ arrivals ─▶ welcome ─┐
//   events/        └─ events ─▶ gatekeeper       ▼
//   process/                          live processes ─▶ every 20 ms: drain ─▶ Recorder ─▶ sink
//
// One loop, one thread: it alone uses the sink, and may have to wait for a file. The doorkeeper and
// the gatekeeper have threads of their own, as programs wait for their answers. A session has a
// root, the process that it was started for; when the root ends, joined or not, so does the
// session. Not thread-safe.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "sampler/collector/control/control_service.h"
#include "sampler/collector/control/openers.h"
#include "sampler/collector/joining/doorkeeper.h"
#include "sampler/collector/joining/welcome.h"
#include "sampler/collector/process/live_processes.h"
#include "sampler/collector/process/unprofiled_clocks.h"
#include "sampler/collector/recorder.h"
#include "sampler/collector/sampling_price.h"
#include "sampler/collector/session_notes.h"
#include "sampler/collector/session_options.h"

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace sample::collector {

/// How a session ended.
struct SessionOutcome {
    bool root_ended = false;
    /// Nobody has joined: there is no recording. Then why, and what can be done about it.
    bool is_empty = false;
    std::string why_empty;
    std::uint32_t descendants_left = 0;
    std::optional<Error> failure;  ///< The recording is not whole because writing it failed.
};

class Session {
public:
    /// Makes the socket and the gatekeeper. `sink` gets the recording.
    static Result<std::unique_ptr<Session>> create(SessionOptions options,
                                                   std::unique_ptr<trace::RecordSink> sink);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// What SAMPLE_SESSION must be in the environment of whoever is to join.
    [[nodiscard]] std::string name() const { return doorkeeper_->session(); }

    /// Records until the root ends, the time is over, or stop_fd says so; then writes the end. The
    /// root may be this process's child: it is not waited for. `connected`: a socket of the root's,
    /// which has started this collector.
    SessionOutcome run(pid_t root, Fd connected = Fd{});

    /// What was kept of the modules' files. After run(), and as long as this session lives.
    [[nodiscard]] const Recorder& recorder() const { return recorder_; }

    /// Lets a root that waits for the session's end exit.
    void release_root() { processes_.release_root(); }

private:
    Session(SessionOptions options, std::unique_ptr<trace::RecordSink> sink,
            std::unique_ptr<Gatekeeper> gatekeeper, Fd finish_event, Fd request_event);
    void open_control();
    void watch_unprofiled(pid_t root);
    void poll_once(int timeout_ms);
    void housekeeping();
    SessionOutcome finish();
    /// Sampling begins after the delay, and ends when its time is over. False: so does the session.
    [[nodiscard]] bool keep_time(std::uint64_t now_ns);

    // session_control.cpp: what is asked for while the session runs.
    enum class State : std::uint8_t { running, paused, stopped };
    void take_requests();
    /// What a process asks for; before sampling has begun, then.
    void follow(control::ControlRequest request);
    void postpone(control::ControlRequest request);
    /// Carries it out. Returns what to answer.
    [[nodiscard]] std::string carry_out(const ControlCommand& command);
    [[nodiscard]] bool changes_frequency(const ControlCommand& command) const;
    /// Does what the command wants if its token owns the session, and answers how that is now.
    [[nodiscard]] std::string steer(const ControlCommand& command);
    void change_state(const ControlCommand& command);
    [[nodiscard]] std::string answer_about(const ControlCommand& command);
    void set_state(State state);
    /// False: it is that already, or there is none.
    bool set_frequency(std::uint32_t hz);
    void change_frequency(std::uint32_t asked_hz);
    /// Where samples take most of the time, as the program would hardly get on.
    void slow_down_if_dear();
    [[nodiscard]] std::string switch_channels(const std::string& channels);
    void set_countdown(std::chrono::nanoseconds time);
    void cancel_countdown();
    [[nodiscard]] std::string state_text() const;
    /// 0: samples have none.
    [[nodiscard]] std::string frequency_text() const;
    [[nodiscard]] std::string note_on_stops() const;
    [[nodiscard]] std::string note_on_control() const;

    /// Processes of the program's that live on and never joined, as one whose parent forked it and
    /// ended at once, which is how daemons start: the session is over before it can join.
    void note_strangers_left();
    [[nodiscard]] std::string note();
    /// Channels that were asked for and that nobody has; empty: none.
    [[nodiscard]] std::string note_on_channels();
    [[nodiscard]] std::string note_on_delay() const;
    [[nodiscard]] std::string why_empty() const;

    SessionOptions options_;
    TickClock clock_;
    std::unique_ptr<trace::RecordSink> sink_;
    Recorder recorder_;
    ThrottleWatch throttling_;
    SessionNotes notes_;
    Fd finish_event_;
    Fd request_event_;  ///< A process asks for something.
    Pace pace_;
    std::unique_ptr<Gatekeeper> gatekeeper_;
    OneShots one_shots_;
    UnprofiledClocks unprofiled_;
    LiveProcesses processes_;
    Arrivals arrivals_;
    Welcome welcome_;
    std::unique_ptr<Doorkeeper> doorkeeper_;  // talks to most of the above
    std::unique_ptr<ControlService> control_;
    Openers openers_;
    State state_ = State::running;
    std::optional<control::ControlRequest> postponed_;  ///< Until sampling begins.
    std::uint64_t start_ns_ = 0;                        ///< When sampling began, or is to.
    struct Countdown {
        std::uint64_t end_ns = 0;
        bool ends_session = false;  ///< Else sampling alone, as by `stop`.
        std::uint64_t told_second = ~std::uint64_t{0};
    };
    std::optional<Countdown> countdown_;
    Fd starter_;  ///< The pidfd of a process with which sampling is to stop.
    std::uint64_t off_since_ns_ = 0;
    std::uint64_t off_ns_ = 0;  ///< So long sampling was off, before.
    std::uint32_t stops_ = 0;
    std::uint64_t before_delay_ = 0;  ///< Of Recorder::earlier(), what the delay has left out.
    std::string frequencies_;         ///< That came after the first one, for people.
    std::uint32_t changes_ = 0;
    std::string switches_;  ///< Channels that were on after the first ones, the same.
    std::uint32_t changes_of_channels_ = 0;
    SamplingPrice price_;
    bool over_ = false;
    bool has_run_out_ = false;  ///< Of the time that was asked for.
    std::uint64_t drains_ = 0;
};

}  // namespace sample::collector
