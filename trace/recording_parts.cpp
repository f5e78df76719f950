#include "trace/recording_parts.h"

#include "trace/wire.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>

namespace sample::trace {
namespace {

/// Of important events; those beyond are in the part that they were said in.
constexpr std::size_t kMostImportantBytes = std::size_t{16} << 20U;

/// Whether what the process weighs by the session's metric is its CPU time.
bool weighs_cpu_time(const SessionStart& session, const Process& process) {
    return session.clock == Clock::cpu && session.unit.empty() && process.source != kSourceOff;
}

/// 0 would say that it is not known.
std::uint64_t known_time(std::uint64_t ns) {
    return std::max(ns, kNoCpuTime);
}

}  // namespace

RecordingParts::RecordingParts(Fd file, PartLimits limits, PartFiles& files,
                               std::function<PartMoment()> clock)
    : part_{std::make_unique<RecordingWriter>(std::move(file))},
      limits_{limits},
      files_{files},
      clock_{std::move(clock)},
      open_{{[this](const ZoneEdge& edge) { write(edge); },
             [this](const Instrumentation& said) {
                 std::visit([this](const auto& one) { write(one); }, said);
             }}} {}

void RecordingParts::record(const Record& record) {
    std::visit([this](const auto& one) { add(one); }, record);
}

void RecordingParts::add(const SessionStart& start) {
    session_ = start;
    number_ = 1;
    tried_ns_ = start.start_ns;
    part_->record(start);
    definitions_.begin(*part_, start.start_ns);
}

void RecordingParts::add(const UnprofiledProgram& program) {
    UnprofiledProgram told = program;
    told.start_ns = definitions_.not_before_start(program.start_ns);
    part_->record(told);
}

void RecordingParts::add(const ProcessEnd& end) {
    ProcessEnd told = end;
    told.id = definitions_.use(end.id);
    told.end_ns = definitions_.not_before_start(end.end_ns);
    PartDefinitions::OneProcess& process = definitions_.process(end.id);
    process.end = end;
    process.is_ended_here = true;
    if (process.is_carried && end.cpu_ns != 0) {
        told.cpu_ns = weighs_cpu_time(session_, process.facts)
                          ? known_time(end.cpu_ns - std::min(end.cpu_ns, process.told_ns))
                          : 0;
    }
    part_->record(told);
}

void RecordingParts::add(const SessionEnd& end) {
    open_.finish();
    end_processes(end.end_ns, false);
    SessionEnd told = end;
    if (number_ > 1) {
        told.note += std::string{told.note.empty() ? "" : "\n"} + "this is part " +
                     std::to_string(number_) + " of a recording in parts, the last one";
    }
    part_->record(told);
    has_ended_ = true;
}

void RecordingParts::sample(const Sample& sample) {
    Sample told = sample;
    told.thread = definitions_.use(sample.thread);
    told.node = definitions_.use(sample.node);
    told.time_ns = definitions_.not_before_start(sample.time_ns);
    part_->sample(told);
    if (sample.metric == kSessionMetric && !told.thread.is_none()) {
        weights_.resize(std::max<std::size_t>(weights_.size(), told.thread.value));
        weights_[told.thread.value - 1] += sample.weight;
    }
}

void RecordingParts::memory(const MemoryEvent& event) {
    MemoryEvent told = event;
    told.thread = definitions_.use(event.thread);
    told.time_ns = definitions_.not_before_start(event.time_ns);
    told.heap = definitions_.use(event.heap);
    told.tag = definitions_.use(event.tag);
    told.call_stack = definitions_.use_stack(event.call_stack);
    part_->memory(told);
}

void RecordingParts::instrumentation(const Instrumentation& said) {
    std::visit([this](const auto& one) { say(one); }, said);
}

void RecordingParts::say(const RaisedEvent& event) {
    if (event.scope != ScopeKind::none) {
        open_.add(event);
        return;
    }
    write(event);
    const EventTypeSpec* const type = definitions_.event_type(event.type);
    if (type == nullptr || (type->flags & wire::kImportant) == 0) {
        return;
    }
    std::size_t bytes = sizeof event + event.fixed.size();
    for (const RaisedEvent::Variable& variable : event.variable) {
        bytes += sizeof variable + variable.data.size();
    }
    if (bytes <= kMostImportantBytes - important_bytes_) {
        important_bytes_ += bytes;
        important_.push_back(event);
        important_.back().thread = {};
    }
}

template <class Said>
void RecordingParts::say(const Said& said) {
    if constexpr (requires { said.time_ns; }) {
        write(said);
    } else {
        definitions_.define(said);
    }
}

void RecordingParts::write(ZoneEdge edge) {
    edge.thread = definitions_.use(edge.thread);
    edge.time_ns = definitions_.not_before_start(edge.time_ns);
    edge.zone = definitions_.use(edge.zone);
    edge.note = edge.note.is_none() ? edge.note : last_note_;
    part_->zone(edge);
}

/// Gives what is said the ids of the part.
template <class Said>
void RecordingParts::write(Said said) {
    if constexpr (requires { said.thread; }) {
        said.thread = definitions_.use(said.thread);
    }
    if constexpr (std::is_same_v<Said, RaisedEvent>) {
        said.type = definitions_.use(said.type);
        said.time_ns = said.time_ns == 0 ? 0 : definitions_.not_before_start(said.time_ns);
    } else if constexpr (requires { said.time_ns; }) {
        said.time_ns = definitions_.not_before_start(said.time_ns);
    }
    if constexpr (std::is_same_v<Said, CounterValue>) {
        said.counter = definitions_.use(said.counter);
    } else if constexpr (std::is_same_v<Said, Message>) {
        said.spec = definitions_.use(said.spec);
    } else if constexpr (std::is_same_v<Said, ZoneNote>) {
        said.zone = definitions_.use(said.zone);
        said.id = last_note_ = ZoneNoteId{last_note_.value + 1};
    }
    part_->instrumentation(said);
}

bool RecordingParts::is_full(std::uint64_t now_ns) const {
    return now_ns >= tried_ns_ && (now_ns - tried_ns_ >= limits_.time_ns ||
                                   part_->bytes_written() - tried_bytes_ >= limits_.bytes);
}

Result<void> RecordingParts::flush(FlushMode mode) {
    Result<void> result = part_->flush(mode);
    if (failure_ && result && number_ != 0 && !has_ended_) {
        if (const PartMoment now = clock_(); is_full(now.ns)) {
            turn(now);
        }
    }
    return failure_ ? result : failure_;
}

void RecordingParts::turn(PartMoment now) {
    tried_ns_ = now.ns;
    tried_bytes_ = part_->bytes_written();
    SessionStart start = session_;
    start.start_ns = now.ns;
    start.start_unix_ns = now.unix_ns;
    auto file = files_.make_next();
    if (!file) {
        files_.trouble(file.error());
        return;
    }
    auto next = std::make_unique<RecordingWriter>(std::move(*file));
    next->record(start);
    Result<void> begun = next->flush(FlushMode::everything);
    begun = begun ? files_.put_in_place() : begun;
    if (!begun) {
        files_.trouble(begun.error());
        return;
    }
    open_.end_all(now.ns, [this](ThreadId thread) { return definitions_.is_alive(thread); });
    end_processes(now.ns, true);
    SessionEnd end;
    end.end_ns = now.ns;
    end.note = "this is part " + std::to_string(number_) +
               " of a recording in parts, which goes on after it";
    part_->record(end);
    failure_ = part_->flush(FlushMode::everything);
    files_.ended(definitions_.modules());
    part_ = std::move(next);
    ++number_;
    tried_bytes_ = 0;
    weights_.clear();
    last_note_ = {};
    definitions_.begin(*part_, now.ns);
    for (const RaisedEvent& event : important_) {
        write(event);
    }
    open_.begin_all(now.ns);
    failure_ = failure_ ? part_->flush(FlushMode::everything) : std::move(failure_);
}

std::map<ProcessId, std::uint64_t> RecordingParts::weights_here() {
    std::map<ProcessId, std::uint64_t> weights;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        weights[definitions_.process_of(definitions_.threads()[i])] += weights_[i];
    }
    return weights;
}

/// Those that the part has no end of: if the session does not go on, those that ended before it.
void RecordingParts::end_processes(std::uint64_t end_ns, bool goes_on) {
    const auto weights = weights_here();
    for (auto& [id, process] : definitions_.processes()) {
        if (process.here.is_none() || process.is_ended_here || (!goes_on && !process.end)) {
            continue;
        }
        ProcessEnd end{process.here, EndKind::still_running, 0, end_ns};
        if (process.end) {
            end.kind = process.end->kind;
            end.code = process.end->code;
            end.end_ns = definitions_.not_before_start(process.end->end_ns);
        }
        if (weighs_cpu_time(session_, process.facts)) {
            const auto weight = weights.find(id);
            const std::uint64_t here = weight == weights.end() ? 0 : weight->second;
            process.told_ns += here;
            end.cpu_ns = known_time(here);
        }
        part_->record(end);
    }
}

}  // namespace sample::trace
