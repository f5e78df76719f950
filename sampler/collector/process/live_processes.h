// The processes of a session, from their joining to their end: who lives, who has died, what is
// asked of all of them now and then. The root is the process that the session was started for.
#pragma once

#include "core/fd.h"
#include "sampler/collector/events/gatekeeper.h"
#include "sampler/collector/events/one_shots.h"
#include "sampler/collector/events/throttling.h"
#include "sampler/collector/process/profiled_process.h"
#include "sampler/collector/process/tick_clock.h"
#include "sampler/collector/process/unprofiled_clocks.h"
#include "sampler/collector/recorder.h"
#include "sampler/collector/session_notes.h"
#include "sampler/collector/session_options.h"

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sample::collector {

/// Whom processes have to do with; all outlive them.
struct ProcessSurroundings {
    Recorder& recorder;
    const TickClock& clock;
    Gatekeeper& gatekeeper;
    ThrottleWatch& throttling;
    OneShots& one_shots;
    SessionNotes& notes;
    UnprofiledClocks& unprofiled;
    const SessionOptions& options;
    const Pace& pace;
    [[nodiscard]] bool counts_time() const { return options.event.is_clock; }  ///< Else an event.
};

/// Not thread-safe.
class LiveProcesses {
public:
    explicit LiveProcesses(const ProcessSurroundings& around) : around_{around} {}

    void set_root(pid_t root);
    [[nodiscard]] pid_t root() const { return root_; }
    [[nodiscard]] bool has_root_ended() const { return root_ended_; }
    /// Lets a root that waits for the session's end exit.
    void release_root();

    /// Begins the recording of a process that has its events.
    void add(ProcessIdentity identity, std::shared_ptr<AreaMapping> mapping, Fd pidfd);
    /// nullptr: none of that number is recorded.
    [[nodiscard]] ProfiledProcess* find(pid_t pid);
    /// A new image of the process says Hello: the one before has ended. Returns what that spent of
    /// the process's clock; `cpu_ns` is what the clock says. `before_end` is called when all is
    /// taken from it that the new image waits for.
    std::uint64_t replace(pid_t pid, std::optional<std::uint64_t> cpu_ns,
                          const std::function<void()>& before_end);
    /// It runs a program that cannot be profiled; its end is seen no more.
    void leave(pid_t pid);

    /// Adds a descriptor for the root and each process, to be handed to take_deaths() after poll().
    void append_to(std::vector<pollfd>& fds) const;
    void take_deaths(const pollfd* polled);
    /// Asks for deaths that no descriptor has told.
    void bury_the_dead();

    /// Takes in what all have written; once a second what is looked at seldom.
    void drain(bool is_second);
    /// From now on there are weights: see Recorder::begin_sampling.
    void begin_sampling();
    /// The session's pace says so: sampling is off, or on again.
    void stop_sampling();
    void go_on_sampling();
    /// The session's pace has another frequency.
    void change_frequency();
    /// The session's pace has other channels. Returns how many processes do not follow, yet or at
    /// all.
    unsigned switch_channels();
    /// A debugger that comes later would stop at each sample, too.
    void give_way_to_tracers();
    /// The session ends before those that are left.
    void end_all();

private:
    struct Live {
        std::unique_ptr<ProfiledProcess> process;
        std::shared_ptr<AreaMapping> mapping;
        Fd pidfd;
        bool has_left = false;
        bool handed_over = false;      ///< To its sampling thread: it has no events any more.
        std::uint32_t switches = 0;    ///< Of channels, that it has followed: as the pace's.
        std::string module_in_set_up;  ///< A profiler module, at the last look; empty: none.
        unsigned looks_at_module = 0;  ///< That have found the same one.
    };
    using Place = std::list<Live>::iterator;

    Place place_of(pid_t pid);
    /// Returns how much of the process's clock is in the recording, or left out.
    std::uint64_t end(Live& live, trace::EndKind kind, int code);
    Place died(Place place);
    /// What the kernel counts of it now.
    [[nodiscard]] ProcessCounts counts_of(const Live& live) const;
    /// As the session's pace says, if its events can be changed.
    void apply_frequency(const Live& live);
    /// As the session's pace says. False: it does not follow, yet or at all.
    bool apply_channels(Live& live);
    /// Says which profiler module the process was in when it ended badly.
    void say_module_trouble(const Live& live, trace::EndKind kind, int code);
    /// Says which profiler module of the process has not been set up for seconds.
    void look_at_module(Live& live);
    /// To its sampling thread, where that sees more.
    void hand_over(Live& live);

    ProcessSurroundings around_;
    std::list<Live> processes_;
    std::shared_ptr<AreaMapping> root_mapping_;
    Fd root_pidfd_;
    pid_t root_ = 0;
    bool root_ended_ = false;
};

}  // namespace sample::collector
