#include "cli/views/text.h"

#include "callgraph/label.h"
#include "symbolize/names/name_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sample::cli {
namespace {

/// " <inlined at line 22>": the line is its caller's.
std::string inlining_text(const callgraph::Node& node) {
    switch (node.inlining) {
        case callgraph::Inlining::none:
            return "";
        case callgraph::Inlining::some:
            return " <partly inlined>";
        case callgraph::Inlining::all:
            break;
    }
    return node.call_line == 0 ? " <inlined>"
                               : fmt::format(" <inlined at line {}>", node.call_line);
}

/// The bytes of the first `count` code points.
std::size_t bytes_of(std::string_view text, std::size_t count) noexcept {
    std::size_t at = 0;
    while (at < text.size() && count > 0) {
        ++at;
        while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) {
            ++at;
        }
        --count;
    }
    return at;
}

std::string cut_middle(std::string_view name, std::size_t width, std::string_view ellipsis) {
    const std::size_t length = display_width(name);
    const std::size_t mark = display_width(ellipsis);
    if (width <= mark) {
        return std::string{ellipsis.substr(0, bytes_of(ellipsis, width))};
    }
    const std::size_t kept = width - mark;
    const std::size_t head = kept * 2 / 5;
    const std::size_t tail = kept - head;
    std::string result{name.substr(0, bytes_of(name, head))};
    result += ellipsis;
    result += name.substr(bytes_of(name, length - tail));
    return result;
}

}  // namespace

std::string scale_text(double scale, const Terminal& terminal) {
    return scale == 1.0 ? "" : fmt::format("{}{:.4g}", terminal.utf8 ? "\u00d7" : "x", scale);
}

std::string function_label(const callgraph::Function& function) {
    std::string label = printable(callgraph::label(function));
    if ((function.flags & callgraph::kNative) != 0) {
        label += " <native>";
    }
    if ((function.flags & callgraph::kPlugin) != 0) {
        label += " <plugin>";
    }
    return label;
}

std::string node_name(const callgraph::Profile& profile, NodeId id) {
    const callgraph::Node& node = profile.node(id);
    if (!node.function.is_none()) {
        return function_label(profile.function(node.function));
    }
    const auto category =
        std::find_if(profile.categories.begin(), profile.categories.end(),
                     [id](const callgraph::Category& c) { return c.node == id && id.value != 0; });
    return category == profile.categories.end() ? "<root>" : printable(category->name);
}

std::string node_label(const callgraph::Profile& profile, NodeId id) {
    const callgraph::Node& node = profile.node(id);
    std::string label = node_name(profile, id);
    if (node.line != 0) {
        label += ":" + std::to_string(node.line);
    }
    return label + inlining_text(node);
}

std::string location_text(const callgraph::Function& function, bool full) {
    std::string text =
        printable(full ? std::string_view{function.source} : file_name(function.source));
    if (!text.empty() && function.line != 0) {
        text.append(":").append(std::to_string(function.line));
    }
    return text;
}

std::string_view ellipsis(const Terminal& terminal) noexcept {
    return terminal.utf8 ? "\u2026" : "...";
}

std::string cut_end(std::string_view text, std::size_t columns, const Terminal& terminal) {
    const std::string_view mark = ellipsis(terminal);
    const std::size_t kept = columns - std::min(display_width(mark), columns);
    return std::string{text.substr(0, bytes_of(text, kept))}.append(mark);
}

/// Template arguments repeat what the rest of the name implies; argument lists tell overloads
/// apart, which is rarely asked; the end of a name (the method) says more than its middle.
std::string shorten_name(std::string_view name, std::size_t width, const Terminal& terminal) {
    if (width == 0 || display_width(name) <= width) {
        return std::string{name};
    }
    using symbolize::BracketKind;
    const std::string_view mark = ellipsis(terminal);
    std::string shorter = symbolize::collapse(name, BracketKind::template_arguments, mark);
    if (display_width(shorter) > width) {
        shorter = symbolize::collapse(shorter, BracketKind::arguments, mark);
    }
    return display_width(shorter) <= width ? shorter : cut_middle(shorter, width, mark);
}

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
    return fmt::format("{:.3f}", percent_of(ns, root_total_ns(profile)));
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
    line = shorten_name(line, room_beside(kBesides, terminal), terminal);
    line = styled(terminal, Style::bold, line) + "  " + session_length(session_ms(profile));
    if (profile.scale != 1.0) {
        line += "  durations " +
                styled(terminal, Style::warning, scale_text(profile.scale, terminal)) +
                " by --average";
    }
    return line;
}

std::string footer(const callgraph::Profile& profile, const Terminal& terminal, std::string lines) {
    for (const std::string& note : profile.stats.notes) {
        lines += "note: " + printable(note) + "\n";
    }
    return lines.empty() ? "" : "\n" + styled(terminal, Style::dim, lines);
}

std::size_t room_beside(std::size_t used, const Terminal& terminal, std::size_t least) {
    return terminal.width == 0 ? 0 : std::max(terminal.width, used + least) - used;
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
