// callgrind_annotate reads our callgrind exports: every function with the figures that `sample
// report` has, recursion and inlined functions included.
#include "reported.h"
#include "session.h"

#include <algorithm>
#include <cstdint>
#include <regex>
#include <sstream>
#include <string>

namespace sample::e2e {
namespace {

using Json = nlohmann::json;

/// "file:function", as callgrind_annotate has it.
std::string annotate_name(const Json& function) {
    const auto source = function.at("source").get<std::string>();
    const bool is_module = source == function.at("module").get<std::string>();
    return (is_module || source.empty() ? "???" : source) + ":" + label_of(function);
}

class ReadByCallgrindAnnotate : public Session {
protected:
    [[nodiscard]] std::filesystem::path exported() const { return file("callgrind.out.1"); }

    void export_with(const Words& options) const {
        Words words{"export", "--force", "--format", "callgrind", "-o", exported()};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(recording());
        const Outcome outcome = sample(words);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    }

    [[nodiscard]] std::string annotate(const Words& options) const {
        Words words{"callgrind_annotate", "--threshold=100", "--auto=no", "--show-percs=no"};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(exported());
        // Perl complains where the locale of the environment is not installed.
        const Outcome outcome = run_here(words, {.settings = {{"LC_ALL", "C"}}});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "") << "it has nothing to complain of";
        return outcome.out;
    }

    /// The first figure of each function.
    [[nodiscard]] std::map<std::string, std::uint64_t> figures(const std::string& inclusive) const {
        static const std::regex row{
            R"(^ *([\d,]+|\.) +([\d,]+|\.)  (.*?)( \[(\[\w+\]|[^\]]*)\])?$)"};
        std::istringstream lines{annotate({"--inclusive=" + inclusive})};
        std::map<std::string, std::uint64_t> result;
        std::smatch match;
        for (std::string line; std::getline(lines, line);) {
            if (std::regex_match(line, match, row) && match[3] != "PROGRAM TOTALS") {
                std::string digits = match[1];
                std::erase(digits, ',');
                result[match[3]] = digits == "." ? 0 : std::stoull(digits);
            }
        }
        return result;
    }

    void expect_reports_figures(const Words& options = {}, std::uint64_t divisor = 1000) const {
        export_with(options);
        const auto selves = figures("no");
        Shown shown;
        for (const auto& [name, total] : figures("yes")) {
            if (!name.starts_with("[category]:")) {
                const auto self = selves.find(name);
                shown[name] = {self == selves.end() ? 0 : self->second, total};
            }
        }
        expect_same_figures(shown, reported_functions(recording(), options, annotate_name), divisor,
                            is_averaged(options));
    }
};

TEST_F(ReadByCallgrindAnnotate, figures_are_the_reports) {
    ASSERT_EQ(record({target("two_loops"), "0.3"}).exit_code, 0);
    expect_reports_figures();
    expect_reports_figures({"--average", "1s"});
    expect_reports_figures({"--fold", "inlined"});
}

TEST_F(ReadByCallgrindAnnotate, recursion_counts_once) {
    ASSERT_EQ(record({target("fib"), "27", "20"}).exit_code, 0);
    expect_reports_figures();
    ASSERT_EQ(sample({"--quiet", "--force", "--freq", "10k", "-o", recording(), "--",
                      target("recursion"), "300", "--rounds", "10"})
                  .exit_code,
              0);
    expect_reports_figures();
}

TEST_F(ReadByCallgrindAnnotate, threads_and_events) {
    ASSERT_EQ(record({target("threads"), "4", "0.1"}).exit_code, 0);
    expect_reports_figures();
    ASSERT_EQ(sample({"--quiet", "--force", "--event", "page-faults", "-o", recording(), "--",
                      target("allocs"), "0.1"})
                  .exit_code,
              0);
    expect_reports_figures({}, 1);
}

TEST_F(ReadByCallgrindAnnotate, tells_what_was_recorded) {
    ASSERT_EQ(record({target("two_loops"), "0.1"}).exit_code, 0);
    export_with({});
    const std::string text = annotate({"--tree=both"});
    EXPECT_NE(text.find("Profiled target:  " + target("two_loops") + " 0.1 (PID "),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("samples lost: 0\n"), std::string::npos) << text;
    EXPECT_NE(text.find("Events recorded:  Nanoseconds Samples\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace sample::e2e
