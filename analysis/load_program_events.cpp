#include "analysis/instrumentation/chosen_threads.h"
#include "analysis/instrumentation/memory_stacks.h"
#include "analysis/load_profile.h"
#include "analysis/recording_file.h"
#include "callgraph/stats.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <variant>

namespace sample::analysis {
namespace {

/// The second look at a recording, for its zones alone.
class ZonesSink final : public trace::RecordSink {
public:
    explicit ZonesSink(Zones& zones) : zones_{zones} {}

    void record(const trace::Record& /*record*/) override {}
    void node(const trace::StackNode& /*node*/) override {}
    void sample(const trace::Sample& /*sample*/) override {}
    void zone(const trace::ZoneEdge& edge) override { zones_.add(edge); }
    void instrumentation(const trace::Instrumentation& said) override {
        if (const auto* const spec = std::get_if<trace::ZoneSpec>(&said)) {
            zones_.define(*spec);
        }
    }

private:
    Zones& zones_;
};

/// Hands what the chosen threads said, by ThreadId, to each of `sinks`, by a second look. Of zones
/// there are so many that one sink that wants all gets them directly.
Result<void> read_said(const MappedFile& file, const std::vector<trace::RecordSink*>& sinks,
                       const std::vector<bool>& is_chosen) {
    if (sinks.empty()) {
        return {};
    }
    trace::Tee tee{sinks};
    ChosenThreads chosen{is_chosen, sinks.size() == 1 ? *sinks.front() : tee};
    const bool wants_all = std::find(is_chosen.begin(), is_chosen.end(), false) == is_chosen.end();
    return read_again(file)(wants_all && sinks.size() == 1 ? *sinks.front() : chosen);
}

using IsInside = std::function<bool(std::uint64_t)>;

void add_if(bool is_wanted, std::vector<trace::RecordSink*>& sinks, trace::RecordSink& sink) {
    if (is_wanted) {
        sinks.push_back(&sink);
    }
}

std::vector<MemoryStack> named_stacks(const Memory& memory, const callgraph::Recording& recording,
                                      const ProfileChoice& choice) {
    const auto cache = user_cache(choice.names_from);
    const RecordingSymbols symbols =
        symbolize_recording(recording, naming_from(choice.names_from, cache.get()));
    return name_stacks(memory, recording, symbols.symbols);
}

/// Whether what was chosen can be chosen of this part.
Result<void> check_choice(const ProfileChoice& choice, ProgramPart part) {
    if (!choice.selection.modules.empty() || choice.labels.needs_zones() ||
        choice.labels.by != LabelBy::nothing) {
        return unexpected(ErrorCode::unsupported,
                          "--module, --in-zone, --by and --zones choose samples: leave them out "
                          "for zones, frames, counters, events and the log");
    }
    if (choice.net) {
        return unexpected(ErrorCode::unsupported,
                          "--net is of samples: leave it out for zones, frames, counters, events "
                          "and the log");
    }
    if (choice.category || !choice.focus.empty() || choice.hide_memory || choice.hide_plugins ||
        choice.group_memory || choice.fold_inlined || choice.fold_parts || choice.fold_recursion ||
        choice.by_line || choice.average_s) {
        return unexpected(ErrorCode::unsupported,
                          "--category, --focus, --hide, --fold, --group, --lines and --average are "
                          "of the callgraph: leave them out for zones, frames, counters, events, "
                          "memory and the log");
    }
    if (part == ProgramPart::memory &&
        (!choice.selection.is_everything() || choice.labels.is_restricted())) {
        return unexpected(ErrorCode::unsupported,
                          "blocks are allocated and freed by any thread at any time: --view memory "
                          "is of the whole recording, leave --thread, --process and times out");
    }
    return {};
}

}  // namespace

std::string ProgramRecording::thread_name(ThreadId id) const {
    if (id.is_none() || id.value > threads.size()) {
        return trace::kUnknownCode;
    }
    const trace::Thread& thread = threads[id.value - 1];
    return thread.name.empty() ? std::to_string(thread.tid) : thread.name;
}

Result<ProgramRecording> load_program_events(const std::string& path, const ProfileChoice& choice,
                                             ProgramPart part) {
    SAMPLE_CHECK(check_choice(choice, part));
    const MappedReading reading;
    const std::string name = name_of(path);
    SAMPLE_TRY(file, open_recording(path, reading, "zones and frames"));
    ProgramEventsSink said;
    SAMPLE_TRY(recording,
               callgraph::load_recording(
                   file, name,
                   part == ProgramPart::zones ? callgraph::Times::kept : callgraph::Times::dropped,
                   &said));
    SAMPLE_TRY(metric, find_metric(recording, choice.metric, name));
    ProgramRecording result;
    callgraph::fill_stats(result.session, recording, metric);
    result.start_ns = recording.start() ? recording.start()->start_ns : 0;
    result.end_ns = recording.last_time_ns();
    result.threads.assign(recording.threads().begin(), recording.threads().end());
    result.events = std::move(said).finish();
    SAMPLE_TRY(chosen, choose_moments(choice.labels.moments, result.events, result.start_ns));
    result.session.restriction = chosen.words;
    const IsInside is_inside =
        choice.labels.is_restricted()
            ? IsInside{[&chosen](std::uint64_t time_ns) { return chosen.moments.has(time_ns); }}
            : IsInside{};
    OwnEvents own_events{is_inside};
    result.zones = std::make_unique<Zones>(
        result.start_ns, [&](ThreadId thread) { return recording.samples_of(thread, metric); },
        is_inside);
    ZonesSink zones{*result.zones};
    ProgramEventsSink said_by_chosen;
    result.memory = std::make_unique<Memory>();
    std::vector<trace::RecordSink*> sinks;
    add_if(part == ProgramPart::zones, sinks, zones);
    add_if(part == ProgramPart::own_events, sinks, own_events);
    add_if(part == ProgramPart::memory, sinks, *result.memory);
    add_if(!choice.selection.is_everything(), sinks, said_by_chosen);
    SAMPLE_TRY(is_chosen, callgraph::select_threads(recording, choice.selection));
    SAMPLE_CHECK(read_said(file, sinks, is_chosen));
    result.zones->finish(result.end_ns);
    result.own_events = std::move(own_events).finish();
    if (!choice.selection.is_everything()) {
        result.events = std::move(said_by_chosen).finish();
    }
    if (is_inside) {
        result.events.keep(is_inside);
    }
    result.regions = result.events.regions.totals([&](const Regions::Region& region) {
        return is_chosen[region.thread.value] && (!is_inside || is_inside(region.begin_ns));
    });
    if (part == ProgramPart::memory) {
        result.memory_stacks = named_stacks(*result.memory, recording, choice);
    }
    if (reading.is_broken()) {
        return unexpected(MappedReading::broken(name));
    }
    return result;
}

}  // namespace sample::analysis
