// CPU time of the session's processes that have no agent: static, setuid, or started by such ones.
//
// They are watched from outside, and notice nothing: a process that was made since the last look
// belongs to the session if its parent does, and its clock is read at each look until it is gone.
// What it spent after that is in its parent's sum of what it has waited for, which moves by more
// than is known: that goes to those of its children that are gone since the last look. What ran and
// ended between two looks is a part of what the root has waited for: one sum at the end.
//
// In the recording each of their images is a process without samples, whose time is booked on the
// pseudo module "[not profiled: NAME]". Not thread-safe.
#pragma once

#include "sampler/collector/recorder.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::collector {

class UnprofiledClocks {
public:
    /// `recorder` outlives it.
    explicit UnprofiledClocks(Recorder& recorder) : recorder_{recorder} {}

    /// Without it nobody is watched.
    void watch(pid_t root);

    /// An agent is about to account for the process. `carried_ns`: what its clock said when this
    /// image began, if an earlier one had an agent, too; else 0. Returns how much of its clock is
    /// not this image's.
    std::uint64_t greeted(pid_t pid, pid_t parent, std::uint64_t carried_ns);
    /// The process has gone on without, when its clock said `cpu_ns`; it may be gone.
    void left(pid_t pid, std::uint64_t cpu_ns);
    /// One with an agent is gone; `cpu_ns` of its clock, with all images, is recorded or left out.
    void ended(pid_t pid, std::uint64_t cpu_ns);

    /// Takes in what has happened. `take_deaths` calls greeted() and ended() for everybody who has
    /// begun or is gone by then. It is put off where that would cost more than 2 % of the time.
    void look(std::uint64_t now_ns, const std::function<void()>& take_deaths);
    /// What was spent until now is left out.
    void begin_sampling();
    /// What is spent from now on is left out, until it goes on.
    void stop_counting();
    void go_on_counting();
    /// Records all that is left. Once, when everybody who has an agent and is gone has ended().
    void finish();

private:
    struct Watched {
        pid_t pid = 0;  ///< Of one that is gone.
        pid_t parent = 0;
        bool has_agent = false;
        bool is_in_another_network = false;
        bool is_told_of = false;  ///< That it is.
        int looks = 0;            ///< At this image; if it has an agent, since it is gone.
        std::string name;
        std::string command_line;
        std::uint64_t start_ns = 0;
        std::uint64_t cpu_ns = 0;         ///< Its clock, when it was seen last.
        std::uint64_t recorded_ns = 0;    ///< Of that, in the recording or left out.
        std::uint64_t waited_for_ns = 0;  ///< By the kernel, at the last look.
        std::uint64_t gone_ns = 0;        ///< Of that, recorded or left out.
        /// When the counting stopped, if it has: its clock, and of waited_for_ns what was not gone.
        std::uint64_t stopped_cpu_ns = 0;
        std::uint64_t stopped_rest_ns = 0;
        std::vector<Watched> gone;  ///< Not recorded: they may have spent more.
    };

    void find_new(std::uint64_t now_ns);
    void meet(pid_t pid, std::uint64_t now_ns);
    void look_at(pid_t pid, Watched& process, std::uint64_t now_ns);
    /// It is gone.
    void forget(pid_t pid);
    /// Hands what is known of one that is gone to whom it was waited for by.
    void leave_to_parent(pid_t pid, Watched process);
    /// Records those that are gone, when all that their parents waited for is known.
    void settle(std::uint64_t now_ns);
    void record(pid_t pid, Watched& image, std::uint64_t now_ns);
    void record(trace::Process process, const std::string& name, std::uint64_t cpu_ns,
                std::uint64_t now_ns);

    Recorder& recorder_;
    pid_t root_ = 0;
    std::unordered_map<pid_t, Watched> watched_;
    pid_t newest_ = 0;
    std::uint64_t next_look_ns_ = 0;
    std::uint64_t settled_ns_ = 0;
    bool stopped_ = false;
    std::unordered_map<pid_t, pid_t> parents_;  ///< Of those gone since: a child may be told later.
    std::unordered_map<std::string, std::string> files_;  ///< By name; a zombie has none.
};

}  // namespace sample::collector
