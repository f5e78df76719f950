// What the verbs that record have in common.
#include "cli/options/recording.h"

#include "cli/refuse.h"
#include "sampler/capture/shared_area.h"

#include <charconv>
#include <system_error>
#include <utility>

namespace sample::cli {
namespace {

static_assert(kDefaultMaxStack == capture::kMaxDepth);

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

}  // namespace

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
                                  ? "no whole number from 1 to 10000"
                                  : "not a frequency",
                              kFrequencyHelp);
            }
            *is_given = true;
            options.frequency_hz = frequency.value;
            return {};
        },
        "1k, 10k, off"};
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

void declare_live(OptionParser& parser, RecordOptions& options) {
    parser.joined_value("--live", "PORT", "0", port(options.live_port),
                        "Serve what is recorded meanwhile over HTTP, on this machine\n"
                        "alone; the address, a secret, is printed at the start");
}

}  // namespace sample::cli
