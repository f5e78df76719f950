#include "analysis/load_profile.h"

#include "analysis/instrumentation/markers.h"
#include "analysis/recording_file.h"
#include "callgraph/label.h"
#include "callgraph/stats.h"
#include "callgraph/transforms.h"
#include "core/mapped_file.h"
#include "core/mapped_reading.h"
#include "symbolize/names/name_endings.h"
#include "symbolize/names/name_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace sample::analysis {
namespace {

Unexpected not_imported(const std::string& path, Error error) {
    error.context = path + " is no recording of sample, and cannot be imported: " + error.context;
    return unexpected(std::move(error));
}

/// A foreign file's bytes, as they are read under `reading`.
struct Content {
    const std::string& path;
    std::string_view bytes;
    const MappedReading& reading;
};

Result<imports::Imported> import_content(const Content& content,
                                         std::optional<imports::Format> format,
                                         const imports::Options& options) {
    const std::string& path = content.path;
    Result<imports::Imported> imported = imports::import_profile(content.bytes, format, options);
    if (content.reading.is_broken()) {
        return unexpected(MappedReading::broken(path));
    }
    return imported ? std::move(imported) : not_imported(path, imported.error());
}

Result<callgraph::Profile> load_foreign(const Content& content, const ProfileChoice& choice,
                                        const Details& wanted) {
    const std::string& path = content.path;
    if (choice.category) {
        return unexpected(
            ErrorCode::unsupported,
            "--category needs a recording: the categories of " + path + " are what the file says");
    }
    if (!choice.metric.empty()) {
        return unexpected(ErrorCode::unsupported, "--metric needs a recording: the figures of " +
                                                      path + " are of what the file says");
    }
    if (!choice.selection.is_everything()) {
        return unexpected(
            ErrorCode::unsupported,
            "--thread, --process and --module need a recording: leave them out for " + path);
    }
    if (choice.net) {
        return unexpected(
            ErrorCode::unsupported,
            "--net needs a recording: what sampling took of " + path + " is not known");
    }
    if (choice.names_from.asks_anew()) {
        return unexpected(
            ErrorCode::unsupported,
            "--resymbolize, --debuginfod and --debug-dir need a recording: the names of " + path +
                " are what the file says");
    }
    if (!choice.labels.is_nothing()) {
        return unexpected(ErrorCode::unsupported,
                          "--in-zone, --in-frames, --between, --to, --by and --zones need a "
                          "recording: leave them out for " +
                              path);
    }
    imports::Options options;
    options.times = wanted.times;
    options.lines = choice.by_line || wanted.lines;
    options.metrics = wanted.metrics;
    SAMPLE_TRY(imported, import_content(content, choice.from, options));
    callgraph::Profile& profile = imported.profile;
    if (choice.by_line && !profile.by_line) {
        return unexpected(ErrorCode::unsupported,
                          "--lines needs lines: " + path + ", a profile in the format " +
                              std::string{imports::name_of(imported.format)} + ", has none");
    }
    if ((choice.group_memory || choice.hide_memory) && !imports::tells_memory(imported.format)) {
        return unexpected(ErrorCode::unsupported,
                          "--group memory and --hide memory need a recording, or a file that tells "
                          "memory management apart: leave them out for " +
                              path);
    }
    return choice.fold_inlined ? callgraph::fold_inlined(std::move(profile)) : std::move(profile);
}

struct LoadedRecording {
    callgraph::Recording recording;
    MetricId metric = trace::kSessionMetric;
    Restriction restriction;
    Everybody everybody;  ///< Where events were asked for.
    ProgramEvents events;
};

/// The second look at a recording for what its programs said, of the moments that were chosen.
Result<void> add_program_events(callgraph::Profile& profile, LoadedRecording& loaded,
                                const MomentChoice& choice, const MappedFile& file) {
    const callgraph::Recording& recording = loaded.recording;
    const std::uint64_t start_ns = recording.start() ? recording.start()->start_ns : 0;
    SAMPLE_TRY(chosen, choose_moments(choice, loaded.events, start_ns));
    const auto is_inside = [&chosen](std::uint64_t time_ns) { return chosen.moments.has(time_ns); };
    if (!choice.is_everything()) {
        loaded.events.keep(is_inside);
    }
    ZoneSlices zones{ZoneSlices::kMost, is_inside};
    if (loaded.events.zones + loaded.events.flow_steps != 0) {
        SAMPLE_CHECK(read_again(file)(zones));
        zones.finish(recording.last_time_ns());
    }
    add_markers(profile, recording, loaded.everybody, loaded.events, zones, chosen.moments);
    return {};
}

/// ProfileChoice::net.
Result<void> take_out_sampling(callgraph::Recording& recording, const std::string& name) {
    callgraph::Profile figures;
    callgraph::fill_stats(figures, recording, trace::kSessionMetric);
    if (!figures.stats.net) {
        return unexpected(
            ErrorCode::unsupported,
            "--net needs to know what a sample costs, which " + name +
                " does not say: newer recordings of CPU time do, with samples by an agent and " +
                "some 30 ms of length; leave --net out");
    }
    recording.take_out_sampling(*figures.stats.sample_cost_ns);
    return {};
}

/// With the samples that were chosen alone.
Result<LoadedRecording> load_chosen(const MappedFile& file, const std::string& name,
                                    const ProfileChoice& choice, const Details& wanted) {
    const bool has_labels = !choice.labels.is_nothing();
    const bool has_events = has_labels || wanted.markers;
    ProgramEventsSink said;
    SAMPLE_TRY(recording,
               callgraph::load_recording(
                   file, name,
                   wanted.times || has_labels ? callgraph::Times::kept : callgraph::Times::dropped,
                   has_events ? &said : nullptr));
    LoadedRecording loaded;
    if (has_events) {
        loaded.everybody.threads.assign(recording.threads().begin(), recording.threads().end());
        for (const callgraph::RecordedProcess& each : recording.processes()) {
            loaded.everybody.pids.push_back(each.facts.pid);
        }
        loaded.events = std::move(said).finish();
    }
    SAMPLE_TRY(metric, find_metric(recording, choice.metric, name));
    loaded.metric = metric;
    if (has_labels) {
        SAMPLE_TRY(restriction, label_samples(recording, loaded.events, choice.labels, metric,
                                              read_again(file)));
        loaded.restriction = std::move(restriction);
    }
    SAMPLE_TRY(selected, callgraph::select(std::move(recording), choice.selection));
    loaded.recording = std::move(selected);
    if (choice.net) {
        SAMPLE_CHECK(take_out_sampling(loaded.recording, name));
    }
    return loaded;
}

Result<callgraph::Profile> load_any(const std::string& path, const ProfileChoice& choice,
                                    const Details& wanted) {
    const MappedReading reading;
    const std::string name = name_of(path);
    SAMPLE_TRY(file, open_any(path));
    const std::string_view content = content_of(file);
    switch (kind_of(content)) {
        case FileKind::empty:
            return nothing_recorded(name);
        case FileKind::foreign:
            return load_foreign({name, content, reading}, choice, wanted);
        case FileKind::recording:
            break;
    }
    if (choice.from) {
        return unexpected(ErrorCode::invalid_argument,
                          "--from is for foreign files: " + name + " is a recording of sample");
    }
    SAMPLE_TRY(loaded, load_chosen(file, name, choice, wanted));
    const callgraph::Recording& recording = loaded.recording;
    const auto cache = user_cache(choice.names_from);
    const NamingOptions naming = naming_from(choice.names_from, cache.get());
    callgraph::BuildOptions options;
    if (choice.net && loaded.metric != trace::kSessionMetric) {
        return unexpected(ErrorCode::unsupported,
                          "--net is of CPU time: leave it out for --metric " + choice.metric);
    }
    options.metric = loaded.metric;
    options.further = wanted.metrics && choice.metric.empty();
    options.category = choice.category.value_or(callgraph::CategoryBy::thread);
    options.fold_inlined = choice.fold_inlined;
    options.group_memory = choice.group_memory || choice.hide_memory || wanted.memory ||
                           choice.focus == callgraph::kMemoryName;
    options.by_line = choice.by_line || wanted.lines;
    callgraph::Profile profile =
        profile_of_recording(recording, symbolize_recording(recording, naming), options);
    profile.restriction = std::move(loaded.restriction.words);
    profile.chosen_ns = loaded.restriction.chosen_ns;
    if (wanted.markers) {
        SAMPLE_CHECK(add_program_events(profile, loaded, choice.labels.moments, file));
    }
    if (!wanted.times) {
        profile.timeline.reset();
        for (callgraph::FurtherMetric& further : profile.further) {
            further.timeline.reset();
        }
    }
    return profile;
}

callgraph::Whole whole_function_of(const callgraph::Function& function) {
    if (callgraph::is_named_by_a_runtime(function)) {
        return {};
    }
    return {symbolize::without_part(function.name), symbolize::is_called_part(function.name)};
}

callgraph::Profile name_functions(callgraph::Profile profile, const ProfileChoice& choice) {
    if (choice.fold_parts) {
        profile = callgraph::fold_parts(std::move(profile), whole_function_of);
    }
    const symbolize::NameForm names = choice.names.value_or(symbolize::NameForm::full);
    if (names != symbolize::NameForm::full) {
        profile = callgraph::rename(std::move(profile), [names](const callgraph::Function& each) {
            return callgraph::is_named_by_a_runtime(each) ? each.name
                                                          : symbolize::in_form(each.name, names);
        });
    }
    return profile;
}

}  // namespace

bool is_recording(const std::string& path) {
    const MappedReading reading;
    const auto file = MappedFile::open(path);
    return file && kind_of(content_of(*file)) == FileKind::recording;
}

Result<imports::Imported> import_file(const std::string& path,
                                      std::optional<imports::Format> format,
                                      const imports::Options& options) {
    const MappedReading reading;
    const std::string name = name_of(path);
    SAMPLE_TRY(file, open_any(path));
    const std::string_view content = content_of(file);
    if (kind_of(content) == FileKind::recording) {
        return unexpected(ErrorCode::invalid_argument,
                          name +
                              " is a recording of sample: every verb reads it as it is, and sample "
                              "export --format json makes a profile of it");
    }
    return import_content({name, content, reading}, format, options);
}

Result<callgraph::Recording> load_recording_file(const std::string& path, callgraph::Times times) {
    const MappedReading reading;
    SAMPLE_TRY(file, open_recording(path, reading, "addresses"));
    return callgraph::load_recording(file, name_of(path), times);
}

callgraph::Profile profile_of_recording(const callgraph::Recording& recording,
                                        const RecordingSymbols& symbols,
                                        const callgraph::BuildOptions& options) {
    callgraph::Profile profile = callgraph::build_profile(recording, symbols.symbols, options);
    profile.stats.notes.insert(profile.stats.notes.end(), symbols.problems.begin(),
                               symbols.problems.end());
    return profile;
}

Result<callgraph::Profile> apply_choice(callgraph::Profile profile, const ProfileChoice& choice) {
    profile = name_functions(std::move(profile), choice);
    if (choice.fold_recursion) {
        profile = callgraph::fold_recursion(std::move(profile));
    }
    if (choice.hide_memory) {
        profile = callgraph::hide_memory(std::move(profile));
    }
    if (choice.hide_plugins) {
        profile = callgraph::hide_plugins(std::move(profile));
    }
    if (!choice.focus.empty()) {
        SAMPLE_CHECK(check_focus(profile, choice.focus));
        profile = callgraph::focus(std::move(profile), choice.focus);
    }
    if (choice.average_s) {
        if (profile.stats.wall_ns == 0 && profile.end_unix_ms <= profile.start_unix_ms) {
            return unexpected(ErrorCode::unsupported,
                              "--average needs the session's length, which this file does not "
                              "have: leave --average out");
        }
        profile = callgraph::average(std::move(profile), static_cast<double>(*choice.average_s));
    }
    return profile;
}

Result<void> check_focus(const callgraph::Profile& profile, const std::string& focus) {
    if (!focus.empty() && callgraph::find_focused(profile, focus).empty()) {
        if (const auto meaning = callgraph::meaning_of(focus); !meaning.empty()) {
            return unexpected(ErrorCode::not_found,
                              fmt::format("there is no {} here: it stands for {}", focus, meaning));
        }
        return unexpected(ErrorCode::not_found,
                          "no function is called '" + focus +
                              "': sample report --view functions lists the names");
    }
    return {};
}

Result<callgraph::Profile> apply_search(callgraph::Profile profile, const std::string& text) {
    if (text.empty()) {
        return profile;
    }
    profile = callgraph::search(std::move(profile), text);
    if (profile.categories.empty()) {
        return unexpected(
            ErrorCode::not_found,
            "no name contains '" + text + "': sample report --view functions lists the names");
    }
    return profile;
}

Result<callgraph::Profile> load_profile(const std::string& path, const ProfileChoice& choice,
                                        const Details& wanted) {
    SAMPLE_TRY(profile, load_any(path, choice, wanted));
    return apply_choice(std::move(profile), choice);
}

}  // namespace sample::analysis
