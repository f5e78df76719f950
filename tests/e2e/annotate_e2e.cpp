// `sample annotate` on a program whose hot lines are known, and on its recording alone.
#include "session.h"
#include "tests/built.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace sample::e2e {
namespace {

using Json = nlohmann::json;

class AnnotateRecorded : public Session {
protected:
    /// The line of two_loops.cpp that ends with "Line: NAME."
    static int line_of(const std::string& name) {
        std::ifstream source{std::string{built::kTargetSources} + "/two_loops.cpp"};
        int number = 1;
        for (std::string line; std::getline(source, line); ++number) {
            if (line.ends_with("// Line: " + name + ".")) {
                return number;
            }
        }
        ADD_FAILURE() << "no line is called " << name;
        return 0;
    }

    [[nodiscard]] Json annotate(const std::string& function, const Words& options = {}) const {
        Words words{"annotate", "--json"};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {function, recording()});
        const Outcome outcome = sample(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return Json::parse(outcome.out, nullptr, false);
    }

    /// Samples of the lines, by `member`.
    static std::map<int, double> by_line(const Json& annotation, const char* member) {
        std::map<int, double> result;
        for (const Json& line : annotation.at("lines")) {
            result[line.at("line").get<int>()] += line.at(member).get<double>();
        }
        return result;
    }

    static double sum_of_code(const Json& annotation, const char* member) {
        double sum = 0;
        for (const Json& code : annotation.at("code")) {
            for (const Json& instruction : code.at("instructions")) {
                sum += instruction.at(member).get<double>();
            }
        }
        return sum;
    }

    /// The program in the test's folder, so that it can be taken away.
    [[nodiscard]] std::filesystem::path copy_of_program() const {
        std::filesystem::copy_file(target("movable_loops"), file("two_loops"));
        return file("two_loops");
    }
    /// Its source, which only this test looks at.
    [[nodiscard]] static std::filesystem::path source() {
        return target("movable") + "/two_loops.cpp";
    }
};

/// How much of a loop lies on its head, in the line before, is the processor's to say.
double of_loop(std::map<int, double>& lines, int body) {
    return lines[body] + lines[body - 1];
}

TEST_F(AnnotateRecorded, lines_have_their_shares) {
    ASSERT_EQ(record({target("two_loops"), "1"}).exit_code, 0);
    const Json made = annotate("two_loops");
    const double samples = made.at("samples").get<double>();
    ASSERT_GT(samples, 100);
    const Recording seen{recording()};
    const double tolerance = six_sigma(0.7, seen.effective_samples()) + 0.02;
    std::map<int, double> totals = by_line(made, "total_us");
    const double total = made.at("total_us").get<double>();
    EXPECT_NEAR(of_loop(totals, line_of("first loop")) / total, 0.7, tolerance);
    EXPECT_NEAR(totals[line_of("second loop")] / total, 0.3, tolerance) << "with what was inlined";

    const Json inlined = annotate("inlined_work");
    std::map<int, double> selves = by_line(inlined, "self_us");
    EXPECT_NEAR(of_loop(selves, line_of("inlined loop")) / inlined.at("self_us").get<double>(), 1,
                0.05);
    EXPECT_NE(inlined.at("code").at(0).at("function").get<std::string>().find("two_loops"),
              std::string::npos);
}

TEST_F(AnnotateRecorded, takes_the_hottest_function_of_the_newest_recording) {
    ASSERT_EQ(record({target("two_loops"), "0.3"}).exit_code, 0);
    const Json named = annotate("two_loops");
    EXPECT_EQ(Json::parse(sample({"annotate", "--json", "two_loops"}).out, nullptr, false), named);
    Json hottest = Json::parse(sample({"annotate", "--json"}).out, nullptr, false);
    EXPECT_NE(hottest["notes"].dump().find("no function was named: "), std::string::npos);
    hottest["notes"] = named.at("notes");
    EXPECT_EQ(hottest, named);
}

TEST_F(AnnotateRecorded, samples_add_up_to_those_of_the_report) {
    ASSERT_EQ(record({target("two_loops"), "0.3"}).exit_code, 0);
    const Outcome report = sample({"report", "--view", "functions", "--json", recording()});
    ASSERT_EQ(report.exit_code, 0) << report.err;
    const Json functions = Json::parse(report.out).at("functions");
    for (const char* const name : {"two_loops", "inlined_work"}) {
        const Json made = annotate(name);
        double lines = 0;
        for (const auto& [line, samples] : by_line(made, "self_samples")) {
            lines += samples;
        }
        EXPECT_EQ(lines, sum_of_code(made, "self_samples")) << name;
        bool is_found = false;
        for (const Json& function : functions) {
            if (function.at("name") == made.at("function")) {
                is_found = true;
                EXPECT_EQ(lines, function.at("self_samples").get<double>()) << name;
                EXPECT_EQ(made.at("self_us"), function.at("self_us")) << name;
                EXPECT_EQ(made.at("total_us"), function.at("total_us")) << name;
            }
        }
        EXPECT_TRUE(is_found) << name;
    }
}

TEST_F(AnnotateRecorded, the_recording_is_enough) {
    const std::filesystem::path program = copy_of_program();
    ASSERT_EQ(record({program, "0.3"}).exit_code, 0);
    const Json here = annotate("two_loops");
    ASSERT_GT(sum_of_code(here, "self_samples"), 0);
    std::filesystem::remove(program);
    const std::filesystem::path hidden = source().string() + ".away";
    std::filesystem::rename(source(), hidden);
    const Json away = annotate("two_loops");
    std::filesystem::rename(hidden, source());
    EXPECT_EQ(away, here);
    bool has_text = false;
    for (const Json& line : here.at("lines")) {
        has_text = has_text || (line.at("line") == line_of("first loop") &&
                                line.at("text").get<std::string>().find("6364136223846793005U") !=
                                    std::string::npos);
    }
    EXPECT_TRUE(has_text);
}

TEST_F(AnnotateRecorded, no_code_keeps_code_and_sources_out) {
    const std::filesystem::path program = copy_of_program();
    ASSERT_EQ(
        sample({"--quiet", "--freq", "10k", "--no-code", "-o", recording(), "--", program, "0.3"})
            .exit_code,
        0);
    const Json here = annotate("two_loops");
    EXPECT_GT(sum_of_code(here, "self_samples"), 0) << "read from this machine's files";
    std::filesystem::remove(program);
    const Json away = annotate("two_loops");
    EXPECT_EQ(away.at("code").size(), 0U);
    EXPECT_EQ(away.at("self_us"), here.at("self_us")) << "lines need no code";
    EXPECT_NE(away.at("notes").dump().find("neither in the recording nor on this machine"),
              std::string::npos)
        << away.at("notes");
}

TEST_F(AnnotateRecorded, text_shows_lines_and_instructions) {
    ASSERT_EQ(record({target("two_loops"), "0.3"}).exit_code, 0);
    const Outcome both = sample({"annotate", "two_loops", recording()});
    ASSERT_EQ(both.exit_code, 0) << both.err;
    EXPECT_NE(both.out.find("// Line: first loop."), std::string::npos) << both.out;
    EXPECT_NE(both.out.find("inlined_work two_loops.cpp:"), std::string::npos) << both.out;
    const Outcome lines = sample({"annotate", "--source", "--unit", "%", "two_loops", recording()});
    EXPECT_NE(lines.out.find("self %"), std::string::npos) << lines.out;
    EXPECT_EQ(lines.out.find(":  "), std::string::npos) << "no instructions: " << lines.out;
    const Outcome intel = sample({"annotate", "--asm", "--all", "--intel", "main", recording()});
    EXPECT_NE(intel.out.find("call   0x"), std::string::npos) << intel.out;
    EXPECT_EQ(intel.out.find("%r"), std::string::npos) << intel.out;
}

// Lines and inlined functions of a program that had none where it was recorded.
TEST_F(AnnotateRecorded, debug_files_that_come_later_are_used_if_asked_for) {
    static_cast<void>(copy_of_program());
    const Outcome split = run_here(
        {"sh", "-c",
         "mkdir -p \"debug$PWD\" && objcopy --only-keep-debug two_loops \"debug$PWD/it.debug\" && "
         "objcopy --strip-debug --add-gnu-debuglink=\"debug$PWD/it.debug\" two_loops"});
    ASSERT_EQ(split.exit_code, 0) << split.err;
    ASSERT_EQ(record({file("two_loops"), "0.3"}).exit_code, 0);
    const auto known_lines = [](const Json& made) {
        return std::count_if(made.at("lines").begin(), made.at("lines").end(),
                             [](const Json& line) { return line.at("line") != 0; });
    };
    EXPECT_EQ(known_lines(annotate("two_loops")), 0);
    EXPECT_EQ(known_lines(annotate("two_loops", {"--debug-dir", file("debug")})), 0)
        << "the recording's names go first";
    const Json made = annotate("two_loops", {"--resymbolize", "--debug-dir", file("debug")});
    EXPECT_GT(known_lines(made), 0);
    std::map<int, double> totals = by_line(made, "total_us");
    EXPECT_GT(of_loop(totals, line_of("first loop")), totals[line_of("second loop")]);
    EXPECT_EQ(sum_of_code(made, "self_samples"), made.at("self_samples").get<double>());
    EXPECT_NE(made.at("code").dump().find("inlined_work"), std::string::npos);
}

TEST_F(AnnotateRecorded, names_have_the_form_that_is_asked_for) {
    ASSERT_EQ(record({target("two_loops"), "0.3"}).exit_code, 0);
    const auto names_in = [](const Json& made) {
        return made.at("function").dump() + made.at("code").dump();
    };
    EXPECT_NE(names_in(annotate("two_loops")).find("inlined_work("), std::string::npos);
    const std::string brief = names_in(annotate("two_loops", {"--names", "short"}));
    EXPECT_NE(brief.find("{anonymous}::inlined_work\""), std::string::npos) << brief;
    EXPECT_EQ(brief.find("inlined_work("), std::string::npos) << brief;
    EXPECT_EQ(brief.find("two_loops("), std::string::npos) << brief;
    const Outcome whole = sample({"annotate", "--names", "full", "two_loops", recording()});
    EXPECT_NE(whole.out.find("inlined_work("), std::string::npos) << whole.out;
    EXPECT_EQ(sample({"annotate", "--names", "long", "two_loops", recording()}).exit_code, 2);
}

TEST_F(AnnotateRecorded, what_cannot_be_shown_is_an_error) {
    ASSERT_EQ(record({target("two_loops"), "0.1"}).exit_code, 0);
    const Outcome unknown = sample({"annotate", "no_such_function", recording()});
    EXPECT_EQ(unknown.exit_code, 1);
    EXPECT_NE(unknown.err.find("no_such_function"), std::string::npos) << unknown.err;
    const Outcome node = sample({"annotate", "[before sampling]", recording()});
    EXPECT_EQ(node.exit_code, 1);
    EXPECT_NE(node.err.find("it stands for time before the first sample"), std::string::npos)
        << node.err;
    EXPECT_EQ(sample({"annotate", "--asm", "--source", "two_loops", recording()}).exit_code, 2);
    std::ofstream{file("p.json")} << "{}";
    const Outcome json = sample({"annotate", "two_loops", file("p.json")});
    EXPECT_EQ(json.exit_code, 1);
    EXPECT_NE(json.err.find(".utrace"), std::string::npos) << json.err;
}

}  // namespace
}  // namespace sample::e2e
