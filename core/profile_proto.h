// The messages of the pprof format and the numbers of their fields, as far as they are written or
// told apart here.
//
// Source: profile.proto of github.com/google/pprof.
#pragma once

#include <cstdint>

namespace sample::profile_proto {

enum class ProfileField : std::uint32_t {
    sample_type = 1,
    sample = 2,
    mapping = 3,
    location = 4,
    function = 5,
    string_table = 6,
    time_nanos = 9,
    duration_nanos = 10,
    period_type = 11,
    period = 12,
    comment = 13,
    default_sample_type = 14,
    doc_url = 15,
};

enum class ValueTypeField : std::uint32_t { type = 1, unit = 2 };

enum class SampleField : std::uint32_t { location_id = 1, value = 2, label = 3 };

enum class LabelField : std::uint32_t { key = 1, str = 2, num = 3 };

enum class MappingField : std::uint32_t {
    id = 1,
    filename = 5,
    build_id = 6,
    has_functions = 7,
    has_filenames = 8,
    has_line_numbers = 9,
    has_inline_frames = 10,
};

enum class LocationField : std::uint32_t { id = 1, mapping_id = 2, line = 4 };

enum class LineField : std::uint32_t { function_id = 1, line = 2 };

enum class FunctionField : std::uint32_t {
    id = 1,
    name = 2,
    system_name = 3,
    filename = 4,
    start_line = 5,
};

}  // namespace sample::profile_proto
