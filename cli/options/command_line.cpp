#include "cli/options/command_line.h"

#include <algorithm>
#include <array>
#include <utility>

#ifndef SAMPLE_VERSION
#error "the build defines SAMPLE_VERSION"
#endif

namespace sample::cli {
namespace {

constexpr const char* kHelp = R"(Usage: sample [record] [OPTIONS] [--] COMMAND [ARGUMENTS]
       sample VERB [OPTIONS] ...

Finds out where a native program spends its time, by sampling its stacks.

Verbs:
  record    Run a command, sample it, keep a recording, print a summary (default)
  report    Show a recording: summary, callgraph, functions, threads, stats
  annotate  Show the source lines and instructions of a function
  diff      Compare two recordings: what got worse, what better
  export    Write a recording in a format that other programs read
  import    Make a profile in JSON of another profiler's file
  doctor    Say what this machine allows and what would improve it
  help      Print this, or the help of a verb: sample help report
  version   Print the version

Examples:
  sample -- ./app its arguments
  sample --freq 10k --time 10s -- ./app
  sample report --view callgraph sample-app-1234.utrace

See also: sample VERB --help, man sample
)";

/// Words that are to become verbs: a program of that name is not run by accident meanwhile.
constexpr std::array<std::string_view, 4> kReserved = {"attach", "view", "top", "control"};
constexpr std::array<std::string_view, 9> kVerbs = {
    "record", "report", "annotate", "diff", "export", "import", "doctor", "help", "version"};

template <class Options>
Result<Invocation> invocation(std::string_view verb, Result<Parsed<Options>> parsed) {
    if (!parsed) {
        Error error = parsed.error();
        error.context += "\nTry: sample " + std::string{verb} + " --help";
        return unexpected(std::move(error));
    }
    if (!parsed->help.empty()) {
        return Invocation{Text{std::move(parsed->help)}};
    }
    return Invocation{std::move(parsed->options)};
}

Result<Invocation> parse_verb(std::string_view verb, const std::vector<std::string>& words) {
    if (verb == "report") {
        return invocation(verb, parse_report_options(words));
    }
    if (verb == "annotate") {
        return invocation(verb, parse_annotate_options(words));
    }
    if (verb == "diff") {
        return invocation(verb, parse_diff_options(words));
    }
    if (verb == "export") {
        return invocation(verb, parse_export_options(words));
    }
    if (verb == "import") {
        return invocation(verb, parse_import_options(words));
    }
    if (verb == "doctor") {
        return invocation(verb, parse_doctor_options(words));
    }
    if (verb == "version") {
        return Invocation{Text{version_text()}};
    }
    return invocation("record", parse_record_options(words));
}

template <class List>
bool contains(const List& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

Result<Invocation> help_of(const std::vector<std::string>& words) {
    if (words.empty() || words.front() == "help") {
        return Invocation{Text{kHelp}};
    }
    if (!contains(kVerbs, words.front())) {
        return unexpected(ErrorCode::invalid_argument,
                          "there is no verb '" + words.front() + "'\nTry: sample help");
    }
    return parse_verb(words.front(), {"--help"});
}

}  // namespace

std::string version_text() {
    return "sample " SAMPLE_VERSION "\n";
}

Result<Invocation> parse_command_line(const std::vector<std::string>& words) {
    if (words.empty()) {
        return unexpected(ErrorCode::invalid_argument,
                          "no command to record: write sample [OPTIONS] -- COMMAND [ARGUMENTS]\n"
                          "Try: sample --help");
    }
    const std::string& first = words.front();
    const std::vector<std::string> rest{words.begin() + 1, words.end()};
    if (first == "--help" || first == "-h") {
        return Invocation{Text{kHelp}};
    }
    if (first == "--version") {
        return Invocation{Text{version_text()}};
    }
    if (first == "help") {
        return help_of(rest);
    }
    if (contains(kReserved, first)) {
        return unexpected(ErrorCode::invalid_argument,
                          "the verb '" + first +
                              "' is not available in this version; to record a "
                              "program of that name write: sample -- " +
                              first + "\nTry: sample --help");
    }
    return contains(kVerbs, first) ? parse_verb(first, rest) : parse_verb("record", words);
}

}  // namespace sample::cli
