// Which verb it is, and what there is to say where it is none.
#include "cli/options/options.h"
#include "cli/options/perf_words.h"
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
)";

constexpr const char* kExamples = R"(
Examples:
  sample -- ./app its arguments
  sample --freq 10k --time 10s -- ./app
  sample report --view callgraph sample-app-1234.utrace

See also: sample VERB --help, man sample
)";

constexpr const char* kVersion = "sample " SAMPLE_VERSION "\n";

/// Words that are to become verbs: a program of that name is not run by accident meanwhile.
constexpr std::array<std::string_view, 1> kReserved = {"view"};

using Arguments = std::vector<std::string>;
Result<Invocation> help_of(const Arguments& words);
Suggestions suggest_verbs(const Arguments& words);
Suggestions suggest_trace(const Arguments& words);
Suggestions suggest_control(const Arguments& words);

struct Verb {
    std::string_view name;
    std::string_view help;
    Result<Invocation> (*parse)(const Arguments& words);
    Suggestions (*suggest)(const Arguments& words);
};
template <class Options>
constexpr Verb verb_of(std::string_view name, std::string_view help) {
    return {name, help, parse_options<Options>, suggest_options<Options>};
}
constexpr Verb kVerbs[] = {
    verb_of<RecordOptions>("record",
                           "Run a command, sample it, keep a recording, print a summary (default)"),
    verb_of<AttachOptions>("attach", "Record processes that run already, from outside"),
    verb_of<TopOptions>("top", "Show where a process, or a command, spends its time right now"),
    verb_of<ReportOptions>("report",
                           "Show a recording: summary, callgraph, functions, threads, stats"),
    verb_of<AnnotateOptions>("annotate", "Show the source lines and instructions of a function"),
    verb_of<DiffVerbOptions>("diff", "Compare two recordings: what got worse, what better"),
    verb_of<ExportOptions>("export", "Write a recording in a format that other programs read"),
    verb_of<ImportOptions>("import", "Make a profile in JSON of another profiler's file"),
    {"trace", "Show the events of any .utrace file: dump, info, channels",
     parse_options<TraceOptions>, suggest_trace},
    {"control", "Tell a running session to stop, to start, to sample faster, …",
     parse_options<ControlOptions>, suggest_control},
    verb_of<SessionsOptions>("sessions", "List the sessions that run"),
    verb_of<DoctorOptions>("doctor", "Say what this machine allows and what would improve it"),
    {"help", "Print this, or the help of a verb: sample help report", help_of, suggest_verbs},
    {"version", "Print the version",
     [](const Arguments& /*words*/) -> Result<Invocation> { return Invocation{Text{kVersion}}; },
     [](const Arguments& /*words*/) { return Suggestions{}; }},
};

Text whole_help() {
    std::string text = kHelp;
    for (const Verb& verb : kVerbs) {
        text += fmt::format("  {:<9} {}\n", verb.name, verb.help);
    }
    return {text + kExamples};
}

Suggestions suggest_verbs(const Arguments& words) {
    Suggestions result;
    for (const Verb& verb : kVerbs) {
        result.add(words.back(), verb.name, verb.help);
    }
    return result;
}

Suggestions suggest_trace(const Arguments& words) {
    Suggestions result = suggest_options<TraceOptions>(words);
    if (words.size() == 1) {
        result.add_values(words.back(), "", "dump, info, channels");
    }
    return result;
}

Suggestions suggest_control(const Arguments& words) {
    Suggestions result = suggest_options<ControlOptions>(words);
    if (words.size() == 2) {
        result.add_values(words.back(), "", kControlActions);
    }
    return result;
}

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
    if (auto explained = explain_perf_options(verb.name, words)) {
        return unexpected(std::move(*explained));
    }
    Error error = invocation.error();
    error.context += fmt::format("\nTry: sample {} --help", verb.name);
    return unexpected(std::move(error));
}

Result<Invocation> help_of(const Arguments& words) {
    if (words.empty() || words.front() == "help") {
        return Invocation{whole_help()};
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
        return Invocation{whole_help()};
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
    if (const std::string_view instead = instead_of_perf_verb(first); !instead.empty()) {
        return refuse("{}; to record a program called {} write: sample -- {}\nTry: sample --help",
                      instead, first, first);
    }
    const Verb* const verb = find_verb(first);
    return verb != nullptr ? parse_verb(*verb, {words.begin() + 1, words.end()})
                           : parse_verb(kVerbs[0], words);
}

std::string suggest(const Arguments& words) {
    const Verb* const verb = words.size() > 1 ? find_verb(words.front()) : nullptr;
    const std::size_t first = verb != nullptr ? 1 : 0;
    Suggestions found =
        (verb != nullptr ? *verb : kVerbs[0])
            .suggest({words.begin() + static_cast<std::ptrdiff_t>(first), words.end()});
    if (words.size() == 1) {
        found.lines += suggest_verbs(words).lines;
    }
    return (found.command ? fmt::format(":command {}\n", *found.command + first) : "") +
           found.lines;
}

}  // namespace sample::cli
