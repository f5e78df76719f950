#include "cli/options/annotate.h"

#include "cli/options/option_words.h"

#include <utility>

namespace sample::cli {
namespace {

constexpr Words<Unit, 3> kUnits = {
    {{"auto", Unit::weight}, {"ms", Unit::milliseconds}, {"%", Unit::percent}}};

constexpr const char* kFooter =
    R"(FUNCTION is its whole name, its name without arguments, or that without its scope; if that names none,
any part of a name. self is the function's own time at a line or instruction, total adds what was called or
inlined there. A sample counts for the instruction that was about to run, which is the one behind the slow one.

Examples:
  sample annotate compute sample-app-1234.utrace
  sample annotate --asm --unit % 'parse(int)' app.utrace)";

struct Typed {
    std::string unit = "auto";
    std::string color = "auto";
    std::string names;
    bool source = false;
    bool assembly = false;
    std::vector<std::string> words;
};

Result<AnnotateOptions> read(const Typed& typed, AnnotateOptions options) {
    const Result<Unit> unit = parse_word("--unit", typed.unit, kUnits);
    if (!unit) {
        return Unexpected{unit.error()};
    }
    options.unit = *unit;
    const Result<std::optional<symbolize::NameForm>> names = read_names(typed.names);
    if (!names) {
        return Unexpected{names.error()};
    }
    options.names = *names;
    const Result<ColorMode> color = parse_color(typed.color);
    if (!color) {
        return Unexpected{color.error()};
    }
    options.color = *color;
    if (typed.source && typed.assembly) {
        return unexpected(ErrorCode::invalid_argument,
                          "--source and --asm exclude each other: leave both out to see lines with "
                          "their instructions");
    }
    if (typed.source) {
        options.layout = AnnotationLayout::source;
    } else if (typed.assembly) {
        options.layout = AnnotationLayout::assembly;
    }
    if (typed.words.size() != 2) {
        return unexpected(ErrorCode::invalid_argument,
                          typed.words.size() < 2 ? "annotate needs a FUNCTION and a FILE"
                                                 : "annotate takes one FUNCTION and one FILE: "
                                                   "quote names with blanks");
    }
    options.function = typed.words[0];
    options.file = typed.words[1];
    return options;
}

}  // namespace

Result<Parsed<AnnotateOptions>> parse_annotate_options(const std::vector<std::string>& arguments) {
    AnnotateOptions options;
    Typed typed;
    OptionParser parser{"annotate [OPTIONS] FUNCTION FILE",
                        "Shows the source lines and machine instructions of a function.", kFooter};
    parser.flag("--source", typed.source, "Only source lines");
    parser.flag("--asm", typed.assembly, "Only instructions, by address");
    parser.flag("--intel", options.intel, "Intel's syntax instead of AT&T's");
    parser.flag("--all", options.all, "What was never sampled, too");
    parser.value("--unit", "UNIT", typed.unit,
                 "auto (default): ms, or the count of an event; ms;\n% of the function's total");
    parser.value("--names", "FORM", typed.names,
                 "full, noargs, or short: of all names that are shown (default:\n"
                 "full, but short of what was inlined and is called)");
    add_naming(parser, options.naming);
    parser.flag("--json", options.json, "JSON instead of text; durations in microseconds");
    parser.value("--color", "WHEN", typed.color, "auto (default), always or never");
    parser.positional("FUNCTION", typed.words, "A function's name; behind it FILE, a recording");
    return parse_options(parser, arguments, [&] { return read(typed, options); });
}

}  // namespace sample::cli
