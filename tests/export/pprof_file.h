// A strict reader of pprof files for the tests: it refuses whatever a reader could stumble over.
//
// Refused are damaged gzip and protocol buffers, fields that the format does not have, ids that do
// not count from 1 in the file's order or are never defined, places, functions and mappings that no
// sample leads to, strings that are in their table twice, indices outside the string table, text
// that is not UTF-8, samples whose values are not as many as their types or negative, Locations
// without a function, names that are empty, and a default type that there is none of.
#pragma once

#include "core/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sample::exports {

struct PprofFile {
    struct Kind {
        std::string type;
        std::string unit;
        bool operator==(const Kind&) const = default;
    };
    struct Sample {
        std::vector<std::uint64_t> locations;  ///< Leaf first.
        std::vector<std::int64_t> values;      ///< By kind.
        std::map<std::string, std::string> texts;
        std::map<std::string, std::int64_t> numbers;
    };
    struct Line {
        std::uint64_t function = 0;
        std::int64_t line = 0;
    };
    struct Location {
        std::uint64_t mapping = 0;  ///< 0: none.
        std::vector<Line> lines;    ///< The innermost first.
    };
    struct Function {
        std::string name;
        std::string system_name;
        std::string filename;
        std::int64_t start_line = 0;
    };
    struct Mapping {
        std::string filename;
        std::string build_id;
        bool has_functions = false;
    };

    std::vector<Kind> kinds;
    std::vector<Sample> samples;
    std::map<std::uint64_t, Mapping> mappings;
    std::map<std::uint64_t, Location> locations;
    std::map<std::uint64_t, Function> functions;
    std::string default_type;
    Kind period_type;
    std::int64_t period = 0;
    std::int64_t time_nanos = 0;
    std::int64_t duration_nanos = 0;
    std::vector<std::string> comments;
};

/// Errors: corrupt, with what is wrong.
[[nodiscard]] Result<PprofFile> read_pprof(std::string_view gzipped);

/// The same of the protocol buffer inside.
[[nodiscard]] Result<PprofFile> read_pprof_message(std::string_view message);

/// What `gunzip` makes of one member with nothing behind it. Errors: corrupt.
[[nodiscard]] Result<std::string> gunzip(std::string_view bytes);

}  // namespace sample::exports
