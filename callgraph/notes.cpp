// Stats::notes: what a reader of the figures has to know about them, one line each, and what to do.
#include "callgraph/categories.h"
#include "callgraph/stats.h"
#include "core/text.h"
#include "core/units.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace sample::callgraph {

namespace {

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
    return std::to_string(count).append(" ").append(count == 1 ? one : many);
}

/// How many processes of each program.
using Programs = std::map<std::string, std::uint64_t>;

/// "cc1 (12 processes), as (12 processes), sh (3 processes), and 4 more", those with most first.
std::string listed(const Programs& programs) {
    constexpr std::size_t kMost = 3;
    std::vector<std::pair<std::string, std::uint64_t>> sorted{programs.begin(), programs.end()};
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) {
        return left.second > right.second;
    });
    std::string list;
    for (std::size_t i = 0; i < std::min(sorted.size(), kMost); ++i) {
        list += (i == 0 ? "" : ", ") + sorted[i].first + " (" +
                counted(sorted[i].second, "process", "processes") + ")";
    }
    if (sorted.size() > kMost) {
        list += ", and " + std::to_string(sorted.size() - kMost) + " more";
    }
    return list;
}

std::string was_or_were(const Programs& programs) {
    return programs.size() == 1 ? " was" : " were";
}

bool is_time(const Recording& recording) {
    return !recording.start() || recording.start()->unit.empty();
}

void note_missing_end(std::vector<std::string>& notes, const Recording& recording,
                      const Stats& stats) {
    if (stats.whole) {
        return;
    }
    const std::string& problem = recording.read_outcome().problem;
    if (stats.sampling == Sampling::foreign) {
        notes.push_back("the trace could not be read to its end (" + problem +
                        "): the figures cover what comes before that");
        return;
    }
    notes.push_back(problem.empty()
                        ? "the recording ends before its session: it is a copy of one that went "
                          "on (of an agent that sleeps again, or `sample control` made it), or "
                          "`sample` was killed or had no room on its disk; the figures "
                          "cover what was written by then"
                        : "the end of the recording is missing (" + problem +
                              "): the figures cover what was written before that; record again "
                              "and let `sample` finish, with room on its disk");
}

/// What the recorder itself had to say at the end.
void note_end(std::vector<std::string>& notes, const Recording& recording) {
    std::string_view rest = recording.end() ? std::string_view{recording.end()->note} : "";
    while (!rest.empty()) {
        const std::size_t line = std::min(rest.find('\n'), rest.size());
        if (line != 0) {
            notes.emplace_back(rest.substr(0, line));
        }
        rest.remove_prefix(std::min(line + 1, rest.size()));
    }
}

void note_sources(std::vector<std::string>& notes, const Recording& recording) {
    if (recording.start() && !recording.start()->source_reason.empty()) {
        notes.push_back("sampled with source " + recording.start()->source + ": " +
                        recording.start()->source_reason +
                        "; `sample doctor` says how to improve it");
    }
    // The same executable may have been started a thousand times.
    std::map<std::string, Programs> reasons;
    for (const RecordedProcess& process : recording.processes()) {
        const trace::Process& facts = process.facts;
        if (!facts.source_reason.empty() &&
            !(recording.start() && recording.start()->source == facts.source &&
              recording.start()->source_reason == facts.source_reason)) {
            ++reasons["source " + facts.source + ": " + facts.source_reason]
                     [std::string{recording.name_of_file(facts.executable)}];
        }
    }
    for (const auto& [how, programs] : reasons) {
        notes.push_back(listed(programs) + was_or_were(programs) + " sampled with " + how +
                        "; --source chooses another one for all");
    }
}

bool is_from_outside(const Recording& recording) {
    const auto& processes = recording.processes();
    return !processes.empty() && processes.front().facts.source == trace::kAttachSource;
}

/// Of a process that goes on where the recording breaks off, nobody knows.
void note_unsampled(std::vector<std::string>& notes, const Recording& recording,
                    const Stats& stats) {
    std::vector<bool> is_sampled(recording.processes().size() + 1);
    for (const StackWeight& weight : recording.weights()) {
        const trace::Thread* thread = recording.thread(weight.thread);
        if (thread != nullptr && recording.process(thread->process) != nullptr) {
            is_sampled[thread->process.value] = true;
        }
    }
    Programs unsampled;
    Programs idle;
    for (std::size_t i = 0; i < recording.processes().size(); ++i) {
        const trace::Process& facts = recording.processes()[i].facts;
        const auto& end = recording.processes()[i].end;
        if (is_sampled[i + 1] || !(stats.whole || end)) {
            continue;
        }
        const std::string executable{recording.name_of_file(facts.executable)};
        if (facts.source == trace::kAttachSource) {
            ++idle[executable];
        } else if (!end || end->cpu_ns != trace::kNoCpuTime) {  // else it was off: said elsewhere
            ++unsampled[executable];
        }
    }
    if (!idle.empty()) {
        notes.push_back(listed(idle) +
                        " used no CPU time, or less than a period of it, while watched: asleep, "
                        "or stopped");
    }
    if (!unsampled.empty()) {
        notes.push_back(listed(unsampled) + was_or_were(unsampled) +
                        " never sampled: ended before a first sample, or the agent could not be "
                        "loaded; " +
                        (is_time(recording) ? "raise --freq for short programs"
                                            : "a shorter period, --event NAME:PERIOD, sees more"));
    }
}

/// What those took that have no agent, by program.
void note_unprofiled_time(std::vector<std::string>& notes, const Recording& recording,
                          const Stats& stats) {
    constexpr std::size_t kMost = 3;
    struct Program {
        std::uint64_t cpu_ns = 0;
        std::uint64_t processes = 0;
        std::string name;
    };
    std::map<std::string, Program, std::less<>> by_name;
    for (const RecordedProcess& process : recording.processes()) {
        if (process.facts.source == trace::kNoSource && process.end) {
            const std::string name{recording.name_of_file(process.facts.executable)};
            Program& program = by_name[name];
            program.name = name;
            program.cpu_ns += process.end->cpu_ns;
            // What ended unseen is no process.
            program.processes += process.facts.pid != 0 ? 1 : 0;
        }
    }
    if (std::none_of(by_name.begin(), by_name.end(),
                     [](const auto& program) { return program.second.processes != 0; })) {
        return;
    }
    std::vector<Program> programs;
    programs.reserve(by_name.size());
    for (auto& [name, program] : by_name) {
        programs.push_back(std::move(program));
    }
    std::stable_sort(
        programs.begin(), programs.end(),
        [](const Program& left, const Program& right) { return left.cpu_ns > right.cpu_ns; });
    std::string list;
    for (std::size_t i = 0; i < std::min(programs.size(), kMost); ++i) {
        list += (i == 0 ? "" : ", ") + programs[i].name + " " + short_duration(programs[i].cpu_ns);
        if (programs[i].processes != 0) {
            list += " (" + counted(programs[i].processes, "process", "processes") + ")";
        }
    }
    if (programs.size() > kMost) {
        list += ", and " + std::to_string(programs.size() - kMost) + " more";
    }
    notes.push_back(short_duration(stats.unprofiled_cpu_ns) +
                    " of CPU time have no stack, being of programs that were not profiled: " +
                    list + "; sample attach PID and sample record -a see them from outside");
}

void note_unprofiled(std::vector<std::string>& notes, const Recording& recording) {
    std::map<std::string, Programs> reasons;
    for (const trace::UnprofiledProgram& program : recording.unprofiled()) {
        ++reasons[program.reason][program.executable];
    }
    for (const auto& [reason, programs] : reasons) {
        notes.push_back(listed(programs) + was_or_were(programs) + " not profiled: " + reason);
    }
}

/// "5 %", and below one "0.4 %".
std::string about(double part) {
    const double percent = kHundred * part;
    return decimal(percent, percent < 1 ? 1 : 0) + " %";
}

/// "10k", as --freq takes it.
std::string frequency(std::uint32_t hz) {
    constexpr std::uint32_t kThousand = 1000;
    return hz % kThousand == 0 ? std::to_string(hz / kThousand) + "k" : std::to_string(hz);
}

/// That the sampling thread's signals came late, and what has none.
void note_late_samples(std::vector<std::string>& notes, const Recording& recording,
                       const Stats& stats) {
    constexpr double kMany = 0.1;
    const double part =
        static_cast<double>(stats.late_samples) / static_cast<double>(stats.sent_samples);
    if (stats.sent_samples == 0 || part <= kMany) {
        return;
    }
    const auto& processes = recording.processes();
    const bool took_over =
        std::all_of(processes.begin(), processes.end(), [](const RecordedProcess& process) {
            return !process.end || process.end->sent == 0 || process.facts.source == "sigtrap";
        });
    notes.push_back(
        about(part) + " of the samples came late, " +
        short_duration(static_cast<std::uint64_t>(*stats.signal_way_ns_mean)) +
        " in the mean after they were sent for, or found their thread without a processor at the "
        "end of a system call: what ran before may be shown at the call; " +
        (took_over ? "events that may see the kernel (kernel.perf_event_paranoid at 1) interrupt "
                     "at once, and nobody has to take over"
                   : "--source sigtrap interrupts at once (sample doctor says what it needs)"));
}

/// That sampling took much of the time, and what would take less.
void note_price(std::vector<std::string>& notes, const Recording& recording, const Stats& stats) {
    constexpr double kMuch = 0.05;
    if (!stats.sample_cost_ns || !stats.gross || *stats.gross == 0 || stats.requested_hz == 0) {
        return;
    }
    const std::uint64_t taken = *stats.gross - *stats.net;
    const double part = static_cast<double>(taken) / static_cast<double>(*stats.gross);
    if (part <= kMuch) {
        return;
    }
    const double second = *stats.sample_cost_ns / kNsPerSecond;
    std::string note = "sampling took about " + about(part) + " of this time: " +
                       short_duration(static_cast<std::uint64_t>(*stats.sample_cost_ns)) +
                       " a sample on this machine";
    for (const std::uint32_t hz : {5'000U, 2'000U, 1'000U, 500U, 200U, 100U}) {
        if (hz < stats.requested_hz && hz * second <= kMuch) {
            note += "; --freq " + frequency(hz) + " would take " + about(hz * second);
            break;
        }
    }
    if (const trace::SessionEnd& end = *recording.end(); !end.other_source.empty()) {
        note += "; --source " + end.other_source + " " +
                about(stats.requested_hz * static_cast<double>(end.other_cost_ns) / kNsPerSecond);
    }
    constexpr double kError = 0.1;
    const double net_error = kError * static_cast<double>(taken) / static_cast<double>(*stats.net);
    if (recording.taken_out() && *stats.net != 0 && net_error > kMuch) {
        note += "; if that is " + about(kError) + " wrong, net durations are " + about(net_error) +
                " wrong";
    }
    notes.push_back(std::move(note));
}

void note_not_understood(std::vector<std::string>& notes, const trace::ReadOutcome& read) {
    if (!read.instrumentation_problem.empty()) {
        notes.push_back("not all that was said could be understood: " +
                        read.instrumentation_problem);
    }
    if (read.unknown_events > 0) {
        notes.push_back(
            counted(read.unknown_events, "event", "events") +
            " of kinds that this version does not know: " +
            (read.is_foreign
                 ? "sample trace info lists all kinds, and sample trace dump shows their events"
                 : "use the version of `sample` that made the recording to see them"));
    }
}

}  // namespace

std::vector<std::string> make_notes(const Recording& recording, const Stats& stats) {
    std::vector<std::string> notes;
    note_missing_end(notes, recording, stats);
    note_end(notes, recording);
    note_sources(notes, recording);
    if (stats.sampling == Sampling::on) {
        note_unsampled(notes, recording, stats);
    }
    note_unprofiled_time(notes, recording, stats);
    note_unprofiled(notes, recording);
    // What is recorded from outside says itself what became of them.
    if (stats.lost > 0 && !is_from_outside(recording)) {
        std::string note = counted(stats.lost, "sample was lost", "samples were lost");
        if (is_time(recording)) {
            note += stats.lost == 1 ? "; its" : "; their";
            note += " time went to the next sample of the same thread; a lower --freq avoids it";
        } else {
            note +=
                "; what they stand for is counted as [not sampled]; a longer period, --event "
                "NAME:PERIOD, avoids it";
        }
        notes.push_back(std::move(note));
    }
    if (recording.bad_records() > 0) {
        notes.push_back(counted(recording.bad_records(), "record", "records") +
                        " could not be used because of ids that were never defined or weights "
                        "that overflow: the recording is damaged; record again");
    }
    note_late_samples(notes, recording, stats);
    note_price(notes, recording, stats);
    note_not_understood(notes, recording.read_outcome());
    return notes;
}

}  // namespace sample::callgraph
