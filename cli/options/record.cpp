// The options of the verbs that record: record, attach, top.
#include "cli/options/options.h"
#include "cli/record/receivers.h"
#include "cli/refuse.h"
#include "sampler/capture/definition_store.h"
#include "sampler/capture/shared_area.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
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

static_assert(kDefaultMaxStack == capture::kMaxDepth);

constexpr const char* kAttachFooter =
    R"(The process is not stopped, gets no signal and no code: perf events copy its stacks. Ctrl-C ends the
recording and keeps it.

Examples:
  sample attach 1234
  sample attach --freq 10k --time 30s my-server
  sample attach --children --export json=server.json 1234 5678
  sample attach --wait my-server)";

constexpr std::string_view kNotKnown = "{} '{}' is not known";

Read frequency(RecordOptions& options, const std::shared_ptr<bool>& is_given) {
    return {
        [&options, is_given](const std::string& option, const std::string& text) -> Result<void> {
            options.samples = text != "off";
            if (!options.samples) {
                return {};
            }
            const auto frequency = parse_frequency(text);
            if (!frequency.ok()) {
                return refuse("{} '{}' is {}: {}", option, text,
                              frequency.problem == OptionProblem::out_of_range
                                  ? "outside the range 1 to 10000"
                                  : "not a frequency",
                              kFrequencyHelp);
            }
            *is_given = true;
            options.frequency_hz = frequency.value;
            return {};
        },
        "1k, 10k, off"};
}

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

Read duration(std::optional<std::chrono::nanoseconds>& target) {
    return {[&](const std::string& option, const std::string& text) -> Result<void> {
                const auto time = parse_duration_ns(text);
                if (!time.ok()) {
                    return refuse("{} '{}' is not a duration: {}", option, text, kDurationHelp);
                }
                target = std::chrono::nanoseconds{time.value};
                return {};
            },
            "10s, 1m, 5m, 10m"};
}

Read frames(std::uint32_t& target) {
    return {[&](const std::string& option, const std::string& text) -> Result<void> {
                std::uint64_t frames = 0;
                const char* end = text.data() + text.size();
                const auto parsed = std::from_chars(text.data(), end, frames);
                if (parsed.ec != std::errc{} || parsed.ptr != end ||
                    frames < capture::kLeastMaxDepth || frames > capture::kMaxDepth) {
                    return refuse("{} '{}' is not a number of frames from {} to {}, e.g. 1024",
                                  option, text, capture::kLeastMaxDepth, capture::kMaxDepth);
                }
                target = static_cast<std::uint32_t>(frames);
                return {};
            },
            "64, 256, 1024, 8192"};
}

Read export_request(std::vector<ExportRequest>& exports) {
    std::string words;
    for (const analysis::ExportFormat& format : analysis::export_formats()) {
        words.append(words.empty() ? "" : ", ").append(format.name).append("=");
    }
    return {
        [&](const std::string& option, const std::string& text) -> Result<void> {
            const std::size_t equals = text.find('=');
            if (equals == std::string::npos || equals + 1 == text.size()) {
                return refuse(
                    "{} '{}' names no file: write FORMAT=FILE, e.g. json=app.json (formats: {})",
                    option, text, analysis::export_format_names());
            }
            SAMPLE_TRY(format, analysis::find_export_format(text.substr(0, equals)));
            exports.push_back({format, text.substr(equals + 1)});
            return {};
        },
        words};
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

Read port(std::optional<std::uint16_t>& target) {
    return {[&target](const std::string& option, const std::string& text) -> Result<void> {
        std::uint16_t number = 0;
        const char* const end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, number);
        if (parsed.ec != std::errc{} || parsed.ptr != end) {
            return refuse(
                "{} '{}' is not a port: write a number from 1 to 65535, or {} alone for any that "
                "is free",
                option, text, option);
        }
        target = number;
        return {};
    }};
}

void declare_live(OptionParser& parser, RecordOptions& options) {
    parser.joined_value("--live", "PORT", "0", port(options.live_port),
                        "Serve what is recorded meanwhile over HTTP, on this machine\n"
                        "alone; the address, a secret, is printed at the start");
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

void declare_output(OptionParser& parser, RecordOptions& options) {
    parser.value("-o,--output", "FILE", into(options.output),
                 "The recording; %p process id, %t time, %n program\n"
                 "(default: sample-%n-%p.utrace)");
    parser.flag("--force", options.force, "Replace files that exist");
    parser.values("--export", "FORMAT=FILE", export_request(options.exports),
                  "At the end also write FILE (repeatable); FORMAT is one of\n" +
                      analysis::export_format_names());
}

void declare_depth(OptionParser& parser, RecordOptions& options) {
    parser.value("--max-stack", "N", unless_empty(frames(options.max_stack)),
                 "Frames kept of a stack, 64 to 8192 (default: 8192); a deeper\n"
                 "stack keeps both its ends");
}

void declare_kernel(OptionParser& parser, RecordOptions& options, const std::string& of_whom) {
    using collector::KernelFrames;
    parser.value("--kernel", "WHEN",
                 one_of(options.kernel,
                        Words<KernelFrames>{{"auto", KernelFrames::automatic},
                                            {"on", KernelFrames::on},
                                            {"off", KernelFrames::off}},
                        kNotKnown),
                 of_whom +
                     "Whether stacks have the kernel's part: auto (default),\n"
                     "where you may see it; on; or off");
}

void declare_off_cpu(OptionParser& parser, RecordOptions& options, const std::string& of_whom) {
    parser.flag("--off-cpu", options.off_cpu,
                of_whom +
                    "Also record where threads wait, for how long,\n"
                    "and who wakes them, by the kernel's switches; takes rights");
}

Result<void> check_targets(const AttachOptions& options) {
    if (!options.record.samples) {
        return refuse("--freq off leaves nothing to record of a process that runs already: {}",
                      kFrequencyHelp);
    }
    if (options.targets.empty() || options.targets.front().empty()) {
        return refuse("no process to record: write sample attach [OPTIONS] PID or NAME");
    }
    return {};
}

constexpr const char* kTopFooter =
    R"(A process is watched as by sample attach, a COMMAND as by sample record. No file is kept unless -o is given.
COMMAND is not in the foreground: its input is empty, its output goes to --log, and when top ends it gets
SIGTERM. Keys: ? lists them, q ends. Where standard output is no terminal, or a dumb one, pages are printed one
after the other, and Ctrl-C ends.

Examples:
  sample top 1234
  sample top --freq 10k my-server
  sample top --view callgraph --log app.log -- ./app its arguments
  sample top --iterations 5 --limit 10 1234)";

Result<void> check_top(const TopOptions& options) {
    const bool has_command = !options.attach.record.command.empty();
    if (has_command == !options.attach.targets.empty()) {
        return has_command ? refuse("a process and a command at once: name one of them")
                           : refuse(
                                 "nothing to watch: write sample top PID or NAME, or sample top -- "
                                 "COMMAND");
    }
    if (!options.log.empty() && !has_command) {
        return refuse("--log is for the output of a COMMAND");
    }
    if (!options.attach.record.samples) {
        return refuse("--freq off leaves nothing to show: {}", kFrequencyHelp);
    }
    return {};
}

Read number(const std::string& what, std::uint64_t& target) {
    return {[&target, what](const std::string& option, const std::string& text) -> Result<void> {
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, target);
        if (parsed.ec != std::errc{} || parsed.ptr != end) {
            return refuse("{} '{}' is not a number of {}", option, text, what);
        }
        return {};
    }};
}

void declare_names(OptionParser& parser, RecordOptions& options) {
    parser.flag("--symbols,!--no-symbols", options.symbols,
                "Keep the names of functions in the recording (default), so\n"
                "that it can be read on other machines, or not");
    declare_cache(parser, options.use_cache);
    parser.flag("--code,!--no-code", options.code,
                "Keep with them the hottest machine code and its source lines,\n"
                "for sample annotate (default), or not");
    declare_debug_folders(parser, options.debug_folders);
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

void declare(OptionParser& parser, AttachOptions& options) {
    RecordOptions& record = options.record;
    parser.describe("attach [OPTIONS] PID|NAME...",
                    "Samples the stacks of a process that runs already, keeps a recording and says "
                    "where the time went.",
                    kAttachFooter);
    parser.positional("PID|NAME", options.targets,
                      "Processes, by id, or by name where only one is called so");
    parser.value("-f,--freq", "HZ", frequency(record, std::make_shared<bool>(false)),
                 "Samples a second of CPU time, 1 to 10000 (default: 1k)");
    parser.value("-t,--time", "TIME", unless_empty(duration(record.time)),
                 "Stop after 500ms, 10s, 5m, ...; the process runs on");
    parser.flag("--children,!--no-children", record.children,
                "Also record the processes that it has started and starts, or\n"
                "not (default)");
    declare_kernel(parser, record, "");
    declare_off_cpu(parser, record, "");
    parser.flag("--wait", options.waits, "Wait until a process of that NAME appears");
    declare_output(parser, record);
    declare_parts(parser, record);
    declare_depth(parser, record);
    declare_names(parser, record);
    declare_live(parser, record);
    parser.flag("--quiet", record.quiet, "No countdown and no summary");
    declare_color(parser, record.color);
    parser.check([&options] { return check_targets(options); });
}

void declare(OptionParser& parser, TopOptions& options) {
    RecordOptions& record = options.attach.record;
    TopState& state = options.state;
    parser.describe("top [OPTIONS] PID|NAME... | top [OPTIONS] -- COMMAND [ARGUMENTS]",
                    "Shows each second where a process that runs already, or a command, spends its "
                    "time.",
                    kTopFooter);
    parser.positional("PID|NAME", options.attach.targets,
                      "Processes, by id, or by name where only one is called so");
    parser.value("-f,--freq", "HZ", frequency(record, std::make_shared<bool>(false)),
                 "Samples a second of CPU time, 1 to 10000 (default: 1k)");
    parser.value("-t,--time", "TIME", unless_empty(duration(record.time)),
                 "End after 500ms, 10s, 5m, ...");
    parser.value("--view", "VIEW",
                 one_of(state.view, Words<TopView>{{"functions", TopView::functions},
                                                   {"callgraph", TopView::callgraph}}),
                 "functions (default) or callgraph");
    parser.value("--sort", "KEY",
                 one_of(state.sort, Words<SortKey>{{"self", SortKey::self},
                                                   {"total", SortKey::total},
                                                   {"samples", SortKey::samples},
                                                   {"name", SortKey::name}}),
                 "Of functions: self (default), total, samples, name");
    parser.flag("--last", state.only_last_seconds,
                "Of the last 10 seconds, instead of all since the start");
    parser.value("--search", "TEXT", into(state.search), "Only what leads to names with TEXT");
    parser.value("--focus", "NAME", into(state.focus), "Only what this function calls");
    parser.value("--thread", "NAME", into(state.thread),
                 "Only this thread: by id, name, or group (worker)");
    struct Children {
        bool wanted = false;
        bool unwanted = false;
    };
    const auto children = std::make_shared<Children>();
    parser.flag("--children", children->wanted,
                "Also the processes that it has started and starts\n"
                "(default for a COMMAND)");
    parser.flag("--no-children", children->unwanted, "Not those (default for a PID)");
    parser.check([&record, children]() -> Result<void> {
        record.children = !children->unwanted && (children->wanted || !record.command.empty());
        return {};
    });
    parser.value("--iterations", "N", number("pages", options.iterations),
                 "End after N pages; 0 (default): go on");
    parser.value("--limit", "LINES", number("lines", options.limit),
                 "Lines of a list that is printed: 20 (default), 0 for all");
    parser.value("--log", "FILE", into(options.log),
                 "Where the output of COMMAND is added (default: /dev/null)");
    parser.value("-o,--output", "FILE", into(record.output),
                 "Also keep a recording; %p process id, %t time, %n program");
    parser.flag("--force", record.force, "Replace a file that exists");
    declare_cache(parser, record.use_cache);
    declare_debug_folders(parser, record.debug_folders);
    declare_color(parser, record.color);
    parser.separated(record.command);
    parser.check([&options] { return check_top(options); });
}

}  // namespace sample::cli
