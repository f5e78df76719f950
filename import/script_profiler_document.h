// The script-profiler JSON as it stands in a file: types checked, references not.
//
// Parsed by nlohmann-json's event interface, which neither throws nor builds a tree of values; what
// nests deeper than the format can is refused.
#pragma once

#include "core/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sample::imports {

struct CategoryEntry {
    std::string name;
    std::uint64_t node = 0;
};

struct NodeEntry {
    std::uint64_t total = 0;  ///< Microseconds, or what `unit` says.
    std::uint64_t samples = 0;
    std::uint64_t inlined = 0;  ///< callgraph::Inlining
    std::uint64_t call_line = 0;
    std::vector<std::uint64_t> functions;  ///< Same length as `nodes`.
    std::vector<std::uint64_t> nodes;
};

struct FunctionEntry {
    std::string name;
    std::string source;
    std::uint64_t line = 0;
    std::uint64_t flags = 0;
    std::uint64_t total = 0;
    std::uint64_t samples = 0;
};

struct ScriptProfilerDocument {
    std::uint64_t start_unix_ms = 0;
    std::uint64_t end_unix_ms = 0;
    std::uint64_t gc_function = 0;  ///< 0: the document has none.
    double scale = 1.0;
    std::string event;  ///< Empty: the usual clock.
    std::string unit;   ///< Empty: microseconds.
    std::vector<CategoryEntry> categories;
    std::vector<NodeEntry> nodes;          ///< [id - 1]
    std::vector<FunctionEntry> functions;  ///< [id - 1]
};

/// Errors: `unsupported` for another version than 2; `corrupt`, with the place, for malformed JSON,
/// a wrong type, a number that is negative or has more than 64 bits, a required field that is
/// missing, a field that appears twice, arrays of callees of different lengths.
[[nodiscard]] Result<ScriptProfilerDocument> parse_script_profiler_json(std::string_view text);

}  // namespace sample::imports
