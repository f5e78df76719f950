// Pieces of source files, around the lines that matter.
#pragma once

#include "core/program_code.h"
#include "core/result.h"

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <set>
#include <string>

namespace sample::symbolize {

struct SourceRequest {
    std::string file;               ///< As the debug information calls it.
    std::set<std::uint32_t> lines;  ///< 1 is the first; 0 is ignored.
    std::uint32_t context = 0;      ///< Lines more before and behind each.
    /// When the module was made, seconds since 1970: a source file that is newer is said to be. 0:
    /// not known.
    std::time_t module_time = 0;
};

/// Reads what of the requested lines the file has, as long as `budget`, in bytes, lasts; it is
/// lowered by what was taken. Lines longer than 1 KiB are cut. Errors: not_found (gone, or its name
/// is no absolute path), unsupported (no regular file, or more than 64 MiB), permission (others may
/// not read it, and it is not the own one of a user who is not root), system. Not
/// async-signal-safe.
[[nodiscard]] Result<SourceText> read_source(const SourceRequest& request, std::size_t& budget);

/// When the file was last changed, seconds since 1970; 0 if that is not known.
[[nodiscard]] std::time_t time_of_file(const std::string& path);

}  // namespace sample::symbolize
