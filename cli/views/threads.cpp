// The threads of a profile, heaviest first.
#include "cli/views/table.h"
#include "cli/views/views.h"

#include <algorithm>
#include <vector>

namespace sample::cli {

using callgraph::ThreadTotals;

std::string threads_view(const callgraph::Profile& profile, const ViewOptions& options) {
    std::vector<ThreadTotals> threads = profile.threads;
    std::stable_sort(
        threads.begin(), threads.end(),
        [](const ThreadTotals& a, const ThreadTotals& b) { return a.total > b.total; });
    std::uint64_t all = 0;
    for (const ThreadTotals& thread : threads) {
        all += thread.total;
    }
    const auto thread = values_of(threads);
    // An import may not know them.
    const auto pid = thread([](const ThreadTotals& of) { return known(of.pid); });
    const auto tid = thread([](const ThreadTotals& of) { return known(of.tid); });
    const bool is_time = profile.is_time();
    const std::string& clock = profile.stats.clock;
    Table table;
    table.measure = measure_of(profile);
    table.rows = threads.size();
    table.columns = {
        {"name", "thread", Kind::word, thread(&ThreadTotals::name)},
        {"process", "", Kind::word, thread(&ThreadTotals::process)},
        {"pid", "pid", Kind::id, pid},
        {"tid", "tid", Kind::id, tid},
        {!is_time          ? "count"
         : clock == "wall" ? "wall_us"
                           : "cpu_us",
         !is_time        ? "total"
         : clock.empty() ? "time"
                         : clock,
         Kind::weight, thread(&ThreadTotals::total)},
        {"", "share", Kind::share, thread(&ThreadTotals::total), all},
        {"samples", "samples", Kind::count, thread([&](const ThreadTotals& of) {
             return or_null(profile.stats.known_samples(of.samples));
         })},
        {"incomplete_stacks", "incomplete", Kind::count, thread(&ThreadTotals::incomplete_stacks)}};
    table.name_heading = "process";
    table.name = [&](std::size_t row, std::size_t /*room*/) {
        return printable(threads[row].process);
    };
    table.empty = "no threads: the file does not name them";
    return print(profile, options, "threads", table,
                 is_part(profile)
                     ? "whole recording: --focus, --hide and --search choose no threads\n"
                     : "");
}

}  // namespace sample::cli
