// The options of `sample record`.
#include "cli/options/options.h"
#include "cli/refuse.h"
#include "sampler/capture/shared_area.h"

#include <charconv>
#include <memory>
#include <system_error>

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

constexpr std::string_view kNotKnown = "{} '{}' is not known";

Read frequency(RecordOptions& options, bool& is_given) {
    return [&](const std::string& option, const std::string& text) -> Result<void> {
        const auto frequency = parse_frequency(text);
        if (!frequency.ok()) {
            return refuse("{} '{}' is {}: {}", option, text,
                          frequency.problem == OptionProblem::out_of_range
                              ? "outside the range 1 to 10000"
                              : "not a frequency",
                          kFrequencyHelp);
        }
        is_given = true;
        options.frequency_hz = frequency.value;
        return {};
    };
}

Read duration(std::optional<std::chrono::nanoseconds>& target) {
    return [&](const std::string& option, const std::string& text) -> Result<void> {
        const auto time = parse_duration_ns(text);
        if (!time.ok()) {
            return refuse("{} '{}' is not a duration that can be used: {}", option, text,
                          kDurationHelp);
        }
        target = std::chrono::nanoseconds{time.value};
        return {};
    };
}

Read frames(std::uint32_t& target) {
    return [&](const std::string& option, const std::string& text) -> Result<void> {
        std::uint64_t frames = 0;
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, frames);
        if (parsed.ec != std::errc{} || parsed.ptr != end || frames < capture::kLeastMaxDepth ||
            frames > capture::kMaxDepth) {
            return refuse("{} '{}' is not a number of frames from {} to {}, e.g. 1024", option,
                          text, capture::kLeastMaxDepth, capture::kMaxDepth);
        }
        target = static_cast<std::uint32_t>(frames);
        return {};
    };
}

Read export_request(std::vector<ExportRequest>& exports) {
    return [&](const std::string& option, const std::string& text) -> Result<void> {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals + 1 == text.size()) {
            return refuse(
                "{} '{}' names no file: write FORMAT=FILE, e.g. json=app.json (formats: {})",
                option, text, analysis::export_format_names());
        }
        SAMPLE_TRY(format, analysis::find_export_format(text.substr(0, equals)));
        exports.push_back({format, text.substr(equals + 1)});
        return {};
    };
}

Read event(OptionParser& parser, source::EventSpec& target) {
    return [&](const std::string& /*option*/, const std::string& text) -> Result<void> {
        if (text == "help") {
            parser.answer(source::known_events() + "\n");
            return {};
        }
        SAMPLE_TRY(event, source::parse_event(text));
        target = std::move(event);
        return {};
    };
}

/// What an event cannot be asked for with.
Result<void> check_event(const RecordOptions& options, bool has_frequency) {
    using control::Source;
    const source::EventSpec& event = options.event;
    if (!event.is_clock && has_frequency) {
        return refuse(
            "--event {0} is counted, so --freq says nothing about it: write --event {0}:PERIOD for "
            "a sample each PERIOD of them (default: {1})",
            event.name, event.period);
    }
    if (!event.is_default() &&
        (options.source == Source::thread || options.source == Source::timer)) {
        return refuse(
            "--event {} does not reach --source {}, which goes by the wall's clock: choose "
            "sigtrap, perf or auto",
            event.name, options.source == Source::thread ? "thread" : "timer");
    }
    if (!event.is_default() && options.clock == trace::Clock::wall) {
        return refuse("--event {} is measured instead of a clock: leave --clock wall out",
                      event.name);
    }
    return {};
}

}  // namespace

void declare(OptionParser& parser, RecordOptions& options) {
    using control::Source;
    const auto has_frequency = std::make_shared<bool>(false);
    parser.describe("[record] [OPTIONS] [--] COMMAND [ARGUMENTS]",
                    "Runs COMMAND, samples the stacks of its threads, keeps a recording and "
                    "says where the time went.",
                    kFooter);
    parser.value("-f,--freq", "HZ", frequency(options, *has_frequency),
                 "Samples a second of CPU time, 1 to 10000 (default: 1k)");
    parser.value("-t,--time", "TIME", unless_empty(duration(options.time)),
                 "Stop sampling after 500ms, 10s, 5m, ...; the command runs on");
    parser.value("-o,--output", "FILE", into(options.output),
                 "The recording; %p process id, %t time, %n program\n"
                 "(default: sample-%n-%p.utrace)");
    parser.flag("--force", options.force, "Replace files that exist");
    parser.values("--export", "FORMAT=FILE", export_request(options.exports),
                  "Also write " + analysis::export_format_names() + " at the end; may be repeated");
    parser.value("--source", "SOURCE",
                 one_of(options.source,
                        Words<Source>{{"auto", Source::none},
                                      {"sigtrap", Source::sigtrap},
                                      {"perf", Source::perf},
                                      {"thread", Source::thread},
                                      {"timer", Source::timer}},
                        kNotKnown),
                 "What triggers samples: auto (default), sigtrap, perf, thread,\n"
                 "timer");
    parser.value("--event", "NAME[:PERIOD]", event(parser, options.event),
                 "What is sampled: cpu-clock (default), page-faults, cycles,\n"
                 "cache-misses, context-switches, rNNN, a tracepoint group:name,\n"
                 "...; `--event help` lists all. A sample each PERIOD of them");
    parser.value("--max-stack", "N", unless_empty(frames(options.max_stack)),
                 "Frames kept of a stack, 64 to 8192 (default: 8192); a deeper one\n"
                 "keeps both ends");
    parser.value(
        "--clock", "CLOCK",
        one_of(options.clock,
               Words<trace::Clock>{{"cpu", trace::Clock::cpu}, {"wall", trace::Clock::wall}},
               kNotKnown),
        "What time is measured: cpu (default), or wall: waiting, too");
    parser.flag("--children,!--no-children", options.children,
                "Record what COMMAND starts, too (default), or not");
    parser.flag("--symbols,!--no-symbols", options.symbols,
                "Names of functions go into the recording (default), so that it\n"
                "can be read elsewhere, or not");
    declare_cache(parser, options.use_cache);
    parser.flag("--code,!--no-code", options.code,
                "With them the hottest machine code and its source lines, for\n"
                "sample annotate (default), or not");
    declare_debug_folders(parser, options.debug_folders);
    parser.flag("--quiet", options.quiet, "No countdown and no summary");
    declare_color(parser, options.color);
    parser.command(options.command);
    parser.check([&options, has_frequency] { return check_event(options, *has_frequency); });
    parser.check([&options]() -> Result<void> {
        if (options.command.empty() || options.command.front().empty()) {
            return refuse("no command to record: write sample [OPTIONS] -- COMMAND [ARGUMENTS]");
        }
        return {};
    });
}

}  // namespace sample::cli
