// The ten lines that a run ends with.
#include "cli/views/broken_stacks.h"
#include "cli/views/json.h"
#include "cli/views/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace sample::cli {
namespace {

constexpr std::size_t kWidthWithoutTerminal = 100;
constexpr std::size_t kLabelColumn = 10;

/// The path that follows the heaviest child for as long as the child holds most of its parent.
std::vector<NodeId> heaviest_path(const callgraph::Profile& profile) {
    std::vector<NodeId> path;
    if (profile.nodes.empty()) {
        return path;
    }
    NodeId at{0};
    while (true) {
        const callgraph::Node& node = profile.node(at);
        NodeId best{};
        for (const NodeId child : node.children) {
            if (best.is_none() || profile.node(child).total_ns > profile.node(best).total_ns) {
                best = child;
            }
        }
        if (best.is_none() || profile.node(best).total_ns == 0 ||
            (!path.empty() && profile.node(best).total_ns * 2 < node.total_ns)) {
            return path;
        }
        path.push_back(best);
        at = best;
    }
}

std::vector<FunctionId> top_functions(const callgraph::Profile& profile, std::size_t count) {
    std::vector<FunctionId> ids;
    for (std::uint32_t value = 1; value <= profile.functions.size(); ++value) {
        if (profile.functions[value - 1].self_ns > 0) {
            ids.push_back(FunctionId{value});
        }
    }
    const auto heavier = [&](FunctionId a, FunctionId b) {
        const std::uint64_t left = profile.function(a).self_ns;
        const std::uint64_t right = profile.function(b).self_ns;
        return left != right ? left > right : a < b;
    };
    const std::size_t kept = std::min(count, ids.size());
    std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(),
                      heavier);
    ids.resize(kept);
    return ids;
}

/// How the command ended, "killed by SIGSEGV (11)"; where it ended well, but a process that it
/// started did not, how that one ended: "child (7) killed by SIGKILL (9)".
std::string ending(const callgraph::Profile& profile, bool& badly) {
    badly = false;
    if (profile.processes.empty()) {
        return {};
    }
    // An exec makes a new entry of the same pid: the last one is how it ended.
    const std::uint32_t command_pid = profile.processes.front().pid;
    const callgraph::ProcessTotals* command = nullptr;
    const callgraph::ProcessTotals* killed = nullptr;
    for (const callgraph::ProcessTotals& process : profile.processes) {
        if (process.pid == command_pid) {
            command = &process;
        } else if (process.ended_badly && killed == nullptr) {
            killed = &process;
        }
    }
    badly = command->ended_badly || killed != nullptr;
    if (command->ended_badly || killed == nullptr) {
        return printable(command->ending);
    }
    return fmt::format("{}; {} ({}) {}", printable(command->ending),
                       printable(file_name(killed->executable)), killed->pid,
                       printable(killed->ending));
}

class SummaryPrinter {
public:
    SummaryPrinter(const callgraph::Profile& profile, const SummaryOptions& options)
        : profile_{profile},
          options_{options},
          total_ns_{root_total_ns(profile)},
          page_{options.terminal.color, options.terminal.utf8,
                options.terminal.width == 0 ? kWidthWithoutTerminal : options.terminal.width} {}

    std::string print() {
        head();
        if (total_ns_ == 0) {
            row(profile_.is_time() ? "time" : "count",
                profile_.is_time() ? "no CPU time was sampled: the program slept or ended at once"
                                   : "no " + printable(profile_.unit) +
                                         " at all: the program had "
                                         "none of this event");
        } else {
            categories();
            path();
            functions();
        }
        trust();
        notes();
        kept();
        return std::move(out_);
    }

private:
    void row(std::string_view label, const std::string& text) {
        out_ += styled(page_, Style::dim, pad_right(label, kLabelColumn)) + text + "\n";
    }

    /// In what `used` columns leave of a line.
    [[nodiscard]] std::string fitted(const std::string& name, std::size_t used,
                                     std::size_t part = 1) const {
        return shorten_name(name, room_beside(used, page_) / part, page_);
    }

    void head() {
        bool badly = false;
        const std::string end = ending(profile_, badly);
        out_ += session_line(profile_, options_.terminal);
        if (!end.empty()) {
            out_ += "  " + styled(page_, badly ? Style::heavy : Style::plain, end);
        }
        out_ += "\n";
        const callgraph::Stats& stats = profile_.stats;
        std::string text = weight_text(profile_, total_ns_);
        if (!profile_.is_time() && profile_.event != profile_.unit) {
            text += " of " + printable(profile_.event);
        }
        if (!stats.clock.empty()) {
            text += " of " + (stats.clock == "cpu" ? std::string{"CPU"} : stats.clock) + " time";
        }
        if (stats.threads > 0) {
            text += " in " + counted(stats.threads, "thread");
        }
        if (stats.processes > 1) {
            text += " of " + counted(stats.processes, "process");
        }
        if (stats.samples > 0) {
            text += ", " + counted(stats.samples, "sample");
        }
        row(profile_.is_time() ? "time" : "count", text);
    }

    void categories() {
        constexpr std::size_t kMost = 4;
        std::vector<const callgraph::Category*> list;
        for (const callgraph::Category& category : profile_.categories) {
            list.push_back(&category);
        }
        std::stable_sort(list.begin(), list.end(), [&](const auto* a, const auto* b) {
            return profile_.node(a->node).total_ns > profile_.node(b->node).total_ns;
        });
        std::string text;
        for (std::size_t i = 0; i < std::min(list.size(), kMost); ++i) {
            text += fmt::format("{}{} {}", i == 0 ? "" : ", ",
                                fitted(printable(list[i]->name), page_.width / 2),
                                percent_text(profile_.node(list[i]->node).total_ns, total_ns_));
        }
        if (list.size() > kMost) {
            text += ", and " + grouped(list.size() - kMost) + " more";
        }
        if (!text.empty()) {
            row("where", text);
        }
    }

    /// The end of the path matters most: names are taken from the leaf up for as long as they fit.
    void path() {
        const std::vector<NodeId> nodes = heaviest_path(profile_);
        if (nodes.empty()) {
            return;
        }
        const std::string arrow = page_.utf8 ? " \u2192 " : " > ";
        const std::string gap = std::string{ellipsis(page_)} + arrow;
        const std::string share =
            "  " + percent_text(profile_.node(nodes.back()).total_ns, total_ns_);
        const std::size_t available =
            room_beside(kLabelColumn + share.size() + display_width(gap), page_);
        std::string text;
        std::size_t taken = 0;
        for (; taken < nodes.size(); ++taken) {
            const NodeId id = nodes[nodes.size() - 1 - taken];
            std::string name = shorten_name(node_name(profile_, id), available / 2, page_);
            name += text.empty() ? "" : arrow;
            if (display_width(name) + display_width(text) > available) {
                break;
            }
            text.insert(0, name);
        }
        row("heaviest",
            (taken < nodes.size() ? gap : "") + text + styled(page_, Style::bold, share));
    }

    void functions() {
        constexpr std::size_t kShare = 7;
        constexpr std::size_t kTime = 11;
        const char* label = profile_.is_time() ? "self time" : "self";
        for (const FunctionId id : top_functions(profile_, options_.functions)) {
            const callgraph::Function& function = profile_.function(id);
            const std::string location =
                function.name.empty() ? "" : location_text(function, false);
            const std::size_t used = kLabelColumn + kShare + 1 + kTime + 2;
            const std::string place = location.empty() ? "" : "  " + fitted(location, used, 3);
            row(label,
                fmt::format("{} {:>{}}  {}{}",
                            styled(page_, heat(percent_of(function.self_ns, total_ns_)),
                                   pad_left(percent_text(function.self_ns, total_ns_), kShare)),
                            profile_.is_time() ? short_duration(function.self_ns)
                                               : grouped(function.self_ns),
                            kTime, fitted(function_label(function), used + display_width(place)),
                            styled(page_, Style::dim, place)));
            label = "";
        }
    }

    /// "998 of 1,000 Hz", "a sample in 100 events".
    [[nodiscard]] std::string rate() const {
        const callgraph::Stats& stats = profile_.stats;
        if (stats.period != 0) {
            return stats.period == 1 ? "a sample for each event"
                                     : "a sample in " + grouped(stats.period) + " events";
        }
        std::string text;
        if (stats.achieved_hz && stats.clock == "cpu") {
            text = grouped(static_cast<std::uint64_t>(std::llround(*stats.achieved_hz))) + " of ";
        }
        return text + grouped(stats.requested_hz) + " Hz";
    }

    void trust() {
        const callgraph::Stats& stats = profile_.stats;
        if (stats.requested_hz == 0 && stats.period == 0) {
            return;  // An imported profile: nothing is known of how it was made.
        }
        row("rate", rate() + " by " + printable(stats.source) + ", " +
                        counted(stats.lost, "sample") + " lost");
        std::string stacks;
        if (stats.incomplete_stacks != 0) {
            stacks = percent_text(stats.incomplete_stacks, stats.samples) + " incomplete";
        }
        if (stats.truncated_stacks != 0) {
            stacks += (stacks.empty() ? "" : ", ") +
                      percent_text(stats.truncated_stacks, stats.samples) + " truncated";
        }
        if (stacks.empty()) {
            stacks = "all complete";
        }
        const std::uint64_t all_ns = stats.sampled_ns + stats.booked_ns;
        const auto have_one = [&](std::uint64_t of_ns, const std::string& what) {
            stacks +=
                fmt::format("; {} of the {} one", percent_text(stats.sampled_ns, of_ns), what);
        };
        if (!profile_.is_time() && all_ns > 0) {
            have_one(all_ns, printable(profile_.unit) + " have");
        } else if (stats.clock == "wall" && all_ns > 0) {
            have_one(all_ns, "wall time has");
        } else if (stats.process_cpu_ns.value_or(0) > 0) {
            have_one(*stats.process_cpu_ns, "CPU time has");
        }
        row("stacks", stacks);
        if (const std::string cause = main_break(stats); !cause.empty()) {
            row("", "mostly " + cause + ": see the view stats");
        }
    }

    void notes() {
        constexpr std::size_t kMost = 3;
        const std::vector<std::string>& lines = profile_.stats.notes;
        for (std::size_t i = 0; i < std::min(lines.size(), kMost); ++i) {
            row("note", styled(page_, Style::warning, printable(lines[i])));
        }
        if (lines.size() > kMost) {
            row("note", grouped(lines.size() - kMost) + " more: see the view stats");
        }
    }

    void kept() {
        if (options_.kept_file.empty()) {
            return;
        }
        const std::string file = printable(options_.kept_file);
        row("kept", styled(page_, Style::bold, file));
        row("look", "sample report --view callgraph " + file + "   (or functions, threads, stats)");
    }

    const callgraph::Profile& profile_;
    const SummaryOptions& options_;
    std::uint64_t total_ns_;
    Terminal page_;  ///< Of some width in any case.
    std::string out_;
};

}  // namespace

std::string summary_view(const callgraph::Profile& profile, const SummaryOptions& options) {
    return SummaryPrinter{profile, options}.print();
}

std::string summary_json(const callgraph::Profile& profile) {
    constexpr std::size_t kTop = 10;
    Json out = session_json(profile);
    bool badly = false;
    out["ending"] = known(ending(profile, badly));
    out["ended_badly"] = badly;
    Json categories = Json::array();
    for (const callgraph::Category& category : profile.categories) {
        categories.push_back({{"name", category.name},
                              {weight_key(profile, "total"),
                               weight(profile, profile.node(category.node).total_ns)}});
    }
    out["categories"] = std::move(categories);
    Json path = Json::array();
    for (const NodeId id : heaviest_path(profile)) {
        path.push_back(
            {{"name", node_name(profile, id)},
             {weight_key(profile, "total"), weight(profile, profile.node(id).total_ns)}});
    }
    out["heaviest_path"] = std::move(path);
    Json functions = Json::array();
    for (const FunctionId id : top_functions(profile, kTop)) {
        const callgraph::Function& function = profile.function(id);
        functions.push_back({{"name", function_label(function)},
                             {"source", function.source},
                             {"line", function.line},
                             {weight_key(profile, "self"), weight(profile, function.self_ns)},
                             {weight_key(profile, "total"), weight(profile, function.total_ns)}});
    }
    out["top_functions"] = std::move(functions);
    out["stats"] = stats_members(profile);
    return dump(out);
}

}  // namespace sample::cli
