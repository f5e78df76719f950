// The options of the verbs that read files, and of doctor.
#include "cli/options/options.h"
#include "cli/refuse.h"

#include <charconv>
#include <cmath>
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
    return [&choice, words = std::move(words)](const std::string& option,
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
    };
}

/// "5", "5%" or "5 %", from `least` to `most`; `refusal` is said of anything else.
template <class Target>
Read percent(Target& target, double least, double most, std::string_view refusal) {
    return [&target, least, most, refusal](const std::string& option,
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
    };
}

Read lines(std::size_t& target) {
    return [&target](const std::string& option, const std::string& text) -> Result<void> {
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, target);
        if (parsed.ec != std::errc{} || parsed.ptr != end) {
            return refuse("{} '{}' is no number of lines: write 0 for all, or more", option, text);
        }
        return {};
    };
}

/// The words that are no options, and what is made of them.
void declare_files(OptionParser& parser, const std::string& name, const std::string& help,
                   std::function<Result<void>(std::vector<std::string>& files)> take) {
    const auto files = std::make_shared<std::vector<std::string>>();
    parser.positional(name, *files, help);
    parser.check([files, take = std::move(take)] { return take(*files); });
}

/// The one file that a verb reads.
void declare_file(OptionParser& parser, const std::string& verb, std::string& target,
                  const std::string& help) {
    declare_files(parser, "FILE", help,
                  [verb, &target](std::vector<std::string>& files) -> Result<void> {
                      if (files.empty()) {
                          return refuse("no file to read: write sample {} [OPTIONS] FILE", verb);
                      }
                      if (files.size() > 1) {
                          return refuse("one file at a time: '{}' and '{}' cannot be read together",
                                        files[0], files[1]);
                      }
                      target = std::move(files.front());
                      return {};
                  });
}

void declare_unit(OptionParser& parser, Unit& unit, const std::string& help) {
    parser.value("--unit", "UNIT",
                 one_of(unit, Words<Unit>{{"auto", Unit::weight},
                                          {"ms", Unit::milliseconds},
                                          {"%", Unit::percent}}),
                 help);
}

/// `options` says where names come from: a ProfileChoice, or what is like it.
template <class Options>
void declare_naming(OptionParser& parser, Options& options) {
    parser.flag("--resymbolize", options.resymbolize,
                "Names from this machine's files, not from the recording");
    declare_cache(parser, options.use_cache);
    declare_debug_folders(parser, options.debug_folders);
}

void declare_from(OptionParser& parser, std::optional<imports::Format>& format) {
    const auto read = [&format](const std::string& /*option*/,
                                const std::string& text) -> Result<void> {
        SAMPLE_TRY(found, imports::find_format(text));
        format = found;
        return {};
    };
    parser.value(
        "--from", "FORMAT", unless_empty(read),
        "What a foreign file is, if its content does not tell:\n" + imports::format_names());
}

/// How a file becomes a Profile.
void declare_choice(OptionParser& parser, ProfileChoice& choice) {
    using callgraph::CategoryBy;
    parser.value("--focus", "NAME", into(choice.focus), "Only this function and what it calls");
    parser.value("--search", "TEXT", into(choice.search),
                 "Only what leads to or from names with TEXT");
    parser.value("--average", "TIME",
                 unless_empty(one_of(
                     choice.average_s,
                     Words<std::uint64_t>{{"1s", 1}, {"1m", 60}, {"5m", 300}, {"10m", 600}})),
                 "Durations as in an average 1s, 1m, 5m or 10m");
    parser.values("--hide", "WHAT",
                  parts_of(choice, {{"gc", &ProfileChoice::hide_gc},
                                    {"plugins", &ProfileChoice::hide_plugins}}),
                  "Take gc (memory management) or plugins out of\n"
                  "all durations, or both: gc,plugins");
    parser.values("--fold", "WHAT",
                  parts_of(choice, {{"inlined", &ProfileChoice::fold_inlined},
                                    {"parts", &ProfileChoice::fold_parts}}),
                  "inlined: inlined calls become their callers' own\n"
                  "time; parts: parts (f.cold, f.part.0) and copies\n"
                  "(f.constprop.0) become one with their function;\n"
                  "or both: inlined,parts");
    parser.value("--names", "FORM", unless_empty(one_of(choice.names, name_forms())),
                 "full (default), noargs, or short (no template\n"
                 "arguments either); what becomes equal is one");
    parser.value("--metric", "NAME", into(choice.metric),
                 "What the figures are of, where a recording has\n"
                 "several: cpu, wall, an event, ...");
    parser.value(
        "--category", "KIND",
        unless_empty(one_of(choice.category, Words<CategoryBy>{{"process", CategoryBy::process},
                                                               {"thread", CategoryBy::thread},
                                                               {"module", CategoryBy::module}})),
        "Top level: thread (default: those named alike but\n"
        "for a number as one), process or module");
    declare_naming(parser, choice);
    declare_from(parser, choice.from);
}

/// "out/app.folded.gz" gives "app.json": the result stands where the program runs. That of
/// "app.json" is "app.imported.json", lest --force replaces the file itself.
std::string default_output(const std::string& file) {
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
                "Names that were found before are used, and kept (default),\n"
                "or not");
}

void declare_debug_folders(OptionParser& parser, std::vector<std::string>& folders) {
    parser.values("--debug-dir", "DIR", into(folders),
                  "Look for debug files in DIR, too, as in /usr/lib/debug\n"
                  "(repeatable)");
}

void declare(OptionParser& parser, ReportOptions& options) {
    parser.describe(
        "report [OPTIONS] FILE", "Shows what a recording holds.",
        R"(FILE is a recording of sample, or a profile in JSON (version 2 of the script-profiler format).

Examples:
  sample report sample-app-1234.utrace
  sample report --view callgraph --focus 'parse(int)' --unit % app.utrace
  sample report --view stats --json app.utrace)");
    parser.value("--view", "VIEW",
                 one_of(options.view, Words<View>{{"summary", View::summary},
                                                  {"callgraph", View::callgraph},
                                                  {"functions", View::functions},
                                                  {"threads", View::threads},
                                                  {"stats", View::stats}}),
                 "summary (default), callgraph, functions, threads, stats");
    declare_choice(parser, options.choice);
    parser.flag("--lines", options.choice.by_line,
                "A node of the callgraph for each line of a function");
    declare_unit(parser, options.unit, "auto (default): ms, or the count of an event; ms; %");
    parser.value("--min", "PERCENT",
                 unless_empty(percent(options.min_percent, 0, 100,
                                      "no share: write a number from 0 to 100")),
                 "Leave out what weighs less (callgraph: 0.5, else 0)");
    parser.flag("--json", options.json, "JSON instead of text; durations in microseconds");
    declare_color(parser, options.color);
    declare_file(parser, "report", options.file,
                 "A recording, or a foreign profile (sample import)");
}

void declare(OptionParser& parser, AnnotateOptions& options) {
    parser.describe(
        "annotate [OPTIONS] FUNCTION FILE",
        "Shows the source lines and machine instructions of a function.",
        R"(FUNCTION is its whole name, its name without arguments, or that without its scope; if that names none,
any part of a name. self is the function's own time at a line or instruction, total adds what was called or
inlined there. A sample counts for the instruction that was about to run, which is the one behind the slow one.

Examples:
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
    parser.flag("--all", options.all, "What was never sampled, too");
    declare_unit(parser, options.unit,
                 "auto (default): ms, or the count of an event; ms;\n% of the function's total");
    parser.value("--names", "FORM", unless_empty(one_of(options.names, name_forms())),
                 "full, noargs, or short: of all names that are shown (default:\n"
                 "full, but short of what was inlined and is called)");
    declare_naming(parser, options);
    parser.flag("--json", options.json, "JSON instead of text; durations in microseconds");
    declare_color(parser, options.color);
    declare_files(parser, "FUNCTION", "A function's name; behind it FILE, a recording",
                  [&options](std::vector<std::string>& words) -> Result<void> {
                      if (words.size() != 2) {
                          return refuse("annotate {}", words.size() < 2
                                                           ? "needs a FUNCTION and a FILE"
                                                           : "takes one FUNCTION and one FILE: "
                                                             "quote names with blanks");
                      }
                      options.function = std::move(words[0]);
                      options.file = std::move(words[1]);
                      return {};
                  });
}

void declare(OptionParser& parser, DiffVerbOptions& options) {
    constexpr double kLeastConfidence = 50;
    constexpr double kMostConfidence = 99.9999;
    parser.describe(
        "diff [OPTIONS] A B",
        "Compares two recordings: what got worse, what better, and what is noise.",
        R"(A and B are recordings of sample, or whatever else sample report reads. Functions are matched by
name, module and source file. Exit code: 0, also if there are differences; 3 if --fail-above was
given and something is surely worse by more; 1 if it failed; 2 for a wrong command line.

Examples:
  sample diff before.utrace after.utrace
  sample diff --normalize --view paths before.utrace after.utrace
  sample diff --fail-above 5% --json before.utrace after.utrace > diff.json)");
    parser.value("--view", "VIEW",
                 one_of(options.view, Words<DiffView>{{"functions", DiffView::functions},
                                                      {"paths", DiffView::paths}}),
                 "functions (default) or paths");
    parser.flag("--normalize", options.normalize,
                "Compare shares of each one's whole, not durations");
    parser.value("--fail-above", "PERCENT",
                 percent(options.fail_above_percent, 0, HUGE_VAL,
                         "no limit: write per cent of A's whole, like 5%"),
                 "Exit with 3 if a function, or the whole, is surely\n"
                 "worse by more than this part of A's whole");
    parser.value("--confidence", "PERCENT",
                 percent(options.confidence_percent, kLeastConfidence, kMostConfidence,
                         "out of range: write a number from 50 to 99.9999"),
                 "How sure a difference must be: 95 (default)");
    parser.value("--limit", "LINES", lines(options.limit),
                 "Lines of each list: 20 (default), 0 for all");
    declare_choice(parser, options.choice);
    parser.flag("--json", options.json, "JSON instead of text");
    declare_color(parser, options.color);
    declare_files(
        parser, "FILES", "Two recordings, or profiles in JSON: before, after",
        [&options](std::vector<std::string>& files) -> Result<void> {
            if (files.size() != 2) {
                return refuse(
                    "two files are compared, not {}: write sample diff [OPTIONS] BEFORE AFTER",
                    files.size());
            }
            options.before = std::move(files[0]);
            options.after = std::move(files[1]);
            return {};
        });
}

void declare(OptionParser& parser, ExportOptions& options) {
    parser.describe("export --format FORMAT [-o FILE|-] [OPTIONS] FILE",
                    "Writes a recording in a format that other programs read.",
                    R"(Examples:
  sample export --format json -o app.json app.utrace
  sample export --format folded app.utrace | flamegraph.pl > app.svg)");
    const auto read = [&options](const std::string& /*option*/,
                                 const std::string& text) -> Result<void> {
        SAMPLE_TRY(format, analysis::find_export_format(text));
        options.format = format;
        return {};
    };
    parser.value("--format", "FORMAT", unless_empty(read), analysis::export_format_names());
    parser.check([&options]() -> Result<void> {
        if (options.format == nullptr) {
            return refuse("no format: add --format with one of {}",
                          analysis::export_format_names());
        }
        return {};
    });
    parser.value("-o,--output", "FILE", into(options.output),
                 "Where to, mode 0600; - is standard output (default)");
    parser.flag("--force", options.force, "Replace a file that exists");
    declare_choice(parser, options.choice);
    declare_file(parser, "export", options.file,
                 "A recording, or a foreign profile (sample import)");
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
    declare_file(parser, "import", options.file, "A profile of another program, or of ours");
    parser.check([&options]() -> Result<void> {
        if (options.output.empty()) {
            options.output = default_output(options.file);
        }
        return {};
    });
}

void declare(OptionParser& parser, DoctorOptions& options) {
    parser.describe("doctor [OPTIONS]",
                    "Says what this machine allows, which source --source auto takes, and what "
                    "would improve it.",
                    "");
    parser.flag("--json", options.json, "JSON instead of text");
    declare_color(parser, options.color);
}

}  // namespace sample::cli
