// Files that other programs wrote, and what those programs say is in them.
#include "core/mapped_file.h"
#include "import/import.h"
#include "import_fixture.h"
#include "tests/built.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::imports {
namespace {

using callgraph::Profile;

Profile imported_file(const std::string& name) {
    const auto file = MappedFile::open(std::string{built::kData} + "/" + name);
    EXPECT_TRUE(file.has_value()) << name;
    if (!file) {
        return {};
    }
    const auto bytes = file->bytes();
    return imported({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// The figures are those of `go tool pprof -top`.
TEST(ForeignFiles, of_go_have_the_totals_of_its_own_tool) {
    const Profile cpu = imported_file("pprof/go_cpu");
    EXPECT_TRUE(cpu.is_time());
    EXPECT_EQ(cpu.stats.samples, 56U);
    EXPECT_EQ(totals(cpu), (Totals{{"main.work", {560'000'000, 500'000'000}},
                                   {"runtime.asyncPreempt", {60'000'000, 60'000'000}},
                                   {"main.main", {560'000'000, 0}},
                                   {"runtime.main", {560'000'000, 0}}}));
    EXPECT_EQ(node_called(cpu, "main.work").inlining, callgraph::Inlining::all);

    const Profile heap = imported_file("any/pprof.gz");
    EXPECT_EQ(heap.event, "inuse_space");
    EXPECT_EQ(heap.metric.unit, "bytes");
    EXPECT_EQ(heap.nodes[0].total, 3'852'013U);
    const auto& writer = function_called(heap, "compress/flate.NewWriter");
    EXPECT_EQ(writer.total, 1'590'485U);
    EXPECT_EQ(writer.self, 924'248U);
    EXPECT_EQ(function_called(heap, "runtime.main").total, 1'737'032U);
}

/// `perf script -F +srcline` of Linux 6.1.
TEST(ForeignFiles, of_perf_have_inlined_frames_lines_and_times) {
    const Profile profile = imported_file("any/perf_script");
    EXPECT_EQ(profile.stats.samples, 3U);
    EXPECT_EQ(profile.nodes[0].total, 3 * 2'004'008U);
    EXPECT_EQ(function_called(profile, "main").total, 2 * 2'004'008U);
    EXPECT_EQ(function_called(profile, "main").source, "a.c");
    EXPECT_EQ(function_called(profile, "_start").source, "app");
    EXPECT_EQ(node_called(profile, "__libc_start_main_impl").inlining, callgraph::Inlining::all);
    const auto times = moments(profile, 0);
    ASSERT_EQ(times.size(), 3U);
    EXPECT_EQ(times[1].time_ns - times[0].time_ns, 1'993'000);
}

/// The example that the format was published with.
TEST(ForeignFiles, of_the_script_profiler_are_told_by_content) {
    const Profile profile = imported_file("json/published_example.json");
    EXPECT_EQ(profile.categories.size(), 2U);
    EXPECT_EQ(profile.nodes[0].total, 10'276'000U);
}

}  // namespace
}  // namespace sample::imports
