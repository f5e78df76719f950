#include "cli/views/view_parts.h"

#include "cli/views/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace sample::cli {

std::uint64_t root_total_ns(const callgraph::Profile& profile) noexcept {
    return profile.nodes.empty() ? 0 : profile.nodes.front().total_ns;
}

std::uint64_t session_ms(const callgraph::Profile& profile) noexcept {
    constexpr std::uint64_t kNsPerMs = 1'000'000;
    if (profile.stats.wall_ns != 0) {
        return profile.stats.wall_ns / kNsPerMs;
    }
    return profile.end_unix_ms > profile.start_unix_ms ? profile.end_unix_ms - profile.start_unix_ms
                                                       : 0;
}

std::string duration_cell(const callgraph::Profile& profile, std::uint64_t ns, Unit unit) {
    if (unit != Unit::percent) {
        return profile.is_time() ? milliseconds(ns) : grouped(ns);
    }
    std::array<char, 32> buffer{};
    const int size =
        std::snprintf(buffer.data(), buffer.size(), "%.3f", percent_of(ns, root_total_ns(profile)));
    return {buffer.data(), static_cast<std::size_t>(size)};
}

std::size_t duration_column(const callgraph::Profile& profile, const ViewOptions& options) {
    constexpr std::size_t kLeast = 12;
    const std::size_t cell =
        display_width(duration_cell(profile, root_total_ns(profile), options.unit));
    const std::size_t heading = display_width("total " + unit_heading(profile, options));
    return std::max({kLeast, cell, heading});
}

std::string weight_text(const callgraph::Profile& profile, std::uint64_t ns) {
    return profile.is_time() ? short_duration(ns) : grouped(ns) + " " + printable(profile.unit);
}

std::string unit_heading(const callgraph::Profile& profile, const ViewOptions& options) {
    if (options.unit == Unit::percent) {
        return "%";
    }
    std::string heading = profile.is_time() ? "ms" : printable(profile.unit);
    // Per cent stay what they are, however the durations are scaled.
    if (profile.scale != 1.0) {
        heading += " " + scale_text(profile.scale, options.terminal);
    }
    return heading;
}

std::string session_line(const callgraph::Profile& profile, const Terminal& terminal) {
    std::string line = printable(profile.command_line);
    if (line.empty()) {
        line = "session";
    }
    constexpr std::size_t kBesides = 40;
    constexpr std::size_t kLeast = 20;
    if (terminal.width != 0) {
        line = shorten_name(line, std::max(terminal.width, kBesides + kLeast) - kBesides, terminal);
    }
    line = styled(terminal, Style::bold, line) + "  " + session_length(session_ms(profile));
    if (profile.scale != 1.0) {
        line += "  durations " +
                styled(terminal, Style::warning, scale_text(profile.scale, terminal)) +
                " by --average";
    }
    return line;
}

std::vector<std::string> warnings(const callgraph::Profile& profile) {
    std::vector<std::string> lines;
    for (const std::string& note : profile.stats.notes) {
        lines.push_back(printable(note));
    }
    return lines;
}

Style heat(double percent) noexcept {
    constexpr double kHeavy = 50.0;
    constexpr double kWarm = 10.0;
    constexpr double kFaint = 1.0;
    if (percent >= kHeavy) {
        return Style::heavy;
    }
    if (percent >= kWarm) {
        return Style::warm;
    }
    return percent < kFaint ? Style::dim : Style::plain;
}

std::uint64_t threshold_ns(const callgraph::Profile& profile, const ViewOptions& options,
                           double default_percent) {
    const double percent = options.min_percent.value_or(default_percent);
    return static_cast<std::uint64_t>(
        std::ceil(static_cast<double>(root_total_ns(profile)) * percent / 100.0));
}

}  // namespace sample::cli
