// From a file to the Profile that a verb shows: what kind of file it is, the symbols of a
// recording, and the user's choice of what to leave out.
#pragma once

#include "callgraph/build_profile.h"
#include "callgraph/load_recording.h"
#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "cli/profile_choice.h"
#include "cli/symbolize_recording.h"
#include "core/result.h"
#include "import/import.h"

#include <optional>
#include <string>

namespace sample::cli {

/// What a profile can have besides nodes and functions, at a price.
struct Details {
    bool times = false;  ///< When samples were taken: Profile::timeline.
    bool lines = false;  ///< A node for each line of a function, where lines are known.
};

/// Loads `path`, a recording or a profile in a format of import/ (told apart by content), and
/// applies `choice` but for the search. A recording that is cut off is no error: truth.whole and
/// truth.notes say so. Errors say what to do: missing, unreadable, a directory, empty, nothing that
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
/// truth.notes.
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

}  // namespace sample::cli
