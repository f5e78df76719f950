#include "cli/views/broken_stacks.h"

#include "cli/views/text.h"
#include "cli/views/view_parts.h"

#include <algorithm>
#include <array>

namespace sample::cli {
namespace {

struct Wording {
    const char* name;    ///< In JSON.
    const char* reason;  ///< In a table.
};

Wording wording(StackBreak reason) {
    switch (reason) {
        case StackBreak::unknown:
            break;
        case StackBreak::no_cfi:
            return {"no_cfi", "no unwind tables"};
        case StackBreak::no_module:
            return {"no_module", "no known code"};
        case StackBreak::unreadable_memory:
            return {"unreadable_memory", "unreadable memory"};
        case StackBreak::depth_limit:
            return {"depth_limit", "deeper than the limit"};
        case StackBreak::no_progress:
            return {"no_progress", "no progress"};
        case StackBreak::unsupported_rule:
            return {"unsupported_rule", "unsupported rule"};
        case StackBreak::no_room:
            return {"no_room", "no room left"};
    }
    return {"unknown", "not recorded"};
}

/// Where a stack ends, in words.
std::string place(const callgraph::BrokenStacks& broken) {
    if (!broken.module.empty()) {
        return printable(file_name(broken.module));
    }
    if (broken.reason == StackBreak::no_room) {
        return "the recording";
    }
    return broken.reason == StackBreak::depth_limit ? "-" : "code in no module";
}

std::string hint(const callgraph::BrokenStacks& broken) {
    const std::string where = place(broken);
    const std::string rebuild = "rebuild it with -fasynchronous-unwind-tables";
    switch (broken.reason) {
        case StackBreak::unknown:
            break;
        case StackBreak::no_cfi:
            return where + " has code without unwind tables: " + rebuild +
                   ", its assembly with .cfi directives";
        case StackBreak::no_module:
            return broken.module.empty()
                       ? "code in no module, as a JIT compiler makes it, has no unwind tables: its "
                         "callers can be seen where it keeps frame pointers, as with java "
                         "-XX:+PreserveFramePointer"
                       : "a return address in " + where +
                             " leads to no code: its unwind tables do not fit it; " + rebuild;
        case StackBreak::unreadable_memory:
            return "the unwind tables of " + where + " lead off the stack: " + rebuild;
        case StackBreak::depth_limit:
            return "stacks deeper than the limit lack frames: --max-stack keeps up to 8192";
        case StackBreak::no_progress:
            return "the unwind tables of " + where + " lead in circles: " + rebuild;
        case StackBreak::unsupported_rule:
            return "the unwind tables of " + where +
                   " are damaged, or hold a rule that sample does not know: " + rebuild;
        case StackBreak::no_room:
            return "the recording has as many different stacks as it may: a shorter session, or a "
                   "smaller --max-stack, has fewer";
    }
    return "the recording does not say why: record again with this version of sample";
}

}  // namespace

std::string main_break(const callgraph::Stats& stats) {
    constexpr std::uint64_t kFew = 1000;
    if (stats.incomplete_stacks * kFew <= stats.samples) {
        return {};
    }
    const auto heaviest =
        std::find_if(stats.broken_stacks.begin(), stats.broken_stacks.end(),
                     [](const auto& broken) { return broken.reason != StackBreak::depth_limit; });
    if (heaviest == stats.broken_stacks.end()) {
        return {};
    }
    return std::string{wording(heaviest->reason).reason} + " in " + place(*heaviest);
}

std::string broken_stacks_text(const callgraph::Profile& profile, const Terminal& terminal) {
    constexpr std::size_t kMostRows = 10;
    constexpr std::size_t kMostHints = 3;
    constexpr std::size_t kCount = 10;
    constexpr std::size_t kShare = 8;
    constexpr std::size_t kReason = 21;
    const callgraph::Stats& stats = profile.stats;
    const auto& all = stats.broken_stacks;
    if (all.empty()) {
        return {};
    }
    const std::string heading =
        profile.is_time() ? std::string{"time ms"} : printable(profile.unit);
    const std::size_t time = std::max(std::size_t{12}, display_width(heading));
    std::string out = "\nstacks that lack frames\n" +
                      styled(terminal, Style::bold,
                             pad_left("samples", kCount) + " " + pad_left("share", kShare) + " " +
                                 pad_left(heading, time) + " " + pad_left("share", kShare) + "  " +
                                 pad_right("why", kReason) + "  outermost known frame in") +
                      "\n";
    for (std::size_t i = 0; i < std::min(all.size(), kMostRows); ++i) {
        const callgraph::BrokenStacks& broken = all[i];
        out += pad_left(std::to_string(broken.samples), kCount) + " " +
               pad_left(percent_text(broken.samples, stats.samples), kShare) + " " +
               pad_left(duration_cell(profile, broken.ns, Unit::weight), time) + " " +
               pad_left(percent_text(broken.ns, stats.sampled_ns), kShare) + "  " +
               pad_right(wording(broken.reason).reason, kReason) + "  " + place(broken) + "\n";
    }
    if (all.size() > kMostRows) {
        out += std::to_string(all.size() - kMostRows) + " more: --json lists all\n";
    }
    for (std::size_t i = 0; i < std::min(all.size(), kMostHints); ++i) {
        out += "hint: " + hint(all[i]) + "\n";
    }
    return out;
}

Json broken_stacks_json(const callgraph::Profile& profile) {
    Json list = Json::array();
    for (const callgraph::BrokenStacks& broken : profile.stats.broken_stacks) {
        list.push_back({{"reason", wording(broken.reason).name},
                        {"module", broken.module.empty() ? Json{} : Json(broken.module)},
                        {"samples", broken.samples},
                        {profile.is_time() ? "us" : "count", weight(profile, broken.ns)},
                        {"hint", hint(broken)}});
    }
    return list;
}

Json break_reasons_json(const callgraph::Profile& profile) {
    constexpr std::size_t kReasons = static_cast<std::size_t>(kLastStackBreak) + 1;
    std::array<callgraph::BrokenStacks, kReasons> sums;
    for (const callgraph::BrokenStacks& broken : profile.stats.broken_stacks) {
        callgraph::BrokenStacks& sum = sums[static_cast<std::size_t>(broken.reason)];
        sum.samples += broken.samples;
        sum.ns += broken.ns;
    }
    Json out = Json::object();
    for (std::size_t i = 0; i < sums.size(); ++i) {
        if (sums[i].samples != 0) {
            out[wording(static_cast<StackBreak>(i)).name] = {
                {"samples", sums[i].samples},
                {profile.is_time() ? "us" : "count", weight(profile, sums[i].ns)}};
        }
    }
    return out;
}

}  // namespace sample::cli
