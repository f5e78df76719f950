// From a file to the Profile that a verb shows: what kind of file it is, the symbols of a
// recording, and the user's choice of what to leave out.
#pragma once

#include "analysis/symbolize_recording.h"
#include "callgraph/build_profile.h"
#include "callgraph/load_recording.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "core/result.h"
#include "import/import.h"
#include "symbolize/names/name_forms.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sample::analysis {

/// How a file becomes a Profile.
struct ProfileChoice {
    std::optional<imports::Format> from;  ///< Of a foreign file; none: by its content.
    std::string metric;                   ///< Of a recording, by name; empty: the session's own.
    std::optional<callgraph::CategoryBy> category;  ///< None: thread groups, or what the file has.
    symbolize::NameForm names = symbolize::NameForm::full;
    bool by_line = false;       ///< A node for each line of a function.
    bool fold_inlined = false;  ///< Inlined calls are their callers' own time.
    bool fold_parts = false;    ///< Parts and copies of a function are that function.
    bool hide_gc = false;
    bool hide_plugins = false;
    std::string focus;                       ///< Only what this function calls; empty: all.
    std::string search;                      ///< Only paths to names with this text; empty: all.
    std::optional<std::uint64_t> average_s;  ///< Scale durations to so many seconds.
    bool resymbolize = false;                ///< Names from this machine's files alone.
    bool use_cache = true;                   ///< Of the names that were found before.
    std::vector<std::string> debug_folders;  ///< Where separate debug files are, too.
};

/// What a profile can have besides nodes and functions, at a price.
struct Details {
    bool times = false;  ///< When samples were taken: Profile::timeline.
    bool lines = false;  ///< A node for each line of a function, where lines are known.
};

/// Loads `path`, a recording or a profile in a format of import/ (told apart by content), and
/// applies `choice` but for the search. A recording that is cut off is no error: stats.whole and
/// stats.notes say so. Errors say what to do: missing, unreadable, a directory, empty, nothing that
/// is known, damaged; and a choice that the file cannot satisfy. Cost: symbolizing dominates.
[[nodiscard]] Result<callgraph::Profile> load_profile(const std::string& path,
                                                      const ProfileChoice& choice,
                                                      const Details& wanted = {});

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

/// Only paths to and from names with `text`. Errors: not_found if there is none.
[[nodiscard]] Result<callgraph::Profile> apply_search(callgraph::Profile profile,
                                                      const std::string& text);

}  // namespace sample::analysis
