// The threads of a profile.
#include "cli/views/json.h"
#include "cli/views/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sample::cli {
namespace {

std::vector<const callgraph::ThreadTotals*> by_cpu(const callgraph::Profile& profile) {
    std::vector<const callgraph::ThreadTotals*> threads;
    for (const callgraph::ThreadTotals& thread : profile.threads) {
        threads.push_back(&thread);
    }
    std::stable_sort(threads.begin(), threads.end(),
                     [](const auto* a, const auto* b) { return a->cpu_ns > b->cpu_ns; });
    return threads;
}

/// A pid or tid; an import may not know it.
std::string id_cell(std::uint32_t id) {
    return id != 0 ? std::to_string(id) : "-";
}

}  // namespace

std::string threads_view(const callgraph::Profile& profile, const ViewOptions& options) {
    const ViewOptions by_weight{options.terminal, Unit::weight, {}};
    const std::size_t column = duration_column(profile, by_weight);
    const std::string heading =
        (profile.is_time() ? "cpu " : "") + unit_heading(profile, by_weight);
    const Terminal& terminal = options.terminal;
    const auto threads = by_cpu(profile);
    std::size_t name_width = std::string_view{"thread"}.size();
    std::uint64_t all_ns = 0;
    for (const auto* thread : threads) {
        name_width = std::max(name_width, display_width(printable(thread->name)));
        all_ns += thread->cpu_ns;
    }
    std::string out = session_line(profile, terminal) + "\n\n";
    out += styled(terminal, Style::bold,
                  fmt::format("{} {:>8} {:>10} {:>10} {:>8} {:>8}  {}  process",
                              pad_left(heading, column), "share", "samples", "incomplete", "pid",
                              "tid", pad_right("thread", name_width))) +
           "\n";
    for (const auto* thread : threads) {
        out += fmt::format("{:>{}} {} {:>10} {:>10} {:>8} {:>8}  {}  {}\n",
                           duration_cell(profile, thread->cpu_ns, Unit::weight), column,
                           styled(terminal, heat(percent_of(thread->cpu_ns, all_ns)),
                                  fmt::format("{:>8}", percent_text(thread->cpu_ns, all_ns))),
                           thread->samples, thread->incomplete_stacks, id_cell(thread->pid),
                           id_cell(thread->tid), pad_right(printable(thread->name), name_width),
                           printable(thread->process));
    }
    if (threads.empty()) {
        out += "no threads: the file does not name them\n";
    }
    return out;
}

std::string threads_json(const callgraph::Profile& profile) {
    Json threads = Json::array();
    for (const auto* thread : by_cpu(profile)) {
        threads.push_back(
            {{"name", thread->name},
             {"process", thread->process},
             {"pid", known(thread->pid)},
             {"tid", known(thread->tid)},
             {profile.is_time() ? "cpu_us" : "count", weight(profile, thread->cpu_ns)},
             {"samples", thread->samples},
             {"incomplete_stacks", thread->incomplete_stacks}});
    }
    Json out = session_json(profile);
    out["threads"] = std::move(threads);
    return dump(out);
}

}  // namespace sample::cli
