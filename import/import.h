// Other people's profiles: any of the formats of docs/import.md, told apart by content.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sample::imports {

enum class Format : std::uint8_t {
    json,  ///< Script-profiler JSON, version 1 or 2.
    speedscope,
    pprof,
    perf_script,
    folded,
    folded_threads,  ///< Folded; the first frame of each line is a thread's or process's name.
    luau,            ///< The stacks that `luau --profile` writes.
    cpuprofile,      ///< Of V8: Node.js and Chrome's developer tools.
    callgrind,
};

[[nodiscard]] std::string_view name_of(Format format);
/// Whether its files may tell memory management apart.
[[nodiscard]] bool tells_memory(Format format);
/// "json, speedscope, …": for messages.
[[nodiscard]] std::string format_names();
/// Errors: invalid_argument, listing the formats.
[[nodiscard]] Result<Format> find_format(std::string_view name);

/// What of a foreign file is wanted, and how much of it is borne.
struct Options {
    bool times = false;    ///< Profile::timeline, where the file has times.
    bool lines = false;    ///< A node for each line of a function, where the file has lines.
    bool metrics = false;  ///< Profile::further, where the file has several.
    /// No compressed file that unpacks to more is read: a profile of a million nodes needs a tenth.
    std::size_t max_unpacked_bytes = std::size_t{1} << 30;
    /// A node costs about 200 bytes while the tree grows, and two bytes of some formats make one.
    std::uint32_t max_nodes = std::uint32_t{1} << 24;
};

struct Imported {
    callgraph::Profile profile;
    Format format = Format::json;
};

/// Reads `bytes`, which may be compressed by gzip, as `format`; none: as what detect_format() says.
/// What the file does not say stays unknown; what could not be kept is in stats.notes.
/// Errors: what the format refuses, with the place; see detect_format(). Memory: proportional to
/// the file, and bounded for a compressed one. No recursion over anything that the file nests.
[[nodiscard]] Result<Imported> import_profile(std::string_view bytes, std::optional<Format> format,
                                              const Options& options);

/// What unpacked `bytes` are, by the rules of docs/import.md, in their order. Errors: unsupported
/// for what is known but not read, or could be several formats; corrupt for what is none. The
/// message says what to do.
[[nodiscard]] Result<Format> detect_format(std::string_view bytes);

}  // namespace sample::imports
