// What each verb is asked to do, as plain values, and how the words of the command line become
// them. Runs nothing, prints nothing.
#pragma once

#include "analysis/export_format.h"
#include "analysis/load_profile.h"
#include "cli/options/option_parser.h"
#include "cli/top/top_state.h"
#include "cli/views/annotate.h"
#include "cli/views/terminal.h"
#include "cli/views/views.h"
#include "core/option_values.h"
#include "core/result.h"
#include "import/import.h"
#include "sampler/collector/session_options.h"
#include "sampler/control/protocol.h"
#include "sampler/source/event_spec.h"
#include "symbolize/names/name_forms.h"
#include "trace/records.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sample::cli {

struct ExportRequest {
    const analysis::ExportFormat* format = nullptr;
    std::string path;  ///< May hold %p %t %n, like the output's, until name_exports().
};

inline constexpr std::uint32_t kDefaultMaxStack = 8192;

/// A recording in parts: any of these asks for it.
struct PartOptions {
    std::optional<std::chrono::nanoseconds> rotate;  ///< How long a part is.
    std::optional<std::chrono::nanoseconds> keep;    ///< Parts that ended before that are removed.
    std::optional<std::uint64_t> max_bytes;          ///< Of all parts together.

    [[nodiscard]] bool are_wanted() const { return rotate || keep || max_bytes; }
};

struct RecordOptions {
    std::uint32_t frequency_hz = kDefaultFrequencyHz;
    bool starts_off = false;                        ///< Sampling begins when somebody asks for it.
    std::optional<std::chrono::nanoseconds> delay;  ///< Begin so long after the start.
    std::optional<std::chrono::nanoseconds> time;   ///< Stop by itself after this.
    std::string output;  ///< As typed, with %p %t %n; empty: the default pattern.
    bool force = false;  ///< Replace files that exist.
    std::vector<ExportRequest> exports;
    PartOptions parts;
    control::Source source = control::Source::none;  ///< None: the best that works.
    trace::Clock clock = trace::Clock::cpu;
    source::EventSpec event;                     ///< What is sampled; time, unless asked.
    std::uint32_t max_stack = kDefaultMaxStack;  ///< Frames kept of a stack, 64 to 8192.
    collector::KernelFrames kernel = collector::KernelFrames::automatic;
    bool off_cpu = false;                    ///< From outside: each wait is recorded, too.
    bool samples = true;                     ///< Else only what the program says is recorded.
    std::string trace;                       ///< Channels that are on, separated by commas.
    std::vector<std::string> unity_plugins;  ///< Paths, without a colon.
    bool unity_release = false;        ///< For them it is a release player, without a profiler.
    std::vector<std::string> modules;  ///< Profiler modules, NAME[:ARGS], without a semicolon.
    bool machine = false;              ///< Record every process of the machine, and no command.
    std::optional<std::uint16_t> live_port;  ///< Live data is served there; 0: where one is free.
    bool children = true;                    ///< Record the processes that the command starts, too.
    bool symbols = true;                     ///< The recording carries the names of functions.
    bool use_cache = true;                   ///< Names that were found before are used, and kept.
    bool code = true;  ///< With them the hottest code, and the source lines that it came from.
    std::vector<std::string> debug_folders;  ///< Where separate debug files are, too.
    bool quiet = false;                      ///< Neither countdown nor summary; errors still.
    ColorMode color = ColorMode::automatic;
    /// Never empty after a parse that succeeded, unless the machine is recorded.
    std::vector<std::string> command;
};

struct AttachOptions {
    RecordOptions record;              ///< But for the command, and what only an agent can do.
    std::vector<std::string> targets;  ///< Process ids, or programs' names.
    bool waits = false;                ///< For a process of that name to appear.
    bool injects = false;              ///< Brings the agent into a process that has none.

    AttachOptions() { record.children = false; }
};

struct TopOptions {
    AttachOptions attach;          ///< Whom; or, where there are no targets, attach.record.command.
    TopState state;                ///< What the first page shows.
    std::uint64_t limit = 20;      ///< Rows of a page that is printed; 0: all.
    std::uint64_t iterations = 0;  ///< Pages, then it ends; 0: until something else ends it.
    std::string log;               ///< Where the command's output goes; empty: nowhere.
};

enum class View : std::uint8_t {
    summary,
    callgraph,
    callers,
    functions,
    threads,
    stats,
    zones,
    frames,
    counters,
    log,
    memory,
    events,
};

struct ReportOptions {
    View view = View::summary;
    analysis::ProfileChoice choice;
    Unit unit = Unit::weight;
    std::optional<double> min_percent;
    bool json = false;
    bool no_pager = false;  ///< Also on a terminal.
    ColorMode color = ColorMode::automatic;
    std::string file;  ///< Empty: named_or_newest().
};

struct AnnotateOptions {
    std::string function;  ///< Empty: the one with most time; or FILE, where `file` is empty.
    std::string file;      ///< Empty: named_or_newest().
    AnnotationLayout layout = AnnotationLayout::interleaved;
    Unit unit = Unit::weight;
    bool all = false;    ///< What was never sampled, too.
    bool intel = false;  ///< Intel's syntax instead of AT&T's.
    bool json = false;
    /// None: whole names in JSON and in the heading, short ones of what is inlined and called.
    std::optional<symbolize::NameForm> names;
    callgraph::Selection selection;  ///< Which samples.
    analysis::NameSources names_from;
    ColorMode color = ColorMode::automatic;
};

enum class DiffView : std::uint8_t { functions, paths };

struct DiffVerbOptions {
    DiffView view = DiffView::functions;
    analysis::ProfileChoice choice;
    bool normalize = false;
    std::string normalize_by;  ///< A function instead of the whole; empty: the whole.
    double confidence_percent = 95;
    std::optional<double> fail_above_percent;  ///< Of A's whole; none: no gate.
    std::size_t limit = 20;                    ///< Lines of a list; 0: all.
    bool json = false;
    ColorMode color = ColorMode::automatic;
    std::vector<std::string> before;  ///< Recordings: one a side, or several a side.
    std::vector<std::string> after;
};

/// Of export: the recording itself, with analysis::write_sampled_tracks().
inline constexpr const char* kRecordingFormat = "utrace";

struct ExportOptions {
    const analysis::ExportFormat* format = nullptr;  ///< None: kRecordingFormat.
    std::string output = "-";                        ///< "-": standard output.
    bool force = false;
    analysis::ProfileChoice choice;
    std::string file;  ///< Empty: named_or_newest().
};

struct ImportOptions {
    std::optional<imports::Format> from;  ///< None: by the file's content.
    std::string output;                   ///< "-": standard output.
    bool force = false;
    std::string file;
};

enum class TraceAction : std::uint8_t { dump, info, channels };

struct TraceOptions {
    TraceAction action = TraceAction::dump;
    std::vector<std::string> loggers;  ///< Only theirs; empty: all.
    std::vector<std::string> events;   ///< Only these, "Event" or "Logger.Event"; empty: all.
    std::size_t limit = 0;             ///< Events; 0: all.
    bool json = false;
    std::string file;  ///< Empty: named_or_newest().
};

inline constexpr const char* kControlActions =
    "status, start, stop, pause, resume, freq, time, cancel, channels, dump, data";
inline constexpr const char* kStatusAction = "status";
inline constexpr const char* kChannelsAction = "channels";
inline constexpr const char* kDumpAction = "dump";
inline constexpr const char* kDataAction = "data";

struct ControlOptions {
    std::string target;  ///< A process id, or a program's name.
    std::string action;
    std::vector<std::string> arguments;  ///< Of dump, one: the file.
    bool force = false;
};

struct SessionsOptions {
    bool json = false;
    ColorMode color = ColorMode::automatic;
};

struct DoctorOptions {
    bool json = false;
    ColorMode color = ColorMode::automatic;
};

/// Declares a verb's options; what is typed goes into `options`, which must outlive the parse.
void declare(OptionParser& parser, RecordOptions& options);
void declare(OptionParser& parser, AttachOptions& options);
void declare(OptionParser& parser, TopOptions& options);
void declare(OptionParser& parser, ReportOptions& options);
void declare(OptionParser& parser, AnnotateOptions& options);
void declare(OptionParser& parser, DiffVerbOptions& options);
void declare(OptionParser& parser, ExportOptions& options);
void declare(OptionParser& parser, ImportOptions& options);
void declare(OptionParser& parser, TraceOptions& options);
void declare(OptionParser& parser, ControlOptions& options);
void declare(OptionParser& parser, SessionsOptions& options);
void declare(OptionParser& parser, DoctorOptions& options);

/// The options that several verbs have.
void declare_color(OptionParser& parser, ColorMode& color);
void declare_cache(OptionParser& parser, bool& use_cache);
void declare_debug_folders(OptionParser& parser, std::vector<std::string>& folders);
/// --from, which also says what a foreign file is, --to, --between, --in-frames, --in-zone, --by
/// and --zones.
void declare_labels(OptionParser& parser, analysis::ProfileChoice& choice);

/// The channels that `text`, the value of `option`, names: separated by commas, presets replaced by
/// what they stand for.
[[nodiscard]] Result<std::string> parse_channels(const std::string& option,
                                                 const std::string& text);

/// Text for standard output: --help and --version.
struct Text {
    std::string text;
};

using Invocation = std::variant<Text, RecordOptions, AttachOptions, TopOptions, ReportOptions,
                                AnnotateOptions, DiffVerbOptions, ExportOptions, ImportOptions,
                                TraceOptions, ControlOptions, SessionsOptions, DoctorOptions>;

template <class Options>
[[nodiscard]] Suggestions suggest_options(const std::vector<std::string>& words) {
    OptionParser parser;
    Options options;
    declare(parser, options);
    return parser.suggest(words);
}

/// `arguments` are the words behind the verb whose options are asked for.
/// Errors: invalid_argument (also for what only other versions can do), saying what is allowed.
template <class Options>
[[nodiscard]] Result<Invocation> parse_options(const std::vector<std::string>& arguments) {
    OptionParser parser;
    Options options;
    declare(parser, options);
    SAMPLE_TRY(answer, parser.parse(arguments));
    return answer.empty() ? Invocation{std::move(options)} : Invocation{Text{std::move(answer)}};
}

/// What a shell offers for the last of `words`, which are argv without the program's name: as
/// Suggestions, the command's beginning as a first line ":command N".
[[nodiscard]] std::string suggest(const std::vector<std::string>& words);

/// `words` are argv without the program's name. The first word is the verb; where it is none, all
/// words are record's.
/// Errors: invalid_argument; the message ends with where to find help.
[[nodiscard]] Result<Invocation> parse_command_line(const std::vector<std::string>& words);

}  // namespace sample::cli
