// What a user sees of stacks that lack frames or were guessed: made-up figures, and a recording
// from its writer to every view and export.
#include "cli/views/broken_stacks.h"

#include "analysis/load_profile.h"
#include "cli/views/views.h"
#include "core/address.h"
#include "export/formats.h"
#include "made_up_profile.h"
#include "tests/trace/recording_fixture.h"
#include "trace/records.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::cli {
namespace {

/// made_up_profile() with 2 % of its stacks incomplete, 0.5 % truncated.
callgraph::Profile broken_profile() {
    callgraph::Profile profile = made_up_profile();
    callgraph::Stats& stats = profile.stats;
    stats.incomplete_stacks = 200;
    stats.incomplete = 20 * kMs;
    stats.truncated_stacks = 50;
    stats.truncated = 5 * kMs;
    stats.guessed_stacks = 30;
    stats.guessed = 3 * kMs;
    stats.unwind_table_bytes = 262'144;
    stats.broken_stacks = {{StackBreak::no_cfi, "/usr/lib/libx264.so.164", 120, 13 * kMs},
                           {StackBreak::no_module, "", 60, 6 * kMs},
                           {StackBreak::depth_limit, "", 50, 5 * kMs},
                           {StackBreak::no_cfi, "/usr/lib/ev\x1bil.so", 20, 1 * kMs}};
    return profile;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(BrokenStacks, are_a_table_with_what_to_do_about_the_heaviest) {
    const std::string text = stats_view(broken_profile(), {kPipe, Unit::milliseconds, {}});
    const std::string table =
        text.substr(text.find("\nstacks that lack frames"),
                    text.find("\nprocesses\n") - text.find("\nstacks that lack frames"));
    EXPECT_EQ(table, R"(
stacks that lack frames
   samples   share    time ms   share  why                    outermost known frame in
       120   1.2 %     13.000   1.3 %  no unwind tables       libx264.so.164
        60   0.6 %      6.000   0.6 %  no known code          code in no module
        50   0.5 %      5.000   0.5 %  deeper than the limit  -
        20   0.2 %      1.000   0.1 %  no unwind tables       ev\x1bil.so
hint: libx264.so.164 has code without unwind tables: rebuild it with -fasynchronous-unwind-tables, its assembly with .cfi directives
hint: code in no module, as a JIT compiler makes it, has no unwind tables: its callers can be seen where it keeps frame pointers, as with java -XX:+PreserveFramePointer
hint: stacks deeper than the limit lack frames: --max-stack keeps up to 8192
)");
    EXPECT_TRUE(contains(text, "guessed_stacks       30\n"));
    EXPECT_TRUE(contains(text, "unwind_table_bytes   262144\n"));
}

TEST(BrokenStacks, have_no_table_where_every_stack_is_whole) {
    EXPECT_FALSE(contains(stats_view(made_up_profile(), {kPipe, Unit::milliseconds, {}}),
                          "stacks that lack frames"));
}

TEST(BrokenStacks, are_cut_to_the_ten_heaviest_in_text) {
    callgraph::Profile profile = broken_profile();
    profile.stats.broken_stacks.resize(12);
    EXPECT_TRUE(contains(broken_stacks_text(profile, kPipe), "\n2 more: --json lists all\n"));
    EXPECT_EQ(broken_stacks_json(profile).size(), 12U);
}

TEST(BrokenStacks, name_each_reason_and_what_to_do) {
    callgraph::Profile profile;
    for (std::uint64_t number = 0; number <= static_cast<std::uint64_t>(kLastStackBreak);
         ++number) {
        profile.stats.broken_stacks.push_back({stack_break_of(number), "/lib/libfoo.so", 1, 1});
    }
    const Json list = broken_stacks_json(profile);
    std::string reasons;
    for (const Json& broken : list) {
        reasons += broken.at("reason").get<std::string>() + " ";
        EXPECT_FALSE(broken.at("hint").get<std::string>().empty());
    }
    EXPECT_EQ(reasons,
              "unknown no_cfi no_module unreadable_memory depth_limit no_progress "
              "unsupported_rule no_room ");
    EXPECT_EQ(break_reasons_json(profile).size(), list.size());
}

TEST(BrokenStacks, of_copies_are_whole_where_the_stack_itself_is_read) {
    callgraph::Profile profile = broken_profile();
    profile.stats.source = trace::kAttachSource;
    profile.stats.broken_stacks = {{StackBreak::depth_limit, "/usr/lib/libR.so", 50, 5 * kMs},
                                   {StackBreak::unreadable_memory, "/usr/lib/libruby.so", 20, kMs}};
    const std::string text = broken_stacks_text(profile, kPipe);
    EXPECT_TRUE(contains(text, "hint: from outside a stack is seen as far as it was copied"))
        << text;
    EXPECT_EQ(text.find("hint:"), text.rfind("hint:")) << text;
}

TEST(BrokenStacks, are_whole_in_json) {
    const Json json = Json::parse(as_json(stats_view, broken_profile()));
    EXPECT_EQ(json.at("incomplete_stacks"), 200);
    EXPECT_EQ(json.at("incomplete_us"), 20'000);
    EXPECT_EQ(json.at("truncated_us"), 5'000);
    EXPECT_EQ(json.at("guessed_stacks"), 30);
    EXPECT_EQ(json.at("guessed_us"), 3'000);
    EXPECT_EQ(json.at("unwind_table_bytes"), 262'144);
    ASSERT_EQ(json.at("broken_stacks").size(), 4U);
    const Json& first = json.at("broken_stacks").at(0);
    EXPECT_EQ(first.at("reason"), "no_cfi");
    EXPECT_EQ(first.at("module"), "/usr/lib/libx264.so.164");
    EXPECT_EQ(first.at("samples"), 120);
    EXPECT_EQ(first.at("us"), 13'000);
    EXPECT_TRUE(contains(first.at("hint"), "-fasynchronous-unwind-tables"));
    EXPECT_TRUE(json.at("broken_stacks").at(1).at("module").is_null());
    EXPECT_EQ(json.at("break_reasons").at("no_cfi").at("samples"), 140);
    EXPECT_EQ(json.at("break_reasons").at("no_cfi").at("us"), 14'000);
    EXPECT_EQ(json.at("break_reasons").at("depth_limit").at("samples"), 50);
    EXPECT_FALSE(json.at("break_reasons").contains("no_progress"));
}

TEST(BrokenStacks, get_one_line_of_the_summary_if_they_are_more_than_a_few) {
    const std::string text = summary_view(broken_profile(), {kPipe});
    EXPECT_TRUE(contains(text,
                         "stacks    2.0 % incomplete, 0.5 % truncated, 0.3 % with guessed callers; "
                         "99.9 % of the CPU time has one\n          mostly no unwind tables in "
                         "libx264.so.164: see the view "
                         "stats\n"))
        << text;
    callgraph::Profile few = broken_profile();
    few.stats.incomplete_stacks = 10;
    EXPECT_FALSE(contains(summary_view(few, {kPipe}), "mostly"));
    few.stats.incomplete_stacks = 11;
    EXPECT_TRUE(contains(summary_view(few, {kPipe}), "mostly"));
    // Deep recursion breaks no stack.
    few.stats.broken_stacks = {{StackBreak::depth_limit, "", 50, 5 * kMs}};
    EXPECT_FALSE(contains(summary_view(few, {kPipe}), "mostly"));
}

TEST(BrokenStacks, are_not_called_complete_where_callers_were_guessed_or_nothing_was_sampled) {
    callgraph::Profile profile = made_up_profile();
    profile.stats.incomplete_stacks = 0;
    EXPECT_TRUE(contains(summary_view(profile, {kPipe}), "stacks    all complete; "));
    profile.stats.guessed_stacks = 7'000;
    EXPECT_TRUE(
        contains(summary_view(profile, {kPipe}), "stacks    70.0 % with guessed callers; "));
    profile.stats.guessed_stacks = 0;
    profile.stats.samples = 0;
    EXPECT_TRUE(
        contains(summary_view(profile, {kPipe}), "stacks    whole recording: none sampled; "))
        << summary_view(profile, {kPipe});
}

/// Ten samples of main → [frames elided] → leaf, one that has no unwind tables in libfoo, and four
/// of main → leaf, in two of which main was guessed.
callgraph::Profile recorded_profile() {
    const trace::TemporaryFile file;
    auto writer = trace::TestWriter::create(file.open(), trace::a_session());
    EXPECT_TRUE(writer);
    writer->record(trace::Process{ProcessId{1}, 7, 6, 0, "/bin/app", "app", "sigtrap", ""});
    writer->record(trace::Thread{ThreadId{1}, ProcessId{1}, 7, 0, "app"});
    const auto module = [&](std::uint32_t id, trace::ModuleKind kind, const char* path) {
        writer->record(trace::Module{ModuleId{id}, kind, false, path, {}});
        return ModuleId{id};
    };
    const ModuleId app = module(1, trace::ModuleKind::elf, "/nonexistent/app");
    const ModuleId foo = module(2, trace::ModuleKind::elf, "/nonexistent/libfoo.so");
    const ModuleId elided = module(3, trace::ModuleKind::pseudo, trace::kFramesElided);
    const ModuleId incomplete = module(4, trace::ModuleKind::pseudo, trace::kStackIncomplete);
    const auto sample = [&](NodeId node, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            writer->sample({ThreadId{1}, 0, node, kMs});
        }
    };
    const NodeId main = writer->node({}, app, 0x1000);
    sample(writer->node(writer->node(main, elided, 0), app, 0x2000), 10);
    const NodeId base =
        writer->node({}, incomplete, static_cast<std::uint64_t>(StackBreak::no_cfi));
    sample(writer->node(writer->node(base, foo, 0x3000), app, 0x2000), 1);
    sample(writer->node(main, app, 0x2000), 2);
    sample(writer->node(writer->node({}, app, 0x1000 | trace::kGuessedFrame), app, 0x2000), 2);
    EXPECT_TRUE(writer->finish({1'001 * kMs, false, ""}));
    const auto profile = analysis::load_profile(file.path(), {});
    EXPECT_TRUE(profile) << profile.error().message();
    return profile ? *profile : callgraph::Profile{};
}

TEST(RecordedStacks, are_shown_with_what_they_lack) {
    const callgraph::Profile profile = recorded_profile();
    const std::string text = callgraph_view(profile, {{false, false, 0}, Unit::milliseconds, 0.0});
    EXPECT_TRUE(contains(text, R"(
    15.000             `- main
    14.000                |- app+0x1000
    10.000                |  |- [frames elided]
    10.000     10.000     |  |  app+0x2000
     4.000      4.000     |  `- app+0x2000
     1.000                `- [stack incomplete]
     1.000                   libfoo.so+0x3000
     1.000      1.000        app+0x2000
)")) << text;
    const callgraph::Stats& stats = profile.stats;
    EXPECT_EQ(stats.samples, 15U);
    EXPECT_EQ(stats.truncated_stacks, 10U);
    EXPECT_EQ(stats.incomplete_stacks, 1U);
    EXPECT_EQ(stats.guessed_stacks, 2U);
    ASSERT_EQ(stats.broken_stacks.size(), 2U);
    EXPECT_EQ(stats.broken_stacks[1].module, "/nonexistent/libfoo.so");
}

TEST(RecordedStacks, are_exported_with_what_they_lack) {
    const callgraph::Profile profile = recorded_profile();
    std::string folded;
    ASSERT_TRUE(exports::write_folded(profile, exports::to_string_sink(folded)));
    EXPECT_TRUE(contains(folded, "main;app+0x1000;[frames elided];app+0x2000 10000\n")) << folded;
    EXPECT_TRUE(contains(folded, "main;app+0x1000;app+0x2000 4000\n")) << folded;
    std::string json;
    ASSERT_TRUE(exports::write_script_profiler_json(profile, exports::to_string_sink(json)));
    const Json parsed = Json::parse(json);
    int markers = 0;
    for (const Json& function : parsed.at("Functions")) {
        markers += function.at("Name") == trace::kFramesElided ? 1 : 0;
    }
    EXPECT_EQ(markers, 1);
}

}  // namespace
}  // namespace sample::cli
