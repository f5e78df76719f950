// What `sample record` is asked to do, as plain values: made from the command line by
// parse_record_options(), used by run_record().
#pragma once

#include "analysis/export_format.h"
#include "cli/options/option_parser.h"
#include "cli/views/terminal.h"
#include "core/option_values.h"
#include "core/result.h"
#include "sampler/source/event_spec.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
    std::string source = "auto";                 ///< auto, sigtrap or perf.
    std::string clock = "cpu";                   ///< cpu or wall.
    source::EventSpec event;                     ///< What is sampled; time, unless asked.
    std::uint32_t max_stack = kDefaultMaxStack;  ///< Frames kept of a stack, 64 to 8192.
    bool children = true;  ///< Record the processes that the command starts, too.
    bool symbols = true;   ///< The recording carries the names of functions.
    bool cache = true;     ///< Names that were found before are used, and kept.
    bool code = true;      ///< With them the hottest code, and the source lines that it came from.
    std::vector<std::string> debug_folders;  ///< Where separate debug files are, too.
    bool quiet = false;                      ///< Neither countdown nor summary; errors still.
    ColorMode color = ColorMode::automatic;
    std::vector<std::string> command;  ///< Never empty after a parse that succeeded.
};

/// `arguments` are the words behind the verb. Everything from the first word that is no option, or
/// behind "--", is the command and is not looked at.
/// Errors: invalid_argument (also for what only other versions can do), saying what is allowed.
[[nodiscard]] Result<Parsed<RecordOptions>> parse_record_options(
    const std::vector<std::string>& arguments);

}  // namespace sample::cli
