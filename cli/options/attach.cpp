// The options of attach and top.
#include "cli/options/options.h"
#include "cli/options/recording.h"
#include "cli/refuse.h"

#include <charconv>
#include <memory>
#include <system_error>

namespace sample::cli {
namespace {

constexpr const char* kAttachFooter =
    R"(The process is not stopped, gets no signal and no code: perf events copy its stacks. Ctrl-C ends the
recording and keeps it.

Examples:
  sample attach 1234
  sample attach --freq 10k --time 30s my-server
  sample attach --children --export json=server.json 1234 5678
  sample attach --wait my-server)";

Result<void> check_targets(const AttachOptions& options) {
    if (!options.record.samples) {
        return refuse("--freq off leaves nothing to record of a process that runs already: {}",
                      kFrequencyHelp);
    }
    if (options.targets.empty() || options.targets.front().empty()) {
        return refuse("no process to record: write sample attach [OPTIONS] PID or NAME");
    }
    if (options.injects && (options.targets.size() > 1 || options.record.off_cpu)) {
        return refuse("--inject is for one process at a time, and without --off-cpu");
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

}  // namespace

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
    parser.flag("--inject", options.injects,
                "Bring the agent into the process, where perf events are\n"
                "forbidden: it stays, and sleeps afterwards");
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
