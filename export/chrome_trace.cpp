#include "callgraph/label.h"
#include "export/formats.h"
#include "export/shared/facts.h"
#include "export/shared/functions.h"
#include "export/shared/json.h"
#include "export/shared/stack_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Profile;

constexpr std::int64_t kMicrosecond = 1000;

/// A place on the axis as the format writes it: microseconds, with three digits behind the point.
std::string microseconds(std::int64_t time_ns) {
    const std::int64_t magnitude = std::abs(time_ns);
    return fmt::format("{}{}.{:03}", time_ns < 0 ? "-" : "", magnitude / kMicrosecond,
                       magnitude % kMicrosecond);
}

/// A hundredth of a nanosecond later than `time_ns`.
std::string just_after(std::int64_t time_ns) {
    return time_ns < 0 ? "-" + microseconds(-(time_ns + 1)) + "99" : microseconds(time_ns) + "01";
}

/// What a thread did along time: "C" events, each as ",\n{…}", of intervals with slices and of the
/// first one behind them: about a thousand in the session, of 10 ms at least, and of those that one
/// slice fills the first and the last. A slice counts in each interval by the part of it that lies
/// there, so that a thread never uses more than 100 % of a processor; a sample in the interval
/// where it ends.
class Counters {
public:
    /// `ids`: the event's pid and tid as JSON members.
    Counters(Writer& out, const Profile& profile, const std::string& ids, const std::string& thread)
        : out_{out},
          length_ns_{std::max<std::int64_t>(
              static_cast<std::int64_t>(profile.stats.wall_ns / kIntervals), kLeastNs)},
          is_cpu_{profile.stats.clock == "cpu"},
          begin_{",\n{\"ph\":\"C\"," + ids + ",\"ts\":"},
          cpu_{",\"name\":" + json_string("CPU %, " + thread) + ",\"args\":{\"CPU %\":"},
          samples_{",\"name\":" + json_string("samples, " + thread) + ",\"args\":{\"samples\":"} {}

    /// Slices in order, none overlapping another, on Axis::time.
    void add(const Slice& slice) {
        std::int64_t start = slice.start;
        while (start < slice.end) {
            move_to(interval_of(start));
            const std::int64_t end = std::min(slice.end, (interval_ + 1) * length_ns_);
            used_ns_ += end - start;
            start = end;
            // A slice may be longer than any session: what it fills like this interval is one step.
            const std::int64_t last_filled = interval_of(slice.end) - 1;
            if (used_ns_ == length_ns_ && taken_ == 0 && last_filled > interval_) {
                write(interval_);
                interval_ = last_filled;
                start = (last_filled + 1) * length_ns_;
            }
        }
        taken_ += slice.samples;
    }

    void finish() {
        if (has_begun_) {
            move_to(interval_ + 2);
        }
    }

private:
    static constexpr std::uint64_t kIntervals = 1000;
    static constexpr std::int64_t kLeastNs = 10'000'000;

    /// Counters keep their value until the next one: an interval without slices needs one zero.
    void move_to(std::int64_t interval) {
        if (has_begun_ && interval == interval_) {
            return;
        }
        if (has_begun_) {
            write(interval_);
            used_ns_ = 0;
            taken_ = 0;
            if (interval > interval_ + 1) {
                write(interval_ + 1);
            }
        }
        interval_ = interval;
        has_begun_ = true;
    }

    void write(std::int64_t interval) const {
        constexpr std::int64_t kTenthsOfPercent = 1000;
        const std::string time = decimal(interval * length_ns_, kMicrosecond);
        out_.put(begin_, time, samples_, taken_, "}}");
        if (is_cpu_) {
            out_.put(begin_, time, cpu_,
                     decimal(used_ns_ / (length_ns_ / kTenthsOfPercent), std::uint64_t{10}), "}}");
        }
    }

    /// Rounded down, also below 0.
    [[nodiscard]] std::int64_t interval_of(std::int64_t time_ns) const {
        return time_ns / length_ns_ - (time_ns % length_ns_ < 0 ? 1 : 0);
    }

    Writer& out_;
    std::int64_t length_ns_;
    bool is_cpu_;  ///< What slices stand for is CPU time.
    std::string begin_;
    std::string cpu_;
    std::string samples_;
    std::int64_t interval_ = 0;
    std::int64_t used_ns_ = 0;
    std::uint64_t taken_ = 0;
    bool has_begun_ = false;
};

/// What was said has times where nothing was sampled, too.
Axis axis_of_events(const Profile& profile) {
    const bool is_all_said = profile.nodes.empty() || profile.nodes.front().total == 0;
    const bool has_said = !profile.markers.empty() || !profile.counters.empty();
    return is_all_said && has_said ? Axis::time : axis_of(profile);
}

class Events {
public:
    Events(Writer& out, const Profile& profile)
        : out_{out},
          profile_{profile},
          axis_{axis_of_events(profile)},
          changes_{profile},
          tracks_{profile} {
        for (const callgraph::CodeModule& module : profile.modules) {
            const std::string quoted = json_string(module.name);
            modules_.push_back(quoted.substr(1, quoted.size() - 2));
        }
        for (const callgraph::Function& function : profile.functions) {
            names_.push_back("\"name\":" + json_string(callgraph::label(function)) + "}");
        }
        names_.push_back("\"name\":" + json_string(kNoStack) + "}");
        std::unordered_map<std::string_view, std::size_t> first;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            first_with_name_.push_back(first.try_emplace(names_[i], i).first->second);
        }
    }

    void write() {
        for (const Track& track : tracks_.list()) {
            write(track);
        }
        if (axis_ == Axis::time) {
            write_markers();
            write_flows();
            write_counters();
        }
    }

private:
    /// Zones are slices of a track of their own beside their thread's: those of the samples begin
    /// and end elsewhere. What else has a length becomes a pair of asynchronous events, as it may
    /// overlap; the other moments of the process.
    void write_markers() {
        std::size_t number = 0;
        for (const callgraph::Marker& marker : profile_.markers) {
            if (marker.kind == "zone") {
                write_zone(marker);
                continue;
            }
            const std::string begin =
                fmt::format("{}{{\"cat\":{},\"name\":{},{},\"ts\":", std::exchange(before_, ",\n"),
                            json_string(marker.kind), json_string(marker.name), ids_of(marker));
            if (marker.kind == "bookmark" || marker.kind == "log") {
                out_.put(begin, microseconds(marker.begin_ns), ",\"ph\":\"i\",\"s\":\"p\"}");
                continue;
            }
            ++number;
            out_.put(begin, microseconds(marker.begin_ns), ",\"ph\":\"b\",\"id\":", number, "},\n");
            out_.put(begin.substr(begin.find('{')), microseconds(marker.end_ns),
                     ",\"ph\":\"e\",\"id\":", number, "}");
        }
    }

    void write_zone(const callgraph::Marker& marker) {
        begin_zone_track(*marker.thread);
        out_.put(",\n{\"ph\":\"X\",\"cat\":\"zone\",\"name\":", json_string(marker.name), ",",
                 ids_text_, ",\"ts\":", microseconds(marker.begin_ns),
                 ",\"dur\":", microseconds(marker.end_ns - marker.begin_ns), "}");
    }

    /// Arrows from zone to zone: each of their points is bound to the zone that is open then.
    void write_flows() {
        for (const callgraph::FlowPoint& point : profile_.flows) {
            using Step = callgraph::FlowPoint::Step;
            begin_zone_track(point.thread);
            const std::string_view phase = point.step == Step::begin ? "s\""
                                           : point.step == Step::end ? "f\",\"bp\":\"e\""
                                                                     : "t\"";
            out_.put(",\n{\"ph\":\"", phase, ",\"cat\":\"flow\",\"name\":\"flow\",\"id\":\"",
                     point.flow, "\",", ids_text_, ",\"ts\":", microseconds(point.time_ns), "}");
        }
    }

    /// What follows is of the zones of this thread, an index into Profile::threads.
    void begin_zone_track(std::uint32_t index) {
        // Above all numbers that kernels give, and those of Track::unique_tid.
        constexpr std::uint32_t kFirst = 1U << 30U;
        const callgraph::ThreadTotals& thread = profile_.threads[index];
        ids_text_ = fmt::format("\"pid\":{},\"tid\":{}", thread.pid, kFirst + index);
        if (zone_tracks_.insert(index).second) {
            write_names(fmt::format("{} (tid {}): zones", thread.name, thread.tid), thread.process);
        }
    }

    void write_counters() {
        for (const callgraph::CounterTrack& counter : profile_.counters) {
            const std::string end =
                fmt::format(",\"name\":{},\"args\":{{\"value\":", json_string(counter.name));
            for (const callgraph::CounterTrack::Point& point : counter.points) {
                // JSON has no other numbers.
                if (std::isfinite(point.value)) {
                    out_.put(std::exchange(before_, ",\n"),
                             "{\"ph\":\"C\",\"pid\":", counter.pid.value_or(first_pid()),
                             ",\"ts\":", microseconds(point.time_ns), end,
                             fmt::format("{}", point.value), "}}");
                }
            }
        }
    }

    [[nodiscard]] std::uint32_t first_pid() const {
        return profile_.processes.empty() ? 0 : profile_.processes.front().pid;
    }

    [[nodiscard]] std::string ids_of(const callgraph::Marker& marker) const {
        if (!marker.thread || *marker.thread >= profile_.threads.size()) {
            return fmt::format("\"pid\":{},\"tid\":0", first_pid());
        }
        const callgraph::ThreadTotals& thread = profile_.threads[*marker.thread];
        return fmt::format("\"pid\":{},\"tid\":{}", thread.pid, thread.tid);
    }

    void write(const Track& track) {
        SliceReader slices = tracks_.slices(track);
        Slice slice;
        if (!slices.next(slice)) {
            return;
        }
        begin_track(track);
        // Counters are a process's: two threads of one name would share one.
        Counters counters{out_, profile_, ids_text_,
                          fmt::format("{} (tid {})", track.name, track.unique_tid)};
        walk_slices(
            slices, slice, changes_, out_, [&](std::int64_t time) { write_changes(time); },
            [&](const Slice& seen) {
                if (axis_ == Axis::time) {
                    counters.add(seen);
                }
            });
        counters.finish();
    }

    void begin_track(const Track& track) {
        ids_text_ = fmt::format("\"pid\":{},\"tid\":{}", track.pid, track.unique_tid);
        begin_ = ",\n{\"ph\":\"B\"," + ids_text_ + ",\"ts\":";
        end_ = ",\n{\"ph\":\"E\"," + ids_text_ + ",\"ts\":";
        const bool has_other_tid = track.tid != 0 && track.tid != track.unique_tid;
        write_names(has_other_tid ? fmt::format("{} (tid {})", track.name, track.tid) : track.name,
                    track.process);
    }

    void write_names(const std::string& thread, const std::string& process) {
        write_name("thread_name", thread);
        write_name("process_name", process.empty() ? profile_.command_line : process);
    }

    void write_name(std::string_view kind, const std::string& name) {
        out_.put(std::exchange(before_, ",\n"), "{\"ph\":\"M\",", ids_text_,
                 ",\"ts\":0,\"name\":\"", kind, "\",\"args\":{\"name\":", json_string(name), "}}");
    }

    void write_changes(std::int64_t place) {
        if (changes_.closed().empty() && changes_.opened().empty()) {
            return;
        }
        // A microsecond for each of what is counted.
        const std::int64_t time = axis_ == Axis::count ? place * kMicrosecond : place;
        std::string at = microseconds(time) + ",";
        for (const NodeId node : changes_.closed()) {
            out_.put(end_, at, name(node));
        }
        if (begins_what_ended()) {
            at = just_after(time) + ",";
        }
        for (const NodeId node : changes_.opened()) {
            const FunctionId function = profile_.node(node).function;
            const std::string& module =
                modules_[function.is_none() ? 0 : profile_.function(function).module];
            out_.put(begin_, at, "\"cat\":\"", module);
            if (profile_.node(node).inlining == callgraph::Inlining::all) {
                out_.put(module.empty() ? "inlined" : ",inlined");
            }
            out_.put("\",", name(node));
        }
    }

    /// Whether the first frame that begins is called like one that ends at the same time. Readers
    /// that sort ends and beginnings apart, as speedscope does, take such a pair for a slice
    /// without length, and what ended for what goes on.
    [[nodiscard]] bool begins_what_ended() const {
        if (changes_.opened().empty()) {
            return false;
        }
        const auto name_of = [&](NodeId node) {
            return first_with_name_[function_index(profile_, node)];
        };
        const std::size_t begun = name_of(changes_.opened().front());
        return std::any_of(changes_.closed().begin(), changes_.closed().end(),
                           [&](NodeId node) { return name_of(node) == begun; });
    }

    [[nodiscard]] const std::string& name(NodeId node) const {
        return names_[function_index(profile_, node)];
    }

    Writer& out_;
    const Profile& profile_;
    Axis axis_;
    StackChanges changes_;
    Tracks tracks_;
    std::vector<std::string> modules_;  ///< In the text of a JSON string; empty if unknown.
    std::vector<std::string> names_;    ///< By function: the end of an event, `"name":"…"}`.
    std::vector<std::size_t> first_with_name_;  ///< By function.
    std::set<std::uint32_t> zone_tracks_;       ///< Those that have their names.
    std::string ids_text_;
    std::string begin_;
    std::string end_;
    std::string_view before_ = "\n";
};

std::string_view axis_text(Axis axis) {
    switch (axis) {
        case Axis::time:
            return "time since the start of the session";
        case Axis::spent:
            return "no times: each slice is as long as what was spent, one behind the other";
        case Axis::count:
            return "no times: a microsecond is one of what was counted";
    }
    return {};
}

}  // namespace

Result<void> write_chrome_trace(const Profile& profile, const Sink& sink) {
    const std::int64_t most = profile.is_time() ? kLongestAxis : kLongestAxis / kMicrosecond;
    if (auto fits = check_total(profile, static_cast<std::uint64_t>(most), "chrome"); !fits) {
        return fits;
    }
    Writer out{sink};
    out.put("{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[");
    Events{out, profile}.write();
    out.put("],\n\"otherData\":{\"exporter\":\"sample\",\"axis\":\"",
            axis_text(axis_of_events(profile)), "\",\n\"sample\":", facts_json(profile),
            ",\n\"functions\":");
    // The functions' places have no room in the events.
    write_functions(out, profile);
    out.put("]}}\n");
    return out.finish();
}

}  // namespace sample::exports
