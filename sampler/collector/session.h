// A recording session: accepts the processes that join, drains their buffers, hands records to a
// sink.
//
//   doorkeeper ─▶ Arrivals ─▶ ProfiledProcess (area) ─▶ every 20 ms: drain ─▶ Recorder ─▶ sink
//       └─ events ─▶ gatekeeper
//
// One loop, one thread: it alone uses the sink, and may have to wait for a file. The doorkeeper and
// the gatekeeper have threads of their own, as programs wait for their answers. A session has a
// root, the process that it was started for; when the root ends, joined or not, so does the
// session. Not thread-safe.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "sampler/collector/arrivals.h"
#include "sampler/collector/doorkeeper.h"
#include "sampler/collector/gatekeeper.h"
#include "sampler/collector/profiled_process.h"
#include "sampler/collector/recorder.h"
#include "sampler/collector/session_options.h"
#include "sampler/collector/throttling.h"
#include "sampler/collector/tick_clock.h"
#include "sampler/collector/unprofiled.h"

#include <sys/types.h>

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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
    void release_root();

private:
    /// What is known of a process that was greeted and has not joined yet.
    struct Greeting {
        std::uint64_t ticket = 0;
        std::uint64_t carried_cpu_ns = 0;
        std::optional<std::pair<std::string, std::string>> parent;  ///< Its program and words.
        InheritedCode inherited;
    };
    struct Live {
        std::unique_ptr<ProfiledProcess> process;
        std::shared_ptr<AreaMapping> mapping;
        Fd pidfd;
        bool unprofiled = false;  ///< Its image was replaced by one that we do not hear from.
    };

    Session(SessionOptions options, std::unique_ptr<trace::RecordSink> sink);
    void poll_once(int timeout_ms);
    void take_arrivals();
    void greet(const Greeted& greeted);
    void join(Joined joined);
    void root_died();
    void bury_the_dead();
    void note_confinement(Live& live);
    void end_process(Live& live, trace::EndKind kind, int code);
    void process_died(Live& live);
    void list_unprofiled();
    void housekeeping();
    /// A debugger that comes later would stop at each sample, too.
    void give_way_to_tracers();
    SessionOutcome finish();
    void note_what_is_missing(trace::SessionEnd& end, const SessionOutcome& outcome,
                              const std::string& left);
    [[nodiscard]] std::string why_empty() const;

    SessionOptions options_;
    TickClock clock_;
    UnprofiledPrograms unprofiled_;
    std::string why_root_is_not_;  ///< Profiled, though it is the session's first process.
    std::unique_ptr<trace::RecordSink> sink_;
    Recorder recorder_;
    ThrottleWatch throttling_;
    Fd finish_event_;
    Fd root_pidfd_;
    Arrivals arrivals_;
    std::unique_ptr<Gatekeeper> gatekeeper_;
    std::unique_ptr<Doorkeeper> doorkeeper_;  // talks to all of the above
    std::deque<Greeting> greetings_;
    std::list<Live> processes_;
    std::shared_ptr<AreaMapping> root_mapping_;  ///< To release a root that waits.
    pid_t root_ = 0;
    bool over_ = false;
    bool root_ended_ = false;
    bool kernel_excluded_ = false;  ///< From the sampling of a process, at least.
    bool was_traced_ = false;
    std::uint64_t drains_ = 0;
    unsigned confined_processes_ = 0;
    std::string confined_;  ///< The first of the processes that seccomp ended the sampling of.
};

}  // namespace sample::collector
