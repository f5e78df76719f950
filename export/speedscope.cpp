#include "export/formats.h"
#include "export/shared/facts.h"
#include "export/shared/functions.h"
#include "export/shared/json.h"
#include "export/shared/stack_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Profile;

/// "app, worker-3 (pid 100, tid 101)"; of a further metric, "…: allocated".
std::string name_of(const Track& track, const MetricView& view) {
    std::string name = track.process;
    if (!track.name.empty()) {
        name += (name.empty() ? "" : ", ") + track.name;
    }
    if (track.tid != 0) {
        name += fmt::format(" (pid {}, tid {})", track.pid, track.tid);
    }
    if (axis_of(view) != Axis::time) {
        name += name.empty() ? "(no times)" : " (no times)";
    }
    return view.is_own() ? name : name + ": " + view.metric().name;
}

/// By the names that the format has.
std::string_view format_unit(const callgraph::Metric& metric) {
    return metric.unit.empty() ? "nanoseconds" : metric.unit == "bytes" ? "bytes" : "none";
}

class Profiles {
public:
    Profiles(Writer& out, const Profile& profile)
        : out_{out}, profile_{profile}, changes_{profile} {
        for (std::size_t frame = 0; frame <= profile.functions.size(); ++frame) {
            frames_.push_back(fmt::format(",\"frame\":{},\"at\":", frame));
        }
    }

    void write() {
        out_.put("\"profiles\":[");
        for (const MetricView& view : views_of(profile_)) {
            const Tracks tracks{view};
            for (const Track& track : tracks.list()) {
                write(view, track, tracks.slices(track));
            }
        }
        if (profiles_ == 0) {
            begin_profile("no samples", profile_, 0);
            end_profile(0, 0);
        }
        out_.put("]");
    }

    /// The index of the profile with the greatest weight of the own metric.
    [[nodiscard]] std::uint64_t heaviest() const { return heaviest_; }

private:
    void write(const MetricView& view, const Track& track, SliceReader slices) {
        Slice slice;
        if (!slices.next(slice)) {
            return;
        }
        const std::int64_t start = std::min<std::int64_t>(slice.start, 0);
        begin_profile(name_of(track, view), view, start);
        std::uint64_t weight = 0;
        const std::int64_t end = walk_slices(
            slices, slice, changes_, out_, [&](std::int64_t time) { write_changes(time); },
            [&](const Slice& seen) {
                weight += static_cast<std::uint64_t>(seen.end - seen.start);
            });
        end_profile(start, end);
        if (view.is_own() && weight > most_) {
            most_ = weight;
            heaviest_ = profiles_ - 1;
        }
    }

    void begin_profile(const std::string& name, const MetricView& view, std::int64_t start) {
        out_.put(profiles_ == 0 ? "\n" : ",\n",
                 "{\"type\":\"evented\",\"name\":", json_string(name));
        if (!view.is_own()) {
            out_.put(",\"metric\":", json_string(view.metric().name));
        }
        out_.put(",\"unit\":\"", format_unit(view.metric()), "\",\"startValue\":", start,
                 ",\"events\":[");
        before_ = "\n";
        ++profiles_;
    }

    void end_profile(std::int64_t start, std::int64_t end) {
        out_.put("],\"endValue\":", std::max(start, end), "}");
    }

    void write_changes(std::int64_t at) {
        const std::string end = std::to_string(at) + "}";
        const auto write_event = [&](std::string_view kind, NodeId node) {
            out_.put(std::exchange(before_, ",\n"), kind, frames_[function_index(profile_, node)],
                     end);
        };
        for (const NodeId node : changes_.closed()) {
            write_event("{\"type\":\"C\"", node);
        }
        for (const NodeId node : changes_.opened()) {
            write_event("{\"type\":\"O\"", node);
        }
    }

    Writer& out_;
    const Profile& profile_;
    StackChanges changes_;
    std::vector<std::string> frames_;  ///< What stands before an event's time, by function.
    std::string_view before_;
    std::uint64_t profiles_ = 0;
    std::uint64_t heaviest_ = 0;
    std::uint64_t most_ = 0;
};

}  // namespace

Result<void> write_speedscope(const Profile& profile, const Sink& sink) {
    if (auto fits = check_total(profile, kLongestAxis, "speedscope"); !fits) {
        return fits;
    }
    Writer out{sink};
    out.put("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n",
            "\"exporter\":\"sample\",\n\"name\":", json_string(profile.command_line),
            ",\n\"shared\":{\"frames\":");
    write_functions(out, profile);
    if (has_stackless(profile)) {
        out.put(profile.functions.empty() ? "\n" : ",\n", "{\"name\":", json_string(kNoStack), "}");
    }
    out.put("]},\n");
    Profiles profiles{out, profile};
    profiles.write();
    out.put(",\n\"activeProfileIndex\":", profiles.heaviest(),
            ",\n\"sample\":", facts_json(profile), "}\n");
    return out.finish();
}

}  // namespace sample::exports
