// Profiler modules in programs that are recorded: what they are told, what they are answered, and
// what becomes of a program with one that misbehaves.
#include "tests/built.h"
#include "tests/e2e/run.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace sample::e2e {
namespace {

using Lines = std::vector<std::string>;
using Words = std::vector<std::string>;

/// A program beside the tests' modules.
std::string target(const std::string& name) {
    return std::string{built::kTestModules} + "/" + name;
}

Lines lines_of(const std::string& text) {
    Lines lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

int count_of(const Lines& lines, const std::string& line) {
    return static_cast<int>(std::count(lines.begin(), lines.end(), line));
}

class Modules : public testing::Test {
protected:
    ~Modules() override { std::filesystem::remove(recording_); }

    /// `sample OPTIONS -- COMMAND`, where the loader finds the tests' modules.
    [[nodiscard]] Outcome record(const Words& options, const Words& command,
                                 std::vector<std::pair<std::string, std::string>> settings = {}) {
        Words words{built::kSample, "-o", recording_.string(), "--force", "--quiet"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        settings.emplace_back("LD_LIBRARY_PATH", built::kTestModules);
        return run(words, {.settings = std::move(settings)});
    }

    /// The recording is whole, and has the program's time, which may be less than a period.
    void expect_whole_recording() const {
        const Outcome seen =
            run({built::kSample, "report", "--view", "stats", "--json", recording_.string()});
        ASSERT_EQ(seen.exit_code, 0) << seen.err;
        const auto stats = nlohmann::json::parse(seen.out);
        EXPECT_TRUE(stats["whole"].get<bool>()) << seen.out;
        EXPECT_GT(stats["total_us"].get<double>(), 0) << seen.out;
    }

    const std::filesystem::path recording_ = std::filesystem::temp_directory_path() /
                                             ("modules-" + std::to_string(::getpid()) + ".utrace");
};

class ToldModule : public Modules, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Compilers, ToldModule, testing::Values(TOLD_MODULES),
                         [](const auto& each) { return std::string{each.param}; });

TEST_P(ToldModule, is_told_of_each_event_in_order) {
    const std::string name = GetParam();
    const Outcome ran = record({"--module", name + ":a,b:c"}, {target("modules_program"), "exec"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    Lines told = lines_of(ran.out);
    // The two sides of the fork run at once.
    const auto child = std::find(told.begin(), told.end(), "forked child");
    ASSERT_NE(child, told.end()) << ran.out;
    told.erase(child);
    // A thread that is over before its creator waits for it, and the other way round.
    EXPECT_EQ(
        told,
        (Lines{"init " + name + ":a,b:c", "enabled 1 1", "started", "main", "thread named first 1",
               "a mutex that is free", "a mutex", "thread started 1", "waits for mutex 1",
               "got mutex 1", "thread stopped 1", "a mutex in vain", "waits for mutex 1",
               "waited in vain for mutex 1 110", "to read", "thread started 1", "waits for read 1",
               "got read 1", "thread stopped 1", "to write", "thread started 1",
               "waits for write 1", "got write 1", "thread stopped 1", "a condition",
               "thread started 1", "waits for condition 1", "got condition 1", "thread stopped 1",
               "a condition in vain", "waits for condition 1", "waited in vain for condition 1 110",
               "exceptions", "thrown St13runtime_error 1", "caught 1", "thrown again 0", "caught 1",
               "a library", "loaded libsample-profiler-lacks.so 1",
               "unloaded libsample-profiler-lacks.so 1", "code", "written", "code 1 4096",
               "code 1 8192", "a fork", "forked parent", "exec /bin/true",
               // The new program has it as well.
               "init " + name + ":a,b:c", "enabled 1 1", "started", "ended", "cleanup"}))
        << ran.out;
}

TEST_P(ToldModule, is_cleaned_up_at_the_end) {
    const Outcome ran = record({"--module", GetParam()}, {target("modules_program")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const Lines told = lines_of(ran.out);
    ASSERT_GT(told.size(), 3U);
    EXPECT_EQ((Lines{told.end() - 3, told.end()}), (Lines{"end", "ended", "cleanup"})) << ran.out;
}

TEST_F(Modules, own_sampling_if_they_were_first) {
    const Outcome ran = record({"--module", "first", "--module", "second"}, {"/bin/true"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(lines_of(ran.out), (Lines{"first: set before 0",
                                        "first: enable 1",
                                        "first: enable again 1",
                                        "first: set wall 0",
                                        "first: set 0 0",
                                        "first: set 10001 0",
                                        "first: set of nobody 0",
                                        "first: enable of nobody 0",
                                        "second: set before 0",
                                        "second: enable 1",
                                        "second: enable again 1",
                                        "second: set wall 0",
                                        "second: set 0 0",
                                        "second: set 10001 0",
                                        "second: set of nobody 0",
                                        "second: enable of nobody 0",
                                        "first: get 1",
                                        "first: mode 1",
                                        "first: frequency 1000",
                                        "first: get nothing 1",
                                        "first: set 500 1",
                                        "first: get 1",
                                        "first: mode 1",
                                        "first: frequency 500",
                                        "first: get nothing 1",
                                        "first: set none 1",
                                        "first: set 2000 1",
                                        "first: get 1",
                                        "first: mode 1",
                                        "first: frequency 2000",
                                        "first: get nothing 1",
                                        "second: get 0",
                                        "second: mode 1",
                                        "second: frequency 2000",
                                        "second: get nothing 0",
                                        "second: set 500 0"}))
        << ran.err;
}

TEST_F(Modules, may_set_wall_time_where_the_session_has_it) {
    const Outcome ran = record({"--clock", "wall", "--module", "first"}, {"/bin/true"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const Lines told = lines_of(ran.out);
    EXPECT_EQ(count_of(told, "first: set wall 1"), 1) << ran.out;
    EXPECT_EQ(count_of(told, "first: set 500 0"), 1) << ran.out;
}

TEST_F(Modules, are_told_of_samples_and_allocations_with_stacks) {
    const Outcome ran = record({"--freq", "1k", "--trace", "memory", "--module", "sampled"},
                               {target("works_program")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(lines_of(ran.out),
              (Lines{"sampling 1 allocations 1", "samples 1 wrong 0 shallow 0 main 1 outside 0",
                     "allocated 10 freed 10 reallocated 10 stacks 30"}));
    expect_whole_recording();
}

TEST_F(Modules, cannot_enable_what_the_program_was_not_started_with) {
    const Outcome ran =
        record({"--freq", "off", "--trace", "cpu", "--module", "sampled"}, {"/bin/true"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    ASSERT_FALSE(ran.out.empty()) << ran.err;
    EXPECT_EQ(lines_of(ran.out)[0], "sampling 0 allocations 0");
}

TEST_F(Modules, are_loaded_once_and_from_the_variable_too) {
    const Outcome ran =
        record({"--module", "told_gcc_c:first", "--module", "told_gcc_c:second"},
               {target("modules_program")}, {{"SAMPLE_MODULE", "told_gcc_cpp:x;;told_gcc_cpp"}});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const Lines told = lines_of(ran.out);
    EXPECT_EQ(count_of(told, "init told_gcc_cpp:x"), 1) << ran.out;
    EXPECT_EQ(count_of(told, "init told_gcc_c:first"), 1) << ran.out;
    EXPECT_EQ(std::count_if(told.begin(), told.end(),
                            [](const std::string& line) { return line.starts_with("init "); }),
              2)
        << ran.out;
    EXPECT_EQ(count_of(told, "cleanup"), 2) << ran.out;
}

TEST_F(Modules, of_an_embedder_are_found_inside_the_program) {
    const Outcome ran = record({"--freq", "1k"}, {target("embedder")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(lines_of(ran.out),
              (Lines{"init inside:with arguments", "enabled 1", "load 1", "again 1", "not there 0",
                     "no name 0", "sampled 1", "locks 0 exceptions 0 allocations 0",
                     "get 0 1 1000 stack 0", "thread 1"}))
        << ran.err;
    EXPECT_TRUE(has(ran.err, "sample: module not_there: cannot be loaded: ")) << ran.err;
}

TEST_F(Modules, of_an_embedder_are_found_once_it_has_brought_the_agent_in) {
    const Outcome ran =
        run({target("embedder"), "late"}, {.settings = {{"SAMPLE_AGENT", built::kAgent},
                                                        {"SAMPLE_OUTPUT", recording_.string()},
                                                        {"LD_LIBRARY_PATH", built::kTestModules}}});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const Lines told = lines_of(ran.out);
    EXPECT_EQ(count_of(told, "too early 0"), 1) << ran.out;
    EXPECT_EQ(count_of(told, "load 1"), 1) << ran.out << ran.err;
    EXPECT_EQ(count_of(told, "sampled 1"), 1) << ran.out;
    expect_whole_recording();
}

TEST_F(Modules, of_an_embedder_do_nothing_without_an_agent) {
    const Outcome ran = run({target("embedder")});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(lines_of(ran.out),
              (Lines{"load 0", "again 0", "not there 0", "no name 0", "sampled 0",
                     "locks 0 exceptions 0 allocations 0", "get 0 0 0 stack 0", "thread 0"}));
    EXPECT_EQ(ran.err, "");
}

TEST_F(Modules, that_are_not_there_or_of_another_version_are_named) {
    const Outcome ran = record({"--module", "not_there", "--module", "of_tomorrow", "--module",
                                "without_header", "--module", "lacks", "--module", "told_gcc_c"},
                               {target("modules_program")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const Lines said = lines_of(ran.err);
    ASSERT_EQ(said.size(), 4U) << ran.err;
    EXPECT_TRUE(said[0].starts_with("sample: module not_there: cannot be loaded: ")) << said[0];
    EXPECT_EQ(said[1],
              "sample: module of_tomorrow: rejected: it was compiled for version 1000 of the "
              "interface, this is 1");
    EXPECT_TRUE(said[2].starts_with("sample: module without_header: rejected: ")) << said[2];
    EXPECT_EQ(said[3],
              "sample: module lacks: cannot be loaded: its library has no function "
              "sample_profiler_init_lacks");
    EXPECT_EQ(count_of(lines_of(ran.out), "init told_gcc_c"), 1) << ran.out;
    expect_whole_recording();
}

TEST_F(Modules, that_crash_in_their_init_are_named) {
    const Outcome ran = record({"--module", "crashes"}, {"/bin/true"});
    EXPECT_EQ(ran.signal, SIGSEGV) << ran.err;
    EXPECT_TRUE(has(ran.err, "sample: module crashes: the program (")) << ran.err;
    EXPECT_TRUE(has(ran.err, ") was ended by SIGSEGV while the module was being set up"))
        << ran.err;
}

TEST_F(Modules, that_throw_in_their_init_are_named) {
    const Outcome ran = record({"--module", "throws"}, {"/bin/true"});
    EXPECT_EQ(ran.signal, SIGABRT) << ran.err;
    EXPECT_TRUE(has(ran.err, "sample: module throws: the program (")) << ran.err;
    EXPECT_TRUE(has(ran.err, ") was ended by SIGABRT while the module was being set up"))
        << ran.err;
}

TEST_F(Modules, that_crash_in_a_callback_are_named) {
    const Outcome sampled = record({"--module", "crashes_later"}, {target("works_program")});
    EXPECT_EQ(sampled.signal, SIGSEGV) << sampled.err;
    EXPECT_TRUE(has(sampled.err, "sample: module crashes_later: the program (")) << sampled.err;
    EXPECT_TRUE(has(sampled.err,
                    ") was ended by SIGSEGV while a thread was in the module's "
                    "callback for sample_hit"))
        << sampled.err;
    expect_whole_recording();
    const Outcome ended = record({"--module", "aborts_at_the_end"}, {target("works_program")});
    EXPECT_EQ(ended.signal, SIGABRT) << ended.err;
    EXPECT_TRUE(has(ended.err,
                    ") was ended by SIGABRT while a thread was in the module's callback "
                    "for session_ended"))
        << ended.err;
    expect_whole_recording();
}

// Who is in no callback has nothing to do with it.
TEST_F(Modules, are_not_named_where_the_program_crashes_by_itself) {
    const Outcome ran = record({"--module", "sampled"}, {"/bin/sh", "-c", "kill -SEGV $$"});
    EXPECT_EQ(ran.signal, SIGSEGV) << ran.err;
    EXPECT_FALSE(has(ran.err, "callback")) << ran.err;
}

TEST_F(Modules, that_take_long_in_their_init_are_named) {
    const Outcome ran = record({"--module", "loops"}, {"/bin/true"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_TRUE(has(ran.err, "sample: module loops: the program (")) << ran.err;
    EXPECT_TRUE(has(ran.err, ") has not begun, as the module is still being set up")) << ran.err;
}

TEST_F(Modules, may_close_all_descriptors) {
    const Outcome ran = record({"--module", "closes"}, {target("works_program")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    expect_whole_recording();
}

TEST_F(Modules, may_replace_their_callbacks_in_a_storm_of_threads) {
    const Outcome ran =
        record({"--freq", "10k", "--module", "replaced"}, {target("storm_program")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(lines_of(ran.out), (Lines{"enabled 1 1 1", "wrong 0 called 1 1"})) << ran.err;
    expect_whole_recording();
}

TEST_F(Modules, stay_when_the_program_closes_their_library) {
    const Outcome ran = record({"--freq", "10k", "--module", "replaced"},
                               {target("storm_program"), "libsample-profiler-replaced.so"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(lines_of(ran.out), (Lines{"enabled 1 1 1", "wrong 0 called 1 1"})) << ran.err;
}

TEST_F(Modules, of_a_library_that_is_closed_again_stay) {
    const Outcome ran = record(
        {"--freq", "10k", "--module", "lacks"},
        {target("storm_program"), "libsample-profiler-sampled.so", "sample_profiler_init_sampled"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_TRUE(has(ran.out, "sampling 1 allocations 0")) << ran.out;
    EXPECT_TRUE(has(ran.out, "samples 1 wrong 0 shallow 0")) << ran.out;
}

TEST_F(Modules, with_names_that_are_none_are_refused) {
    for (const char* name : {"", ":x", "../x", "a-b", "a;b", "a:b;c"}) {
        const Outcome ran = record({"--module", name}, {"/bin/true"});
        EXPECT_EQ(ran.exit_code, 2) << name;
        EXPECT_TRUE(has(ran.err, "--module")) << ran.err;
    }
}

TEST_F(Modules, of_the_examples_say_what_they_have_seen) {
    const auto with_examples = [this](const Words& options, const Words& command) {
        Words words{built::kSample, "-o", recording_.string(), "--force", "--quiet"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        return run(words, {.settings = {{"LD_LIBRARY_PATH", built::kExampleModules}}});
    };
    Outcome ran = with_examples({"--module", "waits_and_throws"}, {target("modules_program")});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(
        lines_of(ran.err),
        (Lines{"mutex: waited 2 times, 1 in vain", "read lock: waited 1 times, 0 in vain",
               "write lock: waited 1 times, 0 in vain", "condition: waited 2 times, 1 in vain",
               "exceptions: 2 thrown, 2 caught", "  St13runtime_error: 1"}));
    ran = with_examples({"--module", "leaves:quiet"}, {target("works_program")});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_TRUE(ran.err.starts_with("leaves: ")) << ran.err;
    EXPECT_TRUE(has(ran.err, "works")) << ran.err;
    ran = with_examples({"--trace", "memory", "--module", "big_blocks:50000"},
                        {target("works_program")});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_TRUE(has(ran.err, "big_blocks: 54321 bytes at 0x")) << ran.err;
    EXPECT_TRUE(has(ran.err, "big_blocks: 65432 bytes at 0x")) << ran.err;
    EXPECT_TRUE(has(ran.err, " blocks, at most ")) << ran.err;
}

}  // namespace
}  // namespace sample::e2e
