#include "export/chrome_trace.h"

#include "callgraph/label.h"
#include "export/chrome_counters.h"
#include "export/facts_json.h"
#include "export/functions_json.h"
#include "export/json_string.h"
#include "export/slice_walk.h"
#include "export/stack_changes.h"
#include "export/tracks.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Function;
using callgraph::Profile;

/// The parts of an event that a function decides.
class Names {
public:
    explicit Names(const Profile& profile) : profile_{profile} {
        for (const callgraph::CodeModule& module : profile.modules) {
            modules_.push_back(unquoted(module.name));
        }
        std::unordered_map<std::string, std::uint32_t> known;
        for (const Function& function : profile.functions) {
            add(callgraph::label(function), known);
        }
        add(kNoStack, known);
    }

    /// `"name":"…"}`: the end of an event.
    [[nodiscard]] const std::string& rest(NodeId node) const { return rests_[index(node)]; }
    /// Equal for nodes whose names are.
    [[nodiscard]] std::uint32_t number(NodeId node) const { return numbers_[index(node)]; }
    /// The module, in the text of a JSON string; empty if unknown.
    [[nodiscard]] const std::string& module(NodeId node) const {
        const FunctionId function = profile_.node(node).function;
        return modules_[function.is_none() ? 0 : profile_.function(function).module];
    }

private:
    static std::string unquoted(const std::string& text) {
        const std::string quoted = json_string(text);
        return quoted.substr(1, quoted.size() - 2);
    }

    void add(const std::string& name, std::unordered_map<std::string, std::uint32_t>& known) {
        rests_.push_back("\"name\":" + json_string(name) + "}");
        numbers_.push_back(
            known.try_emplace(name, static_cast<std::uint32_t>(known.size())).first->second);
    }

    [[nodiscard]] std::size_t index(NodeId node) const {
        const FunctionId function = profile_.node(node).function;
        return function.is_none() ? profile_.functions.size() : function.value - 1;
    }

    const Profile& profile_;
    std::vector<std::string> modules_;
    std::vector<std::string> rests_;
    std::vector<std::uint32_t> numbers_;
};

/// A place on the axis as the format writes it: microseconds, with three digits behind the point.
std::string microseconds(std::int64_t time_ns) {
    constexpr std::int64_t kNanoseconds = 1000;
    const std::int64_t magnitude = time_ns < 0 ? -time_ns : time_ns;
    const std::string fraction = std::to_string(kNanoseconds + magnitude % kNanoseconds);
    std::string text = time_ns < 0 ? "-" : "";
    text += std::to_string(magnitude / kNanoseconds);
    return text.append(".").append(fraction, 1);
}

/// A hundredth of a nanosecond later than `time_ns`.
std::string just_after(std::int64_t time_ns) {
    return time_ns < 0 ? "-" + microseconds(-(time_ns + 1)).append("99")
                       : microseconds(time_ns).append("01");
}

class Events {
public:
    Events(Writer& out, const Profile& profile)
        : out_{out},
          profile_{profile},
          axis_{axis_of(profile)},
          names_{profile},
          changes_{profile},
          tracks_{profile} {}

    void write() {
        for (const Track& track : tracks_.list()) {
            write(track);
        }
    }

private:
    void write(const Track& track) {
        SliceReader slices = tracks_.slices(track);
        Slice slice;
        if (!slices.next(slice)) {
            return;
        }
        begin_track(track);
        // Counters are a process's: two threads of one name would share one.
        ChromeCounters counters{out_, profile_, ids_text_,
                                track.name + " (tid " + std::to_string(track.unique_tid) + ")"};
        walk_slices(
            slices, slice, changes_, out_, [&](std::int64_t time) { write_changes(time); },
            [&](const Slice& seen) {
                if (axis_ == Axis::time) {
                    counters.add(seen);
                }
            });
        if (axis_ == Axis::time) {
            counters.finish();
        }
    }

    void begin_track(const Track& track) {
        ids_text_ =
            "\"pid\":" + std::to_string(track.pid) + ",\"tid\":" + std::to_string(track.unique_tid);
        begin_ = ",\n{\"ph\":\"B\"," + ids_text_ + ",\"ts\":";
        end_ = ",\n{\"ph\":\"E\"," + ids_text_ + ",\"ts\":";
        std::string name = track.name;
        if (track.tid != 0 && track.tid != track.unique_tid) {
            name += " (tid " + std::to_string(track.tid) + ")";
        }
        write_name("thread_name", name);
        write_name("process_name", track.process.empty() ? profile_.command_line : track.process);
    }

    void write_name(std::string_view kind, const std::string& name) {
        out_.text(before_).text("{\"ph\":\"M\",").text(ids_text_).text(",\"ts\":0,\"name\":\"");
        out_.text(kind).text("\",\"args\":{\"name\":").text(json_string(name)).text("}}");
        before_ = ",\n";
    }

    void write_changes(std::int64_t place) {
        if (changes_.closed().empty() && changes_.opened().empty()) {
            return;
        }
        // A microsecond for each of what is counted.
        constexpr std::int64_t kMicrosecond = 1000;
        constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kMicrosecond;
        const std::int64_t time =
            axis_ == Axis::count ? std::min(place, kMost) * kMicrosecond : place;
        std::string at = microseconds(time) + ",";
        for (const NodeId node : changes_.closed()) {
            out_.text(end_).text(at).text(names_.rest(node));
        }
        if (begins_what_ended()) {
            at = just_after(time) + ",";
        }
        for (const NodeId node : changes_.opened()) {
            out_.text(begin_).text(at).text("\"cat\":\"").text(names_.module(node));
            if (profile_.node(node).inlining == callgraph::Inlining::all) {
                out_.text(names_.module(node).empty() ? "inlined" : ",inlined");
            }
            out_.text("\",").text(names_.rest(node));
        }
    }

    /// Whether the first frame that begins is called like one that ends at the same time. Readers
    /// that sort ends and beginnings apart, as speedscope does, take such a pair for a slice
    /// without length, and what ended for what goes on.
    [[nodiscard]] bool begins_what_ended() const {
        if (changes_.opened().empty()) {
            return false;
        }
        const std::uint32_t number = names_.number(changes_.opened().front());
        return std::any_of(changes_.closed().begin(), changes_.closed().end(),
                           [&](NodeId node) { return names_.number(node) == number; });
    }

    Writer& out_;
    const Profile& profile_;
    Axis axis_;
    Names names_;
    StackChanges changes_;
    Tracks tracks_;
    std::string ids_text_;
    std::string begin_;
    std::string end_;
    std::string_view before_ = "\n";
};

/// The functions' places, which have no room in the events.
void write_functions(Writer& out, const Profile& profile) {
    out.text("\"functions\":[");
    write_function_objects(out, profile);
    out.text("]");
}

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
    Writer out{sink};
    out.text("{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[");
    Events{out, profile}.write();
    out.text("],\n\"otherData\":{\"exporter\":\"sample\",\"axis\":\"");
    out.text(axis_text(axis_of(profile))).text("\",\n\"sample\":").text(facts_json(profile));
    out.text(",\n");
    write_functions(out, profile);
    out.text("}}\n");
    return out.finish();
}

}  // namespace sample::exports
