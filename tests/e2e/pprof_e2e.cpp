// Go's pprof reads our pprof exports: every function with the figures that `sample report` has.
#include "reported.h"
#include "session.h"
#include "terminal.h"
#include "tests/built.h"
#include "tests/export/pprof_file.h"

#include <sys/wait.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

namespace sample::e2e {
namespace {

using Json = nlohmann::json;

class ReadByPprof : public Session {
protected:
    [[nodiscard]] std::filesystem::path exported() const { return file("r.pb.gz"); }

    void export_with(const Words& options = {}) const {
        Words words{"export", "--force", "--format", "pprof", "-o", exported()};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(recording());
        const Outcome outcome = sample(words);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    }

    /// What `go tool pprof OPTIONS` prints of the export: nothing is left out for being small, and
    /// times are in nanoseconds.
    [[nodiscard]] std::string pprof(const Words& options, const std::string& unit = "ns") const {
        Words words{"go",
                    "tool",
                    "pprof",
                    "-nodecount=100000",
                    "-nodefraction=0",
                    "-edgefraction=0",
                    "-unit=" + unit};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(exported());
        const Outcome outcome = run_here(words, {.settings = {{"HOME", file("")}}});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return outcome.out;
    }

    [[nodiscard]] Shown top(const std::string& unit = "ns") const {
        static const std::regex row{R"(^ *(\d+)\D*\s+\S+%?\s+\S+%\s+(\d+)\D*\s+\S+%\s+(.*)$)"};
        static const std::regex mark{R"( \((partial-)?inline\)$)"};
        std::istringstream lines{pprof({"-top"}, unit)};
        Shown shown;
        std::smatch match;
        for (std::string line; std::getline(lines, line);) {
            if (std::regex_match(line, match, row)) {
                const std::string name = std::regex_replace(match[3].str(), mark, "");
                shown[name] = {std::stoull(match[1]), std::stoull(match[2])};
            }
        }
        return shown;
    }

    void expect_reports_figures(const Words& options = {}) const {
        export_with(options);
        expect_same_figures(top(), reported_functions(recording(), options, label_of), 1000,
                            is_averaged(options));
        const exports::PprofFile read = validated();
        std::int64_t sum = 0;
        for (const auto& each : read.samples) {
            sum += each.values.at(1);
        }
        EXPECT_NE(pprof({"-top"}).find("Total samples = " + std::to_string(sum) + "ns"),
                  std::string::npos);
    }

    [[nodiscard]] exports::PprofFile validated() const {
        std::ifstream stream{exported(), std::ios::binary};
        const std::string bytes{std::istreambuf_iterator<char>{stream}, {}};
        Result<exports::PprofFile> read = exports::read_pprof(bytes);
        EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message());
        return read ? std::move(*read) : exports::PprofFile{};
    }

    [[nodiscard]] Json json_of(const Words& words) const {
        const Outcome outcome = sample(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return Json::parse(outcome.out);
    }
};

TEST_F(ReadByPprof, top_has_the_reports_figures) {
    ASSERT_EQ(record({target("two_loops"), "0.3"}).exit_code, 0);
    expect_reports_figures();
    expect_reports_figures({"--average", "1s"});
    expect_reports_figures({"--names", "short", "--hide", "gc"});
}

TEST_F(ReadByPprof, it_comes_back_as_it_was) {
    ASSERT_EQ(record({target("two_loops"), "0.2"}).exit_code, 0);
    export_with();
    const auto reported = reported_functions(recording(), {}, label_of);
    EXPECT_TRUE(reported == reported_functions(exported(), {}, label_of))
        << "`sample report` says something else of the export";
}

TEST_F(ReadByPprof, recursion_counts_once) {
    ASSERT_EQ(record({target("fib"), "27", "20"}).exit_code, 0);
    expect_reports_figures();
}

TEST_F(ReadByPprof, wall_time_and_events) {
    ASSERT_EQ(
        sample({"--quiet", "--clock", "wall", "-o", recording(), "--", target("two_loops"), "0.3"})
            .exit_code,
        0);
    expect_reports_figures();
    ASSERT_EQ(sample({"--quiet", "--force", "--event", "page-faults", "-o", recording(), "--",
                      target("allocs"), "0.1"})
                  .exit_code,
              0);
    export_with();
    expect_same_figures(top("page-faults"), reported_functions(recording(), {}, label_of), 1);
}

TEST_F(ReadByPprof, traces_have_every_stack) {
    ASSERT_EQ(record({target("two_loops"), "0.3"}).exit_code, 0);
    export_with();
    static const std::regex weight{R"(^ *(\d+)ns +\S.*$)"};
    std::istringstream lines{pprof({"-traces"})};
    std::uint64_t sum = 0;
    std::size_t stacks = 0;
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_match(line, match, weight)) {
            sum += std::stoull(match[1]);
            ++stacks;
        }
    }
    const Json report = json_of({"report", "--view", "functions", "--json", recording()});
    EXPECT_EQ(sum / 1000, report.at("total_us").get<std::uint64_t>());
    EXPECT_EQ(stacks, validated().samples.size());
}

TEST_F(ReadByPprof, peek_has_callers_and_callees) {
    ASSERT_EQ(record({target("two_loops"), "0.3"}).exit_code, 0);
    export_with();
    const auto reported = reported_functions(recording(), {}, label_of);
    const std::string inner = "(anonymous namespace)::inlined_work(unsigned long)";
    const std::string outer = "(anonymous namespace)::two_loops(unsigned long)";
    const std::string text = pprof({"-peek", "two_loops"});
    static const std::regex edge{R"(^ *(\d+)ns +\S+% \|   (.*)$)"};
    std::map<std::string, std::uint64_t> edges;
    std::istringstream lines{text};
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_match(line, match, edge)) {
            edges[match[2]] = std::stoull(match[1]) / 1000;
        }
    }
    EXPECT_EQ(edges["main"], reported.at(outer).total) << text;
    EXPECT_EQ(edges[inner + " (inline)"], reported.at(inner).total) << text;
}

TEST_F(ReadByPprof, list_has_the_lines_figures) {
    ASSERT_EQ(record({target("two_loops"), "0.3"}).exit_code, 0);
    export_with();
    const Json annotated = json_of({"annotate", "--json", "two_loops", recording()});
    std::map<int, std::pair<std::uint64_t, std::uint64_t>> expected;
    for (const Json& line : annotated.at("lines")) {
        const auto self = line.at("self_us").get<std::uint64_t>();
        const auto total = line.at("total_us").get<std::uint64_t>();
        if (total != 0) {
            expected[line.at("line").get<int>()] = {self, total};
        }
    }
    ASSERT_GT(expected.size(), 1U);
    const std::string text =
        pprof({std::string{"-source_path="} + built::kTargetSources, "-list", "::two_loops"});
    static const std::regex row{R"(^ *(\d+ns|\.) +(\d+)ns +(\d+):.*$)"};
    std::map<int, std::pair<std::uint64_t, std::uint64_t>> shown;
    std::istringstream lines{text};
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_match(line, match, row)) {
            const std::uint64_t self = match[1] == "." ? 0 : std::stoull(match[1]);
            shown[std::stoi(match[3])] = {self / 1000, std::stoull(match[2]) / 1000};
        }
    }
    EXPECT_EQ(shown, expected) << text;
    EXPECT_NE(text.find("// Line: first loop."), std::string::npos) << text;
}

TEST_F(ReadByPprof, threads_have_their_own_samples) {
    ASSERT_EQ(record({target("threads"), "4", "0.1"}).exit_code, 0);
    expect_reports_figures();
    std::map<std::int64_t, std::uint64_t> weight_of;
    std::map<std::int64_t, std::uint64_t> samples_of;
    for (const auto& each : validated().samples) {
        weight_of[each.numbers.at("tid")] += static_cast<std::uint64_t>(each.values.at(1));
        samples_of[each.numbers.at("tid")] += static_cast<std::uint64_t>(each.values.at(0));
    }
    const Json threads = json_of({"report", "--view", "threads", "--json", recording()});
    EXPECT_GE(threads.at("threads").size(), 4U);
    for (const Json& thread : threads.at("threads")) {
        const auto tid = thread.at("tid").get<std::int64_t>();
        EXPECT_EQ(weight_of[tid] / 1000, thread.at("cpu_us").get<std::uint64_t>()) << tid;
        EXPECT_EQ(samples_of[tid], thread.at("samples").get<std::uint64_t>()) << tid;
    }
}

TEST_F(ReadByPprof, comments_and_the_program_are_shown) {
    ASSERT_EQ(record({target("two_loops"), "0.1"}).exit_code, 0);
    export_with();
    const std::string text = pprof({"-top"});
    EXPECT_NE(text.find("File: two_loops\nBuild ID: "), std::string::npos) << text;
    EXPECT_NE(text.find("command: " + target("two_loops") + " 0.1"), std::string::npos) << text;
    EXPECT_NE(text.find("samples lost: 0"), std::string::npos) << text;
    EXPECT_NE(text.find("Type: cpu"), std::string::npos) << text;
}

TEST(PprofExport, is_not_written_to_a_terminal) {
    Terminal terminal{{sample_path(), "export", "--format", "pprof", "any.utrace"}};
    const int status = terminal.finish();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << terminal.text();
    EXPECT_NE(terminal.text().find("add -o FILE"), std::string::npos) << terminal.text();
}

}  // namespace
}  // namespace sample::e2e
