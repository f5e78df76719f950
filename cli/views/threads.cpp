// The threads of a profile, heaviest first.
#include "cli/views/table.h"
#include "cli/views/views.h"

#include <algorithm>
#include <string>
#include <utility>
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
    const std::size_t known_threads = threads.size();
    const std::uint64_t least = threshold(all, options, 0.0);
    std::erase_if(threads, [least](const ThreadTotals& thread) { return thread.total < least; });
    const auto thread = values_of(threads);
    // An import may not know them.
    const auto pid = thread([](const ThreadTotals& of) { return known(of.pid); });
    const auto tid = thread([](const ThreadTotals& of) { return known(of.tid); });
    const bool is_time = profile.is_time();
    const std::string& clock = profile.stats.clock;
    Table table;
    table.measure = measure_of(profile, options.unit);
    table.measure.whole = all;
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
        {"", options.unit == Unit::weight ? "share" : "", Kind::share, thread(&ThreadTotals::total),
         all},
        {"samples", "samples", Kind::count, thread([&](const ThreadTotals& of) {
             return or_null(profile.stats.known_samples(of.samples));
         })},
        {"incomplete_stacks", "incomplete", Kind::count, thread(&ThreadTotals::incomplete_stacks)}};
    table.name_heading = "process";
    table.name = [&](std::size_t row, std::size_t /*room*/) {
        return printable(threads[row].process);
    };
    table.empty = profile.threads.empty() ? "no threads: the file does not name them" : "";
    std::string below =
        is_part(profile) ? "whole recording: --focus, --hide and --search choose no threads\n" : "";
    if (threads.size() != known_threads) {
        below +=
            counted(known_threads - threads.size(), "thread") + " not shown because of --min\n";
    }
    return print(profile, options, "threads", table, std::move(below));
}

}  // namespace sample::cli
