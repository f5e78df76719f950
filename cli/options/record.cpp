// The options of record.
#include "cli/options/recording.h"
#include "cli/record/receivers.h"
#include "cli/refuse.h"
#include "sampler/capture/definition_store.h"
#include "sampler/capture/shared_area.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
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
  sample --freq 10k --export json=app.json -o app.utrace -- ./app
  sudo sample record -a --time 10s)";

struct ChannelName {
    std::string_view name;
    std::string_view meaning;
};

struct Preset {
    std::string_view name;
    std::string_view meaning;
    std::string_view channels;  ///< Separated by commas.
};

/// What every program has that includes sample/trace.h.
constexpr ChannelName kChannels[] = {
    {"cpu", "zones, coroutines and flows"},
    {"frame", "frames, of all kinds"},
    {"bookmark", "bookmarks"},
    {"region", "regions, which overlap and go from thread to thread"},
    {"counter", "counters"},
    {"log", "log messages"},
    {"memory", "allocations; every malloc and free too, if --trace names it"}};

constexpr Preset kPresets[] = {
    {"default", "each of them but memory", "cpu,frame,bookmark,region,counter,log"},
    {"light", "what is rare: no zones and no counters", "frame,bookmark,region,log"},
    {"all", "every channel, those that the program declares, too", capture::kAllChannels},
    {"none", "none of them, until sample control PID channels names some", capture::kNoChannels}};

std::string list_of_channels() {
    std::string text = "channels of every program:\n";
    const auto add = [&text](const auto& each) {
        text += fmt::format("  {:<10}{}\n", each.name, each.meaning);
    };
    std::for_each(std::begin(kChannels), std::end(kChannels), add);
    text += "channels of other instrumentation, which needs sample/trace.h in no program:\n";
    for (const Receiver& each : receivers()) {
        text += fmt::format("  {:<10}{}\n", each.channel, each.meaning);
    }
    text += "presets:\n";
    std::for_each(std::begin(kPresets), std::end(kPresets), add);
    return text +
           "a program's own channels, which SAMPLE_TRACE_CHANNEL_DEFINE declares, are in its "
           "recordings:\n"
           "  sample --trace default -o app.utrace -- ./app && sample trace channels app.utrace\n";
}

std::string_view channels_of(std::string_view name) {
    const auto* const preset =
        std::find_if(std::begin(kPresets), std::end(kPresets),
                     [name](const Preset& each) { return each.name == name; });
    return preset == std::end(kPresets) ? name : preset->channels;
}

Read channels(std::string& target) {
    return {
        [&](const std::string& option, const std::string& text) -> Result<void> {
            SAMPLE_TRY(names, parse_channels(option, text));
            target = std::move(names);
            return {};
        },
        "default, light, all, none, cpu, frame, bookmark, region, counter, log, memory, itt, nvtx, "
        "openmp"};
}

Read event(OptionParser& parser, source::EventSpec& target) {
    return {[&](const std::string& /*option*/, const std::string& text) -> Result<void> {
                if (text == "help") {
                    parser.answer(source::known_events() + "\n");
                    return {};
                }
                SAMPLE_TRY(event, source::parse_event(text));
                target = std::move(event);
                return {};
            },
            "cpu-clock, task-clock, page-faults, minor-faults, major-faults, context-switches, "
            "cpu-migrations, cycles, instructions, cache-references, cache-misses, branches, "
            "branch-misses, help"};
}

Read plugin_file(std::vector<std::string>& plugins) {
    return {[&](const std::string& option, const std::string& text) -> Result<void> {
                std::error_code error;
                const std::string path = std::filesystem::canonical(text, error).string();
                if (error) {
                    return refuse("{} '{}' cannot be read: {}", option, text, error.message());
                }
                if (path.find(':') != std::string::npos) {
                    return refuse(
                        "{} '{}' has a colon in its path, which separates plug-ins: move it "
                        "elsewhere",
                        option, path);
                }
                plugins.push_back(path);
                return {};
            },
            ""};
}

Read module_description(std::vector<std::string>& modules) {
    return {[&](const std::string& option, const std::string& text) -> Result<void> {
                constexpr std::size_t kMostName = 40;
                const std::string name = text.substr(0, text.find(':'));
                const bool is_name = !name.empty() && name.size() <= kMostName &&
                                     std::all_of(name.begin(), name.end(), [](unsigned char c) {
                                         return (std::isalnum(c) != 0 && c < 0x80) || c == '_';
                                     });
                if (!is_name) {
                    return refuse(
                        "{} '{}' does not begin with a module's name: at most 40 letters, digits "
                        "and _, then a colon before arguments",
                        option, text);
                }
                if (text.find(';') != std::string::npos) {
                    return refuse(
                        "{} '{}' has a semicolon, which separates modules in SAMPLE_MODULE: write "
                        "the option once for each module",
                        option, text);
                }
                modules.push_back(text);
                return {};
            },
            ""};
}

Result<void> check_unity(RecordOptions& options) {
    if (options.unity_release && options.unity_plugins.empty()) {
        return refuse("--unity-release says how a plug-in is run: add --unity-plugin FILE.so");
    }
    if (!options.unity_plugins.empty() && options.trace.empty()) {
        options.trace = channels_of("default");
    }
    return {};
}

/// -a is given.
Result<void> check_machine(const RecordOptions& options) {
    if (!options.command.empty()) {
        return refuse(
            "-a records every process of the machine and starts none: start the command beside it, "
            "or leave -a out");
    }
    const bool is_for_a_command = !options.samples || !options.trace.empty() || options.delay ||
                                  options.starts_off || options.source != control::Source::none ||
                                  !options.event.is_default() ||
                                  options.clock != trace::Clock::cpu || !options.modules.empty() ||
                                  !options.unity_plugins.empty();
    if (is_for_a_command) {
        return refuse(
            "-a looks at programs from outside, so there is no --trace, --start, --delay, "
            "--source, "
            "--event, --clock wall, --module, --unity-plugin and --freq off: record a command for "
            "these");
    }
    return {};
}

Result<void> check_words(const RecordOptions& options) {
    if (!options.samples && options.trace.empty()) {
        return refuse("--freq off leaves nothing to record: add --trace default");
    }
    if (!options.samples && options.live_port) {
        return refuse("--freq off leaves nothing for --live to serve: leave one of them out");
    }
    if (options.starts_off && (options.delay || options.time)) {
        return refuse(
            "--start off leaves it to sample control and sample attach when to begin, and for how "
            "long: leave --delay and --time out");
    }
    if (options.machine) {
        return check_machine(options);
    }
    if (options.kernel != collector::KernelFrames::automatic) {
        return refuse(
            "--kernel is of sample attach and of -a, which look from outside: a command's samples "
            "have no kernel part");
    }
    if (options.off_cpu) {
        return refuse(
            "--off-cpu is of sample attach and of -a, which look from outside: a command's waits "
            "are recorded by --clock wall");
    }
    if (options.command.empty() || options.command.front().empty()) {
        return refuse("no command to record: write sample [OPTIONS] -- COMMAND [ARGUMENTS]");
    }
    return {};
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
            "--event {} cannot be sampled by --source {}, which goes by time alone: choose "
            "sigtrap, "
            "perf or auto",
            event.name, options.source == Source::thread ? "thread" : "timer");
    }
    if (!event.is_default() && options.clock == trace::Clock::wall) {
        return refuse("--event {} is measured instead of a clock: leave --clock wall out",
                      event.name);
    }
    return {};
}

/// What programs, and plug-ins in them, say of themselves.
void declare_said(OptionParser& parser, RecordOptions& options) {
    parser.value("--trace", "CHANNELS", channels(options.trace),
                 "Also record what the program says of itself by sample/trace.h:\n"
                 "default (zones, frames, counters, ...), all, or channels by\n"
                 "name, separated by commas; memory, by name alone, also records\n"
                 "every malloc and free, with call stacks, at a cost to each;\n"
                 "itt, nvtx, openmp: what it says of itself by these");
    parser.asks("--list-channels", list_of_channels(),
                "Say which channels and presets --trace knows, and exit");
    parser.values("--unity-plugin", "FILE", plugin_file(options.unity_plugins),
                  "Load a Unity native plug-in into COMMAND (repeatable): what it\n"
                  "says is recorded, and it is told what COMMAND says");
    parser.flag("--unity-release", options.unity_release,
                "Be a release player to it: IUnityProfiler is not available");
    parser.values("--module", "NAME[:ARGS]", module_description(options.modules),
                  "Load the profiler module libsample-profiler-NAME.so into\n"
                  "COMMAND (repeatable), and pass it the whole description");
}

}  // namespace

Result<std::string> parse_channels(const std::string& option, const std::string& text) {
    std::string all;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string name = text.substr(begin, end - begin);
        if (name.empty()) {
            return refuse(
                "{} '{}' has an empty name: write channels, separated by commas, e.g. "
                "default,physics",
                option, text);
        }
        all.append(all.empty() ? "" : ",").append(channels_of(name));
        begin = end + 1;
    }
    if (all.size() >= capture::kMostWantedBytes) {
        return refuse("{}: too many channels", option);
    }
    return all;
}

void declare(OptionParser& parser, RecordOptions& options) {
    using control::Source;
    const auto has_frequency = std::make_shared<bool>(false);
    parser.describe("[record] [OPTIONS] [--] COMMAND [ARGUMENTS], or sample record -a [OPTIONS]",
                    "Runs COMMAND, samples the stacks of its threads, keeps a recording and "
                    "says where the time went.",
                    kFooter);
    parser.value("-f,--freq", "HZ", frequency(options, has_frequency),
                 "Samples a second of CPU time, 1 to 10000 (default: 1k), or off");
    declare_said(parser, options);
    parser.value("-t,--time", "TIME", unless_empty(duration(options.time)),
                 "Stop sampling after 500ms, 10s, 5m, ...; the command runs on");
    parser.value("--delay", "TIME", unless_empty(duration(options.delay)),
                 "Begin so long after the start: what came before is not in the\n"
                 "recording. --time counts from there");
    parser.value("--start", "on|off",
                 one_of(options.starts_off, Words<bool>{{"on", false}, {"off", true}}, kNotKnown),
                 "off: take no samples before sample control PID start or\n"
                 "sample attach PID asks for them");
    declare_output(parser, options);
    declare_parts(parser, options);
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
                 "...; `--event help` lists all. One sample for PERIOD of them");
    declare_depth(parser, options);
    parser.value(
        "--clock", "CLOCK",
        one_of(options.clock,
               Words<trace::Clock>{{"cpu", trace::Clock::cpu}, {"wall", trace::Clock::wall}},
               kNotKnown),
        "Which time is measured: cpu (default), or wall, which\n"
        "includes waiting");
    parser.flag("--children,!--no-children", options.children,
                "Also record the processes that COMMAND starts (default),\n"
                "or not");
    parser.flag("-a,--all", options.machine,
                "Every process of the machine instead of a COMMAND, until --time\n"
                "or Ctrl-C; root's to ask for");
    declare_kernel(parser, options, "With -a: ");
    declare_off_cpu(parser, options, "With -a: ");
    declare_names(parser, options);
    declare_live(parser, options);
    parser.flag("--quiet", options.quiet, "No countdown and no summary");
    declare_color(parser, options.color);
    parser.command(options.command);
    parser.check([&options] { return check_unity(options); });
    parser.check([&options, has_frequency] { return check_event(options, *has_frequency); });
    parser.check([&options] { return check_words(options); });
}

}  // namespace sample::cli
