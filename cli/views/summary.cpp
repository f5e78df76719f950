// The ten lines that a run ends with.
#include "callgraph/label.h"
#include "cli/views/broken_stacks.h"
#include "cli/views/json.h"
#include "cli/views/text.h"
#include "cli/views/views.h"
#include "trace/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
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
        for (const NodeId child : profile.children(node)) {
            const FunctionId function = profile.node(child).function;
            if ((function.is_none() || !is_start(profile.function(function))) &&
                (best.is_none() || profile.node(child).total > profile.node(best).total)) {
                best = child;
            }
        }
        if (best.is_none() || profile.node(best).total == 0 ||
            (!path.empty() && profile.node(best).total * 2 < node.total)) {
            return path;
        }
        path.push_back(best);
        at = best;
    }
}

std::vector<FunctionId> top_functions(const callgraph::Profile& profile, std::size_t count) {
    std::vector<FunctionId> ids;
    for (std::uint32_t value = 1; value <= profile.functions.size(); ++value) {
        const callgraph::Function& function = profile.functions[value - 1];
        if (function.self > 0 && !callgraph::is_without_stack(function)) {
            ids.push_back(FunctionId{value});
        }
    }
    const auto heavier = [&](FunctionId a, FunctionId b) {
        const std::uint64_t left = profile.function(a).self;
        const std::uint64_t right = profile.function(b).self;
        return left != right ? left > right : a < b;
    };
    const std::size_t kept = std::min(count, ids.size());
    std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(),
                      heavier);
    ids.resize(kept);
    return ids;
}

using Shares = std::vector<std::pair<std::string, std::uint64_t>>;

Shares heaviest_first(Shares shares) {
    std::stable_sort(shares.begin(), shares.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return shares;
}

/// "[not sampled]" in words.
std::string without_stack_text(const std::string& name) {
    if (name == trace::kNotSampled) {
        return "between samples";
    }
    if (name == trace::kTooManyThreads) {
        return "in threads that were too many to sample";
    }
    if (name == trace::kRingWorker) {
        return "in kernel threads of its io_uring";
    }
    if (name == trace::kKernelUnseen) {
        return "in the kernel (caller unseen)";
    }
    return printable(name.substr(1, name.size() - 2));
}

/// What the code of each module took itself, heaviest first.
Shares module_shares(const callgraph::Profile& profile) {
    std::map<std::string, std::uint64_t> sums;
    for (const callgraph::Function& function : profile.functions) {
        if (function.self != 0 && !callgraph::is_without_stack(function)) {
            sums[profile.module_of(function).name] += function.self;
        }
    }
    sums.erase("");
    return heaviest_first({sums.begin(), sums.end()});
}

Shares category_shares(const callgraph::Profile& profile) {
    Shares shares;
    for (const callgraph::Category& category : profile.categories) {
        shares.emplace_back(category.name, profile.node(category.node).total);
    }
    return heaviest_first(std::move(shares));
}

/// How the command ended, "killed by SIGSEGV (11)"; where it ended well, but a process that it
/// started did not, how that one ended: "child (7) killed by SIGKILL (9)".
std::string ending(const callgraph::Profile& profile, bool& badly) {
    badly = false;
    if (profile.processes.empty() || profile.stats.sampling == callgraph::Sampling::foreign) {
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

std::uint64_t samples_in_tree(const callgraph::Profile& profile) {
    return profile.nodes.empty() ? 0 : profile.nodes.front().samples;
}

class SummaryPrinter {
public:
    SummaryPrinter(const callgraph::Profile& profile, const ViewOptions& options)
        : profile_{profile},
          options_{options},
          measure_{measure_of(profile)},
          is_part_{is_part(profile)},
          has_samples_{profile.stats.sampling == callgraph::Sampling::on ||
                       profile.stats.samples != 0},
          page_{options.terminal} {
        if (page_.width == 0) {
            page_.width = kWidthWithoutTerminal;
        }
    }

    std::string print() {
        head();
        if (measure_.whole != 0) {
            categories();
        }
        if (measure_.whole != 0 && has_samples_) {
            path();
            functions();
        }
        if (has_samples_) {
            trust();
        }
        if (const std::string said = said_text(profile_); !said.empty()) {
            row("said", wrapped(said, options_.terminal, kLabelColumn));
        }
        notes();
        kept();
        return std::move(out_);
    }

private:
    void row(std::string_view label, const std::string& text) {
        out_ += styled(page_, Style::dim, pad_right(label, kLabelColumn)) + text + "\n";
    }

    void head() {
        bool badly = false;
        const std::string end = ending(profile_, badly);
        out_ += session_line(profile_, options_.terminal);
        if (!end.empty()) {
            out_ += "  " + styled(page_, badly ? Style::heavy : Style::plain, end);
        }
        out_ += "\n" + restriction_line(profile_, options_.terminal);
        if (profile_.stats.sampling == callgraph::Sampling::foreign) {
            foreign_trace();
        } else {
            time();
        }
        if (const std::string start = start_text(profile_, measure_);
            !start.empty() && has_samples_) {
            row("start", start);
        }
    }

    void foreign_trace() {
        const std::string name =
            profile_.processes.empty() ? "" : printable(profile_.processes[0].executable);
        row("trace", fmt::format("of another program{}{}, {}, no samples", name.empty() ? "" : ": ",
                                 name, counted(profile_.stats.threads, "thread")));
    }

    [[nodiscard]] std::string_view why_nothing() const {
        if (!profile_.stats.whole) {
            return ": the recording breaks off before its first sample";
        }
        // A recording begins when --delay is over.
        if (!profile_.stats.source.empty() && profile_.stats.wall_ns == 0) {
            return ": the session ended before --delay was over";
        }
        return measure_.is_time()
                   ? ": the program slept (see --clock wall), ended at once, or sampling was off"
                   : ": the program had none of this event";
    }

    /// Behind a count: what it is of, unless its unit says so.
    [[nodiscard]] std::string of_what() const {
        if (!profile_.event.empty()) {
            return profile_.event == measure_.counted ? "" : " of " + printable(profile_.event);
        }
        const std::string& metric = profile_.metric.name;
        return metric.empty() || metric == measure_.counted ? "" : " (" + printable(metric) + ")";
    }

    void time() {
        const callgraph::Stats& stats = profile_.stats;
        std::string text = measure_.text(measure_.whole);
        if (!measure_.is_time()) {
            text += of_what();
        }
        if (!stats.clock.empty()) {
            text += " of " + (stats.clock == "cpu" ? std::string{"CPU"} : stats.clock) + " time";
        }
        if (stats.threads > 0 && !is_part_) {
            text += " in " + counted(stats.threads, "thread");
        }
        if (stats.processes > 1 && !is_part_) {
            text += " of " + counted(stats.processes, "process");
        }
        const std::uint64_t shown = samples_in_tree(profile_);
        const std::uint64_t recorded = std::max(stats.recorded_samples, stats.samples);
        if (stats.samples > 0) {
            text += ", " + (shown == recorded ? "" : grouped(shown) + " of ") +
                    counted(recorded, "sample");
        }
        if (!has_samples_) {
            text += fmt::format(", no samples: {}", without_samples_text(profile_));
        } else if (measure_.whole == 0 && recorded == 0) {
            text += why_nothing();
        }
        row(measure_.is_time() ? "time" : "count", text);
    }

    void categories() {
        constexpr std::size_t kMost = 4;
        // One category says nothing that is not said above.
        const Shares list =
            profile_.categories.size() > 1 ? category_shares(profile_) : module_shares(profile_);
        constexpr std::size_t kMore = std::string_view{", and 1,000 more"}.size();
        const std::size_t room = room_beside(kLabelColumn + kMore, page_.width);
        std::string text;
        std::size_t shown = 0;
        for (; shown < std::min(list.size(), kMost); ++shown) {
            const std::string next =
                fmt::format("{}{} {}", shown == 0 ? "" : ", ",
                            shorten_name(printable(list[shown].first),
                                         room_beside(page_.width / 2, page_.width), page_),
                            percent_text(list[shown].second, measure_.whole));
            if (shown > 0 && display_width(text) + display_width(next) > room) {
                break;
            }
            text += next;
        }
        if (list.size() > shown) {
            text += ", and " + grouped(list.size() - shown) + " more";
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
            "  " + percent_text(profile_.node(nodes.back()).total, measure_.whole);
        const std::size_t available =
            room_beside(kLabelColumn + share.size() + display_width(gap), page_.width);
        const NodeNames names{profile_};
        std::string text;
        std::size_t taken = 0;
        while (taken < nodes.size()) {
            const NodeId id = nodes[nodes.size() - 1 - taken];
            const FunctionId function = profile_.node(id).function;
            std::size_t calls = 1;  // of itself
            while (taken + calls < nodes.size() && !function.is_none() &&
                   profile_.node(nodes[nodes.size() - 1 - taken - calls]).function == function) {
                ++calls;
            }
            const std::string whole = names.shown(id);
            const std::optional<std::string> caller = fit_name(whole, available / 2, page_);
            if (!text.empty() && !caller) {
                break;
            }
            const std::string times = times_text(calls, page_);
            std::string name =
                text.empty()
                    ? shorten_name(whole, room_beside(display_width(times), available), page_)
                    : *caller;
            name.append(times).append(text.empty() ? "" : arrow);
            if (display_width(name) + display_width(text) > available) {
                break;
            }
            text.insert(0, name);
            taken += calls;
        }
        row("heaviest",
            (taken < nodes.size() ? gap : "") + text + styled(page_, Style::bold, share));
    }

    void functions() {
        constexpr std::size_t kTop = 5;
        constexpr std::size_t kShare = 7;
        constexpr std::size_t kTime = 11;
        constexpr std::size_t kUsed = kLabelColumn + kShare + 1 + kTime + 2;
        const char* label = measure_.is_time() ? "self time" : "self";
        for (const FunctionId id : top_functions(profile_, kTop)) {
            const callgraph::Function& function = profile_.function(id);
            row(label,
                fmt::format(
                    "{} {:>{}}  {}",
                    styled(page_, heat(percent_of(function.self, measure_.whole)),
                           pad_left(percent_text(function.self, measure_.whole), kShare)),
                    measure_.is_time() ? short_duration(function.self) : grouped(function.self),
                    kTime, name_and_place(function, room_beside(kUsed, page_.width), page_)));
            label = "";
        }
        unseen();
    }

    /// What the list of functions lacks.
    void unseen() {
        Shares shares;
        for (const callgraph::Function& function : profile_.functions) {
            if (function.self > 0 && callgraph::is_without_stack(function) && !is_start(function)) {
                shares.emplace_back(without_stack_text(function.name), function.self);
            }
        }
        std::string text;
        for (const auto& [what, weight] : heaviest_first(std::move(shares))) {
            text += (text.empty() ? "" : ", ") + percent_text(weight, measure_.whole) + " " + what;
        }
        if (!text.empty()) {
            row("no stack", wrapped(text, options_.terminal, kLabelColumn));
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
        text += grouped(stats.requested_hz) + " Hz";
        // Running threads are sampled so often; what waits is measured by their states.
        return stats.clock == "wall" ? text + " of CPU time"
               : stats.source == "timer" && stats.clock == "cpu"
                   ? text + " (threads that wait, too)"
                   : text;
    }

    void trust() {
        const callgraph::Stats& stats = profile_.stats;
        if (stats.requested_hz == 0 && stats.period == 0) {
            return;  // An imported profile: nothing is known of how it was made.
        }
        row("rate", rate() + " by " + printable(stats.source) + ", " +
                        counted(stats.lost, "sample") + " lost");
        std::string stacks;
        const auto share = [&](std::uint64_t count, const char* what) {
            if (count != 0) {
                stacks += (stacks.empty() ? "" : ", ") + percent_text(count, stats.samples) + what;
            }
        };
        share(stats.incomplete_stacks, " incomplete");
        share(stats.truncated_stacks, " truncated");
        share(stats.guessed_stacks, " with guessed callers");
        if (stacks.empty()) {
            stacks = stats.samples == 0 ? "none sampled" : "all complete";
        }
        stacks.insert(0, is_part_ ? "whole recording: " : "");
        const std::uint64_t all = stats.sampled + stats.booked;
        const auto have_one = [&](std::uint64_t of_ns, const std::string& what) {
            stacks += fmt::format("; {} of the {} one", percent_text(stats.sampled, of_ns), what);
        };
        if (!measure_.is_time() && all > 0) {
            have_one(all, printable(measure_.counted) + " have");
        } else if (stats.clock == "wall" && all > 0) {
            have_one(all, "wall time has");
        } else if (profile_.is_net && all > 0) {  // the kernel's is not
            have_one(all, "CPU time has");
        } else if (stats.process_cpu_ns.value_or(0) > 0) {
            have_one(*stats.process_cpu_ns, "CPU time has");
        }
        row("stacks", wrapped(stacks, options_.terminal, kLabelColumn));
        if (const std::string cause = main_break(stats); !cause.empty()) {
            row("", wrapped("mostly " + cause + ": see the view stats", options_.terminal,
                            kLabelColumn));
        }
    }

    void notes() {
        constexpr std::size_t kMost = 3;
        const std::vector<std::string>& notes = profile_.stats.notes;
        std::vector<std::string> lines = notes;
        lines.insert(lines.end(), options_.advice.begin(), options_.advice.end());
        for (std::size_t i = 0; i < std::min(lines.size(), kMost); ++i) {
            row("note", styled(page_, Style::warning,
                               wrapped(printable(lines[i]), options_.terminal, kLabelColumn)));
        }
        if (notes.size() > kMost) {
            row("note", grouped(notes.size() - kMost) + " more: see the view stats");
        }
    }

    void kept() {
        if (options_.kept_file.empty()) {
            return;
        }
        row("kept", styled(page_, Style::bold, printable(options_.kept_file)));
        std::vector<std::string> views{"callgraph", "functions"};
        if (!has_samples_) {
            views = said_views(profile_);
        }
        views.insert(views.end(), {"threads", "stats"});
        row("look", fmt::format("sample report --view {} {}   (or {})", views[0],
                                shell_word(options_.kept_file),
                                fmt::join(views.begin() + 1, views.end(), ", ")));
    }

    const callgraph::Profile& profile_;
    const ViewOptions& options_;
    Measure measure_;
    bool is_part_;      ///< What the stats say is of more than is shown.
    bool has_samples_;  ///< Or could have.
    Terminal page_;     ///< Of some width in any case.
    std::string out_;
};

std::string summary_json(const callgraph::Profile& profile) {
    constexpr std::size_t kTop = 10;
    const Measure measure = measure_of(profile);
    Json out = session_json(profile);
    bool badly = false;
    out["ending"] = known(ending(profile, badly));
    out["ended_badly"] = badly;
    Json categories = Json::array();
    for (const callgraph::Category& category : profile.categories) {
        categories.push_back(
            {{"name", category.name},
             {measure.key("total"), measure.number(profile.node(category.node).total)}});
    }
    out["categories"] = std::move(categories);
    Json path = Json::array();
    const NodeNames names{profile};
    for (const NodeId id : heaviest_path(profile)) {
        path.push_back({{"name", names.raw(id)},
                        {measure.key("total"), measure.number(profile.node(id).total)}});
    }
    out["heaviest_path"] = std::move(path);
    Json functions = Json::array();
    for (const FunctionId id : top_functions(profile, kTop)) {
        const callgraph::Function& function = profile.function(id);
        functions.push_back({{"name", callgraph::label(function)},
                             {"source", function.source},
                             {"line", function.line},
                             {measure.key("self"), measure.number(function.self)},
                             {measure.key("total"), measure.number(function.total)}});
    }
    out["top_functions"] = std::move(functions);
    out["stats"] = stats_members(profile);
    return dump(out);
}

}  // namespace

bool is_part(const callgraph::Profile& profile) {
    const callgraph::Stats& stats = profile.stats;
    return samples_in_tree(profile) != stats.samples ||
           (profile.scale == 1.0 && root_total(profile) < stats.sampled + stats.booked);
}

std::string summary_view(const callgraph::Profile& profile, const ViewOptions& options) {
    return options.json ? summary_json(profile) : SummaryPrinter{profile, options}.print();
}

}  // namespace sample::cli
