// Which verb it is, and what there is to say where it is none.
#include "cli/options/options.h"
#include "cli/refuse.h"

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

constexpr const char* kVersion = "sample " SAMPLE_VERSION "\n";

/// Words that are to become verbs: a program of that name is not run by accident meanwhile.
constexpr std::array<std::string_view, 4> kReserved = {"attach", "view", "top", "control"};

using Arguments = std::vector<std::string>;
Result<Invocation> help_of(const Arguments& words);

struct Verb {
    std::string_view name;
    Result<Invocation> (*parse)(const Arguments& words);
};
constexpr Verb kVerbs[] = {
    {"record", parse_options<RecordOptions>},
    {"report", parse_options<ReportOptions>},
    {"annotate", parse_options<AnnotateOptions>},
    {"diff", parse_options<DiffVerbOptions>},
    {"export", parse_options<ExportOptions>},
    {"import", parse_options<ImportOptions>},
    {"doctor", parse_options<DoctorOptions>},
    {"help", help_of},
    {"version",
     [](const Arguments& /*words*/) -> Result<Invocation> { return Invocation{Text{kVersion}}; }},
};

const Verb* find_verb(std::string_view name) {
    const auto* const found = std::find_if(std::begin(kVerbs), std::end(kVerbs),
                                           [&](const Verb& verb) { return verb.name == name; });
    return found != std::end(kVerbs) ? found : nullptr;
}

Result<Invocation> parse_verb(const Verb& verb, const Arguments& words) {
    Result<Invocation> invocation = verb.parse(words);
    if (invocation || verb.parse == help_of) {
        return invocation;
    }
    Error error = invocation.error();
    error.context += fmt::format("\nTry: sample {} --help", verb.name);
    return unexpected(std::move(error));
}

Result<Invocation> help_of(const Arguments& words) {
    if (words.empty() || words.front() == "help") {
        return Invocation{Text{kHelp}};
    }
    const Verb* const verb = find_verb(words.front());
    if (verb == nullptr) {
        return refuse("there is no verb '{}'\nTry: sample help", words.front());
    }
    return parse_verb(*verb, {"--help"});
}

}  // namespace

Result<Invocation> parse_command_line(const Arguments& words) {
    if (words.empty()) {
        return refuse(
            "no command to record: write sample [OPTIONS] -- COMMAND [ARGUMENTS]\n"
            "Try: sample --help");
    }
    const std::string& first = words.front();
    if (first == "--help" || first == "-h") {
        return Invocation{Text{kHelp}};
    }
    if (first == "--version") {
        return Invocation{Text{kVersion}};
    }
    if (std::find(kReserved.begin(), kReserved.end(), first) != kReserved.end()) {
        return refuse(
            "the verb '{0}' is not available in this version; to record a program of that name "
            "write: sample -- {0}\nTry: sample --help",
            first);
    }
    const Verb* const verb = find_verb(first);
    return verb != nullptr ? parse_verb(*verb, {words.begin() + 1, words.end()})
                           : parse_verb(kVerbs[0], words);
}

}  // namespace sample::cli
