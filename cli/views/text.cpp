#include "cli/views/text.h"

#include "callgraph/label.h"
#include "core/units.h"
#include "symbolize/names/name_syntax.h"
#include "trace/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

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
    if (length <= width) {
        return std::string{name};
    }
    if (width <= mark) {
        return std::string{ellipsis.substr(0, bytes_of(ellipsis, width))};
    }
    const std::size_t kept = width - mark;
    const std::size_t head = kept * 2 / 5;
    std::string result{name.substr(0, bytes_of(name, head))};
    result += ellipsis;
    result += name.substr(bytes_of(name, length - (kept - head)));
    return result;
}

/// Where "::" stands outside of brackets.
std::vector<std::size_t> scopes_of(std::string_view name) {
    const symbolize::NameBrackets brackets{name};
    std::vector<std::size_t> scopes;
    for (std::size_t at = 0; at < name.size(); ++at) {
        if (brackets.kind(at) != symbolize::BracketKind::none) {
            at = std::max(at, brackets.partner(at));
        } else if (name.substr(at).starts_with("::")) {
            scopes.push_back(at++);
        }
    }
    return scopes;
}

/// A name whose template arguments, then argument lists, are left out until it fits.
std::string without_arguments(std::string_view name, std::size_t width, std::string_view ellipsis) {
    using symbolize::BracketKind;
    std::string shorter{name};
    for (const BracketKind kind : {BracketKind::template_arguments, BracketKind::arguments}) {
        if (display_width(shorter) > width) {
            shorter = symbolize::collapse(shorter, kind, ellipsis);
        }
    }
    return shorter;
}

/// The name says by itself that it lies in `place`: "libz.so.1+0x5d80", "[jit code]".
bool names_place(std::string_view name, std::string_view place) {
    return (name.starts_with(place) && name.substr(place.size()).starts_with("+0x")) ||
           (place == "[jit]" && name.starts_with("[jit"));
}

}  // namespace

std::string scale_text(double scale, const Terminal& terminal) {
    return scale == 1.0 ? "" : fmt::format("{}{:.4g}", terminal.utf8 ? "\u00d7" : "x", scale);
}

std::string times_text(std::size_t times, const Terminal& terminal) {
    return times == 1 ? "" : (terminal.utf8 ? " \u00d7" : " x") + grouped(times);
}

std::string function_label(const callgraph::Function& function) {
    std::string label = printable(callgraph::label(function));
    if ((function.flags & callgraph::kNative) != 0 && !label.starts_with("[jit")) {
        label += " [jit]";
    }
    return label;
}

std::string NodeNames::raw(NodeId id) const {
    const callgraph::Node& node = profile_.node(id);
    if (!node.function.is_none()) {
        return callgraph::label(profile_.function(node.function));
    }
    const std::string* category = categories_[id.value];
    return category == nullptr ? "<root>" : *category;
}

std::string NodeNames::shown(NodeId id) const {
    const callgraph::Node& node = profile_.node(id);
    return node.function.is_none() ? printable(raw(id))
                                   : function_label(profile_.function(node.function));
}

NodeLabel NodeNames::label(NodeId id, const Terminal& terminal) const {
    const callgraph::Node& node = profile_.node(id);
    NodeLabel label{"", shown(id), ""};
    if (node.line != 0) {
        label.behind = ":" + std::to_string(node.line);
    }
    if (node.inlining == callgraph::Inlining::none) {
        return label;
    }
    label.before = terminal.utf8 ? "\u2937 " : "~> ";
    if (node.inlining == callgraph::Inlining::some) {
        label.behind += " (partly)";
    } else if (node.call_line != 0) {
        label.behind += " :" + std::to_string(node.call_line);
    }
    return label;
}

std::string location_text(std::string_view source, std::uint32_t line, bool full) {
    std::string text = printable(full ? source : file_name(source));
    return text.empty() || line == 0 ? text : text + ":" + std::to_string(line);
}

std::string name_and_place(const std::string& name, std::string_view source, std::uint32_t line,
                           std::size_t room, const Terminal& terminal) {
    constexpr std::size_t kGap = 2;
    std::string place = location_text(source, line, room == 0);
    const std::size_t beside = kGap + display_width(place);
    const std::size_t left = room - std::min(room, beside);
    const std::string shorter =
        room == 0 ? name : without_arguments(name, left, ellipsis(terminal));
    if (place.empty() || names_place(name, place) || (room != 0 && display_width(shorter) > left)) {
        return shorten_name(name, room, terminal);
    }
    return shorter + "  " + styled(terminal, Style::dim, place);
}

std::string name_and_place(const callgraph::Function& function, std::size_t room,
                           const Terminal& terminal) {
    // Without a name, the label is the place.
    return name_and_place(function_label(function), function.name.empty() ? "" : function.source,
                          function.line, room, terminal);
}

std::string_view ellipsis(const Terminal& terminal) noexcept {
    return terminal.utf8 ? "\u2026" : "...";
}

std::string cut_end(std::string_view text, std::size_t columns, const Terminal& terminal) {
    if (columns == 0 || display_width(text) <= columns) {
        return std::string{text};
    }
    const std::string_view mark = ellipsis(terminal);
    const std::size_t kept = columns - std::min(display_width(mark), columns);
    return std::string{text.substr(0, bytes_of(text, kept))}.append(mark);
}

/// Template arguments repeat what the rest of the name implies; argument lists tell overloads
/// apart, which is rarely asked; the end of a name (the method) says more than its scope.
std::optional<std::string> fit_name(std::string_view name, std::size_t width,
                                    const Terminal& terminal) {
    if (width == 0) {
        return std::string{name};
    }
    const std::string_view mark = ellipsis(terminal);
    std::string shorter = without_arguments(name, width, mark);
    if (display_width(shorter) <= width) {
        return shorter;
    }
    for (const std::size_t scope : scopes_of(shorter)) {
        const std::string rest = std::string{mark} + shorter.substr(scope);
        if (display_width(rest) <= width) {
            return rest;
        }
    }
    return {};
}

std::string shorten_name(std::string_view name, std::size_t width, const Terminal& terminal) {
    if (std::optional<std::string> fitted = fit_name(name, width, terminal)) {
        return *std::move(fitted);
    }
    const std::string_view mark = ellipsis(terminal);
    const std::string shorter = without_arguments(name, width, mark);
    const std::vector<std::size_t> scopes = scopes_of(shorter);
    return cut_middle(shorter.substr(scopes.empty() ? 0 : scopes.back() + 2), width, mark);
}

std::string wrapped(std::string_view text, const Terminal& terminal, std::size_t indent) {
    const std::size_t width = terminal.width;
    std::string out;
    std::size_t column = indent;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        if (!out.empty()) {
            const bool fits = width == 0 || column + 1 + display_width(word) <= width;
            out += fits ? " " : "\n" + std::string(indent, ' ');
            column = fits ? column + 1 : indent;
        }
        out += word;
        column += display_width(word);
    }
    return out;
}

bool is_narrow(const Terminal& terminal) noexcept {
    constexpr std::size_t kRoomForAll = 100;
    return terminal.width != 0 && terminal.width < kRoomForAll;
}

std::uint64_t root_total(const callgraph::Profile& profile) noexcept {
    return profile.nodes.empty() ? 0 : profile.nodes.front().total;
}

std::uint64_t session_ms(const callgraph::Profile& profile) noexcept {
    if (profile.stats.wall_ns != 0) {
        return profile.stats.wall_ns / kNsPerMs;
    }
    return profile.end_unix_ms > profile.start_unix_ms ? profile.end_unix_ms - profile.start_unix_ms
                                                       : 0;
}

std::string Measure::cell(std::uint64_t weight) const {
    if (unit == Unit::percent) {
        return fmt::format("{:.{}f}", percent_of(weight, whole), percent_digits);
    }
    return is_time() ? milliseconds(weight) : grouped(weight);
}

std::string Measure::unit_name() const {
    if (unit == Unit::percent) {
        return "%";
    }
    return is_time() ? "ms" : printable(counted);
}

std::string Measure::heading(std::string_view name, const Terminal& terminal) const {
    // Per cent stay what they are, however the durations are scaled.
    const std::string by = unit == Unit::percent ? "" : scale_text(scale, terminal);
    return fmt::format("{} {}{}{}", name, unit_name(), by.empty() ? "" : " ", by);
}

std::string Measure::text(std::uint64_t weight) const {
    return is_time() ? short_duration(weight) : grouped(weight) + " " + printable(counted);
}

std::string Measure::key(std::string_view name) const {
    return std::string{name} + (is_time() ? "_us" : "_count");
}

std::uint64_t Measure::number(std::uint64_t weight) const noexcept {
    constexpr std::uint64_t kNsPerUs = 1'000;
    return is_time() ? weight / kNsPerUs : weight;
}

Measure measure_of(const callgraph::Profile& profile, Unit unit) {
    return {profile.metric.unit, root_total(profile), unit, profile.scale};
}

std::string session_line(const callgraph::Profile& profile, const Terminal& terminal) {
    std::string line = printable(profile.command_line);
    if (line.empty()) {
        line = "session";
    }
    constexpr std::size_t kBesides = 40;
    line = cut_end(line, room_beside(kBesides, terminal.width), terminal);
    line = styled(terminal, Style::bold, line) + "  " + session_length(session_ms(profile));
    if (profile.is_net) {
        const callgraph::Stats& stats = profile.stats;
        line += "  " + styled(terminal, Style::warning, "net") + " of " +
                (stats.gross ? short_duration(*stats.gross - *stats.net) + " of " : "") +
                "sampling";
    }
    if (profile.scale != 1.0) {
        line += "  durations " +
                styled(terminal, Style::warning, scale_text(profile.scale, terminal)) +
                " by --average";
    }
    return line;
}

std::string restriction_line(const callgraph::Profile& profile, const Terminal& terminal) {
    return profile.restriction.empty()
               ? ""
               : wrapped("only " + printable(profile.restriction), terminal) + "\n";
}

bool is_start(const callgraph::Function& function) noexcept {
    return function.name == trace::kBeforeStart && callgraph::is_without_stack(function);
}

std::string start_text(const callgraph::Profile& profile, const Measure& measure) {
    std::uint64_t weight = 0;
    for (const callgraph::Function& function : profile.functions) {
        weight += is_start(function) ? function.self : 0;
    }
    return weight == 0 ? ""
                       : fmt::format("{}, {}, before sampling could begin (exec, loader)",
                                     measure.text(weight), percent_text(weight, measure.whole));
}

namespace {

struct Said {
    std::uint64_t count;
    std::string text;
    const char* view;
};

/// What --view VIEW shows.
std::vector<Said> said_of(const callgraph::Profile& profile) {
    const callgraph::SaidCounts& said = profile.stats.said;
    std::vector<Said> list{
        {said.zones, counted(said.zones, "zone"), "zones"},
        {said.regions, counted(said.regions, "region"), "zones"},
        {said.frames, counted(said.frames, "frame"), "frames"},
        {said.values, counted(said.values, "value") + " of " + counted(said.counters, "counter"),
         "counters"},
        {said.messages, counted(said.messages, "message"), "log"},
        {said.events, counted(said.events, "event") + " of its own", "events"}};
    list.erase(
        std::remove_if(list.begin(), list.end(), [](const Said& each) { return each.count == 0; }),
        list.end());
    return list;
}

}  // namespace

std::vector<std::string> said_views(const callgraph::Profile& profile) {
    std::vector<std::string> views;
    for (const Said& each : said_of(profile)) {
        if (views.empty() || views.back() != each.view) {
            views.emplace_back(each.view);
        }
    }
    return views;
}

std::string said_text(const callgraph::Profile& profile) {
    std::string text;
    for (const Said& each : said_of(profile)) {
        text += (text.empty() ? "" : ", ") + each.text;
    }
    if (!text.empty()) {
        text += fmt::format(": see --view {}", fmt::join(said_views(profile), ", "));
    }
    return text;
}

std::string_view without_samples_text(const callgraph::Profile& profile) {
    switch (profile.stats.sampling) {
        case callgraph::Sampling::on:
            break;
        case callgraph::Sampling::off:
            return "recorded with --freq off";
        case callgraph::Sampling::foreign:
            return "a trace of another program";
    }
    return "";
}

std::string footer(const callgraph::Profile& profile, const Terminal& terminal, std::string lines) {
    const std::string_view why = without_samples_text(profile);
    // Without a tree, the view is of what was said.
    if (!why.empty() && !profile.nodes.empty()) {
        const std::string said = said_text(profile);
        lines += wrapped(fmt::format("note: {}: no samples{}{}", why, said.empty() ? "" : ", but ",
                                     said),
                         terminal) +
                 "\n";
    }
    for (const std::string& note : profile.stats.notes) {
        lines += wrapped("note: " + printable(note), terminal) + "\n";
    }
    return lines.empty() ? "" : "\n" + styled(terminal, Style::dim, lines);
}

std::size_t room_beside(std::size_t used, std::size_t width, std::size_t least) {
    return width == 0 ? 0 : std::max(width, used + least) - used;
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

std::uint64_t threshold(std::uint64_t whole, const ViewOptions& options, double default_percent) {
    const double percent = options.min_percent.value_or(default_percent);
    return static_cast<std::uint64_t>(std::ceil(static_cast<double>(whole) * percent / 100.0));
}

}  // namespace sample::cli
