// What is exported and imported again has the same functions with the same times.
#include "export/formats.h"
#include "import/import.h"
#include "import_fixture.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::imports {
namespace {

using callgraph::Profile;
using exports::Sink;

constexpr const char* kText = R"(# cmdline : ./app -n 7
app  100/100 [000] 10.000100000:     100000 cpu-clock: 
	 1166 inl+0x2d
  b.h:2 (inlined)
	 1166 work+0x2d (/opt/app)
  a.c:31
	 119c main+0xd (/opt/app)
  a.c:12

app  100/100 [000] 10.000200000:     100000 cpu-clock: 
	 1166 work+0x2d (/opt/app)
  a.c:30
	 1166 work+0x2d (/opt/app)
  a.c:32
	 119c main+0xd (/opt/app)
  a.c:12

worker  100/101 [001] 10.000150000:     50000 cpu-clock: 
	 1166 spin (/lib/x.so)

app  100/100 [000] 10.009200000:      1000 cpu-clock: 
	 119c main+0xd (/opt/app)
  a.c:14

)";

Result<void> write_folded(const Profile& profile, const Sink& sink) {
    return exports::write_folded(profile, sink);
}

struct Exporter {
    const char* name;
    Result<void> (*write)(const Profile& profile, const Sink& sink);
    Format format;
    bool has_samples;
    bool has_threads;
    bool has_times;
};

// NOLINTNEXTLINE(readability-identifier-naming): how GoogleTest finds it
void PrintTo(const Exporter& exporter, std::ostream* out) {
    *out << exporter.name;
}

class RoundTrip : public testing::TestWithParam<Exporter> {
protected:
    [[nodiscard]] static std::string written(const Profile& profile) {
        std::string text;
        EXPECT_TRUE(GetParam().write(profile, exports::to_string_sink(text)).has_value());
        return text;
    }
};

TEST_P(RoundTrip, keeps_functions_and_what_the_format_can) {
    const Profile profile = imported(kText, Format::perf_script);
    const std::string text = written(profile);
    const Profile back = imported(text, GetParam().format);
    const std::uint64_t unit = back.is_time() ? 1 : 1000;  // Folded stacks count microseconds.
    Totals expected = totals(profile);
    for (auto& [name, sums] : expected) {
        sums = {sums.first / unit, sums.second / unit};
    }
    EXPECT_EQ(totals(back), expected);
    EXPECT_EQ(back.nodes[0].total, 251'000 / unit);
    if (GetParam().has_samples) {
        EXPECT_EQ(back.stats.samples, 4U);
        EXPECT_EQ(function_called(back, "work").samples, 2U);
    }
    if (GetParam().has_threads) {
        ASSERT_EQ(back.threads.size(), 2U);
        EXPECT_EQ(back.threads[0].name, "app");
        EXPECT_EQ(back.threads[0].total, 201'000U);
        EXPECT_EQ(back.threads[1].name, "worker");
        EXPECT_EQ(back.threads[1].tid, 101U);
        EXPECT_EQ(back.threads[1].pid, 100U);
    }
    if (GetParam().has_times) {
        EXPECT_EQ(moments(back, 0), moments(profile, 0));
        EXPECT_EQ(moments(back, 1), moments(profile, 1));
    }
}

TEST_P(RoundTrip, is_told_by_content) {
    const Profile profile = imported(kText, Format::perf_script);
    const auto back = import_profile(written(profile), {}, {});
    ASSERT_TRUE(back.has_value()) << back.error().message();
    const bool is_folded = GetParam().format == Format::folded_threads;
    EXPECT_EQ(back->format, is_folded ? Format::folded : GetParam().format);
}

TEST_P(RoundTrip, keeps_a_profile_without_times) {
    Profile profile = imported(kText, Format::perf_script, {});
    ASSERT_FALSE(profile.timeline.has_value());
    const Profile back = imported(written(profile), GetParam().format);
    EXPECT_EQ(function_called(back, "work").total,
              function_called(profile, "work").total / (back.is_time() ? 1 : 1000));
}

INSTANTIATE_TEST_SUITE_P(
    Formats, RoundTrip,
    testing::Values(
        Exporter{"json", exports::write_script_profiler_json, Format::json, true, false, false},
        Exporter{"folded", write_folded, Format::folded_threads, false, false, false},
        Exporter{"pprof", exports::write_pprof, Format::pprof, true, true, false},
        Exporter{"speedscope", exports::write_speedscope, Format::speedscope, false, true, true},
        Exporter{"perf_script", exports::write_perf_script, Format::perf_script, true, true, true}),
    [](const auto& exporter) { return std::string{exporter.param.name}; });

TEST(RoundTripOfPprof, keeps_lines_modules_and_inlined_frames) {
    const Profile profile = imported(kText, Format::perf_script, kEverything);
    std::string bytes;
    ASSERT_TRUE(exports::write_pprof(profile, exports::to_string_sink(bytes)).has_value());
    const Profile back = imported(bytes, {}, kEverything);
    const auto& inl = node_called(back, "inl");
    EXPECT_EQ(inl.inlining, callgraph::Inlining::all);
    EXPECT_EQ(inl.line, 2U);
    EXPECT_EQ(inl.call_line, 31U);
    EXPECT_EQ(function_called(back, "inl").source, "b.h");
    EXPECT_EQ(back.module_of(function_called(back, "spin")).path, "/lib/x.so");
    EXPECT_EQ(back.command_line, "./app -n 7");
    EXPECT_EQ(totals(back), totals(profile));
}

TEST(RoundTripOfNames, of_nothing_but_blanks_are_anonymous) {
    Profile profile = imported(kText, Format::perf_script);
    for (callgraph::Function& function : profile.functions) {
        if (function.name == "spin" || function.name == "inl") {
            function.name = function.name == "spin" ? " " : "\t\n";
            function.source = " ";
            function.line = 0;
        }
    }
    for (callgraph::CodeModule& module : profile.modules) {
        module.path = module.name = " ";
    }
    for (const Format format : {Format::callgrind, Format::folded_threads}) {
        std::string text;
        const Sink sink = exports::to_string_sink(text);
        const bool is_folded = format == Format::folded_threads;
        ASSERT_TRUE((is_folded ? exports::write_folded(profile, sink)
                               : exports::write_callgrind(profile, sink))
                        .has_value());
        const Profile back = imported(text, format);
        EXPECT_EQ(back.nodes.empty() ? 0 : back.nodes[0].total, is_folded ? 251U : 251'000U);
        std::uint64_t anonymous = 0;
        for (const callgraph::Function& function : back.functions) {
            anonymous += function.name.starts_with("<anonymous>") ? function.total : 0;
        }
        EXPECT_EQ(anonymous, is_folded ? 150U : 150'000U);
    }
}

}  // namespace
}  // namespace sample::imports
