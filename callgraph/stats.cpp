#include "callgraph/stats.h"

#include "callgraph/categories.h"
#include "callgraph/stack_ends.h"
#include "core/text.h"
#include "core/units.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace sample::callgraph {

namespace {

void fill_times(Profile& profile, const trace::SessionStart& start) {
    profile.command_line = start.command_line;
    profile.start_unix_ms = start.start_unix_ns / kNsPerMs;
    profile.end_unix_ms = (start.start_unix_ns + profile.stats.wall_ns) / kNsPerMs;
}

void fill_session(Profile& profile, const Recording& recording, MetricId metric) {
    Stats& stats = profile.stats;
    stats.whole = recording.end().has_value() && recording.read_outcome().problem.empty();
    stats.said = recording.said();
    stats.processes = 0;
    if (!recording.start()) {
        return;
    }
    const trace::SessionStart& start = *recording.start();
    const std::uint64_t end_ns =
        recording.end() ? recording.end()->end_ns : recording.last_time_ns();
    stats.wall_ns = end_ns > start.start_ns ? end_ns - start.start_ns : 0;
    stats.sampling = recording.read_outcome().is_foreign ? Sampling::foreign
                     : start.source == trace::kSourceOff ? Sampling::off
                                                         : Sampling::on;
    stats.requested_hz = stats.sampling == Sampling::on ? start.requested_hz : 0;
    stats.source = start.source;
    stats.source_reason = start.source_reason;
    for (const trace::Metric& each : recording.metrics()) {
        profile.metrics.push_back({each.name, each.unit, each.meaning});
    }
    profile.metric = profile.metrics[metric.value - 1];
    fill_times(profile, start);
    if (metric != trace::kSessionMetric) {
        stats.requested_hz = 0;
        return;
    }
    profile.event = start.event;
    if (stats.sampling == Sampling::foreign) {
        return;
    }
    if (profile.is_time()) {
        stats.clock = start.clock == trace::Clock::cpu ? "cpu" : "wall";
    } else {
        stats.requested_hz = 0;
        stats.period = start.period;
    }
}

void fill_threads(Profile& profile, const Recording& recording) {
    std::uint32_t count = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, ProcessId> last_process;
    for (const trace::Thread& thread : recording.threads()) {
        ThreadTotals& totals = profile.threads.emplace_back();
        totals.name = thread.name;
        totals.tid = thread.tid;
        totals.start_ns = recording.since_start(thread.start_ns);
        if (const RecordedProcess* process = recording.process(thread.process)) {
            totals.process = recording.name_of_file(process->facts.executable);
            totals.pid = process->facts.pid;
        }
        if (totals.pid == 0 && totals.tid == 0) {
            continue;  // a sum of those that nobody saw
        }
        // A thread that execs keeps its ids, and its process becomes another. In one process, the
        // kernel has given the id of a thread that ended to a new one.
        const auto [last, is_new] =
            last_process.try_emplace({totals.pid, totals.tid}, thread.process);
        count += is_new || last->second == thread.process ? 1 : 0;
        last->second = thread.process;
    }
    profile.stats.threads = count;
}

void add_stack_end(Stats& stats, const StackEnd& end, const StackWeight& weight) {
    switch (end.kind) {
        case StackEnd::Kind::whole:
            break;
        case StackEnd::Kind::incomplete:
            stats.incomplete_stacks += weight.samples;
            stats.incomplete += weight.sampled;
            break;
        case StackEnd::Kind::truncated:
            stats.truncated_stacks += weight.samples;
            stats.truncated += weight.sampled;
            break;
    }
    if (end.is_guessed) {
        stats.guessed_stacks += weight.samples;
        stats.guessed += weight.sampled;
    }
}

/// Samples and time, of the whole and of each thread and process. Returns each process's weights.
std::vector<std::uint64_t> add_weights(Profile& profile, const Recording& recording,
                                       MetricId metric) {
    const std::vector<StackEnd> ends = stack_ends(recording);
    BrokenStackSums broken{recording};
    std::vector<std::uint64_t> of_process(recording.processes().size() + 1);
    Stats& stats = profile.stats;
    stats.recorded_samples = recording.recorded_samples(metric);
    for (const StackWeight& weight : recording.weights(metric)) {
        const StackEnd& end = ends[weight.node.value];
        stats.sampled += weight.sampled;
        stats.booked += weight.booked;
        stats.samples += weight.samples;
        add_stack_end(stats, end, weight);
        broken.add(end, weight);
        if (weight.thread.is_none()) {
            continue;
        }
        ThreadTotals& thread = profile.threads[weight.thread.value - 1];
        thread.total += weight.sampled + weight.booked;
        thread.samples += weight.samples;
        thread.incomplete_stacks += end.kind == StackEnd::Kind::incomplete ? weight.samples : 0;
        const ProcessId process = recording.threads()[weight.thread.value - 1].process;
        if (recording.process(process) != nullptr) {
            of_process[process.value] += weight.sampled + weight.booked;
        }
    }
    stats.broken_stacks = broken.list();
    if (stats.samples == stats.recorded_samples) {
        stats.effective_samples = recording.effective_samples(metric);
    }
    return of_process;
}

void fill_processes(Profile& profile, const Recording& recording,
                    const std::vector<std::uint64_t>& weights) {
    Stats& stats = profile.stats;
    std::set<std::uint32_t> pids;
    std::uint64_t kernel_cpu_ns = 0;
    bool is_kernel_cpu_known = !recording.processes().empty();
    for (std::size_t i = 0; i < recording.processes().size(); ++i) {
        const auto& [facts, end] = recording.processes()[i];
        ProcessTotals& totals = profile.processes.emplace_back();
        totals.executable = facts.executable;
        totals.command_line = facts.command_line;
        totals.pid = facts.pid;
        totals.parent_pid = facts.parent_pid;
        totals.start_ns = recording.since_start(facts.start_ns);
        if (end && end->end_ns != 0) {
            totals.end_ns = recording.since_start(end->end_ns);
        }
        totals.source = facts.source;
        totals.source_reason = facts.source_reason;
        totals.ending = describe_ending(end.value_or(trace::ProcessEnd{}));
        totals.ended_badly = end && end->kind == trace::EndKind::signaled;
        const std::uint64_t by_kernel = end ? end->cpu_ns : 0;
        totals.cpu_ns = by_kernel != 0 || !profile.is_time()
                            ? by_kernel
                            : weights[i + 1] + recording.taken_out_of(
                                                   ProcessId{static_cast<std::uint32_t>(i) + 1});
        kernel_cpu_ns += by_kernel;
        stats.unprofiled_cpu_ns += facts.source == trace::kNoSource ? by_kernel : 0;
        // One that ended before the recording begins spent nothing in it.
        const bool is_earlier =
            end && recording.start() && end->end_ns == recording.start()->start_ns;
        is_kernel_cpu_known = is_kernel_cpu_known && (by_kernel != 0 || is_earlier);
        if (facts.pid != 0) {
            pids.insert(facts.pid);
        }
    }
    stats.processes = static_cast<std::uint32_t>(pids.size());
    if (is_kernel_cpu_known) {
        stats.process_cpu_ns = kernel_cpu_ns;
    }
}

/// What the agents measured of themselves: of all processes together, but for the sizes, which are
/// the most of any.
void fill_agent_figures(Stats& stats, const Recording& recording) {
    std::uint64_t count = 0;
    std::uint64_t sum_ns = 0;
    std::uint64_t p99_ns = 0;
    std::uint64_t way_ns = 0;
    for (const RecordedProcess& process : recording.processes()) {
        if (!process.end) {
            continue;
        }
        const trace::ProcessEnd& end = *process.end;
        stats.lost += end.lost;
        stats.agent_cpu_ns += end.agent_cpu_ns;
        stats.sent_samples += end.sent;
        stats.late_samples += end.late;
        way_ns += end.way_ns;
        if (end.handler_count != 0) {
            // One process's is nobody else's: of several, the session's end has to tell.
            p99_ns = count == 0 ? end.handler_p99_ns : 0;
            count += end.handler_count;
            sum_ns += end.handler_sum_ns;
        }
        if (end.agent_rss_bytes != 0) {
            stats.agent_rss_bytes =
                std::max(stats.agent_rss_bytes.value_or(0), end.agent_rss_bytes);
        }
        if (end.unwind_table_bytes != 0) {
            stats.unwind_table_bytes =
                std::max(stats.unwind_table_bytes.value_or(0), end.unwind_table_bytes);
        }
    }
    if (stats.sent_samples != 0) {
        stats.signal_way_ns_mean =
            static_cast<double>(way_ns) / static_cast<double>(stats.sent_samples);
    }
    if (count != 0) {
        stats.handler_ns_mean = static_cast<double>(sum_ns) / static_cast<double>(count);
        if (recording.end() && recording.end()->handler_p99_ns != 0) {
            p99_ns = recording.end()->handler_p99_ns;
        }
        if (p99_ns != 0) {
            stats.handler_ns_p99 = p99_ns;
        }
    }
}

/// What a sample has cost, and what all have.
void fill_price(Profile& profile, const Recording& recording) {
    Stats& stats = profile.stats;
    if (!recording.end() || recording.end()->sample_cost_ns == 0) {
        return;
    }
    const trace::SessionEnd& end = *recording.end();
    stats.sample_cost_ns = static_cast<double>(end.sample_cost_ns);
    stats.sample_cost_low_ns = static_cast<double>(end.sample_cost_low_ns);
    stats.sample_cost_high_ns = static_cast<double>(end.sample_cost_high_ns);
    if (profile.is_time() && stats.clock == "cpu") {
        const std::uint64_t now = stats.sampled + stats.booked;
        profile.is_net = recording.taken_out().has_value();
        stats.gross = now + recording.taken_out().value_or(0);
        stats.net = profile.is_net ? now : now - recording.sampling_time(*stats.sample_cost_ns);
    }
}

void fill_achieved_hz(Stats& stats, bool is_time) {
    if (stats.clock == "wall" || stats.source == "timer") {
        return;  // Of CPU time as well; but threads that wait have samples, too.
    }
    // Samples are also taken of what sampling takes.
    std::uint64_t of_ns = is_time ? stats.gross.value_or(stats.sampled + stats.booked) : 0;
    if (stats.process_cpu_ns) {
        of_ns = *stats.process_cpu_ns;
    }
    of_ns -= std::min(of_ns, stats.unprofiled_cpu_ns);
    if (of_ns != 0) {
        stats.achieved_hz =
            static_cast<double>(stats.samples) * kNsPerSecond / static_cast<double>(of_ns);
    }
}

}  // namespace

std::string describe_ending(const trace::ProcessEnd& end) {
    switch (end.kind) {
        case trace::EndKind::exited:
            return "exited with " + std::to_string(end.code);
        case trace::EndKind::signaled: {
            const char* name = sigabbrev_np(end.code);
            const std::string number = std::to_string(end.code);
            return name == nullptr ? "killed by signal " + number
                                   : std::string{"killed by SIG"} + name + " (" + number + ")";
        }
        case trace::EndKind::replaced:
            return "replaced by an exec";
        case trace::EndKind::still_running:
            return "still running";
        case trace::EndKind::unknown:
            break;
    }
    return "ending unknown";
}

void fill_stats(Profile& profile, const Recording& recording, MetricId metric) {
    profile.stats = {};
    profile.threads.clear();
    profile.processes.clear();
    fill_session(profile, recording, metric);
    fill_threads(profile, recording);
    fill_processes(profile, recording, add_weights(profile, recording, metric));
    fill_agent_figures(profile.stats, recording);
    if (metric == trace::kSessionMetric) {
        fill_price(profile, recording);
    }
    if (metric == trace::kSessionMetric && profile.stats.sampling == Sampling::on) {
        fill_achieved_hz(profile.stats, profile.is_time());
    }
    for (const trace::UnprofiledProgram& program : recording.unprofiled()) {
        profile.unprofiled.push_back(
            {program.executable, program.pid, program.parent_pid, program.reason});
    }
    profile.stats.notes = make_notes(recording, profile.stats);
}

}  // namespace sample::callgraph
