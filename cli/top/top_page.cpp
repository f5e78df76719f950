#include "cli/top/top_page.h"

#include "analysis/load_profile.h"
#include "callgraph/profile.h"
#include "cli/views/text.h"
#include "cli/views/views.h"
#include "core/text.h"
#include "core/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

/// The two lines of figures, the one of what was chosen, and the list's headings.
constexpr std::size_t kLinesAbove = 4;
constexpr std::size_t kLinesBelow = 1;

/// Below it there is no room for milliseconds and per cent beside a name.
constexpr std::size_t kWidthForBoth = 64;

std::string figures_line(const analysis::LiveRecording& live) {
    const callgraph::Recording& recording = live.recording();
    const analysis::LiveSecond second = live.last_second();
    const std::uint64_t length_ns = std::max(second.length_ns, std::uint64_t{1});
    const bool is_time = !recording.start() || recording.start()->unit.empty();
    std::uint64_t running = 0;
    for (const callgraph::RecordedProcess& process : recording.processes()) {
        running += process.end ? 0 : 1;
    }
    std::string line = grouped(second.samples * kNsPerSecond / length_ns) + " samples/s";
    if (is_time) {
        line += fmt::format("  {} % CPU", decimal(percent_of(second.weight, length_ns), 1));
    }
    line += fmt::format("  {}  {} lost  {}",
                        counted(recording.recorded_samples(trace::kSessionMetric), "sample"),
                        grouped(live.lost()), counted(running, "process"));
    return line;
}

/// What the list is of, and what was left out of it.
std::string choice_line(const TopState& state) {
    std::string line = state.only_last_seconds ? "last 10 s" : "total";
    const auto add = [&line](const std::string& words) { line += ", " + words; };
    if (state.view == TopView::functions) {
        constexpr std::string_view kSorted[] = {"self", "total", "samples", "name"};
        add("by " + std::string{kSorted[static_cast<std::size_t>(state.sort)]});
    } else {
        add("callgraph");
    }
    const auto add_text = [&add](std::string_view what, const std::string& text) {
        if (!text.empty()) {
            add(fmt::format("{} '{}'", what, printable(text)));
        }
    };
    add_text("search", state.search);
    add_text("focus", state.focus);
    add_text("thread", state.thread);
    if (state.hide_plugins) {
        add("without plug-ins");
    }
    if (state.hide_memory) {
        add("without memory management");
    }
    if (state.average_s) {
        add(fmt::format("as of {} s", *state.average_s));
    }
    if (state.is_frozen) {
        add("FROZEN");
    }
    return line;
}

std::string last_line(const TopState& state) {
    switch (state.prompt) {
        case Prompt::search:
            return "search: " + printable(state.typed) + "_";
        case Prompt::focus:
            return "focus on: " + printable(state.typed) + "_";
        case Prompt::thread:
            return "thread: " + printable(state.typed) + "_";
        default:
            return "? help  v view  s sort  w 10 s  / search  space freeze  q end";
    }
}

Result<callgraph::Profile> profile_of(const analysis::LiveRecording& live, const TopState& state) {
    analysis::LiveChoice of_samples;
    of_samples.only_last_seconds = state.only_last_seconds;
    of_samples.group_memory = state.hide_memory;
    if (!state.thread.empty()) {
        of_samples.selection.threads.push_back(state.thread);
    }
    SAMPLE_TRY(profile, live.profile(of_samples));
    analysis::ProfileChoice choice;
    choice.hide_plugins = state.hide_plugins;
    choice.hide_memory = state.hide_memory;
    choice.focus = state.focus;
    choice.average_s = state.average_s;
    SAMPLE_TRY(chosen, analysis::apply_choice(std::move(profile), choice));
    return state.view == TopView::callgraph
               ? analysis::apply_search(std::move(chosen), state.search)
               : Result<callgraph::Profile>{std::move(chosen)};
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

/// The headings, and the rows that there is room for.
std::vector<std::string> list_of(const callgraph::Profile& profile, TopState& state,
                                 const PageSize& size, std::size_t rows) {
    const std::size_t width = size.terminal.width;
    ViewOptions options{size.terminal};
    options.unit = width != 0 && width < kWidthForBoth ? Unit::percent : state.unit;
    options.search = state.search;
    options.sort = state.sort;
    options.only_rows = true;
    options.most_rows = state.first_row > SIZE_MAX - rows ? SIZE_MAX : state.first_row + rows;
    std::vector<std::string> lines =
        lines_of(state.view == TopView::functions ? functions_view(profile, options)
                                                  : callgraph_view(profile, options));
    const std::size_t all = lines.size() - std::min<std::size_t>(lines.size(), 1);
    state.first_row = std::min(state.first_row, all - std::min(all, rows));
    const auto first = lines.begin() + static_cast<std::ptrdiff_t>(lines.empty() ? 0 : 1);
    lines.erase(first, first + static_cast<std::ptrdiff_t>(state.first_row));
    if (lines.size() > rows) {
        lines.resize(rows + 1);
    }
    return lines;
}

std::vector<std::string> list_of(const analysis::LiveRecording& live, TopState& state,
                                 const PageSize& size, std::size_t rows) {
    if (!live.recording().start()) {
        return {"", "nothing was recorded yet"};
    }
    const auto profile = profile_of(live, state);
    if (!profile) {
        return {"", printable(profile.error().message())};
    }
    return list_of(*profile, state, size, rows);
}

}  // namespace

std::size_t list_rows_of(const PageSize& size) {
    if (size.lines == 0) {
        return size.list_rows;
    }
    constexpr std::size_t kOthers = kLinesAbove + kLinesBelow;
    return size.lines > kOthers ? size.lines - kOthers : 1;
}

std::string top_page(const analysis::LiveRecording& live, TopState& state, const PageSize& size) {
    const Terminal& terminal = size.terminal;
    const auto cut = [&terminal](const std::string& line) {
        return cut_end(line, terminal.width, terminal);
    };
    const auto& start = live.recording().start();
    std::vector<std::string> lines;
    lines.push_back(
        styled(terminal, Style::bold,
               cut(fmt::format("sample top  {}{}  {}", session_length(live.elapsed_ns() / kNsPerMs),
                               live.has_ended() ? " (ended)" : "",
                               printable(start ? start->command_line : "")))));
    lines.push_back(cut(figures_line(live)));
    lines.push_back(styled(terminal, Style::dim, cut(choice_line(state))));
    if (state.shows_help) {
        lines.emplace_back();
        for (const std::string_view key : help_of_keys()) {
            lines.push_back(cut(std::string{key}));
        }
    } else {
        std::vector<std::string> list = list_of(live, state, size, list_rows_of(size));
        std::move(list.begin(), list.end(), std::back_inserter(lines));
    }
    if (size.lines != 0) {
        lines.resize(size.lines - std::min(size.lines, kLinesBelow));
        lines.push_back(styled(terminal, Style::dim, cut(last_line(state))));
        if (size.lines < lines.size()) {
            lines.resize(size.lines);
        }
    }
    return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace sample::cli
