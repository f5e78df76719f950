// What each verb is asked to do, as plain values, and how the words of the command line become
// them. Runs nothing, prints nothing.
#pragma once

#include "analysis/export_format.h"
#include "analysis/load_profile.h"
#include "cli/options/option_parser.h"
#include "cli/views/annotate.h"
#include "cli/views/terminal.h"
#include "cli/views/views.h"
#include "core/option_values.h"
#include "core/result.h"
#include "import/import.h"
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

struct RecordOptions {
    std::uint32_t frequency_hz = kDefaultFrequencyHz;
    std::optional<std::chrono::nanoseconds> time;  ///< Stop by itself after this.
    std::string output;  ///< As typed, with %p %t %n; empty: the default pattern.
    bool force = false;  ///< Replace files that exist.
    std::vector<ExportRequest> exports;
    control::Source source = control::Source::none;  ///< None: the best that works.
    trace::Clock clock = trace::Clock::cpu;
    source::EventSpec event;                     ///< What is sampled; time, unless asked.
    std::uint32_t max_stack = kDefaultMaxStack;  ///< Frames kept of a stack, 64 to 8192.
    bool children = true;   ///< Record the processes that the command starts, too.
    bool symbols = true;    ///< The recording carries the names of functions.
    bool use_cache = true;  ///< Names that were found before are used, and kept.
    bool code = true;       ///< With them the hottest code, and the source lines that it came from.
    std::vector<std::string> debug_folders;  ///< Where separate debug files are, too.
    bool quiet = false;                      ///< Neither countdown nor summary; errors still.
    ColorMode color = ColorMode::automatic;
    std::vector<std::string> command;  ///< Never empty after a parse that succeeded.
};

enum class View : std::uint8_t { summary, callgraph, functions, threads, stats };

struct ReportOptions {
    View view = View::summary;
    analysis::ProfileChoice choice;
    Unit unit = Unit::weight;
    std::optional<double> min_percent;
    bool json = false;
    ColorMode color = ColorMode::automatic;
    std::string file;
};

struct AnnotateOptions {
    std::string function;
    std::string file;
    AnnotationLayout layout = AnnotationLayout::interleaved;
    Unit unit = Unit::weight;
    bool all = false;    ///< What was never sampled, too.
    bool intel = false;  ///< Intel's syntax instead of AT&T's.
    bool json = false;
    /// None: whole names in JSON and in the heading, short ones of what is inlined and called.
    std::optional<symbolize::NameForm> names;
    bool resymbolize = false;                ///< Names from this machine's files alone.
    bool use_cache = true;                   ///< Of the names that were found before.
    std::vector<std::string> debug_folders;  ///< Where separate debug files are, too.
    ColorMode color = ColorMode::automatic;
};

enum class DiffView : std::uint8_t { functions, paths };

struct DiffVerbOptions {
    DiffView view = DiffView::functions;
    analysis::ProfileChoice choice;
    bool normalize = false;
    double confidence_percent = 95;
    std::optional<double> fail_above_percent;  ///< Of A's whole; none: no gate.
    std::size_t limit = 20;                    ///< Lines of a list; 0: all.
    bool json = false;
    ColorMode color = ColorMode::automatic;
    std::string before;
    std::string after;
};

struct ExportOptions {
    const analysis::ExportFormat* format = nullptr;
    std::string output = "-";  ///< "-": standard output.
    bool force = false;
    analysis::ProfileChoice choice;
    std::string file;
};

struct ImportOptions {
    std::optional<imports::Format> from;  ///< None: by the file's content.
    std::string output;                   ///< "-": standard output.
    bool force = false;
    std::string file;
};

struct DoctorOptions {
    bool json = false;
    ColorMode color = ColorMode::automatic;
};

/// Declares a verb's options; what is typed goes into `options`, which must outlive the parse.
void declare(OptionParser& parser, RecordOptions& options);
void declare(OptionParser& parser, ReportOptions& options);
void declare(OptionParser& parser, AnnotateOptions& options);
void declare(OptionParser& parser, DiffVerbOptions& options);
void declare(OptionParser& parser, ExportOptions& options);
void declare(OptionParser& parser, ImportOptions& options);
void declare(OptionParser& parser, DoctorOptions& options);

/// The options that several verbs have.
void declare_color(OptionParser& parser, ColorMode& color);
void declare_cache(OptionParser& parser, bool& use_cache);
void declare_debug_folders(OptionParser& parser, std::vector<std::string>& folders);

/// Text for standard output: --help and --version.
struct Text {
    std::string text;
};

using Invocation = std::variant<Text, RecordOptions, ReportOptions, AnnotateOptions,
                                DiffVerbOptions, ExportOptions, ImportOptions, DoctorOptions>;

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

/// `words` are argv without the program's name. The first word is the verb; where it is none, all
/// words are record's.
/// Errors: invalid_argument; the message ends with where to find help.
[[nodiscard]] Result<Invocation> parse_command_line(const std::vector<std::string>& words);

}  // namespace sample::cli
