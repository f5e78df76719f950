// The message of profile.proto as it stands in a file, but for its samples, which are many: ids
// looked up, strings checked.
#pragma once

#include "core/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sample::imports {

struct PprofValueType {
    std::uint64_t type = 0;  ///< Index into strings, as all texts here.
    std::uint64_t unit = 0;
};

struct PprofMapping {
    std::uint64_t id = 0;
    std::uint64_t start = 0;   ///< Of the addresses of locations in it.
    std::uint64_t limit = 0;   ///< Behind the last of them; 0: not known.
    std::uint64_t offset = 0;  ///< Of `start` in the file.
    std::uint64_t file = 0;
    std::uint64_t build_id = 0;
};

struct PprofLine {
    std::uint64_t function = 0;  ///< An index.
    std::uint64_t line = 0;      ///< At most 32 bits.
};

struct PprofLocation {
    std::uint64_t id = 0;
    std::uint64_t mapping = 0;  ///< An index; 0: none.
    std::uint64_t address = 0;
    std::vector<PprofLine> lines;  ///< The innermost first; all but the last were inlined.
};

struct PprofFunction {
    std::uint64_t id = 0;
    std::uint64_t name = 0;
    std::uint64_t system_name = 0;
    std::uint64_t file = 0;
    std::uint64_t start_line = 0;  ///< At most 32 bits.
};

struct PprofLabel {
    std::uint64_t key = 0;
    std::uint64_t text = 0;
    std::uint64_t number = 0;
};

struct PprofSample {
    std::vector<std::uint64_t> locations;  ///< Ids, the leaf first.
    std::vector<std::int64_t> values;
    std::vector<PprofLabel> labels;
};

struct PprofMessage {
    std::vector<PprofValueType> types;
    std::vector<PprofMapping> mappings;    ///< [index - 1]
    std::vector<PprofLocation> locations;  ///< [index]
    std::vector<PprofFunction> functions;  ///< [index - 1]
    std::unordered_map<std::uint64_t, std::uint32_t> location_of_id;
    std::vector<std::string_view> strings;  ///< Views of the bytes.
    std::vector<std::uint64_t> comments;
    PprofValueType period_type;
    std::int64_t period = 0;
    std::int64_t time_ns = 0;
    std::int64_t duration_ns = 0;
    std::uint64_t default_type = 0;
};

/// Everything but the samples. Errors: as read_pprof().
[[nodiscard]] Result<PprofMessage> read_pprof_message(std::string_view bytes);

/// `take` takes one sample after another of a message that read_pprof_message() has read, and says
/// what is wrong with it; empty: nothing. Errors: corrupt, with the sample.
[[nodiscard]] Result<void> read_pprof_samples(
    std::string_view bytes, const std::function<std::string(const PprofSample&)>& take);

}  // namespace sample::imports
