// The options of a recording in parts.
#include "cli/options/recording.h"
#include "cli/refuse.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

namespace sample::cli {
namespace {

constexpr std::uint64_t kLeastMaxBytes = 100'000;

Read part_time(std::optional<std::chrono::nanoseconds>& target) {
    return {[&target](const std::string& option, const std::string& text) -> Result<void> {
                constexpr std::uint64_t kLeast = 100'000'000;
                const auto time = parse_duration_ns(text);
                if (!time.ok() || time.value < kLeast) {
                    return refuse("{} '{}' is not a time of 100ms or more: write 10m or 1h", option,
                                  text);
                }
                target = std::chrono::nanoseconds{time.value};
                return {};
            },
            "1m, 10m, 1h, 24h"};
}

Read bytes(std::optional<std::uint64_t>& target) {
    return {[&target](const std::string& option, const std::string& text) -> Result<void> {
                constexpr std::string_view kUnits = "KMG";
                std::uint64_t size = 0;
                const char* const end = text.data() + text.size();
                const auto parsed = std::from_chars(text.data(), end, size);
                const std::string_view unit{parsed.ptr, static_cast<std::size_t>(end - parsed.ptr)};
                const std::size_t power = unit.size() == 1 ? kUnits.find(unit) : kUnits.npos;
                std::uint64_t factor = 1;
                for (std::size_t i = 0; power != kUnits.npos && i <= power; ++i) {
                    factor *= 1000;
                }
                const bool is_good = parsed.ec == std::errc{} &&
                                     (unit.empty() || power != kUnits.npos) &&
                                     size <= std::numeric_limits<std::uint64_t>::max() / factor &&
                                     size * factor >= kLeastMaxBytes;
                if (!is_good) {
                    return refuse("{} '{}' is not a size of 100K or more: write 500M or 2G", option,
                                  text);
                }
                target = size * factor;
                return {};
            },
            "100M, 1G, 10G"};
}

}  // namespace

void declare_parts(OptionParser& parser, RecordOptions& options) {
    PartOptions& parts = options.parts;
    parser.value("--rotate", "TIME", part_time(parts.rotate),
                 "Record in parts: each 10m, 1h, ... app.utrace becomes\n"
                 "app.0001.utrace, app.0002.utrace, ... and begins anew");
    parser.value("--keep", "TIME", part_time(parts.keep),
                 "Keep parts for the last 1h, 24h, ... and remove older ones");
    parser.value("--max-size", "SIZE", bytes(parts.max_bytes),
                 "Keep all parts together below 500M, 2G, ...: the oldest are\n"
                 "removed");
    parser.check([&options]() -> Result<void> {
        if (options.parts.are_wanted() && !options.exports.empty()) {
            return refuse(
                "--export is of a whole recording, and --rotate, --keep and --max-size make parts: "
                "convert those with sample export afterwards");
        }
        return {};
    });
}

}  // namespace sample::cli
