#include "export/speedscope.h"

#include "export/facts_json.h"
#include "export/functions_json.h"
#include "export/json_string.h"
#include "export/slice_walk.h"
#include "export/stack_changes.h"
#include "export/tracks.h"

#include <algorithm>
#include <string>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Profile;

void write_frames(Writer& out, const Profile& profile) {
    out.text("\"shared\":{\"frames\":[");
    write_function_objects(out, profile);
    if (has_stackless(profile)) {
        out.text(profile.functions.empty() ? "\n" : ",\n");
        out.text("{\"name\":").text(json_string(kNoStack)).text("}");
    }
    out.text("]}");
}

/// "app, worker-3 (pid 100, tid 101)".
std::string name_of(const Track& track, Axis axis) {
    std::string name = track.process;
    if (!track.name.empty()) {
        name += (name.empty() ? "" : ", ") + track.name;
    }
    if (track.tid != 0) {
        name += " (pid " + std::to_string(track.pid) + ", tid " + std::to_string(track.tid) + ")";
    }
    if (axis != Axis::time) {
        name += name.empty() ? "(no times)" : " (no times)";
    }
    return name;
}

class Events {
public:
    Events(Writer& out, const Profile& profile)
        : out_{out},
          profile_{profile},
          axis_{axis_of(profile)},
          changes_{profile},
          tracks_{profile} {
        // What stands before an event's time, by frame.
        for (std::size_t frame = 0; frame <= profile.functions.size(); ++frame) {
            frames_.push_back(",\"frame\":" + std::to_string(frame) + ",\"at\":");
        }
    }

    void write() {
        out_.text("\"profiles\":[");
        for (const Track& track : tracks_.list()) {
            write(track);
        }
        if (profiles_ == 0) {
            begin_profile("no samples", 0);
            end_profile(0, 0);
        }
        out_.text("]");
    }

    /// The index of the profile with the greatest weight.
    [[nodiscard]] std::uint64_t heaviest() const { return heaviest_; }

private:
    void write(const Track& track) {
        SliceReader slices = tracks_.slices(track);
        Slice slice;
        if (!slices.next(slice)) {
            return;
        }
        const std::int64_t start = std::min<std::int64_t>(slice.start, 0);
        begin_profile(name_of(track, axis_), start);
        std::uint64_t weight = 0;
        const std::int64_t end = walk_slices(
            slices, slice, changes_, out_, [&](std::int64_t time) { write_changes(time); },
            [&](const Slice& seen) {
                weight += static_cast<std::uint64_t>(seen.end - seen.start);
            });
        end_profile(start, end);
        if (weight > most_) {
            most_ = weight;
            heaviest_ = profiles_ - 1;
        }
    }

    void begin_profile(const std::string& name, std::int64_t start) {
        out_.text(profiles_ == 0 ? "\n" : ",\n");
        out_.text("{\"type\":\"evented\",\"name\":").text(json_string(name));
        out_.text(",\"unit\":").text(axis_ == Axis::count ? "\"none\"" : "\"nanoseconds\"");
        out_.text(",\"startValue\":").decimal(start, 0).text(",\"events\":[");
        before_ = "\n";
        ++profiles_;
    }

    void end_profile(std::int64_t start, std::int64_t end) {
        out_.text("],\"endValue\":").decimal(std::max(start, end), 0).text("}");
    }

    void write_changes(std::int64_t at) {
        if (changes_.closed().empty() && changes_.opened().empty()) {
            return;
        }
        at_ = std::to_string(at) + "}";
        for (const NodeId node : changes_.closed()) {
            write_event("{\"type\":\"C\"", node);
        }
        for (const NodeId node : changes_.opened()) {
            write_event("{\"type\":\"O\"", node);
        }
    }

    void write_event(std::string_view kind, NodeId node) {
        const FunctionId function = profile_.node(node).function;
        const std::size_t frame =
            function.is_none() ? profile_.functions.size() : function.value - 1;
        out_.text(before_).text(kind).text(frames_[frame]).text(at_);
        before_ = ",\n";
    }

    Writer& out_;
    const Profile& profile_;
    Axis axis_;
    StackChanges changes_;
    Tracks tracks_;
    std::vector<std::string> frames_;
    std::string at_;
    std::string_view before_;
    std::uint64_t profiles_ = 0;
    std::uint64_t heaviest_ = 0;
    std::uint64_t most_ = 0;
};

}  // namespace

Result<void> write_speedscope(const Profile& profile, const Sink& sink) {
    Writer out{sink};
    out.text("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n");
    out.text("\"exporter\":\"sample\",\n\"name\":").text(json_string(profile.command_line));
    out.text(",\n");
    write_frames(out, profile);
    out.text(",\n");
    Events events{out, profile};
    events.write();
    out.text(",\n\"activeProfileIndex\":").number(events.heaviest());
    out.text(",\n\"sample\":").text(facts_json(profile)).text("}\n");
    return out.finish();
}

}  // namespace sample::exports
