// Compares our walk with the truth at every instruction of a program.
//
//     unwind_truth [--config NAME] [--expected FILE | --print-expected] [--env NAME=VALUE]...
//                  [--symbols FILE] [--from entry|loader] [--visits PLACE]...
//                  -- PROGRAM [ARGUMENT]...
//
// The program is single-stepped from its entry point (--from loader: from the process's first
// instruction) to its exit, with no environment but --env and what places its stack. Prints how
// many instructions were walked right, how many incompletely and how many wrongly, and the first
// example of each class that --expected does not list for the configuration
// (docs/unwinding-truth.md). --print-expected prints what table.py makes that table of instead.
// --visits demands that there was an instruction in a "module:function" that begins so. Exits 0 if
// all is as expected and the program exited with 0; 1 if not; 2 if the truth could not be told.
#include "tests/unwind/truth/expectations.h"
#include "tests/unwind/truth/session.h"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace sample::unwind::truth;  // NOLINT(google-build-using-namespace): one program

struct Arguments {
    Options options;
    std::string config = "program";
    std::string expected;
    std::vector<std::string> visits;
    bool print_expected = false;
    bool valid = true;
};

Arguments parse(const std::vector<std::string>& words) {
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--") {
            arguments.options.command.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                             words.end());
            break;
        }
        if (word == "--print-expected") {
            arguments.print_expected = true;
            continue;
        }
        const std::string value = i + 1 < words.size() ? words[++i] : "";
        if (word == "--config") {
            arguments.config = value;
        } else if (word == "--expected") {
            arguments.expected = value;
        } else if (word == "--env") {
            arguments.options.environment.push_back(value);
        } else if (word == "--symbols") {
            arguments.options.symbol_file = value;
        } else if (word == "--visits") {
            arguments.visits.push_back(value);
        } else if (word == "--from" && (value == "entry" || value == "loader")) {
            arguments.options.from_loader = value == "loader";
        } else {
            arguments.valid = false;
        }
    }
    arguments.valid = arguments.valid && !arguments.options.command.empty();
    return arguments;
}

void print_summary(std::FILE* to, const std::string& config, const Report& report) {
    std::fprintf(
        to,
        "%s: %lu instructions, %lu equal (%lu by a guess), %lu incomplete, %lu misguessed, %lu "
        "wrong; %lu calls, %lu returns, %lu signals, %lu jumps out, %lu stack switches, deepest "
        "%zu; of %lu frames %lu taken over by the memo\n",
        config.c_str(), report.instructions, report.equal, report.guessed, report.incomplete,
        report.misguessed, report.wrong, report.counts.calls, report.counts.returns,
        report.counts.signals, report.counts.jumps, report.counts.switches, report.counts.deepest,
        report.frames, report.taken_over);
}

/// One message for each place that was to be visited, and was not.
std::vector<std::string> check_visits(const Report& report,
                                      const std::vector<std::string>& places) {
    std::vector<std::string> messages;
    for (const std::string& place : places) {
        const auto visited = report.visited.lower_bound(place);
        if (visited == report.visited.end() || !visited->starts_with(place)) {
            messages.push_back(std::string{"not visited: "}.append(place).append("\n"));
        }
    }
    return messages;
}

bool has_succeeded(const Report& report) {
    using Event = sample::unwind::truth::Tracee::Event;
    if (report.end.event == Event::exited && report.end.detail == 0) {
        return true;
    }
    std::fprintf(stderr, "the program %s %d\n",
                 report.end.event == Event::exited ? "exited with status" : "died of signal",
                 report.end.detail);
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    const Arguments arguments = parse({argv + 1, argv + argc});
    if (!arguments.valid) {
        std::fprintf(stderr,
                     "usage: unwind_truth [--config NAME] [--expected FILE | --print-expected] "
                     "[--env NAME=VALUE]... [--symbols FILE] [--from entry|loader] "
                     "[--visits PLACE]... -- PROGRAM [ARGUMENT]...\n");
        return 2;
    }
    auto session = Session::start(arguments.options);
    if (!session) {
        std::fprintf(stderr, "unwind_truth: %s\n", session.error().message().c_str());
        return 2;
    }
    const auto report = (*session)->run();
    if (!report) {
        std::fprintf(stderr, "unwind_truth: %s\n", report.error().message().c_str());
        return 2;
    }
    if (arguments.print_expected) {
        print_summary(stderr, arguments.config, *report);
        std::fputs(expected_lines(arguments.config, *report).c_str(), stdout);
        return has_succeeded(*report) ? 0 : 1;
    }
    print_summary(stdout, arguments.config, *report);
    Expectations expectations;
    if (!arguments.expected.empty()) {
        auto read = Expectations::read(arguments.expected, arguments.config);
        if (!read) {
            std::fprintf(stderr, "unwind_truth: %s\n", read.error().message().c_str());
            return 2;
        }
        expectations = std::move(*read);
    }
    std::vector<std::string> messages = expectations.check(*report);
    for (std::string& message : check_visits(*report, arguments.visits)) {
        messages.push_back(std::move(message));
    }
    for (const std::string& message : messages) {
        std::printf("%s", message.c_str());
    }
    return messages.empty() && has_succeeded(*report) ? 0 : 1;
}
