// What a program said of itself, as the Firefox Profiler shows it: markers of its threads, and
// counters of its processes.
//
// Source: firefox-devtools/profiler, src/types/markers.ts and src/types/profile.ts.
#pragma once

#include "callgraph/profile.h"
#include "export/firefox/tables.h"
#include "export/firefox/tracks.h"
#include "export/shared/writer.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sample::exports::firefox {

/// How the profiler shows one kind of markers.
struct MarkerSchema {
    std::string_view kind;  ///< callgraph::Marker::kind.
    std::string_view name;
};

[[nodiscard]] const MarkerSchema& schema_of(const callgraph::Marker& marker);

/// Whether a marker's name is a text of its own: bookmarks and log messages.
[[nodiscard]] bool has_text(const callgraph::Marker& marker);

/// The value of meta.markerSchema.
void write_marker_schemas(Writer& out);

/// The markers of each of `tracks`, by their beginnings: indices into Profile::markers. Those of a
/// thread without a track are the first one's. None where the profile has no times.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> markers_of(const callgraph::Profile& profile,
                                                                 const std::vector<Track>& tracks);

/// The value of a thread's markers.
void write_markers(Writer& out, const Tables& tables, const callgraph::Profile& profile,
                   const std::vector<std::uint32_t>& markers);

/// The value of counters.
void write_counters(Writer& out, const callgraph::Profile& profile,
                    const std::vector<Track>& tracks);

}  // namespace sample::exports::firefox
