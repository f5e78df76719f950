// From a file to the Profile that a verb shows: what kind of file it is, the symbols of a
// recording, and the user's choice of what to leave out.
#pragma once

#include "analysis/instrumentation/label_samples.h"
#include "analysis/instrumentation/memory.h"
#include "analysis/instrumentation/own_events.h"
#include "analysis/instrumentation/program_events.h"
#include "analysis/instrumentation/zones.h"
#include "analysis/symbolize_recording.h"
#include "callgraph/build_profile.h"
#include "callgraph/load_recording.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "callgraph/selection.h"
#include "core/result.h"
#include "import/import.h"
#include "symbolize/names/name_forms.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sample::analysis {

/// How a file becomes a Profile.
struct ProfileChoice {
    std::optional<imports::Format> from;  ///< Of a foreign file; none: by its content.
    std::string metric;                   ///< Of a recording, by name; empty: the session's own.
    callgraph::Selection selection;       ///< Which of a recording's samples.
    LabelChoice labels;                   ///< The same, by what its program said meanwhile.
    std::optional<callgraph::CategoryBy> category;  ///< None: thread groups, or what the file has.
    std::optional<symbolize::NameForm> names;       ///< None: full.
    bool by_line = false;                           ///< A node for each line of a function.
    bool fold_inlined = false;                      ///< Inlined calls are their callers' own time.
    bool fold_parts = false;      ///< Parts and copies of a function are that function.
    bool fold_recursion = false;  ///< Calls of what has not returned yet are one with it.
    bool group_memory = false;    ///< A node above each entry into memory management.
    bool hide_memory = false;
    bool hide_plugins = false;
    std::string focus;                       ///< Only what this function calls; empty: all.
    std::string search;                      ///< Only paths to names with this text; empty: all.
    bool net = false;                        ///< Without what sampling took.
    std::optional<std::uint64_t> average_s;  ///< Scale durations to so many seconds.
    NameSources names_from;
};

/// What a profile can have besides nodes and functions, at a price.
struct Details {
    bool times = false;    ///< When samples were taken: Profile::timeline.
    bool lines = false;    ///< A node for each line of a function, where lines are known.
    bool memory = false;   ///< ProfileChoice::group_memory, whatever the choice.
    bool metrics = false;  ///< All of them, unless one was asked for: Profile::further.
    bool markers = false;  ///< What the program said: Profile::markers and Profile::counters.
};

/// Loads `path` ("-": standard input, to its end), a recording or a profile in a format of import/
/// (told apart by content), and applies `choice` but for the search. A recording that is cut off is
/// no error: stats.whole and stats.notes say so. Errors say what to do: missing, unreadable, a
/// directory, empty, nothing that is known, damaged; and a choice that the file cannot satisfy.
/// Cost: symbolizing dominates.
[[nodiscard]] Result<callgraph::Profile> load_profile(const std::string& path,
                                                      const ProfileChoice& choice,
                                                      const Details& wanted = {});

/// What a recording's programs said of themselves.
struct ProgramRecording {
    callgraph::Profile session;  ///< Without nodes and functions.
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<trace::Thread> threads;  ///< [id.value - 1].
    ProgramEvents events;
    std::vector<RegionTotals> regions;
    std::unique_ptr<Zones> zones;            ///< Empty if they were not asked for.
    std::unique_ptr<Memory> memory;          ///< The same.
    std::vector<MemoryStack> memory_stacks;  ///< By what is live.
    std::vector<OwnEventTotals> own_events;  ///< The same.

    [[nodiscard]] std::string thread_name(ThreadId id) const;
};

/// What of ProgramRecording is made only if it is asked for.
enum class ProgramPart : std::uint8_t { none, zones, own_events, memory };

/// Loads `path`, a recording, for its views of what programs say. Of `choice` the metric, the
/// moments, threads and processes are heeded; zones, regions and frames are of the moment, and
/// regions of the thread, that they begin in. A `part`, threads and processes make it read the
/// file twice. Errors: those of load_profile(); unsupported for a foreign file, and where `choice`
/// asks for some of the samples otherwise, or for a part of memory.
[[nodiscard]] Result<ProgramRecording> load_program_events(const std::string& path,
                                                           const ProfileChoice& choice,
                                                           ProgramPart part);

/// Whether `path` is a file that begins like a recording. Errors make it none.
[[nodiscard]] bool is_recording(const std::string& path);

/// Loads `path`, which must be none. Errors as load_profile(); invalid_argument for a recording.
[[nodiscard]] Result<imports::Imported> import_file(const std::string& path,
                                                    std::optional<imports::Format> format,
                                                    const imports::Options& options);

/// Loads `path`, which must be a recording. Errors as load_profile(); unsupported for anything
/// else.
[[nodiscard]] Result<callgraph::Recording> load_recording_file(
    const std::string& path, callgraph::Times times = callgraph::Times::dropped);

/// A recording in memory, and its names, as a Profile. What could not be symbolized is in
/// stats.notes.
[[nodiscard]] callgraph::Profile profile_of_recording(const callgraph::Recording& recording,
                                                      const RecordingSymbols& symbols,
                                                      const callgraph::BuildOptions& options = {});

/// fold, names, hide, focus and average, in this order. Errors: not_found if no function is called
/// choice.focus; unsupported if the session's length is not known for the average.
[[nodiscard]] Result<callgraph::Profile> apply_choice(callgraph::Profile profile,
                                                      const ProfileChoice& choice);

/// Errors: not_found if no function of `profile` is called `focus`, unless that is empty.
[[nodiscard]] Result<void> check_focus(const callgraph::Profile& profile, const std::string& focus);

/// Only paths to and from names with `text`. Errors: not_found if there is none.
[[nodiscard]] Result<callgraph::Profile> apply_search(callgraph::Profile profile,
                                                      const std::string& text);

}  // namespace sample::analysis
