#include "export/firefox/tracks.h"

#include "core/text.h"
#include "export/firefox/markers.h"
#include "export/shared/facts.h"
#include "export/shared/json.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::exports::firefox {

namespace {

using callgraph::Profile;
using callgraph::SampleSeries;
using callgraph::TimedWeight;
using callgraph::Timeline;

/// A row of a table of samples.
struct Row {
    std::int64_t time_ns = 0;
    NodeId node;  ///< None: no stack.
    std::uint64_t weight = 0;
};

/// The rows of a thread, in order.
template <class Use>
void for_each_timed_row(const Track& track, const Use& use) {
    const std::uint64_t period = sampling_period_ns(track.view);
    const std::vector<NodeId>& nodes = track.view.timeline()->nodes;
    std::optional<std::int64_t> latest;
    TimedWeight sample;
    for (SampleSeries::Reader reader = track.samples->read(); reader.next(sample);) {
        const NodeId node = nodes[sample.place];
        if (node.is_none()) {
            continue;
        }
        const std::int64_t now = latest ? std::max(*latest, sample.time_ns) : sample.time_ns;
        if (latest && period != 0) {
            const std::uint64_t since =
                static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(*latest);
            if (since > period && since - period > sample.weight) {
                use(Row{*latest + static_cast<std::int64_t>(period), {}, 0});
            }
        }
        use(Row{now, node, sample.weight});
        latest = now;
    }
}

template <class Use>
void for_each_row(const Tables& tables, const Track& track, const Use& use) {
    if (track.samples != nullptr) {
        for_each_timed_row(track, use);
        return;
    }
    for (std::size_t place = track.first_place; place < track.end_place; ++place) {
        const NodeId id = tables.preorder()[place];
        const std::uint64_t self = track.view.self(id);
        if (self != 0 || track.view.self_samples(id) != 0) {
            use(Row{0, id, self});
        }
    }
}

/// Adds up the track's total. False if it has no rows.
bool sum_up(const Tables& tables, Track& track) {
    bool has_rows = false;
    for_each_row(tables, track, [&](const Row& row) {
        track.total += row.weight;
        has_rows = true;
    });
    return has_rows;
}

/// Names for processes and threads: a process id, and a thread's, may have been used twice.
class Identities {
public:
    explicit Identities(const Profile& profile) {
        for (const callgraph::ProcessTotals& process : profile.processes) {
            processes_[process.pid].push_back(&process);
        }
    }

    /// The first of its id that is called so, or the only one, which may have another name than its
    /// file; nullptr: it is not known.
    [[nodiscard]] const callgraph::ProcessTotals* process(
        const callgraph::ThreadTotals& thread) const {
        const auto found = processes_.find(thread.pid);
        if (found == processes_.end()) {
            return nullptr;
        }
        for (const callgraph::ProcessTotals* const each : found->second) {
            if (file_name(each->executable) == thread.process) {
                return each;
            }
        }
        return found->second.size() == 1 ? found->second.front() : nullptr;
    }

    std::string pid(std::uint32_t pid, const std::string& process) {
        std::map<std::string, std::size_t>& programs = programs_[pid];
        const std::size_t at = programs.try_emplace(process, programs.size()).first->second;
        const std::string text = std::to_string(pid);
        return at == 0 ? text : text + "." + std::to_string(at);
    }

    std::string tid(std::uint32_t tid) {
        const std::uint32_t before = threads_[tid]++;
        const std::string text = std::to_string(tid);
        return before == 0 ? text : "\"" + text + "." + std::to_string(before) + "\"";
    }

private:
    std::map<std::uint32_t, std::vector<const callgraph::ProcessTotals*>> processes_;
    std::map<std::uint32_t, std::map<std::string, std::size_t>> programs_;
    std::map<std::uint32_t, std::uint32_t> threads_;
};

void fill_thread(Track& track, std::uint32_t index, Identities& identities) {
    const Profile& profile = track.view.profile();
    const callgraph::ThreadTotals& thread = profile.threads[index];
    track.thread = index;
    track.name = thread.name;
    track.process = thread.process;
    track.pid = identities.pid(thread.pid, thread.process);
    track.tid = identities.tid(thread.tid);
    track.is_main = thread.pid == thread.tid;
    track.start_ns = thread.start_ns;
    if (const callgraph::ProcessTotals* const process = identities.process(thread)) {
        track.process_start_ns = process->start_ns;
        track.process_end_ns = process->end_ns;
    }
}

void add_threads(std::vector<Track>& tracks, const MetricView& view, const Tables& tables,
                 Identities& identities) {
    for (const Timeline::Thread& thread : view.timeline()->threads) {
        Track track{view};
        track.samples = thread.samples.get();
        if (!sum_up(tables, track)) {
            continue;
        }
        if (thread.thread) {
            fill_thread(track, *thread.thread, identities);
        } else {
            track.name = "unknown thread";
            track.pid = identities.pid(0, "");
            track.tid = identities.tid(0);
        }
        tracks.push_back(std::move(track));
    }
}

/// Threads that said something, and have no samples.
void add_silent_threads(std::vector<Track>& tracks, const Profile& profile,
                        Identities& identities) {
    std::set<std::uint32_t> missing;
    for (const callgraph::Marker& marker : profile.markers) {
        if (marker.thread && *marker.thread < profile.threads.size()) {
            missing.insert(*marker.thread);
        }
    }
    for (const Track& track : tracks) {
        if (track.thread) {
            missing.erase(*track.thread);
        }
    }
    for (const std::uint32_t index : missing) {
        fill_thread(tracks.emplace_back(profile), index, identities);
    }
}

void add_categories(std::vector<Track>& tracks, const MetricView& view, const Tables& tables,
                    Identities& identities) {
    const Profile& profile = view.profile();
    for (const callgraph::Category& category : profile.categories) {
        Track track{view};
        track.name = category.name;
        track.pid = identities.pid(0, "");
        track.tid = std::to_string(tracks.size());
        track.is_main = tracks.empty();
        track.first_place = tables.stack_of(category.node) + std::size_t{1};
        track.end_place = track.first_place + 1;
        const std::span<const NodeId> preorder = tables.preorder();
        while (track.end_place < preorder.size() &&
               profile.node(preorder[track.end_place]).parent.value != 0) {
            ++track.end_place;
        }
        if (sum_up(tables, track)) {
            tracks.push_back(std::move(track));
        }
    }
}

/// A column of a track's samples: `,"key":[…]`. Returns how many rows there were.
template <class Cell>
std::size_t sample_column(Writer& out, std::string_view key, const auto& each_row,
                          const Cell& cell) {
    out.put(",\"", key, "\":[");
    std::size_t rows = 0;
    each_row([&](const Row& row) { out.put(rows++ == 0 ? "" : ",", cell(row)); });
    out.put("]");
    return rows;
}

/// The weights / `unit`. Most are the one before, whose text is kept.
void weight_column(Writer& out, std::string_view key, const auto& each_row, std::uint64_t unit) {
    std::uint64_t latest = 0;
    std::string text{"0"};
    sample_column(out, key, each_row, [&](const Row& row) -> std::string_view {
        if (row.weight != latest) {
            latest = row.weight;
            text = decimal(latest, unit);
        }
        return text;
    });
}

void write_samples(Writer& out, const Tables& tables, const Track& track) {
    const auto each_row = [&](const auto& use) { for_each_row(tables, track, use); };
    out.put(R"("samples":{"weightType":")", weight_type(track.view), "\"");
    const std::size_t rows = sample_column(out, "stack", each_row, [&](const Row& row) {
        return row.node.is_none() ? "null" : std::to_string(tables.stack_of(row.node));
    });
    sample_column(out, "time", each_row, [&](const Row& row) { return decimal(row.time_ns, kMs); });
    weight_column(out, "weight", each_row, track.view.is_time() ? kMs : 1);
    if (track.samples != nullptr && weighs_cpu_time(track.view)) {
        weight_column(out, "threadCPUDelta", each_row, 1);
    }
    out.put(",\"length\":", rows, "}");
}

}  // namespace

bool weighs_cpu_time(const MetricView& view) {
    return view.is_own() && view.is_time() && view.profile().stats.clock == "cpu";
}

std::string_view weight_type(const MetricView& view) {
    return view.is_time() ? "tracing-ms" : view.metric().unit == "bytes" ? "bytes" : "samples";
}

std::vector<Track> tracks_of(const Profile& profile, const Tables& tables) {
    std::vector<Track> tracks;
    Identities identities{profile};
    for (const MetricView& view : views_of(profile)) {
        const std::size_t first = tracks.size();
        if (view.timeline() != nullptr) {
            add_threads(tracks, view, tables, identities);
            if (view.is_own()) {
                add_silent_threads(tracks, profile, identities);
            }
        } else {
            add_categories(tracks, view, tables, identities);
        }
        for (std::size_t i = first; i < tracks.size() && !view.is_own(); ++i) {
            tracks[i].name += ": " + view.metric().name;
            tracks[i].is_main = false;
        }
    }
    if (tracks.empty()) {
        // The profiler refuses a profile without a thread.
        Track& track = tracks.emplace_back(profile);
        track.name = "no samples";
        track.pid = track.tid = "0";
        track.is_main = true;
    }
    return tracks;
}

void write_track(Writer& out, const Tables& tables, const Track& track,
                 const std::vector<std::uint32_t>& markers) {
    out.put(R"({"processType":"default","processStartupTime":)",
            decimal(track.process_start_ns, kMs), R"(,"processShutdownTime":)",
            track.process_end_ns ? decimal(*track.process_end_ns, kMs) : "null",
            R"(,"registerTime":)", decimal(track.start_ns, kMs),
            R"(,"unregisterTime":null,"pausedRanges":[],"name":)", json_string(track.name),
            R"(,"isMainThread":)", track.is_main ? "true" : "false", R"(,"processName":)",
            json_string(track.process), R"(,"pid":")", track.pid, R"(","tid":)", track.tid, ",\n");
    write_samples(out, tables, track);
    out.put(",\n\"markers\":");
    write_markers(out, tables, track.view.profile(), markers);
    out.put("}");
}

}  // namespace sample::exports::firefox
