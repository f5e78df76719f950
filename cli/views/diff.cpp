// `sample diff` for people: both sides, the whole, then what is surely worse and surely better, by
// itself and with what it calls. Signs say what colours say.
#include "cli/views/diff.h"

#include "cli/views/table.h"
#include "core/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

using analysis::Compared;
using analysis::FunctionDiff;
using analysis::Interval;
using analysis::NodeDiff;
using analysis::Verdict;

constexpr std::size_t kColumnGap = 2;
/// Where there is room for it, lines also say what both sides took.
constexpr std::size_t kWide = 110;

/// Lines on one side: what it is, how it was recorded, and what of it is compared.
std::string side_text(const std::string& name, const DiffSide& side, const Terminal& terminal) {
    const callgraph::Profile& profile = side.profile;
    const callgraph::Stats& stats = profile.stats;
    const std::string file = printable(side.file);
    const std::string command = cut_end(
        printable(profile.command_line),
        room_beside(2 * kColumnGap + name.size() + display_width(file), terminal.width), terminal);
    std::string out = fmt::format(
        "{}{}{}\n   {}", styled(terminal, Style::bold, fmt::format("{}  {}", name, file)),
        command.empty() ? "" : "  ", command, measure_of(profile).text(side.total()));
    if (profile.is_time() && !stats.clock.empty()) {
        out += stats.clock == "cpu" ? " of CPU time" : " of wall time";
    }
    if (profile.is_net) {
        out += ", net of sampling";
    }
    if (profile.scale != 1.0) {
        out += " (" + scale_text(profile.scale, terminal) + ")";
    }
    out += ", " + (side.samples() == 0 ? "number of samples not known"
                                       : counted(side.samples(), "sample"));
    if (stats.requested_hz != 0) {
        out += ", " + grouped(stats.requested_hz) + " Hz";
    }
    if (stats.period != 0) {
        out += ", one in " + grouped(stats.period);
    }
    if (!stats.source.empty()) {
        out += " by " + printable(stats.source);
    }
    if (session_ms(profile) != 0) {
        out += ", " + session_length(session_ms(profile));
    }
    out += "\n";
    if (!profile.restriction.empty()) {
        out += "   only " + printable(profile.restriction) + "\n";
    }
    return out;
}

/// One line of a list: what is compared, and what it is called.
struct Entry {
    const Compared* compared = nullptr;
    std::size_t index = 0;  ///< Into Diff::functions or Diff::nodes.
    bool is_new = false;
    bool is_gone = false;
};

class DiffPrinter {
public:
    DiffPrinter(const DiffReport& report, const Terminal& terminal)
        : report_{report},
          diff_{report.diff},
          terminal_{terminal},
          measure_{measure_of(report.before.front().profile)} {}

    std::string print() && {
        print_side('A', report_.before);
        print_side('B', report_.after);
        print_whole();
        for (const std::string& warning : report_.warnings) {
            out_ +=
                styled(terminal_, Style::warning, wrapped("note: " + warning, terminal_)) + "\n";
        }
        collect();
        if (!diff_.is_judged) {
            print_list("differences by themselves, not judged", self_, Style::plain);
            print_list("differences with what is called, not judged", total_, Style::plain);
        } else {
            print_lists();
        }
        print_footer();
        return std::move(out_);
    }

private:
    [[nodiscard]] bool by_path() const { return report_.options.view == DiffView::paths; }
    [[nodiscard]] const char* things() const { return by_path() ? "path" : "function"; }
    [[nodiscard]] bool is_wide() const { return terminal_.width == 0 || terminal_.width >= kWide; }

    [[nodiscard]] bool has_several_runs() const { return report_.before.size() > 1; }

    void print_side(char letter, const std::vector<DiffSide>& runs) {
        for (std::size_t i = 0; i < runs.size(); ++i) {
            out_ += side_text(analysis::run_name(letter, i, runs.size()), runs[i], terminal_);
        }
    }

    /// What shares are of.
    [[nodiscard]] std::string reference() const {
        const std::string& name = report_.options.normalize_by;
        return name.empty() ? "the whole" : printable(name);
    }

    void print_whole() {
        const Compared& whole = diff_.whole;
        const std::string arrow = terminal_.utf8 ? " \u2192 " : " -> ";
        out_ += fmt::format("{}{}  {}{}{}", styled(terminal_, Style::bold, "whole"),
                            has_several_runs() ? ", mean" : "", measure_.text(whole.before.weight),
                            arrow, measure_.text(whole.after.weight));
        if (diff_.is_normalized && report_.options.normalize_by.empty()) {
            out_ += "; shares of each are compared\n";
            return;
        }
        if (diff_.is_normalized) {
            out_ += "; divided by " + reference();
        }
        const double difference = whole.difference();
        out_ += "  " + percent_cell({&whole, 0, false, false}) + " %";
        if (whole.interval) {
            out_ += fmt::format(" ({}{}{} {})", cell(whole.interval->low),
                                terminal_.utf8 ? " \u2026 " : " .. ", cell(whole.interval->high),
                                unit());
        }
        if (whole.verdict == Verdict::worse || whole.verdict == Verdict::better) {
            out_ += "  " + styled(terminal_, difference > 0 ? Style::heavy : Style::good,
                                  difference > 0 ? "worse" : "better");
        } else if (whole.verdict == Verdict::within_noise) {
            out_ += "  within noise";
        }
        out_ += "\n";
    }

    /// All that was chosen, by self and by total.
    void collect() {
        if (by_path()) {
            for (std::size_t i = 1; i < diff_.nodes.size(); ++i) {
                const NodeDiff& node = diff_.nodes[i];
                add(node.is_chosen, i, node.self, node.total);
            }
        } else {
            for (std::size_t i = 0; i < diff_.functions.size(); ++i) {
                const FunctionDiff& function = diff_.functions[i];
                add(function.is_chosen, i, function.self, function.total);
            }
        }
        const auto greater = [](const Entry& a, const Entry& b) {
            return std::abs(a.compared->difference()) > std::abs(b.compared->difference());
        };
        std::stable_sort(self_.begin(), self_.end(), greater);
        std::stable_sort(total_.begin(), total_.end(), greater);
    }

    static bool is_called(const Compared& compared) {
        return compared.verdict == Verdict::worse || compared.verdict == Verdict::better;
    }

    void add(bool is_chosen, std::size_t index, const Compared& self, const Compared& total) {
        if (!is_chosen) {
            return;
        }
        const auto entry = [&](const Compared& compared) {
            return Entry{&compared, index, total.before.is_nothing(), total.after.is_nothing()};
        };
        const bool is_leaf =
            self.before.weight == total.before.weight && self.after.weight == total.after.weight;
        const bool is_listed = !diff_.is_judged && self.before.weight != self.after.weight;
        const bool is_total_listed = !diff_.is_judged && total.before.weight != total.after.weight;
        if (is_called(self) || is_listed) {
            self_.push_back(entry(self));
        }
        if (!is_leaf && (is_called(total) || is_total_listed)) {
            total_.push_back(entry(total));
        }
        if (total.verdict == Verdict::by_clock) {
            by_clock_.push_back(entry(total));
        } else if (!is_called(self) && !is_called(total)) {
            ++within_noise_;
        }
    }

    [[nodiscard]] static std::vector<Entry> with(const std::vector<Entry>& entries,
                                                 Verdict verdict) {
        std::vector<Entry> result;
        std::copy_if(entries.begin(), entries.end(), std::back_inserter(result),
                     [verdict](const Entry& each) { return each.compared->verdict == verdict; });
        return result;
    }

    void print_lists() {
        print_list("worse by themselves", with(self_, Verdict::worse), Style::heavy);
        print_list("worse with what they call", with(total_, Verdict::worse), Style::heavy);
        print_list("better by themselves", with(self_, Verdict::better), Style::good);
        print_list("better with what they call", with(total_, Verdict::better), Style::good);
    }

    [[nodiscard]] std::string unit() const {
        return diff_.is_normalized ? "% of " + reference() : measure_.unit_name();
    }

    /// A difference, or an end of its interval.
    [[nodiscard]] std::string cell(double value, bool sign = true) const {
        constexpr int kDigits = 3;
        if (diff_.is_normalized) {
            return decimal(value * kHundred, kDigits, sign);
        }
        return measure_.is_time() ? decimal(value / kNsPerMs, kDigits, sign)
                                  : decimal(value, 0, sign);
    }

    /// The growth in per cent of what it was in A, without the sign for it.
    [[nodiscard]] std::string percent_cell(const Entry& entry) const {
        if (entry.is_new || entry.is_gone) {
            return entry.is_new ? "new" : "gone";
        }
        const double before = entry.compared->before.value;
        return before > 0 ? decimal(entry.compared->difference() / before * kHundred, 1, true)
                          : "new";
    }

    /// The first of `entries`, as many as are asked for; nothing if there are none.
    void print_list(const std::string& title, const std::vector<Entry>& entries, Style style) {
        if (entries.empty()) {
            return;
        }
        Table table;
        table.rows = entries.size();
        const auto entry = values_of(entries);
        const auto add = [&](std::string heading, auto get, Style of_cells = Style::plain) {
            table.columns.push_back(
                {"", std::move(heading), Kind::figure, entry(get), 0, of_cells});
        };
        const auto limit_of = [this](double Interval::*end) {
            return [this, end](const Entry& of) {
                return cell(of.compared->interval.value_or(Interval{}).*end);
            };
        };
        add(
            diff_.is_normalized ? "points" : unit(),
            [this](const Entry& of) { return cell(of.compared->difference()); }, style);
        if (diff_.is_judged) {
            add("from", limit_of(&Interval::low));
            add("to", limit_of(&Interval::high));
        }
        add("%", [this](const Entry& of) { return percent_cell(of); });
        if (is_wide()) {
            const std::string share = diff_.is_normalized ? " %" : "";
            add("A" + share,
                [this](const Entry& of) { return cell(of.compared->before.value, false); });
            add("B" + share,
                [this](const Entry& of) { return cell(of.compared->after.value, false); });
        }
        table.name_heading = things();
        table.name = [&](std::size_t row, std::size_t room) {
            return name_of(entries[row].index, room);
        };
        const std::size_t limit =
            report_.options.limit == 0 ? entries.size() : report_.options.limit;
        out_ += fmt::format(
            "\n{}\n{}",
            styled(terminal_, Style::bold, title + ": " + counted(entries.size(), things())),
            text_of(table, terminal_, limit));
        if (limit < entries.size()) {
            out_ += styled(terminal_, Style::dim,
                           fmt::format("  and {} more: --limit 0 shows all",
                                       grouped(entries.size() - limit))) +
                    "\n";
        }
    }

    /// A function's name and place, or a path, in `room` columns.
    [[nodiscard]] std::string name_of(std::size_t index, std::size_t room) const {
        if (by_path()) {
            return path_of(index, room);
        }
        const FunctionDiff& function = diff_.functions[index];
        return name_and_place(printable(function.name), function.source, function.line, room,
                              terminal_);
    }

    [[nodiscard]] std::string step_of(const NodeDiff& node) const {
        return printable(node.function ? diff_.functions[*node.function].name : node.category);
    }

    /// As much of the path as fits, from its end; at least that, shortened.
    [[nodiscard]] std::string path_of(std::size_t index, std::size_t room) const {
        constexpr std::size_t kLeastStep = 20;
        const std::string arrow = terminal_.utf8 ? " \u2192 " : " > ";
        const std::string cut = std::string{ellipsis(terminal_)} + arrow;
        const std::size_t step_room = room == 0 ? 0 : std::max(room / 3, kLeastStep);
        // From the end: a path of a foreign file may have any number of steps.
        std::vector<std::string> steps{shorten_name(step_of(diff_.nodes[index]), room, terminal_)};
        std::size_t width = display_width(steps.front());
        for (std::size_t at = diff_.nodes[index].parent; at != 0; at = diff_.nodes[at].parent) {
            std::string step = shorten_name(step_of(diff_.nodes[at]), step_room, terminal_) + arrow;
            const bool is_last = diff_.nodes[at].parent == 0;
            const std::size_t longer = width + display_width(step);
            if (room != 0 && longer + (is_last ? 0 : display_width(cut)) > room) {
                if (width + display_width(cut) <= room) {
                    steps.push_back(cut);
                }
                break;
            }
            steps.push_back(std::move(step));
            width = longer;
        }
        std::string path;
        std::for_each(steps.rbegin(), steps.rend(),
                      [&path](const std::string& step) { path += step; });
        return path;
    }

    void print_footer() {
        out_ += "\n";
        if (!diff_.is_judged) {
            const std::size_t before = report_.before.size();
            const std::size_t run = *diff_.without_samples;
            out_ += styled(terminal_, Style::warning,
                           fmt::format("not judged: {} does not say how many samples it has, so "
                                       "its noise is not known; compare recordings of sample",
                                       run < before ? analysis::run_name('A', run, before)
                                                    : analysis::run_name('B', run - before,
                                                                         report_.after.size()))) +
                    "\n";
            return;
        }
        if (self_.empty() && total_.empty()) {
            out_ += "no " + std::string{things()} + " is surely worse or better\n";
        }
        out_ += "within noise: " + counted(within_noise_, things()) + "\n";
        print_by_clock();
        const analysis::Level& level = by_path() ? diff_.nodes_level : diff_.functions_level;
        std::string sure = "sure to " + percent(report_.options.confidence_percent) + " %";
        if (level.judged > 1) {
            sure += "; intervals to " + percent((1 - level.error) * kHundred) + " %, for " +
                    grouped(level.judged) + " comparisons at once";
        }
        out_ +=
            styled(terminal_, Style::dim,
                   sure + (has_several_runs()
                               ? "\nnoise of sampling and the spread between runs are counted\n"
                               : "\nonly noise of sampling is counted: runs may differ by more\n"));
    }

    /// As many digits as it takes to tell it from 100.
    [[nodiscard]] static std::string percent(double value) {
        constexpr int kMostDigits = 6;
        int digits = 0;
        for (double missing = kHundred - value; digits < kMostDigits && missing < kHundred / 10;
             missing *= 10) {
            ++digits;
        }
        std::string text = decimal(value, digits);
        if (text.find('.') != std::string::npos) {
            text.erase(text.find_last_not_of('0') + 1);
            text.erase(text.find_last_not_of('.') + 1);
        }
        return text;
    }

    void print_by_clock() {
        for (const Entry& each : by_clock_) {
            const double difference = each.compared->difference();
            if (difference != 0 && !by_path()) {
                out_ += fmt::format("by clock: {}  {} {}\n",
                                    name_of(each.index, room_beside(0, terminal_.width)),
                                    cell(difference), unit());
            }
        }
    }

    const DiffReport& report_;
    const analysis::Diff& diff_;
    const Terminal& terminal_;
    Measure measure_;
    std::string out_;
    std::vector<Entry> self_;
    std::vector<Entry> total_;
    std::vector<Entry> by_clock_;
    std::uint64_t within_noise_ = 0;
};

}  // namespace

std::string diff_view(const DiffReport& report, const Terminal& terminal) {
    return DiffPrinter{report, terminal}.print();
}

}  // namespace sample::cli
