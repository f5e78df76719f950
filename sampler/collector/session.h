// A recording session: accepts the processes that join, drains their buffers, writes the recording.
//
//   listening socket ─▶ Hello ─▶ ProfiledProcess (area, events) ─▶ every 20 ms: drain ─▶ Recorder
//
// One loop, one thread (and the gatekeeper's). A session has a root, the process that it was
// started for; when the root ends, so does the session. Not thread-safe.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "sampler/collector/gatekeeper.h"
#include "sampler/collector/profiled_process.h"
#include "sampler/collector/program_kinds.h"
#include "sampler/collector/recorder.h"
#include "sampler/collector/spare_area.h"
#include "sampler/collector/throttling.h"
#include "sampler/collector/tick_clock.h"
#include "sampler/collector/unprofiled.h"
#include "sampler/control/protocol.h"
#include "sampler/source/event_spec.h"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sample::collector {

struct SessionOptions {
    std::uint32_t frequency_hz = 1000;
    control::Source source = control::Source::none;  ///< `none`: the best that works.
    trace::Clock clock = trace::Clock::cpu;
    source::EventSpec event;  ///< Other than the default: by the sources sigtrap and perf alone.
    std::uint32_t max_stack = capture::kMaxDepth;  ///< Frames kept of a stack.
    bool children = true;
    std::optional<std::chrono::nanoseconds> time;  ///< Stop by itself after this long.
    std::string command_line;
    std::string tool_version;
    int wake_fd = -1;                                         ///< When readable, on_wake is asked.
    std::function<bool()> on_wake;                            ///< True: stop the session now.
    std::function<void(std::chrono::nanoseconds)> on_second;  ///< Time left, about once a second.

    /// Nanoseconds of a clock, else occurrences of the event.
    [[nodiscard]] std::uint64_t period() const {
        return event.is_clock ? 1'000'000'000U / frequency_hz : event.period;
    }
};

/// How a session ended.
struct SessionOutcome {
    bool root_ended = false;
    bool anyone_profiled = false;
    std::uint32_t descendants_left = 0;
    std::optional<Error> failure;  ///< The recording is not whole because writing it failed.
};

class Session {
public:
    /// Makes the socket and the gatekeeper. `recording` is written from here on by the session
    /// alone.
    static Result<std::unique_ptr<Session>> create(SessionOptions options, Fd recording);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// What SAMPLE_SESSION must be in the environment of whoever is to join.
    [[nodiscard]] const std::string& name() const { return name_; }

    /// A socket that is connected already: the process that started this collector.
    void adopt_connection(Fd socket);

    /// Records until the root ends, the time is over, or on_wake says stop; then writes the end.
    /// The root may be this process's child: it is not waited for.
    SessionOutcome run(pid_t root);

    /// Paths under which modules can be read whose own files may be gone or have changed: those
    /// of code made at run time. After run(), and as long as this session lives.
    [[nodiscard]] std::map<ModuleId, std::string> module_files() const;

    /// Lets a root that waits for the session's end exit.
    void release_root();

private:
    struct Connection {
        Fd socket;
        pid_t pid = 0;
        std::shared_ptr<AreaMapping> mapping;
        ProfiledProcess::Identity identity;
        Fd pidfd;  ///< Taken while the process waits for us: its number is its own.
    };
    struct Live {
        std::unique_ptr<ProfiledProcess> process;
        std::shared_ptr<AreaMapping> mapping;
        Fd pidfd;
        bool unprofiled = false;  ///< Its image was replaced by one that we do not hear from.
    };

    Session(SessionOptions options, Fd recording);
    Result<void> listen();
    void poll_once(int timeout_ms);
    void accept_connections();
    bool serve(Connection& connection);
    bool welcome(Connection& connection, const control::Hello& hello);
    /// What a process that may join is told; why not the first source goes to its identity.
    control::Welcome answer_to(Connection& connection);
    void describe(Connection& connection, const control::Hello& hello) const;
    /// What `pid` has said and nobody has heard yet.
    void serve_waiting(pid_t pid);
    bool arm(Connection& connection, const control::Armed& armed, std::vector<Fd> events);
    std::vector<control::Source> sources_for(pid_t pid, std::string& reason);
    void note_confinement(Live& live);
    void end_process(Live& live, trace::EndKind kind, int code);
    void process_died(Live& live);
    void list_unprofiled();
    void housekeeping();
    /// A debugger that comes later would stop at each sample, too.
    void give_way_to_tracers();
    SessionOutcome finish();

    SessionOptions options_;
    std::string name_;
    TickClock clock_;
    SpareArea spare_area_;
    ProgramKinds programs_;
    UnprofiledPrograms unprofiled_;
    Recorder recorder_;
    ThrottleWatch throttling_;
    Fd listener_;
    Fd finish_event_;
    std::unique_ptr<Gatekeeper> gatekeeper_;
    std::list<Connection> connections_;
    std::list<Live> processes_;
    std::shared_ptr<AreaMapping> root_mapping_;  ///< To release a root that waits.
    pid_t root_ = 0;
    bool root_waits_ = false;  ///< At its exit, until release_root().
    bool over_ = false;
    bool root_ended_ = false;
    bool anyone_profiled_ = false;
    bool kernel_excluded_ = false;  ///< From the sampling of a process, at least.
    bool was_traced_ = false;
    std::uint64_t threads_without_event_ = 0;
    std::uint64_t drains_ = 0;
    std::string confined_;  ///< Processes that seccomp ended the sampling of.
};

}  // namespace sample::collector
