// Which of a recording's samples are looked at: those of some threads, processes or modules.
#pragma once

#include "callgraph/recording.h"
#include "core/result.h"

#include <string>
#include <vector>

namespace sample::callgraph {

/// An empty list asks for nothing; a sample is chosen if each of the others has a name for it.
struct Selection {
    /// By id, by name, or by what categories are called: "main"; "worker" for "worker-1" and all.
    std::vector<std::string> threads = {};
    std::vector<std::string> processes = {};  ///< By id, or by the executable's path or file name.
    /// By path or file name of what the innermost frame lies in: "libc.so.6", "[kernel]", "[jit]".
    std::vector<std::string> modules = {};

    [[nodiscard]] bool is_everything() const {
        return threads.empty() && processes.empty() && modules.empty();
    }
};

/// Only the chosen samples: Recording::keep(). Errors: not_found if a name names nothing that has
/// samples, with some of what it could be; or if no sample has a name in each list. O(weights).
[[nodiscard]] Result<Recording> select(Recording recording, const Selection& selection);

/// By ThreadId, which threads the lists of threads and processes choose, with samples or without;
/// none, [0], if they are empty.
/// Errors: not_found, likewise.
[[nodiscard]] Result<std::vector<bool>> select_threads(const Recording& recording,
                                                       const Selection& selection);

}  // namespace sample::callgraph
