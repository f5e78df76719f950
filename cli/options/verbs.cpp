// The options of the verbs that read files, and of doctor.
#include "cli/options/options.h"
#include "cli/refuse.h"
#include "core/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>

namespace sample::cli {
namespace {

using analysis::ProfileChoice;
using symbolize::NameForm;

Words<NameForm> name_forms() {
    return {
        {"full", NameForm::full}, {"noargs", NameForm::no_arguments}, {"short", NameForm::brief}};
}

/// Comma-separated words, each for a part of the choice.
Read parts_of(ProfileChoice& choice, Words<bool ProfileChoice::*> words) {
    const std::string known = names_of(words);
    return {[&choice, words = std::move(words)](const std::string& option,
                                                const std::string& text) -> Result<void> {
                std::size_t at = 0;
                std::size_t comma = 0;
                do {
                    comma = text.find(',', at);
                    SAMPLE_TRY(part, find_word(words, option, text.substr(at, comma - at)));
                    choice.*part = true;
                    at = comma + 1;
                } while (comma != std::string::npos);
                return {};
            },
            known};
}

/// "5", "5%" or "5 %", from `least` to `most`; `refusal` is said of anything else.
template <class Target>
Read percent(Target& target, double least, double most, std::string_view refusal) {
    return {[&target, least, most, refusal](const std::string& option,
                                            const std::string& typed) -> Result<void> {
        std::string_view text = typed;
        if (text.ends_with('%')) {
            text.remove_suffix(1);
            text = text.substr(0, text.find_last_not_of(' ') + 1);
        }
        double value = 0;
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, value, std::chars_format::fixed);
        if (parsed.ec != std::errc{} || parsed.ptr != end || !std::isfinite(value) ||
            !(value >= least && value <= most)) {
            return refuse("{} '{}' is {}", option, typed, refusal);
        }
        target = value;
        return {};
    }};
}

Read lines(std::size_t& target) {
    return {[&target](const std::string& option, const std::string& text) -> Result<void> {
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, target);
        if (parsed.ec != std::errc{} || parsed.ptr != end) {
            return refuse("{} '{}' is not a number of lines: write 0 for all of them, or how many",
                          option, text);
        }
        return {};
    }};
}

/// The words that are no options, and what is made of them.
void declare_files(OptionParser& parser, const std::string& name, const std::string& help,
                   std::function<Result<void>(std::vector<std::string>& files)> take) {
    const auto files = std::make_shared<std::vector<std::string>>();
    parser.positional(name, *files, help);
    parser.check([files, take = std::move(take)] { return take(*files); });
}

/// The one file that a verb reads. Where none is named, `target` stays empty.
void declare_file(OptionParser& parser, std::string& target, const std::string& help) {
    declare_files(parser, "FILE", help, [&target](std::vector<std::string>& files) -> Result<void> {
        if (files.size() > 1) {
            return refuse("one file at a time: '{}' and '{}' cannot be read together", files[0],
                          files[1]);
        }
        if (!files.empty() && files.front().empty()) {
            return refuse("'' names no file");
        }
        target = files.empty() ? "" : std::move(files.front());
        return {};
    });
}

constexpr const char* kFileHelp =
    "A recording, or another profiler's file;\n"
    "- is standard input. Default: the newest *.utrace here";

void declare_unit(OptionParser& parser, Unit& unit, const std::string& help) {
    parser.value("--unit", "UNIT",
                 one_of(unit, Words<Unit>{{"auto", Unit::weight},
                                          {"ms", Unit::milliseconds},
                                          {"%", Unit::percent}}),
                 help);
}

void declare_naming(OptionParser& parser, analysis::NameSources& from) {
    parser.flag("--resymbolize", from.resymbolize,
                "Names from this machine's files, not from the recording");
    parser.flag("--debuginfod", from.asks_servers,
                "The same, and fetch debug files that are missing here\n"
                "from the servers of DEBUGINFOD_URLS");
    declare_cache(parser, from.use_cache);
    declare_debug_folders(parser, from.debug_folders);
    parser.check([&from]() -> Result<void> {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
        const char* const servers = std::getenv("DEBUGINFOD_URLS");
        if (from.asks_servers && (servers == nullptr || *servers == '\0')) {
            return refuse(
                "--debuginfod asks the servers of DEBUGINFOD_URLS, which is not set: "
                "set it to their addresses");
        }
        return {};
    });
}

void declare_from(OptionParser& parser, std::optional<imports::Format>& format) {
    const auto read = [&format](const std::string& /*option*/,
                                const std::string& text) -> Result<void> {
        SAMPLE_TRY(found, imports::find_format(text));
        format = found;
        return {};
    };
    parser.value(
        "--from", "FORMAT", unless_empty({read, imports::format_names()}),
        "Another profiler's format, if the file does not tell:\n" + imports::format_names());
}

/// Which samples are looked at.
void declare_selection(OptionParser& parser, callgraph::Selection& selection) {
    parser.values("--thread", "NAME|TID", into(selection.threads),
                  "Only this thread's samples, or those of a group as\n"
                  "the summary names it: worker for worker-1 and all\n"
                  "(repeatable)");
    parser.values("--process", "NAME|PID", into(selection.processes),
                  "Only this process's, or program's, samples (repeatable)");
    parser.values("--module", "NAME", into(selection.modules),
                  "Only samples whose innermost frame lies in this\n"
                  "program or library, as libc.so.6 (repeatable)");
}

/// How a file becomes a Profile.
void declare_choice(OptionParser& parser, ProfileChoice& choice) {
    declare_selection(parser, choice.selection);
    parser.value("--focus", "NAME", into(choice.focus), "Only this function and what it calls");
    parser.value("--search", "TEXT", into(choice.search),
                 "Only what leads to or from names with TEXT");
    parser.flag("--net", choice.net, "Take what sampling took out of the durations");
    parser.value("--average", "TIME",
                 unless_empty(one_of(
                     choice.average_s,
                     Words<std::uint64_t>{{"1s", 1}, {"1m", 60}, {"5m", 300}, {"10m", 600}})),
                 "Scale durations to an average 1s, 1m, 5m or 10m");
    parser.values("--hide", "WHAT",
                  parts_of(choice, {{"memory", &ProfileChoice::hide_memory},
                                    {"plugins", &ProfileChoice::hide_plugins},
                                    {"gc", &ProfileChoice::hide_memory}}),
                  "Leave memory (malloc, free and the like; also: gc)\n"
                  "or plugins out of all durations, or both:\n"
                  "memory,plugins");
    parser.values("--group", "WHAT", parts_of(choice, {{"memory", &ProfileChoice::group_memory}}),
                  "memory: one node [memory] above malloc, free\n"
                  "and the like");
    parser.values("--fold", "WHAT",
                  parts_of(choice, {{"inlined", &ProfileChoice::fold_inlined},
                                    {"parts", &ProfileChoice::fold_parts},
                                    {"recursion", &ProfileChoice::fold_recursion}}),
                  "inlined: inlined calls become their callers' own\n"
                  "time; parts: parts (f.cold, f.part.0) and copies\n"
                  "(f.constprop.0) become one with their function;\n"
                  "recursion: a call of a function that has not\n"
                  "returned yet becomes one with it; or several:\n"
                  "inlined,parts");
    parser.value("--names", "FORM", unless_empty(one_of(choice.names, name_forms())),
                 "full, noargs, or short (no template arguments\n"
                 "either); functions whose names become equal are\n"
                 "one. Default: short in a report on a terminal,\n"
                 "full elsewhere");
    parser.value("--metric", "NAME", into(choice.metric),
                 "Which quantity is shown, where a recording has\n"
                 "several: cpu, wall, an event, ... Default: the one\n"
                 "that was sampled; in exports to pprof, speedscope\n"
                 "and firefox, all of them");
    declare_labels(parser, choice);
    declare_naming(parser, choice.names_from);
}

/// Which files are compared: "A B", "A1 A2 -- B1 B2", or either behind a "--" that ends the
/// options.
Result<void> take_sides(DiffVerbOptions& options, std::vector<std::string> files,
                        std::vector<std::string> behind) {
    if (files.empty()) {
        const auto separator = std::find(behind.begin(), behind.end(), "--");
        files.assign(behind.begin(), separator);
        behind.erase(behind.begin(), separator == behind.end() ? separator : separator + 1);
    }
    if (behind.empty()) {
        if (files.size() != 2) {
            return refuse(
                "two files are compared, not {}: write sample diff [OPTIONS] BEFORE AFTER, or "
                "several a side, BEFORE... -- AFTER...",
                files.size());
        }
        behind.push_back(std::move(files.back()));
        files.pop_back();
    }
    if (files.empty() || (files.size() == 1) != (behind.size() == 1)) {
        return refuse(
            "{} and {} are compared: a side of one recording does not tell how its runs differ, so "
            "give one a side, or two and more a side",
            counted(files.size(), "file"), counted(behind.size(), "file"));
    }
    options.before = std::move(files);
    options.after = std::move(behind);
    return {};
}

/// "out/app.folded.gz" gives "app.json": the result stands where the program runs. That of
/// "app.json" is "app.imported.json", lest --force replaces the file itself. What comes from
/// standard input goes to standard output.
std::string default_output(const std::string& file) {
    if (file == "-") {
        return file;
    }
    constexpr std::string_view kJson = ".json";
    std::string stem = file.substr(file.rfind('/') + 1);
    if (stem.ends_with(".gz")) {
        stem.erase(stem.size() - 3);
    }
    const bool is_json = stem.ends_with(kJson);
    const std::size_t dot = stem.rfind('.');
    if (dot != std::string::npos && dot != 0) {
        stem.erase(dot);
    }
    return stem.append(is_json ? ".imported" : "").append(kJson);
}

Words<TraceAction> trace_actions() {
    return {{"dump", TraceAction::dump},
            {"info", TraceAction::info},
            {"channels", TraceAction::channels}};
}

}  // namespace

void declare_color(OptionParser& parser, ColorMode& color) {
    parser.value("--color", "WHEN",
                 one_of(color, Words<ColorMode>{{"auto", ColorMode::automatic},
                                                {"always", ColorMode::always},
                                                {"never", ColorMode::never}}),
                 "auto (default), always or never");
}

void declare_cache(OptionParser& parser, bool& use_cache) {
    parser.flag("--cache,!--no-cache", use_cache,
                "Use the names that earlier runs found, and keep new ones\n"
                "(default), or not");
}

void declare_debug_folders(OptionParser& parser, std::vector<std::string>& folders) {
    parser.values("--debug-dir", "DIR", into(folders),
                  "Look for debug files in DIR, too, as in /usr/lib/debug\n"
                  "(repeatable)");
}

void declare(OptionParser& parser, ReportOptions& options) {
    parser.describe(
        "report [OPTIONS] [FILE]", "Shows what a recording holds.",
        R"(FILE is a recording of sample, or another profiler's file: see sample import --help.

Examples:
  sample report
  sample report --view callgraph --focus 'parse(int)' --unit % app.utrace
  sample report --view callers --focus malloc app.utrace
  sample report --view stats --json app.utrace)");
    parser.value("--view", "VIEW",
                 one_of(options.view, Words<View>{{"summary", View::summary},
                                                  {"callgraph", View::callgraph},
                                                  {"callers", View::callers},
                                                  {"functions", View::functions},
                                                  {"threads", View::threads},
                                                  {"stats", View::stats},
                                                  {"zones", View::zones},
                                                  {"frames", View::frames},
                                                  {"counters", View::counters},
                                                  {"log", View::log},
                                                  {"memory", View::memory},
                                                  {"events", View::events}}),
                 "summary (default), callgraph, callers (who calls a\n"
                 "function: --focus), functions, threads, stats; of what\n"
                 "the program says: zones, frames, counters, log,\n"
                 "memory, events");
    declare_choice(parser, options.choice);
    parser.flag("--lines", options.choice.by_line,
                "In the callgraph, one node for each line of a function");
    declare_unit(parser, options.unit, "auto (default): ms, or the count of an event; ms; %");
    parser.value("--min", "PERCENT",
                 unless_empty(percent(options.min_percent, 0, 100,
                                      "no share: write a number from 0 to 100")),
                 "Leave out what weighs less (callgraph: 0.5, else 0)");
    parser.flag("--json", options.json, "JSON instead of text; durations in microseconds");
    parser.flag("--no-pager", options.no_pager,
                "On a terminal, print directly, not through $PAGER\n"
                "(default: less)");
    declare_color(parser, options.color);
    declare_file(parser, options.file, kFileHelp);
}

void declare(OptionParser& parser, AnnotateOptions& options) {
    parser.describe(
        "annotate [OPTIONS] [FUNCTION] [FILE]",
        "Shows the source lines and machine instructions of a function.",
        R"(FUNCTION is its whole name, its name without arguments, or that without its scope; if that names none,
any part of a name. self is the function's own time at a line or instruction, total adds what was called or
inlined there. A sample counts for the instruction that was about to run: often the one after the slow one.

Examples:
  sample annotate
  sample annotate compute sample-app-1234.utrace
  sample annotate --asm --unit % 'parse(int)' app.utrace)");
    struct Layouts {
        bool source = false;
        bool assembly = false;
    };
    const auto only = std::make_shared<Layouts>();
    parser.flag("--source", only->source, "Only source lines");
    parser.flag("--asm", only->assembly, "Only instructions, by address");
    parser.check([&options, only]() -> Result<void> {
        if (only->source && only->assembly) {
            return refuse(
                "--source and --asm exclude each other: leave both out to see lines with their "
                "instructions");
        }
        options.layout = only->source     ? AnnotationLayout::source
                         : only->assembly ? AnnotationLayout::assembly
                                          : AnnotationLayout::interleaved;
        return {};
    });
    parser.flag("--intel", options.intel, "Intel's syntax instead of AT&T's");
    parser.flag("--all", options.all, "Also lines and instructions without samples");
    declare_unit(parser, options.unit,
                 "auto (default): ms, or the count of an event; ms;\n% of the function's total");
    parser.value("--names", "FORM", unless_empty(one_of(options.names, name_forms())),
                 "full, noargs, or short: of all names that are shown (default:\n"
                 "full, but short of what was inlined and is called)");
    declare_selection(parser, options.selection);
    declare_naming(parser, options.names_from);
    parser.flag("--json", options.json, "JSON instead of text; durations in microseconds");
    declare_color(parser, options.color);
    declare_files(
        parser, "FUNCTION",
        "A function's name (default: the one with source that\n"
        "took most time itself); behind it FILE, a recording, or\n"
        "- for standard input (default: the newest *.utrace here)",
        [&options](std::vector<std::string>& words) -> Result<void> {
            if (words.size() > 2) {
                return refuse("annotate takes one FUNCTION and one FILE: quote names with blanks");
            }
            words.resize(2);
            options.function = std::move(words[0]);
            options.file = std::move(words[1]);
            return {};
        });
}

void declare(OptionParser& parser, DiffVerbOptions& options) {
    constexpr double kLeastConfidence = 50;
    constexpr double kMostConfidence = 99.9999;
    parser.describe(
        "diff [OPTIONS] A B | diff [OPTIONS] A1 A2... -- B1 B2...",
        "Compares two recordings, or several a side: what got worse, what better, and what is "
        "noise.",
        R"(A and B are recordings of sample, or other profilers' files: see sample import --help. One recording a
side shows the noise of sampling; several a side, recorded in turn, also show how runs differ. Functions are
matched by name, module and source file. Exit code: 0, also if there are differences; 3 if --fail-above was
given and something is surely worse by more; 1 if it failed; 2 for a wrong command line.

Examples:
  sample diff before.utrace after.utrace
  sample diff --normalize --view paths before.utrace after.utrace
  sample diff --normalize-by 'checksum(int)' old1.utrace old2.utrace -- new1.utrace new2.utrace
  sample diff --fail-above 5% --json before.utrace after.utrace > diff.json)");
    parser.value("--view", "VIEW",
                 one_of(options.view, Words<DiffView>{{"functions", DiffView::functions},
                                                      {"paths", DiffView::paths}}),
                 "functions (default) or paths");
    parser.flag("--normalize", options.normalize,
                "Compare shares of each one's whole, not durations");
    parser.value("--normalize-by", "NAME", into(options.normalize_by),
                 "The same with a function's total (as --focus names it)\n"
                 "instead of the whole: one that did not change");
    parser.value("--fail-above", "PERCENT",
                 percent(options.fail_above_percent, 0, HUGE_VAL,
                         "no limit: write per cent of A's whole, like 5%"),
                 "Exit with 3 if a function, or the whole, is surely\n"
                 "worse by more than this percentage of A's whole");
    parser.value("--confidence", "PERCENT",
                 percent(options.confidence_percent, kLeastConfidence, kMostConfidence,
                         "out of range: write a number from 50 to 99.9999"),
                 "How sure a difference must be: 95 (default)");
    parser.value("--limit", "LINES", lines(options.limit),
                 "Lines of each list: 20 (default), 0 for all");
    declare_choice(parser, options.choice);
    parser.flag("--json", options.json, "JSON instead of text");
    declare_color(parser, options.color);
    const auto behind = std::make_shared<std::vector<std::string>>();
    parser.separated(*behind);
    declare_files(parser, "FILES",
                  "Recordings, or other profilers' files: before, after;\n"
                  "or several before, --, several after",
                  [&options, behind](std::vector<std::string>& files) {
                      options.normalize = options.normalize || !options.normalize_by.empty();
                      return take_sides(options, std::move(files), std::move(*behind));
                  });
}

void declare(OptionParser& parser, ExportOptions& options) {
    parser.describe("export --format FORMAT [-o FILE|-] [OPTIONS] [FILE]",
                    "Writes a recording in a format that other programs read.",
                    R"(Examples:
  sample export --format json -o app.json app.utrace
  sample export --format folded app.utrace | flamegraph.pl > app.svg)");
    const std::string names = analysis::export_format_names() + ", " + kRecordingFormat;
    const auto is_given = std::make_shared<bool>(false);
    const auto read = [&options, is_given, names](const std::string& option,
                                                  const std::string& text) -> Result<void> {
        *is_given = true;
        options.format = nullptr;
        if (text != kRecordingFormat) {
            const auto format = analysis::find_export_format(text);
            if (!format) {
                return refuse("{} cannot be '{}': choose one of {}", option, text, names);
            }
            options.format = *format;
        }
        return {};
    };
    parser.value("--format", "FORMAT", unless_empty({read, names}), names);
    parser.check([is_given, names]() -> Result<void> {
        return *is_given ? Result<void>{} : refuse("no format: add --format with one of {}", names);
    });
    parser.value("-o,--output", "FILE", into(options.output),
                 "Where to, mode 0600; - is standard output (default)");
    parser.flag("--force", options.force, "Replace a file that exists");
    declare_choice(parser, options.choice);
    declare_file(parser, options.file, kFileHelp);
}

void declare(OptionParser& parser, ImportOptions& options) {
    parser.describe("import [--from FORMAT] [-o FILE|-] FILE",
                    "Reads another profiler's file and writes it as a profile in JSON.",
                    R"(Examples:
  sample import profile.pb.gz
  perf script -F +srcline | tee app.txt && sample import app.txt
  sample import --from folded-threads -o app.json app.folded

report, export and diff read such files directly, too.)");
    declare_from(parser, options.from);
    parser.value("-o,--output", "FILE", into(options.output),
                 "Where to, mode 0600; - is standard output\n"
                 "(default: FILE's name with .json, or .imported.json)");
    parser.flag("--force", options.force, "Replace a file that exists");
    declare_file(parser, options.file,
                 "Another profiler's file, or a profile in JSON; - is\n"
                 "standard input");
    parser.check([&options]() -> Result<void> {
        if (options.file.empty()) {
            return refuse("no file to read: write sample import [OPTIONS] FILE");
        }
        if (options.output.empty()) {
            options.output = default_output(options.file);
        }
        return {};
    });
}

void declare(OptionParser& parser, TraceOptions& options) {
    parser.describe("trace dump|info|channels [OPTIONS] [FILE]",
                    "Shows the events of any .utrace file, by their own description.",
                    R"(dump      each event: seconds since the start, thread, name, fields
info      the session, threads, types of events with how many there are, what was not understood
channels  what can be switched on and off, and whether it was on at the end

Examples:
  sample trace info game.utrace
  sample trace dump --logger Misc --limit 20 game.utrace
  sample trace dump --event RainbowLogger.ZippyEvent --json game.utrace | jq .fields)");
    parser.values("--logger", "NAME", into(options.loggers),
                  "dump: only events of this logger (repeatable)");
    parser.values("--event", "NAME", into(options.events),
                  "dump: only these events, as Event or Logger.Event\n"
                  "(repeatable)");
    parser.value("--limit", "EVENTS", lines(options.limit),
                 "dump: stop after so many; 0 (default): all");
    parser.flag("--json", options.json, "JSON instead of text; of dump, an object a line");
    declare_files(
        parser, "ACTION",
        "dump, info or channels; behind it FILE, any program's\n"
        ".utrace file, or - for standard input (default: the\n"
        "newest *.utrace here)",
        [&options](std::vector<std::string>& words) -> Result<void> {
            if (words.empty() || words.size() > 2) {
                return refuse("write sample trace dump|info|channels and one FILE");
            }
            SAMPLE_TRY(action, find_word(trace_actions(), "sample trace", words.front()));
            options.action = action;
            options.file = words.size() > 1 ? std::move(words[1]) : "";
            if (action != TraceAction::dump &&
                (!options.loggers.empty() || !options.events.empty() || options.limit != 0)) {
                return refuse("--logger, --event and --limit choose events of sample trace dump");
            }
            return {};
        });
}

void declare(OptionParser& parser, ControlOptions& options) {
    parser.describe("control PID|NAME ACTION [OPTIONS]",
                    "Tells a running session what to do. PID is its collector's, or that of any of "
                    "its processes; NAME is its program's, if it is the only one.\n\n"
                    "Actions:\n"
                    "  status              What it does\n"
                    "  start [freq=10k] [time=1m]   Sample again\n"
                    "  stop                Do not sample for now; ends a countdown\n"
                    "  pause, resume       The same, but a countdown goes on\n"
                    "  freq 10k            Sample more often, or less\n"
                    "  time 1m, cancel     Stop by itself after that; do not\n"
                    "  channels default,physics   What programs say: as --trace, or none\n"
                    "  dump FILE           The recording so far, as a file\n"
                    "  data                The callgraph so far, as JSON",
                    R"(
Examples:
  sample sessions
  sample control app stop
  sample control 1234 start freq=10k time=30s
  sample control 1234 dump so-far.utrace)");
    parser.flag("--force", options.force, "dump: replace a file that exists");
    const auto words = std::make_shared<std::vector<std::string>>();
    parser.positional("PID|NAME ACTION", *words, "Which session, and what it is to do");
    parser.check([words, &options]() -> Result<void> {
        if (words->size() < 2) {
            return refuse("write sample control PID|NAME and one of {}", kControlActions);
        }
        const Words<bool> actions{{"status", false}, {"start", true},   {"stop", false},
                                  {"pause", false},  {"resume", false}, {"freq", true},
                                  {"time", true},    {"cancel", false}, {"channels", true},
                                  {"dump", true},    {"data", false}};
        SAMPLE_TRY(takes_words, find_word(actions, "sample control", (*words)[1]));
        options.target = (*words)[0];
        options.action = (*words)[1];
        options.arguments.assign(words->begin() + 2, words->end());
        if (!takes_words && !options.arguments.empty()) {
            return refuse("'{}' takes nothing behind it", options.action);
        }
        if (options.action == kDumpAction && options.arguments.size() != 1) {
            return refuse("write sample control PID|NAME dump FILE");
        }
        if (options.action == kChannelsAction) {
            if (options.arguments.size() != 1) {
                return refuse("write sample control PID|NAME channels NAME,NAME,...");
            }
            SAMPLE_TRY(channels, parse_channels("channels", options.arguments.front()));
            options.arguments.front() = std::move(channels);
        }
        return {};
    });
}

void declare(OptionParser& parser, SessionsOptions& options) {
    parser.describe("sessions [OPTIONS]",
                    "Lists your sessions that run: what they sample, since when, how often, and "
                    "how large their recordings are.",
                    "");
    parser.flag("--json", options.json, "JSON instead of text");
    declare_color(parser, options.color);
}

void declare(OptionParser& parser, DoctorOptions& options) {
    parser.describe("doctor [OPTIONS]",
                    "Says what this machine allows, which source `--source auto` takes, and what "
                    "would improve it.",
                    "");
    parser.flag("--json", options.json, "JSON instead of text");
    declare_color(parser, options.color);
}

}  // namespace sample::cli
