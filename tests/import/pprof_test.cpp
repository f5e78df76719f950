#include "export/formats.h"
#include "import/import.h"
#include "import_fixture.h"
#include "pprof_message_builder.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace sample::imports {
namespace {

using callgraph::Inlining;
using callgraph::Profile;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// main calls work, into which inl was inlined; time and samples.
PprofBuilder two_samples() {
    PprofBuilder builder;
    builder.type("samples", "count").type("cpu", "nanoseconds");
    builder.sample({2, 1}, {3, 300}, {{"thread", "worker"}, {"tid", "", 8}, {"pid", "", 7}});
    builder.sample({1}, {1, 100}, {{"thread_name", "main"}, {"thread id", "7"}, {"bytes", "", 64}});
    builder.mapping(9, "/opt/app", "abcd");
    builder.location(1, {{1, 12}}, 9);
    builder.location(2, {{3, 2}, {2, 30}}, 9);
    builder.function(1, "main", "/src/a.c", 10);
    builder.function(2, "work(int)", "/src/a.c", 20, "_Z4worki");
    builder.function(3, "inl", "/src/b.h", 1);
    builder.number(9, 1'700'000'000'123'000'000).number(10, 2'000'000'000);
    return builder;
}

TEST(Pprof, keeps_functions_lines_inlined_frames_and_modules) {
    const Profile profile = imported(two_samples().bytes(), {}, kEverything);
    EXPECT_EQ(totals(profile),
              (Totals{{"main", {400, 100}}, {"work(int)", {300, 0}}, {"inl", {300, 300}}}));
    EXPECT_TRUE(profile.is_time());
    EXPECT_EQ(profile.stats.clock, "cpu");
    EXPECT_EQ(profile.stats.samples, 4U);
    EXPECT_EQ(profile.stats.wall_ns, 2'000'000'000U);
    EXPECT_EQ(profile.start_unix_ms, 1'700'000'000'123U);
    const auto& work = function_called(profile, "work(int)");
    EXPECT_EQ(work.linkage_name, "_Z4worki");
    EXPECT_EQ(work.source, "/src/a.c");
    EXPECT_EQ(work.line, 20U);
    EXPECT_EQ(profile.module_of(work).name, "app");
    EXPECT_EQ(profile.module_of(work).build_id, "abcd");
    const auto& inl = node_called(profile, "inl");
    EXPECT_EQ(inl.inlining, Inlining::all);
    EXPECT_EQ(inl.call_line, 30U);
    EXPECT_EQ(inl.line, 2U);
    EXPECT_EQ(inl.samples, 3U);
    EXPECT_EQ(node_called(profile, "work(int)").call_line, 12U);
    EXPECT_EQ(node_called(profile, "work(int)").inlining, Inlining::none);
    EXPECT_FALSE(profile.timeline.has_value());
}

TEST(Pprof, shows_the_linkers_name_where_there_is_no_other) {
    PprofBuilder builder;
    builder.type("cpu", "nanoseconds").sample({1}, {5}).location(1, {{1, 2}});
    builder.function(1, "", "a.c", 1, "_Z4worki");
    EXPECT_EQ(totals(imported(builder.bytes())), (Totals{{"work(int)", {5, 5}}}));
}

TEST(Pprof, keeps_threads_of_labels) {
    const Profile profile = imported(two_samples().bytes());
    ASSERT_EQ(profile.threads.size(), 2U);
    EXPECT_EQ(profile.threads[0].name, "worker");
    EXPECT_EQ(profile.threads[0].tid, 8U);
    EXPECT_EQ(profile.threads[0].pid, 7U);
    EXPECT_EQ(profile.threads[0].total, 300U);
    EXPECT_EQ(profile.threads[1].name, "main");
    EXPECT_EQ(profile.threads[1].tid, 7U);
    EXPECT_EQ(profile.categories[0].name, "worker");
}

TEST(Pprof, keeps_the_default_sample_type) {
    PprofBuilder builder;
    builder.type("alloc_objects", "count")
        .type("alloc_space", "bytes")
        .type("inuse_space", "bytes");
    builder.sample({1}, {3, 300, 100}).location(1, {{1, 0}}).function(1, "f");
    const Profile last = imported(builder.bytes());
    EXPECT_EQ(last.event, "inuse_space");
    EXPECT_EQ(last.metric.unit, "bytes");
    EXPECT_EQ(totals(last), (Totals{{"f", {100, 100}}}));
    EXPECT_TRUE(has_note(last, "inuse_space was kept; left out: alloc_objects, alloc_space"));
    builder.number(14, static_cast<std::int64_t>(builder.text("alloc_space")));
    const Profile chosen = imported(builder.bytes());
    EXPECT_EQ(totals(chosen), (Totals{{"f", {300, 300}}}));
    EXPECT_EQ(chosen.stats.samples, 0U);
}

TEST(Pprof, keeps_all_sample_types_for_who_wants_them_and_gives_them_back) {
    PprofBuilder builder;
    builder.type("samples", "count").type("alloc_space", "bytes").type("delay", "milliseconds");
    builder.type("cpu", "nanoseconds");
    builder.sample({1}, {3, 300, 0, 100}).location(1, {{1, 0}}).function(1, "f");
    builder.sample({2}, {0, 0, 7, 0}).location(2, {{2, 0}}).function(2, "g");
    const auto expect_all = [](const Profile& profile) {
        EXPECT_EQ(profile.stats.clock, "cpu");
        EXPECT_EQ(profile.stats.samples, 3U);
        EXPECT_TRUE(profile.stats.notes.empty());
        ASSERT_EQ(profile.further.size(), 2U);
        EXPECT_EQ(profile.further[0].metric.name, "alloc_space");
        EXPECT_EQ(profile.further[0].metric.unit, "bytes");
        EXPECT_EQ(profile.further[1].metric.name, "delay");
        EXPECT_EQ(profile.further[1].metric.unit, "");
        EXPECT_EQ(totals(profile), (Totals{{"f", {100, 100}}, {"g", {0, 0}}}));
        EXPECT_EQ(profile.further[0].total(), 300U);
        EXPECT_EQ(profile.further[1].total(), 7'000'000U);
        for (std::size_t id = 0; id < profile.nodes.size(); ++id) {
            const FunctionId function = profile.nodes[id].function;
            const bool is_g = !function.is_none() && profile.function(function).name == "g";
            EXPECT_EQ(profile.further[1].selves[id], is_g ? 7'000'000U : 0U);
        }
    };
    const Profile profile = imported(builder.bytes(), {}, {.metrics = true});
    expect_all(profile);
    std::string bytes;
    ASSERT_TRUE(exports::write_pprof(profile, exports::to_string_sink(bytes)).has_value());
    expect_all(imported(bytes, {}, {.metrics = true}));
    EXPECT_EQ(totals(imported(bytes)), (Totals{{"f", {100, 100}}})) << "the default one";
}

TEST(Pprof, refuses_a_further_value_that_overflows) {
    PprofBuilder builder;
    builder.type("delay", "seconds").type("cpu", "nanoseconds");
    builder.sample({}, {kMax, 1});
    EXPECT_TRUE(import_profile(builder.bytes(), {}, {}).has_value());
    EXPECT_FALSE(import_profile(builder.bytes(), {}, {.metrics = true}).has_value());
    PprofBuilder sum;
    sum.type("delay", "nanoseconds").type("cpu", "nanoseconds");
    sum.sample({}, {kMax, 1}).sample({}, {kMax, 1}).sample({}, {kMax, 1});
    EXPECT_FALSE(import_profile(sum.bytes(), {}, {.metrics = true}).has_value());
}

TEST(Pprof, knows_units_of_time_and_samples_alone) {
    PprofBuilder time;
    time.type("time", "milliseconds").sample({}, {3});
    EXPECT_EQ(imported(time.bytes()).nodes[0].total, 3'000'000U);
    PprofBuilder samples;
    samples.type("samples", "count").sample({}, {3});
    const Profile profile = imported(samples.bytes());
    EXPECT_EQ(profile.metric.unit, "samples");
    EXPECT_EQ(profile.stats.samples, 3U);
}

TEST(Pprof, names_locations_without_functions_by_their_address) {
    PprofBuilder builder;
    builder.type("samples", "count").sample({1}, {1}).mapping(1, "/lib/x.so", "");
    builder.location(1, {}, 1, 0x12af);
    EXPECT_EQ(totals(imported(builder.bytes())), (Totals{{"x.so+0x12af", {1, 1}}}));
}

/// The same place has one name in every run, wherever the loader put the file.
TEST(Pprof, names_them_by_their_place_in_the_file_where_it_is_known) {
    const auto name_of = [](std::uint64_t mapping, std::uint64_t address) {
        PprofBuilder builder;
        builder.type("samples", "count").sample({1}, {1});
        builder.mapping(1, "/lib/x.so", "", {0x7f0000001000, 0x7f0000005000, 0x1000});
        builder.location(1, {}, mapping, address);
        return imported(builder.bytes()).functions.at(0).name;
    };
    EXPECT_EQ(name_of(1, 0x7f00000012af), "x.so+0x12af");
    EXPECT_EQ(name_of(1, 0x7f0000004fff), "x.so+0x4fff");
    EXPECT_EQ(name_of(1, 0x7f0000005000), "x.so+0x7f0000005000") << "outside";
    EXPECT_EQ(name_of(0, 0x12af), "[unknown]+0x12af");
}

TEST(Pprof, refuses_with_the_place) {
    const auto refused = [](const PprofBuilder& builder, const std::string& part) {
        expect_refusal(builder.bytes(), Format::pprof, "pprof: " + part);
    };
    const PprofBuilder typed = PprofBuilder{}.type("samples", "count");
    refused(PprofBuilder{}, "there is no sample type");
    refused(two_samples().sample({4}, {1, 1}), "sample 3: there is no location 4");
    refused(two_samples().sample({0}, {1, 1}), "sample 3: there is no location 0");
    refused(two_samples().sample({1}, {1}), "sample 3: has 1 values for 2 sample types");
    refused(two_samples().sample({1}, {1, -1}), "sample 3: has a negative value");
    refused(two_samples().location(2, {}), "location 3: has the id 2 of another one");
    refused(two_samples().location(0, {}), "location 3: has the id 0");
    refused(two_samples().location(3, {{8, 0}}), "location 3: there is no function 8");
    refused(two_samples().location(3, {{1, -1}}), "location 3: a line is negative");
    refused(two_samples().location(3, {}, 4), "location 3: there is no mapping 4");
    refused(two_samples().function(1, "x"), "function 4: has the id 1 of another one");
    refused(two_samples().function(4, "x", "", std::int64_t{1} << 32), "function 4: its line");
    refused(two_samples().mapping(9, "", ""), "mapping 2: has the id 9 of another one");
    refused(two_samples().number(14, 1000), "the default sample type names a string that is not");
    refused(PprofBuilder{typed}.sample({}, {kMax}).sample({}, {kMax}).sample({}, {kMax}),
            "sample 3: the sum of all weights needs more than 64 bits");
    refused(PprofBuilder{}.type("cpu", "seconds").sample({}, {kMax}),
            "sample 1: its time overflows");
    refused(PprofBuilder{typed}.location(1, std::vector<PprofBuilder::Line>(257)),
            "location 1: has more than 256");
}

TEST(Pprof, refuses_bytes_that_are_no_message) {
    const std::string good = two_samples().bytes();
    expect_refusal(std::string{"\x0a\xff\xff\xff\xff\x07", 6}, Format::pprof,
                   "no protobuf message");
    expect_refusal(std::string{"\x30\x01", 2} + good, Format::pprof,
                   "field 6 of the profile does not parse");
    expect_refusal(std::string{"\x12\x02\x0d\x01", 4} + good, Format::pprof, "sample 1: ");
    expect_refusal(good + std::string{"\x0b", 1}, Format::pprof, "byte ");
    expect_refusal(std::string{"\x32\x01z", 3} + good, Format::pprof,
                   "the string table must begin with an empty string");
    // A text of 1 GB, of which nothing is there.
    expect_refusal(good + std::string{"\x32\x80\x80\x80\x80\x04", 6}, Format::pprof, "byte ");
    for (std::size_t size = 0; size < good.size(); ++size) {
        EXPECT_FALSE(refusal(good.substr(0, size), Format::pprof).empty());
    }
}

TEST(Pprof, bounds_the_frames_that_few_bytes_stand_for) {
    PprofBuilder builder;
    builder.type("samples", "count").function(1, "f");
    builder.location(1, std::vector<PprofBuilder::Line>(256, {1, 0}));
    const PprofBuilder::Ids deep(1000, 1);
    for (int i = 0; i < 100; ++i) {
        builder.sample(deep, {1});
    }
    expect_refusal(builder.bytes(), Format::pprof, "more frames than a file of this size");
}

}  // namespace
}  // namespace sample::imports
