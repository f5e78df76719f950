#include "cli/options/record.h"

#include "cli/options/option_words.h"
#include "cli/options/profile_choice.h"
#include "sampler/capture/shared_area.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace sample::cli {
namespace {

constexpr const char* kFooter =
    R"(Standard output and input belong to COMMAND; whatever sample says goes to standard error. Its exit
code is COMMAND's: 126 if it cannot be executed, 127 if it does not exist.

Examples:
  sample -- ./app --its-own option
  sample --freq 10k --time 30s -- ./server
  sample --freq 10k --export json=app.json -o app.utrace -- ./app)";

static_assert(kDefaultMaxStack == capture::kMaxDepth);

/// What no word of a command line can be.
constexpr std::string_view kNotGiven{"\0", 1};

/// The options as words, before anybody has looked at what they mean.
struct Typed {
    std::string frequency{kNotGiven};
    std::string event{kNotGiven};
    std::string time;
    std::string max_stack;
    std::string color = "auto";
    std::vector<std::string> exports;
};

Unexpected refuse(std::string message) {
    return unexpected(ErrorCode::invalid_argument, std::move(message));
}

std::string quoted(std::string_view text) {
    return "'" + std::string{text} + "'";
}

Result<void> read_max_stack(std::string_view text, RecordOptions& options) {
    std::uint64_t frames = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, frames);
    if (parsed.ec != std::errc{} || parsed.ptr != end || frames < capture::kLeastMaxDepth ||
        frames > capture::kMaxDepth) {
        return refuse("--max-stack " + quoted(text) + " is not a number of frames from " +
                      std::to_string(capture::kLeastMaxDepth) + " to " +
                      std::to_string(capture::kMaxDepth) + ", e.g. 1024");
    }
    options.max_stack = static_cast<std::uint32_t>(frames);
    return {};
}

Result<void> read_numbers(const Typed& typed, RecordOptions& options) {
    if (typed.frequency != kNotGiven) {
        const auto frequency = parse_frequency(typed.frequency);
        if (!frequency.ok()) {
            const bool out_of_range = frequency.problem == OptionProblem::out_of_range;
            return refuse(
                "--freq " + quoted(typed.frequency) +
                (out_of_range ? " is outside the range 1 to 10000: " : " is not a frequency: ") +
                std::string{kFrequencyHelp});
        }
        options.frequency_hz = frequency.value;
    }
    if (!typed.time.empty()) {
        const auto time = parse_duration_ns(typed.time);
        if (!time.ok()) {
            return refuse("--time " + quoted(typed.time) +
                          " is not a duration that can be used: " + std::string{kDurationHelp});
        }
        options.time = std::chrono::nanoseconds{time.value};
    }
    if (!typed.max_stack.empty()) {
        return read_max_stack(typed.max_stack, options);
    }
    return {};
}

Result<void> read_exports(const Typed& typed, RecordOptions& options) {
    for (const std::string& text : typed.exports) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals + 1 == text.size()) {
            return refuse("--export " + quoted(text) + " names no file: write FORMAT=FILE, " +
                          "e.g. json=app.json (formats: " + analysis::export_format_names() + ")");
        }
        Result<const analysis::ExportFormat*> format =
            analysis::find_export_format(std::string_view{text}.substr(0, equals));
        if (!format) {
            return Unexpected{format.error()};
        }
        options.exports.push_back({*format, text.substr(equals + 1)});
    }
    return {};
}

Result<void> check_word(std::string_view option, std::string_view value,
                        std::initializer_list<std::string_view> known) {
    std::string list;
    for (const std::string_view word : known) {
        if (word == value) {
            return {};
        }
        list += list.empty() ? "" : ", ";
        list += word;
    }
    return refuse(std::string{option} + " " + quoted(value) + " is not known: choose one of " +
                  list);
}

/// After the options that an event bears on.
Result<void> read_event(const Typed& typed, RecordOptions& options) {
    if (typed.event == kNotGiven) {
        return {};
    }
    Result<source::EventSpec> event = source::parse_event(typed.event);
    if (!event) {
        return Unexpected{event.error()};
    }
    options.event = std::move(*event);
    const std::string what = "--event " + options.event.name;
    if (!options.event.is_clock && typed.frequency != kNotGiven) {
        return refuse(what + " is counted, so --freq says nothing about it: write --event " +
                      options.event.name + ":PERIOD for a sample each PERIOD of them (default: " +
                      std::to_string(options.event.period) + ")");
    }
    if (!options.event.is_default() && (options.source == "thread" || options.source == "timer")) {
        return refuse(what + " does not reach --source " + options.source +
                      ", which goes by the wall's clock: choose sigtrap, perf or auto");
    }
    if (!options.event.is_default() && options.clock != "cpu") {
        return refuse(what + " is measured instead of a clock: leave --clock " + options.clock +
                      " out");
    }
    return {};
}

Result<RecordOptions> read(const Typed& typed, RecordOptions options) {
    if (const Result<void> done = read_numbers(typed, options); !done) {
        return Unexpected{done.error()};
    }
    if (const Result<void> done = read_exports(typed, options); !done) {
        return Unexpected{done.error()};
    }
    if (const Result<void> done =
            check_word("--source", options.source, {"auto", "sigtrap", "perf", "thread", "timer"});
        !done) {
        return Unexpected{done.error()};
    }
    if (const Result<void> done = check_word("--clock", options.clock, {"cpu", "wall"}); !done) {
        return Unexpected{done.error()};
    }
    if (const Result<void> done = read_event(typed, options); !done) {
        return Unexpected{done.error()};
    }
    const Result<ColorMode> color = parse_color(typed.color);
    if (!color) {
        return Unexpected{color.error()};
    }
    options.color = *color;
    if (options.command.empty() || options.command.front().empty()) {
        return refuse("no command to record: write sample [OPTIONS] -- COMMAND [ARGUMENTS]");
    }
    return options;
}

}  // namespace

Result<Parsed<RecordOptions>> parse_record_options(const std::vector<std::string>& arguments) {
    RecordOptions options;
    Typed typed;
    OptionParser parser{"[record] [OPTIONS] [--] COMMAND [ARGUMENTS]",
                        "Runs COMMAND, samples the stacks of its threads, keeps a recording and "
                        "says where the time went.",
                        kFooter};
    parser.value("-f,--freq", "HZ", typed.frequency,
                 "Samples a second of CPU time, 1 to 10000 (default: 1k)");
    parser.value("-t,--time", "TIME", typed.time,
                 "Stop sampling after 500ms, 10s, 5m, ...; the command runs on");
    parser.value("-o,--output", "FILE", options.output,
                 "The recording; %p process id, %t time, %n program\n"
                 "(default: sample-%n-%p.utrace)");
    parser.flag("--force", options.force, "Replace files that exist");
    parser.values("--export", "FORMAT=FILE", typed.exports,
                  "Also write " + analysis::export_format_names() + " at the end; may be repeated");
    parser.value("--source", "SOURCE", options.source,
                 "What triggers samples: auto (default), sigtrap, perf, thread,\n"
                 "timer");
    parser.value("--event", "NAME[:PERIOD]", typed.event,
                 "What is sampled: cpu-clock (default), page-faults, cycles,\n"
                 "cache-misses, context-switches, rNNN, a tracepoint group:name,\n"
                 "...; `--event help` lists all. A sample each PERIOD of them");
    parser.value("--max-stack", "N", typed.max_stack,
                 "Frames kept of a stack, 64 to 8192 (default: 8192); a deeper one\n"
                 "keeps both ends");
    parser.value("--clock", "CLOCK", options.clock,
                 "What time is measured: cpu (default), or wall: waiting, too");
    parser.flag("--children,!--no-children", options.children,
                "Record what COMMAND starts, too (default), or not");
    parser.flag("--symbols,!--no-symbols", options.symbols,
                "Names of functions go into the recording (default), so that it\n"
                "can be read elsewhere, or not");
    parser.flag("--cache,!--no-cache", options.cache,
                "Names that were found before are used, and kept (default),\n"
                "or not");
    parser.flag("--code,!--no-code", options.code,
                "With them the hottest machine code and its source lines, for\n"
                "sample annotate (default), or not");
    add_debug_folders(parser, options.debug_folders);
    parser.flag("--quiet", options.quiet, "No countdown and no summary");
    parser.value("--color", "WHEN", typed.color, "auto (default), always or never");
    parser.command(options.command);
    Result<ParseOutcome> outcome = parser.parse(arguments);
    if (!outcome) {
        return Unexpected{outcome.error()};
    }
    if (outcome->wants_help()) {
        return Parsed<RecordOptions>{{}, std::move(outcome->help)};
    }
    if (typed.event == "help") {
        return Parsed<RecordOptions>{{}, source::known_events() + "\n"};
    }
    Result<RecordOptions> read_options = read(typed, std::move(options));
    if (!read_options) {
        return Unexpected{read_options.error()};
    }
    return Parsed<RecordOptions>{std::move(*read_options), {}};
}

}  // namespace sample::cli
