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
#include "sampler/collector/joining/doorkeeper.h"
#include "sampler/collector/joining/welcome.h"
#include "sampler/collector/process/live_processes.h"
#include "sampler/collector/recorder.h"
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

    /// Paths under which modules can be read whose own files may be gone or have changed: those
    /// of code made at run time. After run(), and as long as this session lives.
    [[nodiscard]] std::map<ModuleId, std::string> module_files() const;

    /// As whom else than ourselves the files of modules are to be read, and what these name.
    [[nodiscard]] std::map<ModuleId, std::shared_ptr<const FileRights>> module_readers() const;

    /// Lets a root that waits for the session's end exit.
    void release_root() { processes_.release_root(); }

private:
    Session(SessionOptions options, std::unique_ptr<trace::RecordSink> sink,
            std::unique_ptr<Gatekeeper> gatekeeper, Fd finish_event);
    void poll_once(int timeout_ms);
    void housekeeping();
    SessionOutcome finish();
    [[nodiscard]] std::string note();
    [[nodiscard]] std::string why_empty() const;

    SessionOptions options_;
    TickClock clock_;
    std::unique_ptr<trace::RecordSink> sink_;
    Recorder recorder_;
    ThrottleWatch throttling_;
    SessionNotes notes_;
    Fd finish_event_;
    std::unique_ptr<Gatekeeper> gatekeeper_;
    LiveProcesses processes_;
    Arrivals arrivals_;
    Welcome welcome_;
    std::unique_ptr<Doorkeeper> doorkeeper_;  // talks to most of the above
    bool over_ = false;
    std::uint64_t drains_ = 0;
};

}  // namespace sample::collector
