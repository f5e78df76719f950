// What this machine and this process allow: asked of the kernel by trying, not guessed from
// numbers.
//
// A setting can promise what a container's seccomp filter then refuses, and the other way round, so
// whether a source works is what perf_event_open said a moment ago. The settings are kept beside it
// because they say what would improve it.
#pragma once

#include "sampler/control/source.h"
#include "sampler/source/event_spec.h"
#include "sampler/source/signal_cost.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::source {

/// The credentials part of /proc/PID/status.
struct ProcessStatus {
    bool cap_perfmon = false;
    bool cap_sys_admin = false;
    int seccomp_mode = 0;  ///< 0 none, 1 strict, 2 filter.
    std::uint32_t tracer_pid = 0;
};

struct Capabilities {
    std::string kernel_release;
    /// The settings below /proc/sys/kernel; empty where the file cannot be read.
    std::optional<std::int64_t> perf_event_paranoid;
    std::optional<std::int64_t> perf_event_max_sample_rate;
    std::optional<std::int64_t> perf_cpu_time_max_percent;
    ProcessStatus process;
    OpenAttempt sigtrap;  ///< The agent's own requests: source::open_event().
    OpenAttempt perf;
    OpenAttempt timer;  ///< A timer that signals one thread.
    /// What a sample costs by the source that would be chosen, besides its handler. Not probed: it
    /// takes 8 ms.
    std::optional<SignalCost> sample_cost;
};

/// What `--source auto` takes.
struct SourceChoice {
    control::Source source = control::Source::thread;
    std::string reason;  ///< Why not the first choice, sigtrap; empty if it is.
};

/// What is to be said of one source.
struct SourceFinding {
    control::Source source = control::Source::thread;
    OpenAttempt attempt;
    std::string why_not;  ///< Empty if it works.
};

/// One thing that would make it better.
struct Advice {
    std::string problem;
    std::string command;  ///< To be typed as it stands; empty where no command helps.
};

/// Reads the settings, opens each event once, disabled, on the calling thread, and makes a timer.
/// Never fails: what cannot be found out is empty. Under a millisecond.
[[nodiscard]] Capabilities probe_capabilities();

/// The best source that works here: sigtrap, then perf, then thread, which needs nothing. Never
/// timer, whose signals a sleeping program would notice.
[[nodiscard]] SourceChoice choose_source(const Capabilities& capabilities);

/// All sources, best first.
[[nodiscard]] std::vector<SourceFinding> judge_sources(const Capabilities& capabilities);

/// What to change, most helpful first; empty if there is nothing to gain.
[[nodiscard]] std::vector<Advice> advise(const Capabilities& capabilities);

/// The text of /proc/PID/status. Unknown lines are skipped, missing ones leave the defaults.
/// Source: proc(5), capabilities(7).
[[nodiscard]] ProcessStatus parse_process_status(std::string_view text);

}  // namespace sample::source
