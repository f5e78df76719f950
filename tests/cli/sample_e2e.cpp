// The program itself: exit codes, where output goes, what it says of bad files.
#include "sample_program.h"
#include "tests/built.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>

namespace sample::cli {
namespace {

using Json = nlohmann::json;

TEST_F(SampleProgram, prints_help_and_version_on_stdout) {
    const Outcome help = run("--help");
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Usage: sample"), std::string::npos);
    EXPECT_EQ(help.err, "");
    EXPECT_EQ(run("version").code, 0);
}

TEST_F(SampleProgram, ends_with_2_when_its_words_are_wrong) {
    for (const char* words :
         {"", "--freq 20k -- true", "report a b", "report --view tree x", "export --format svg x",
          "doctor me", "diff a", "attach --freq off 1"}) {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, 2) << words;
        EXPECT_EQ(outcome.out, "") << words;
        EXPECT_TRUE(outcome.err.starts_with("sample: ")) << words;
        EXPECT_NE(outcome.err.find("\nTry: sample"), std::string::npos) << words;
    }
}

TEST_F(SampleProgram, takes_the_newest_recording_where_none_is_named) {
    const auto set_age = [this](const char* name, int hours) {
        std::filesystem::last_write_time(
            path(name), std::filesystem::file_time_type::clock::now() - std::chrono::hours{hours});
    };
    const Outcome none = run("report");
    EXPECT_EQ(none.code, 1);
    EXPECT_NE(none.err.find("make one with sample -- COMMAND"), std::string::npos) << none.err;
    record("a.utrace");
    record("b.utrace", false);
    write("c.txt", "");
    set_age("a.utrace", 1);
    set_age("b.utrace", 2);
    EXPECT_EQ(run("report").err, "sample: the newest recording here is a.utrace\n");
    for (const char* words : {"report", "export --format json", "annotate 0x2000"}) {
        EXPECT_EQ(run(words).out, run(std::string{words} + " a.utrace").out) << words;
    }
    set_age("b.utrace", 0);
    EXPECT_EQ(run("report").out, run("report b.utrace").out);
    EXPECT_EQ(run("report ''").code, 2);
    EXPECT_EQ(run("diff").code, 2);
}

TEST_F(SampleProgram, shows_every_view_of_a_recording) {
    record("a.utrace");
    for (const std::string view :
         {"summary", "callgraph", "callers", "functions", "threads", "stats"}) {
        const Outcome text = run("report --view " + view + " a.utrace");
        EXPECT_EQ(text.code, 0) << text.err;
        EXPECT_EQ(text.err, "");
        EXPECT_NE(text.out.find("./app --fast  00:00:01.100"), std::string::npos) << text.out;
        const Outcome json = run("report --json --view " + view + " a.utrace");
        EXPECT_EQ(json.code, 0);
        EXPECT_FALSE(Json::parse(json.out, nullptr, false).is_discarded()) << view;
    }
    const Outcome functions = run("report --view functions a.utrace");
    EXPECT_NE(functions.out.find("   600.000  60.0 %    600.000  60.0 %        600  app+0x2000"),
              std::string::npos)
        << functions.out;
    EXPECT_NE(run("report a.utrace").out.find("killed by SIGSEGV (11)"), std::string::npos);
}

TEST_F(SampleProgram, applies_the_choice_of_what_to_show) {
    record("a.utrace");
    const Json focus = Json::parse(
        run("report --json --view callgraph --focus app+0x2000 a.utrace").out, nullptr, false);
    EXPECT_EQ(focus.at("total_us"), 600'000);
    const Json callers = Json::parse(
        run("report --json --view callers --focus app+0x2000 a.utrace").out, nullptr, false);
    EXPECT_EQ(callers.at("total_us"), 600'000);
    EXPECT_EQ(callers.at("nodes").at(2).at("name"), "app+0x1000") << callers;
    const Outcome average = run("report --view callgraph --average 1m a.utrace");
    EXPECT_NE(average.out.find("×54.5"), std::string::npos) << average.out;
    const Outcome search = run("report --view functions --search 0x1000 a.utrace");
    EXPECT_EQ(search.out.find("app+0x2000"), std::string::npos);
    for (const char* words :
         {"--focus nobody", "--view callers --focus nobody", "--search nothing"}) {
        const Outcome none = run(std::string{"report "} + words + " a.utrace");
        EXPECT_EQ(none.code, 1);
        EXPECT_NE(none.err.find("--view functions lists the names"), std::string::npos);
    }
}

TEST_F(SampleProgram, refuses_choices_that_a_view_of_what_was_said_cannot_heed) {
    record("a.utrace");
    for (const std::string view : {"zones", "frames", "counters", "events", "log", "memory"}) {
        for (const char* words :
             {"--focus main", "--category thread", "--fold recursion", "--hide memory", "--lines",
              "--average 1s", "--net", "--module app", "--in-zone load", "--by zone", "--unit %",
              "--min 1", "--names short"}) {
            const Outcome outcome = run("report --view " + view + " " + words + " a.utrace");
            EXPECT_EQ(outcome.code, 1) << view << " " << words << outcome.out;
            EXPECT_NE(outcome.err.find(" out for zones"), std::string::npos)
                << view << " " << words << outcome.err;
        }
    }
    EXPECT_NE(run("report --view memory --from 1ms a.utrace").err.find("of the whole recording"),
              std::string::npos);
}

TEST_F(SampleProgram, says_what_makes_a_large_export_smaller) {
    // One function with a long name that calls itself: a name for each frame's begin.
    constexpr int kDepth = 110;
    Json nodes = Json::array();
    for (int i = 0; i <= kDepth; ++i) {
        nodes.push_back({{"TotalDuration", 1000}});
        if (i < kDepth) {
            nodes.back().update({{"FunctionIds", {1}}, {"NodeIds", {i + 2}}});
        }
    }
    const Json function{{"Name", std::string(1'000'000, 'f')}, {"TotalDuration", 1000}};
    write("deep.json", Json{{"Version", 2},
                            {"SessionStartTime", 0},
                            {"SessionEndTime", 1},
                            {"Categories", {{{"Name", "main"}, {"NodeId", 1}}}},
                            {"Nodes", nodes},
                            {"Functions", {function}}}
                           .dump());
    const Outcome large = run("export --format folded -o /dev/null deep.json");
    EXPECT_EQ(large.code, 0) << large.err;
    EXPECT_TRUE(large.err.starts_with("sample: /dev/null has 110 MB.")) << large.err;
    EXPECT_NE(large.err.find("--fold recursion"), std::string::npos) << large.err;
    const Outcome folded = run("export --format folded --fold recursion -o /dev/null deep.json");
    EXPECT_EQ(folded.code, 0);
    EXPECT_EQ(folded.err, "");
}

/// A process that execs after 500 samples of 1 ms, and has 500 more: its ids stay.
void record_an_exec(const std::string& path) {
    trace::SessionStart session;
    session.start_ns = 5'000'000'000;
    session.period = 1'000'000;
    session.requested_hz = 1000;
    auto writer = trace::TestWriter::create(
        Fd{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)}, session);
    ASSERT_TRUE(writer.has_value());
    writer->record(trace::Module{ModuleId{1}, trace::ModuleKind::elf, false, "/nonexistent/a", {}});
    for (const std::uint32_t id : {1U, 2U}) {
        const std::uint64_t start_ns = session.start_ns + std::uint64_t{500'000'000} * (id - 1);
        trace::Process process;
        process.id = ProcessId{id};
        process.pid = 100;
        process.start_ns = start_ns;
        process.executable = id == 1 ? "/bin/before" : "/bin/after";
        writer->record(process);
        writer->record(trace::Thread{ThreadId{id}, ProcessId{id}, 100, start_ns, "main"});
        const NodeId node = writer->node(NodeId{}, ModuleId{1}, 0x1000 * std::uint64_t{id});
        for (std::uint64_t i = 1; i <= 500; ++i) {
            writer->sample({ThreadId{id}, start_ns + i * 1'000'000, node, 1'000'000});
        }
        trace::ProcessEnd end;
        end.id = ProcessId{id};
        end.kind = id == 1 ? trace::EndKind::replaced : trace::EndKind::exited;
        writer->record(end);
    }
    ASSERT_TRUE(writer->finish({session.start_ns + 1'100'000'000, false, {}}).has_value());
}

TEST_F(SampleProgram, exports_timers_of_the_process_that_was_chosen_behind_an_exec) {
    record_an_exec(path("exec.utrace"));
    const Outcome outcome = run("export --format utrace --process after -o b.utrace exec.utrace");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto zones_of = [this](const std::string& process) {
        return Json::parse(run("report --view zones --json --process " + process + " b.utrace").out)
            .at("zones");
    };
    EXPECT_EQ(zones_of("before"), Json::array());
    ASSERT_EQ(zones_of("after").size(), 1U);
    EXPECT_EQ(zones_of("after").at(0).at("name"), "a+0x2000");
}

TEST_F(SampleProgram, chooses_threads_processes_and_modules) {
    record("a.utrace");
    const Outcome chosen = run("report --thread app --process 100 --module app a.utrace");
    EXPECT_EQ(chosen.out, run("report a.utrace").out) << chosen.err;
    for (const char* verb : {"report", "export --format folded", "annotate 0x2000"}) {
        const Outcome none = run(std::string{verb} + " --module '[kernel]' a.utrace");
        EXPECT_EQ(none.code, 1);
        EXPECT_NE(none.err.find("no module with samples is called '[kernel]': choose one of app\n"),
                  std::string::npos)
            << none.err;
    }
    write("a.folded", "main;f 2\n");
    EXPECT_NE(run("report --thread app a.folded").err.find("need a recording"), std::string::npos);
}

TEST_F(SampleProgram, knows_its_own_nodes) {
    record("a.utrace");
    const std::string expected =
        "[kernel, caller unseen] has neither source nor instructions: it stands for time inside";
    EXPECT_NE(run("annotate '[kernel, caller unseen]' a.utrace").err.find(expected),
              std::string::npos);
    EXPECT_NE(run("report --focus '[memory]' a.utrace").err.find("there is no [memory] here: it"),
              std::string::npos);
    const Outcome hottest = run("annotate a.utrace");
    EXPECT_EQ(hottest.code, 1);
    EXPECT_NE(hottest.err.find("name a FUNCTION to see its instructions"), std::string::npos)
        << hottest.err;
}

TEST_F(SampleProgram, reads_its_own_json_back) {
    record("a.utrace");
    ASSERT_EQ(run("export --format json -o a.json a.utrace").code, 0);
    const Outcome from_json = run("report --view callgraph a.json");
    EXPECT_EQ(from_json.code, 0) << from_json.err;
    EXPECT_NE(from_json.out.find("   600.000  60.0 %    600.000  60.0 %"), std::string::npos)
        << from_json.out;
    EXPECT_EQ(run("export --format json a.json").out, content("a.json"));
    EXPECT_EQ(run("report --category process a.json").code, 1);
}

TEST_F(SampleProgram, exports_whole_private_files) {
    record("a.utrace");
    const Outcome to_stdout = run("export --format folded a.utrace");
    EXPECT_EQ(to_stdout.code, 0);
    EXPECT_NE(to_stdout.out.find("app+0x1000;app+0x2000 600000\n"), std::string::npos)
        << to_stdout.out;
    ASSERT_EQ(run("export --format folded -o a.folded a.utrace").code, 0);
    EXPECT_EQ(content("a.folded"), to_stdout.out);
    struct stat info {};
    ASSERT_EQ(::stat(path("a.folded").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    const Outcome again = run("export --format folded -o a.folded a.utrace");
    EXPECT_EQ(again.code, 1);
    EXPECT_NE(again.err.find("--force"), std::string::npos);
    EXPECT_EQ(run("export --format folded --force -o a.folded a.utrace").code, 0);
}

TEST_F(SampleProgram, reports_a_full_disk) {
    record("a.utrace");
    for (const char* words :
         {"export --format json a.utrace >/dev/full", "export --format json -o /dev/full a.utrace",
          "report a.utrace >/dev/full"}) {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, 1) << words;
        EXPECT_NE(outcome.err.find("No space left on device"), std::string::npos) << words;
    }
}

TEST_F(SampleProgram, says_that_there_is_no_standard_output) {
    record("a.utrace");
    const Outcome outcome = run("report a.utrace >&-");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("Bad file descriptor"), std::string::npos) << outcome.err;
}

TEST_F(SampleProgram, is_quiet_when_its_reader_has_gone) {
    record("a.utrace");
    // One without a reader, which the shell inherits.
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    ::close(ends[0]);
    const Fd output{::fcntl(ends[1], F_DUPFD, 3)};
    ::close(ends[1]);
    for (const char* words :
         {"report", "export --format utrace", "export --format folded", "export --format html"}) {
        const Outcome outcome =
            run(std::string{words} + " a.utrace >&" + std::to_string(output.get()));
        EXPECT_EQ(outcome.code, 0) << words;
        EXPECT_EQ(outcome.err, "") << words;
    }
}

TEST_F(SampleProgram, shows_a_recording_without_its_end) {
    record("a.utrace", false);
    const Outcome outcome = run("report a.utrace");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("the recording ends before its session"), std::string::npos)
        << outcome.out;
    EXPECT_EQ(Json::parse(run("report --view stats --json a.utrace").out).at("whole"), false);
}

TEST_F(SampleProgram, stands_a_recording_cut_off_anywhere) {
    record("a.utrace");
    const std::string whole = content("a.utrace");
    for (std::size_t size = 1; size < whole.size(); size += 1 + whole.size() / 40) {
        write("cut.utrace", whole.substr(0, size));
        const Outcome outcome = run("report --view stats --json cut.utrace");
        EXPECT_TRUE(outcome.code == 0 || outcome.code == 1) << size << outcome.err;
        if (outcome.code == 0) {
            EXPECT_EQ(Json::parse(outcome.out).at("whole"), false) << size;
        } else {
            EXPECT_NE(outcome.err.find("cut.utrace"), std::string::npos) << outcome.err;
        }
    }
}

TEST_F(SampleProgram, says_what_is_wrong_with_a_file_and_what_to_do) {
    write("empty", "");
    write("cut", "2");
    write("text", "hello\n");
    write("json", "{\"Version\": 3}");
    const std::pair<const char*, const char*> cases[] = {
        {"missing", "missing does not exist: make a recording with sample -o missing -- COMMAND"},
        {"empty", "empty is empty: nothing was recorded into it; record again"},
        {"cut", "cut holds '2' alone: if it was a recording of sample, it was cut off before any"},
        {"text", "text is no recording of sample, and cannot be imported: text, but neither JSON"},
        {"json",
         "json is no recording of sample, and cannot be imported: json: version 3 of the format"},
        {".", ". is a directory: name a recording in it"},
        {"/dev/null", "/dev/null is not a regular file"},
    };
    for (const auto& [file, message] : cases) {
        for (const char* verb : {"report ", "export --format json "}) {
            const Outcome outcome = run(std::string{verb} + file);
            EXPECT_EQ(outcome.code, 1) << file;
            EXPECT_EQ(outcome.out, "") << file;
            EXPECT_TRUE(outcome.err.starts_with(std::string{"sample: "} + message)) << outcome.err;
        }
    }
}

TEST_F(SampleProgram, compares_two_files) {
    record("a.utrace");
    record("b.utrace");
    const Outcome text = run("diff --fail-above 0 a.utrace b.utrace");
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_NE(text.out.find("no function is surely worse or better"), std::string::npos);
    const Outcome averaged = run("diff --average 10m --json a.utrace b.utrace");
    EXPECT_EQ(averaged.code, 0) << averaged.err;
    const Json json = Json::parse(averaged.out, nullptr, false);
    // 600 s instead of 1.1 s; the noise is that of the thousand samples that there are.
    EXPECT_EQ(json["whole"]["a_us"], 545'454'545);
    EXPECT_GT(json["whole"]["high"].get<double>(), 0.08 * 545'454'545);
}

TEST_F(SampleProgram, has_an_exit_code_for_what_became_worse) {
    record("a.utrace");
    ASSERT_EQ(run("export --format json -o a.json a.utrace").code, 0);
    std::string text = content("a.json");
    const auto replace_all = [&text](const std::string& from, const std::string& to) {
        for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
            text.replace(at, from.size(), to);
            at += to.size();
        }
    };
    // Of a thousand samples of 1 ms, those of the inner function become 1200.
    replace_all("\"TotalDuration\":1000000", "\"TotalDuration\":1600000");
    replace_all("\"TotalDuration\":600000", "\"TotalDuration\":1200000");
    replace_all("\"Samples\":1000", "\"Samples\":1600");
    replace_all("\"Samples\":600", "\"Samples\":1200");
    write("b.json", text);
    const Outcome worse = run("diff --fail-above 5% a.json b.json");
    EXPECT_EQ(worse.code, 3) << worse.out << worse.err;
    EXPECT_NE(worse.err.find("% of A's whole: --fail-above allows 5.0 %"), std::string::npos)
        << worse.err;
    EXPECT_EQ(run("diff a.json b.json").code, 0) << "no gate";
    EXPECT_EQ(run("diff --fail-above 5% b.json a.json").code, 0);
    replace_all("\"Samples\"", "\"Unknown\"");
    write("without.json", text);
    const Outcome unknown = run("diff --fail-above 5% a.json without.json");
    EXPECT_EQ(unknown.code, 1);
    EXPECT_NE(unknown.err.find("needs the numbers of samples, which without.json does not have"),
              std::string::npos)
        << unknown.err;
    EXPECT_EQ(run("diff a.json without.json").code, 0);
}

TEST_F(SampleProgram, compares_nothing_that_cannot_be_compared) {
    record("a.utrace");
    EXPECT_EQ(run("diff a.utrace missing.utrace").code, 1);
    EXPECT_EQ(run("diff --search nothing.like.it a.utrace a.utrace").code, 1);
    ASSERT_EQ(run("export --format json -o a.json a.utrace").code, 0);
    std::string faults = content("a.json");
    faults.replace(faults.find('{') + 1, 0, R"("Event":"page-faults","Unit":"page-faults",)");
    write("faults.json", faults);
    const Outcome other = run("diff a.json faults.json");
    EXPECT_EQ(other.code, 1);
    EXPECT_NE(other.err.find("a.json is in time, faults.json in page-faults"), std::string::npos)
        << other.err;
}

TEST_F(SampleProgram, knows_its_machine) {
    const Outcome text = run("doctor");
    EXPECT_EQ(text.code, 0);
    EXPECT_NE(text.out.find("--source auto takes"), std::string::npos);
    const Json json = Json::parse(run("doctor --json").out, nullptr, false);
    EXPECT_TRUE(json.at("auto_source").is_string());
}

TEST_F(SampleProgram, writes_plain_text_into_a_pipe_unless_told) {
    record("a.utrace");
    EXPECT_EQ(run("report --view callgraph a.utrace").out.find('\x1b'), std::string::npos);
    EXPECT_NE(run("report --view callgraph --color=always a.utrace").out.find('\x1b'),
              std::string::npos);
}

TEST_F(SampleProgram, shows_each_metric_of_a_recording) {
    Fd file{::open(path("two.utrace").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    trace::SessionStart session;
    session.period = 1'000'000;
    session.requested_hz = 1000;
    auto writer = trace::TestWriter::create(std::move(file), session);
    ASSERT_TRUE(writer);
    const MetricId bytes{2};
    writer->record(trace::Metric{bytes, "allocated", "bytes", "what malloc was asked for"});
    writer->record(trace::Process{ProcessId{1}, 100, 1, 0, "/usr/bin/app", "app", "sigtrap", ""});
    writer->record(trace::Thread{ThreadId{1}, ProcessId{1}, 100, 0, "app"});
    writer->record(
        trace::Module{ModuleId{1}, trace::ModuleKind::elf, false, "/nonexistent/app", {}});
    const NodeId node = writer->node(NodeId{}, ModuleId{1}, 0x1000);
    writer->sample({ThreadId{1}, 1'000'000, node, 1'000'000});
    writer->sample({ThreadId{1}, 1'000'000, node, 4096, false, bytes});
    ASSERT_TRUE(writer->finish({2'000'000, false, ""}));

    const Outcome own = run("report --view stats --json two.utrace");
    EXPECT_EQ(Json::parse(own.out).at("sampled_us"), 1000);
    const Outcome other = run("report --metric allocated --view stats --json two.utrace");
    ASSERT_EQ(other.code, 0) << other.err;
    EXPECT_EQ(Json::parse(other.out).at("unit"), "bytes");
    EXPECT_EQ(Json::parse(other.out).at("sampled_count"), 4096);
    EXPECT_NE(run("report --metric allocated two.utrace").out.find("4,096 bytes"),
              std::string::npos);
    const Outcome all = run("export --format speedscope two.utrace");
    ASSERT_EQ(all.code, 0) << all.err;
    const Json profiles = Json::parse(all.out).at("profiles");
    ASSERT_EQ(profiles.size(), 2U);
    EXPECT_EQ(profiles[0].at("unit"), "nanoseconds");
    EXPECT_EQ(profiles[0].at("endValue"), 1'000'000);
    EXPECT_EQ(profiles[1].at("metric"), "allocated");
    EXPECT_EQ(profiles[1].at("unit"), "bytes");
    EXPECT_EQ(profiles[1].at("endValue"), 4096);
    const Outcome one = run("export --format speedscope --metric allocated two.utrace");
    EXPECT_EQ(Json::parse(one.out).at("profiles").size(), 1U);
    EXPECT_EQ(Json::parse(one.out).at("profiles")[0].at("endValue"), 4096);
    EXPECT_EQ(run("export --format folded two.utrace").out,
              run("export --format folded --metric cpu two.utrace").out);
    const Outcome wrong = run("report --metric locks two.utrace");
    EXPECT_EQ(wrong.code, 1);
    EXPECT_NE(wrong.err.find("has no metric 'locks': choose one of cpu, allocated"),
              std::string::npos)
        << wrong.err;
    write("app.folded", "main;work 3\n");
    EXPECT_NE(run("report --metric cpu app.folded").err.find("--metric needs a recording"),
              std::string::npos);
}

/// What bash's completion offers for the last of `words`, which are as readline takes them apart.
class BashCompletion : public SampleProgram {
protected:
    [[nodiscard]] std::string offered(const std::string& words) const {
        write("complete.bash", std::string{"source '"} + built::kCompletions +
                                   "/sample.bash'\nCOMP_WORDS=('" + built::kSample + "' " + words +
                                   ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_sample '" +
                                   built::kSample +
                                   "' 2>/dev/null\necho \"${COMPREPLY[*]}\" >out\n");
        static_cast<void>(run("version && bash --norc complete.bash"));
        return content("out");
    }
};

TEST_F(BashCompletion, offers_values_behind_a_sign_that_readline_takes_for_a_word) {
    EXPECT_EQ(offered("report --view = ca"), "callgraph callers\n");
    EXPECT_EQ(offered("report --view ="),
              "summary callgraph callers functions threads stats zones frames counters log memory "
              "events\n");
    EXPECT_EQ(offered("report --view callg"), "callgraph\n");
    EXPECT_EQ(offered("report --view=callg"), "--view=callgraph\n") << "where readline does not";
    EXPECT_EQ(offered("--export = html"), "html=\n");
    EXPECT_EQ(offered("--export html"), "html=\n");
    EXPECT_EQ(offered("report --vi"), "--view\n");
}

TEST_F(BashCompletion, offers_verbs_before_commands) {
    EXPECT_TRUE(offered("''").starts_with("record attach top report annotate diff"));
    EXPECT_EQ(offered("''").find(" ls"), std::string::npos) << "too many";
    EXPECT_TRUE(offered("ex").starts_with("export "));
    EXPECT_NE(offered("ex").find(" expr"), std::string::npos);
    EXPECT_NE(offered("--quiet exp").find("expr"), std::string::npos);
}

}  // namespace
}  // namespace sample::cli
