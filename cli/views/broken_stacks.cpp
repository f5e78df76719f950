#include "cli/views/broken_stacks.h"

#include "cli/views/table.h"
#include "trace/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace sample::cli {
namespace {

struct Wording {
    StackBreak reason;
    const char* name;  ///< In JSON.
    const char* text;  ///< In a table.
    const char* hint;  ///< {0}: where the stack ends; {1}: how that is to be built.
};
constexpr Wording kWordings[] = {
    {StackBreak::unknown, "unknown", "not recorded",
     "the recording does not say why: record again with this version of sample"},
    {StackBreak::no_cfi, "no_cfi", "no unwind tables",
     "{0} has code without unwind tables: {1}, its assembly with .cfi directives"},
    {StackBreak::no_module, "no_module", "no known code",
     "a return address in {0} leads to no code: its unwind tables do not fit it; {1}"},
    {StackBreak::unreadable_memory, "unreadable_memory", "unreadable memory",
     "the unwind tables of {0} lead off the stack: {1}"},
    {StackBreak::depth_limit, "depth_limit", "deeper than the limit",
     "stacks deeper than the limit lack frames: --max-stack keeps up to 8192"},
    {StackBreak::no_progress, "no_progress", "no progress",
     "the unwind tables of {0} lead in circles: {1}"},
    {StackBreak::unsupported_rule, "unsupported_rule", "unsupported rule",
     "the unwind tables of {0} are damaged, or hold a rule that sample does not know: {1}"},
    {StackBreak::no_room, "no_room", "no room left",
     "the recording has as many different stacks as it may: a shorter session, or a smaller "
     "--max-stack, has fewer"},
};
static_assert(std::size(kWordings) == static_cast<std::size_t>(kLastStackBreak) + 1);
/// Of StackBreak::no_module, where not even the outermost frame lies in one.
constexpr const char* kJitHint =
    "code in no module, as a JIT compiler makes it, has no unwind tables: its callers can be seen "
    "where it keeps frame pointers, as with java -XX:+PreserveFramePointer";
/// Of stacks that were met as copies.
constexpr const char* kCopyHint =
    "from outside a stack is seen as far as it was copied, up to 32 KiB and to the first page that "
    "is not in memory: sample record, or sample attach --inject, reads it where it is";

const Wording& wording(StackBreak reason) {
    return kWordings[std::min(static_cast<std::size_t>(reason), std::size(kWordings) - 1)];
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

std::string hint(const callgraph::BrokenStacks& broken, std::string_view source) {
    if (source == trace::kAttachSource && (broken.reason == StackBreak::unreadable_memory ||
                                           broken.reason == StackBreak::depth_limit)) {
        return kCopyHint;
    }
    const bool is_jit = broken.reason == StackBreak::no_module && broken.module.empty();
    return fmt::format(fmt::runtime(is_jit ? kJitHint : wording(broken.reason).hint), place(broken),
                       "rebuild it with -fasynchronous-unwind-tables");
}

/// All of them; the weights of `profile` behind samples.
Table table_of(const callgraph::Profile& profile) {
    using callgraph::BrokenStacks;
    const bool is_time = profile.is_time();
    const auto& all = profile.stats.broken_stacks;
    const auto broken = values_of(all);
    Table table;
    table.measure = measure_of(profile);
    table.rows = all.size();
    table.columns = {
        {"reason", "", Kind::word,
         broken([](const BrokenStacks& of) { return wording(of.reason).name; })},
        {"", "why", Kind::word,
         broken([](const BrokenStacks& of) { return wording(of.reason).text; })},
        {"module", "", Kind::word, broken([](const BrokenStacks& of) { return known(of.module); })},
        {"samples", "samples", Kind::count, broken(&BrokenStacks::samples)},
        {"", "share", Kind::share, broken(&BrokenStacks::samples), profile.stats.samples},
        {is_time ? "us" : "count", is_time ? "time" : "total", Kind::weight,
         broken(&BrokenStacks::weight)},
        {"", "share", Kind::share, broken(&BrokenStacks::weight), profile.stats.sampled},
        {"hint", "", Kind::word,
         broken([&profile](const BrokenStacks& of) { return hint(of, profile.stats.source); })}};
    table.name_heading = "outermost known frame in";
    table.name = [&all](std::size_t row, std::size_t /*room*/) { return place(all[row]); };
    return table;
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
    return std::string{wording(heaviest->reason).text} + " in " + place(*heaviest);
}

std::string broken_stacks_text(const callgraph::Profile& profile, const Terminal& terminal) {
    constexpr std::size_t kMostRows = 10;
    constexpr std::size_t kMostHints = 3;
    const auto& all = profile.stats.broken_stacks;
    if (all.empty()) {
        return {};
    }
    std::string out =
        "\nstacks that lack frames\n" + text_of(table_of(profile), terminal, kMostRows);
    if (all.size() > kMostRows) {
        out += std::to_string(all.size() - kMostRows) + " more: --json lists all\n";
    }
    std::set<std::string> hints;
    for (std::size_t i = 0; i < std::min(all.size(), kMostHints); ++i) {
        const auto [text, is_new] = hints.insert(hint(all[i], profile.stats.source));
        out += is_new ? "hint: " + *text + "\n" : "";
    }
    return out;
}

Json broken_stacks_json(const callgraph::Profile& profile) {
    return json_of(table_of(profile));
}

Json break_reasons_json(const callgraph::Profile& profile) {
    Json out = Json::object();
    for (const Wording& wording : kWordings) {
        std::uint64_t samples = 0;
        std::uint64_t sum = 0;
        for (const callgraph::BrokenStacks& broken : profile.stats.broken_stacks) {
            samples += broken.reason == wording.reason ? broken.samples : 0;
            sum += broken.reason == wording.reason ? broken.weight : 0;
        }
        if (samples != 0) {
            out[wording.name] = {
                {"samples", samples},
                {profile.is_time() ? "us" : "count", measure_of(profile).number(sum)}};
        }
    }
    return out;
}

}  // namespace sample::cli
