// Other people's profiles: any of the formats of docs/import.md, told apart by content.
#pragma once

#include "callgraph/profile.h"
#include "core/result.h"
#include "import/format.h"
#include "import/options.h"

#include <optional>
#include <string_view>

namespace sample::imports {

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
