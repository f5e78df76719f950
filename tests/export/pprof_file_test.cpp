// The validator refuses each thing that it is there to refuse.
#include "pprof_file.h"

#include "core/profile_proto.h"
#include "export/shared/gzip_sink.h"

#include <gtest/gtest.h>
#include <protozero/pbf_builder.hpp>

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace sample::exports {
namespace {

using profile_proto::FunctionField;
using profile_proto::LabelField;
using profile_proto::LineField;
using profile_proto::LocationField;
using profile_proto::MappingField;
using profile_proto::ProfileField;
using profile_proto::SampleField;
using profile_proto::ValueTypeField;

/// A profile that is right, but for what a test changes.
struct Parts {
    std::vector<std::string> strings{"", "samples", "count", "main", "/bin/app"};
    std::vector<std::int64_t> type{1, 2};
    std::int64_t default_type = 1;
    std::vector<std::uint64_t> stack{1};
    std::vector<std::int64_t> values{5};
    std::vector<std::uint64_t> mapping_ids{1};
    std::int64_t mapping_file = 4;
    std::vector<std::uint64_t> location_ids{1};
    std::uint64_t location_mapping = 1;
    std::vector<std::uint64_t> line_functions{1};
    std::vector<std::uint64_t> function_ids{1};
    std::int64_t function_name = 3;
    std::array<std::int64_t, 3> label{3, 4, 0};  ///< Key, text, number.
    std::uint32_t more = 0;                      ///< A field of the profile.
};

std::string message_of(const Parts& parts) {
    std::string bytes;
    protozero::pbf_builder<ProfileField> profile{bytes};
    protozero::pbf_builder<ValueTypeField> type{profile, ProfileField::sample_type};
    type.add_int64(ValueTypeField::type, parts.type[0]);
    type.add_int64(ValueTypeField::unit, parts.type[1]);
    type.commit();
    profile.add_int64(ProfileField::default_sample_type, parts.default_type);
    protozero::pbf_builder<SampleField> sample{profile, ProfileField::sample};
    sample.add_packed_uint64(SampleField::location_id, parts.stack.begin(), parts.stack.end());
    sample.add_packed_int64(SampleField::value, parts.values.begin(), parts.values.end());
    protozero::pbf_builder<LabelField> label{sample, SampleField::label};
    label.add_int64(LabelField::key, parts.label[0]);
    label.add_int64(LabelField::str, parts.label[1]);
    label.add_int64(LabelField::num, parts.label[2]);
    label.commit();
    sample.commit();
    for (const std::uint64_t id : parts.mapping_ids) {
        protozero::pbf_builder<MappingField> mapping{profile, ProfileField::mapping};
        mapping.add_uint64(MappingField::id, id);
        mapping.add_int64(MappingField::filename, parts.mapping_file);
    }
    for (const std::uint64_t id : parts.location_ids) {
        protozero::pbf_builder<LocationField> location{profile, ProfileField::location};
        location.add_uint64(LocationField::id, id);
        location.add_uint64(LocationField::mapping_id, parts.location_mapping);
        for (const std::uint64_t function : parts.line_functions) {
            protozero::pbf_builder<LineField> line{location, LocationField::line};
            line.add_uint64(LineField::function_id, function);
        }
    }
    for (const std::uint64_t id : parts.function_ids) {
        protozero::pbf_builder<FunctionField> function{profile, ProfileField::function};
        function.add_uint64(FunctionField::id, id);
        function.add_int64(FunctionField::name, parts.function_name);
    }
    for (const std::string& string : parts.strings) {
        profile.add_string(ProfileField::string_table, string);
    }
    if (parts.more != 0) {
        profile.add_uint64(static_cast<ProfileField>(parts.more), 1);
    }
    return bytes;
}

std::string complaint(const std::function<void(Parts&)>& change) {
    Parts parts;
    change(parts);
    const auto file = read_pprof_message(message_of(parts));
    return file ? "nothing" : file.error().context;
}

TEST(PprofFile, accepts_what_is_right) {
    EXPECT_EQ(complaint([](Parts&) {}), "nothing");
}

TEST(PprofFile, refuses_what_nothing_leads_to) {
    EXPECT_EQ(complaint([](Parts& parts) { parts.location_mapping = 0; }),
              "a mapping that nothing leads to");
    EXPECT_EQ(complaint([](Parts& parts) { parts.stack.clear(); }),
              "a location that nothing leads to");
}

TEST(PprofFile, refuses_ids_that_do_not_count_from_1) {
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.mapping_ids = {1, 0};
              }),
              "a mapping out of order: 0");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.location_ids = {1, 0};
              }),
              "a location out of order: 0");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.function_ids = {1, 0};
              }),
              "a function out of order: 0");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.mapping_ids = {1, 1};
              }),
              "a mapping out of order: 1");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.location_ids = {1, 1};
              }),
              "a location out of order: 1");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.function_ids = {1, 1};
              }),
              "a function out of order: 1");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.mapping_ids = {1, 3};
              }),
              "a mapping out of order: 3");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.location_ids = {1, 3};
              }),
              "a location out of order: 3");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.function_ids = {1, 3};
              }),
              "a function out of order: 3");
}

TEST(PprofFile, refuses_ids_that_are_not_defined) {
    EXPECT_EQ(complaint([](Parts& parts) { parts.stack = {1, 2}; }), "no location 2");
    EXPECT_EQ(complaint([](Parts& parts) { parts.stack = {0}; }), "no location 0");
    EXPECT_EQ(complaint([](Parts& parts) { parts.location_mapping = 9; }), "no mapping 9");
    EXPECT_EQ(complaint([](Parts& parts) { parts.line_functions = {1, 3}; }), "no function 3");
    EXPECT_EQ(complaint([](Parts& parts) { parts.line_functions = {0}; }), "no function 0");
}

TEST(PprofFile, refuses_values_that_are_not_as_many_as_types) {
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.values = {1, 2};
              }),
              "a sample has 2 values for 1 types");
    EXPECT_EQ(complaint([](Parts& parts) { parts.values.clear(); }),
              "a sample has 0 values for 1 types");
    EXPECT_EQ(complaint([](Parts& parts) { parts.values = {-1}; }),
              "a sample has a negative value");
}

TEST(PprofFile, refuses_bad_strings) {
    EXPECT_EQ(complaint([](Parts& parts) { parts.function_name = 5; }), "no string 5");
    EXPECT_EQ(complaint([](Parts& parts) { parts.default_type = -1; }), "no string -1");
    EXPECT_EQ(complaint([](Parts& parts) { parts.strings[0] = "x"; }),
              "the first string is not empty");
    EXPECT_EQ(complaint([](Parts& parts) { parts.strings.clear(); }), "no string table");
    EXPECT_EQ(complaint([](Parts& parts) { parts.strings[3] = "\xc3("; }), "a string is not UTF-8");
}

TEST(PprofFile, refuses_what_is_missing) {
    EXPECT_EQ(complaint([](Parts& parts) { parts.function_name = 0; }),
              "a function without a name");
    EXPECT_EQ(complaint([](Parts& parts) { parts.mapping_file = 0; }), "a mapping without a file");
    EXPECT_EQ(complaint([](Parts& parts) { parts.line_functions.clear(); }),
              "a location without a function");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.type = {1, 0};
              }),
              "a value type without type or unit");
    EXPECT_EQ(complaint([](Parts& parts) { parts.default_type = 3; }),
              "the default type is none of the sample types");
}

TEST(PprofFile, refuses_bad_labels) {
    EXPECT_EQ(complaint([](Parts& parts) { parts.label = {0, 4, 0}; }), "a label without a key");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.label = {3, 0, 0};
              }),
              "a label without a value, or with two");
    EXPECT_EQ(complaint([](Parts& parts) {
                  parts.label = {3, 4, 9};
              }),
              "a label without a value, or with two");
}

TEST(PprofFile, refuses_what_the_format_does_not_have) {
    EXPECT_EQ(complaint([](Parts& parts) { parts.more = 99; }), "the profile has a field 99");
}

TEST(PprofFile, refuses_damage) {
    std::string message = message_of({});
    message.pop_back();
    EXPECT_FALSE(read_pprof_message(message).has_value());
    std::string bytes;
    const Sink sink = to_string_sink(bytes);
    GzipSink gzip{sink};
    gzip.write(message_of({}));
    ASSERT_TRUE(gzip.finish().has_value());
    EXPECT_TRUE(read_pprof(bytes).has_value());
    EXPECT_FALSE(read_pprof(bytes + "x").has_value());
    EXPECT_FALSE(read_pprof(bytes.substr(0, bytes.size() - 1)).has_value());
    EXPECT_FALSE(read_pprof("").has_value());
    ++bytes[bytes.size() - 6];  // In the checksum.
    EXPECT_FALSE(read_pprof(bytes).has_value());
}

}  // namespace
}  // namespace sample::exports
