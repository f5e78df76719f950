#include "cli/views/program_text.h"

#include "core/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace sample::cli {

std::string brief_duration(std::uint64_t ns) {
    constexpr std::pair<std::uint64_t, std::string_view> kUnits[] = {
        {kNsPerSecond, "s"}, {kNsPerMs, "ms"}, {kNsPerUs, "us"}};
    for (const auto& [unit, name] : kUnits) {
        if (ns < unit) {
            continue;
        }
        const std::uint64_t whole = ns / unit;
        const std::uint64_t hundredths = ns % unit * 100 / unit;
        if (whole >= 100) {
            return fmt::format("{} {}", grouped(whole), name);
        }
        return whole >= 10 ? fmt::format("{}.{} {}", whole, hundredths / 10, name)
                           : fmt::format("{}.{:02} {}", whole, hundredths, name);
    }
    return fmt::format("{} ns", ns);
}

std::int64_t when_ns(const analysis::ProgramRecording& recording, std::uint64_t time_ns) {
    return static_cast<std::int64_t>(time_ns - recording.start_ns);
}

std::string when_text(const analysis::ProgramRecording& recording, std::uint64_t time_ns) {
    return decimal(static_cast<double>(when_ns(recording, time_ns)) / double{kNsPerSecond}, 6);
}

void add_duration(Table& table, const std::string& key, const std::string& heading,
                  const std::function<std::uint64_t(std::size_t row)>& value) {
    table.columns.push_back(
        {key, "", Kind::count, [value](std::size_t row) { return Json(value(row)); }});
    table.columns.push_back({"", heading, Kind::figure, [value](std::size_t row) {
                                 return Json(brief_duration(value(row)));
                             }});
}

std::string sparkline(const std::vector<std::optional<double>>& values, double least, double most,
                      const Terminal& terminal) {
    constexpr std::string_view kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::string_view kAscii = "_.,-=+*#";
    std::string line;
    for (const std::optional<double>& value : values) {
        if (!value) {
            line += ' ';
            continue;
        }
        // Halves, as the difference of two numbers may be none; nor need a value be one.
        const double part = *value == most ? 1 : (*value / 2 - least / 2) / (most / 2 - least / 2);
        const double steps = std::min(part * double{kAscii.size()}, double{kAscii.size() - 1});
        const std::size_t level = most > least && steps > 0 ? static_cast<std::size_t>(steps) : 0;
        line += terminal.utf8 ? kBlocks[level] : kAscii.substr(level, 1);
    }
    return line;
}

std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t width,
                const Terminal& terminal) {
    if (part == 0 || whole == 0) {
        return "";
    }
    const double exact =
        static_cast<double>(part) / static_cast<double>(whole) * static_cast<double>(width);
    const auto columns = std::max<std::size_t>(1, static_cast<std::size_t>(std::round(exact)));
    std::string text;
    for (std::size_t i = 0; i < columns; ++i) {
        text += terminal.utf8 ? "█" : "#";
    }
    return text;
}

std::string none_of(std::string_view things, std::uint64_t recorded) {
    return recorded == 0
               ? fmt::format(
                     "no {}: record with --trace, of a program that says them with "
                     "sample/trace.h",
                     things)
               : fmt::format(
                     "no {} of the {} in the recording: leave out --search, or what chooses "
                     "threads and times",
                     things, grouped(recorded));
}

std::string head_of(const callgraph::Profile& session, const Terminal& terminal) {
    return session_line(session, terminal) + "\n" + restriction_line(session, terminal) + "\n";
}

}  // namespace sample::cli
