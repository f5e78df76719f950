#include "callgraph/tree.h"
#include "core/text.h"
#include "export/html/page.h"
#include "export/shared/facts.h"
#include "export/shared/functions.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sample::exports::html {

namespace {

using callgraph::Profile;
using callgraph::Stats;
using nlohmann::json;

/// What a weight is, in words: "CPU time".
std::string weight_in_words(const Profile& profile) {
    if (!profile.is_time()) {
        return profile.metric.unit;
    }
    return profile.stats.clock == "wall"  ? "wall time"
           : profile.stats.clock == "cpu" ? "CPU time"
                                          : "time";
}

/// To six digits; the exact figure is among the facts.
std::string brief_scale(const Profile& profile) {
    return fmt::format("{:.6g}", profile.scale);
}

/// What stands behind the total in the headline.
std::string headline(const Profile& profile) {
    std::string text = profile.stats.clock.empty() ? "" : weight_in_words(profile);
    if (profile.scale != 1.0) {
        text += (text.empty() ? "\u00d7" : " \u00d7") + brief_scale(profile);
    }
    return text;
}

std::string explanation(const Profile& profile) {
    std::string text =
        "Each bar is a function, below the one that called it. Its width is its total: ";
    if (profile.is_time()) {
        text += "the " + weight_in_words(profile) +
                " in it and in what it called, in milliseconds (ms) of all threads together";
        text += profile.stats.clock == "wall" ? ", waiting included. " : ". ";
    } else {
        text += "how many " + profile.metric.unit + " there were in it and in what it called. ";
    }
    text +=
        "Self is what was spent in the function's own code: where nothing hangs below the bar. "
        "Per cent are of all. Bars stand from heavy to light, not along time; the second row "
        "are the categories, groups of threads unless chosen otherwise.";
    if (profile.by_line) {
        text += " A bar is one line of a function.";
    }
    if (profile.scale != 1.0) {
        text += " In graph and table all but the samples is multiplied by " + brief_scale(profile) +
                ", to a span of time that the session did not have.";
    }
    return text;
}

/// Floored to the millisecond; the exact figure is among the facts.
std::string brief_duration(std::uint64_t ns) {
    constexpr std::uint64_t kMillisecond = 1'000'000;
    return exact_duration(ns < kMillisecond ? ns : ns - ns % kMillisecond);
}

json summary(const Profile& profile) {
    const Stats& stats = profile.stats;
    json parts = json::array();
    if (stats.wall_ns != 0) {
        parts.push_back("session of " + brief_duration(stats.wall_ns));
    }
    for (const Fact& fact : facts(profile)) {
        if (fact.label == "rate" || fact.label == "period") {
            parts.push_back(fact.value);
        }
    }
    if (!stats.source.empty()) {
        parts.push_back("source " + stats.source);
    }
    if (stats.processes != 0) {
        parts.push_back(counted(stats.threads, "thread") + " in " +
                        counted(stats.processes, "process"));
    }
    return parts;
}

/// The marks below the headline.
json truth_marks(const Profile& profile) {
    const Stats& stats = profile.stats;
    json marks = json::array();
    const auto add = [&](const std::string& text, bool is_warning, bool is_note = false) {
        marks.push_back({{"text", text}, {"isWarning", is_warning}, {"isNote", is_note}});
    };
    if (profile.is_net) {
        add("net of " + (stats.gross ? brief_duration(*stats.gross - *stats.net) + " of " : "") +
                "sampling",
            true);
    }
    if (profile.scale != 1.0) {
        add("\u00d7" + brief_scale(profile) + " scaled", true);
    }
    if (!stats.source.empty()) {
        add(counted(stats.lost, "sample") + " lost", stats.lost != 0);
        add(counted(stats.truncated_stacks, "stack") + " truncated", stats.truncated_stacks != 0);
        add(counted(stats.incomplete_stacks, "stack") + " incomplete",
            stats.incomplete_stacks != 0);
        add(counted(stats.guessed_stacks, "stack") + " with a guessed frame", false);
        add(exact_weight(profile, stats.booked) + " measured without a stack", false);
        add(stats.whole ? "recording whole" : "recording cut off: its end is missing",
            !stats.whole);
    }
    for (const std::string& note : stats.notes) {
        add(note, false, true);
    }
    return marks;
}

/// [index in preorder, name] of each category.
json categories(const Profile& profile, const std::vector<NodeId>& order) {
    const std::vector<const std::string*> names = callgraph::category_names(profile);
    json list = json::array();
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (const std::string* const name = names[order[i].value]; name != nullptr) {
            list.push_back({i, *name});
        }
    }
    return list;
}

}  // namespace

std::string header(const Profile& profile, const std::vector<NodeId>& order, std::size_t sources) {
    json page{
        {"command", profile.command_line},
        {"isTime", profile.is_time()},
        {"unit", profile.metric.unit},
        {"what", profile.is_time() ? headline(profile) : ""},
        {"explanation", explanation(profile)},
        {"summary", summary(profile)},
        {"truth", truth_marks(profile)},
        {"kinds", kCodeKindNames},
        {"categories", categories(profile, order)},
        {"sources", sources},
        {"functions", profile.functions.size()},
        {"nodes", order.size()},
    };
    json& modules = page["modules"] = json::array();
    for (const callgraph::CodeModule& module : profile.modules) {
        modules.push_back({module.name, module.path, module.build_id});
    }
    json& lines = page["facts"] = json::array();
    lines.push_back({"written by", creator()});
    for (const Fact& fact : facts(profile)) {
        lines.push_back({fact.label, fact.value});
    }
    constexpr int kNoIndent = -1;
    return page.dump(kNoIndent, ' ', false, json::error_handler_t::replace);
}

}  // namespace sample::exports::html
