#include "export/perf_script.h"

#include "callgraph/label.h"
#include "export/largest_total.h"
#include "export/profile_facts.h"
#include "export/stack_changes.h"
#include "export/tracks.h"
#include "export/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::exports {

namespace {

using callgraph::Function;
using callgraph::Profile;

/// Readers take a module's name to the next blank.
std::string one_word(std::string text) {
    text = one_line(text);
    std::replace(text.begin(), text.end(), ' ', '_');
    return text;
}

bool ends_like_an_offset(std::string_view name) {
    const std::size_t digits = name.find_last_not_of("0123456789abcdef");
    return digits != std::string_view::npos && digits != 0 && digits + 1 < name.size() &&
           name[digits] == 'x' && name.substr(0, digits).ends_with("+0");
}

/// Readers cut off "+0x12" at a name's end, and skip names that begin with a parenthesis.
std::string symbol(std::string name) {
    name = one_line(name);
    if (ends_like_an_offset(name)) {
        return "[" + name + "]";
    }
    return name.starts_with('(') ? "::" + name : name;
}

/// Readers find a name's end by the first number behind it, and want two characters at least.
std::string command(const Track& track) {
    std::string name = one_line(track.name.empty() ? track.process : track.name);
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    for (std::size_t i = 1; i < name.size(); ++i) {
        if (name[i - 1] == ' ' && name[i] >= '0' && name[i] <= '9') {
            name[i - 1] = '_';
        }
    }
    constexpr std::size_t kWidth = 16;
    if (name.empty()) {
        name = "[unknown]";
    }
    name.resize(std::max(kWidth, name.size()), ' ');
    return name;
}

/// The frames of one stack as text, leaf first. Outer frames stay at its end while others change.
class StackText {
public:
    explicit StackText(const Profile& profile) : profile_{profile} {
        constexpr std::string_view kNoAddress = "\t               0 ";
        for (const Function& function : profile.functions) {
            names_.push_back(std::string{kNoAddress} + symbol(callgraph::label(function)) + " (");
        }
        names_.push_back(std::string{kNoAddress} + kNoStack + " (");
        for (const callgraph::CodeModule& module : profile.modules) {
            const std::string& path = module.path.empty() ? module.name : module.path;
            modules_.push_back((path.empty() ? "[unknown]" : one_word(path)) + ")\n");
        }
    }

    void apply(const StackChanges& changes) {
        for (const NodeId node : changes.closed()) {
            begin_ += name(node).size() + module(node).size();
        }
        for (const NodeId node : changes.opened()) {
            prepend(module(node));
            prepend(name(node));
        }
    }

    [[nodiscard]] std::string_view text() const {
        return {bytes_.data() + begin_, bytes_.size() - begin_};
    }

private:
    [[nodiscard]] std::string_view name(NodeId node) const {
        const FunctionId function = profile_.node(node).function;
        return names_[function.is_none() ? profile_.functions.size() : function.value - 1];
    }

    [[nodiscard]] std::string_view module(NodeId id) const {
        const callgraph::Node& node = profile_.node(id);
        if (node.inlining == callgraph::Inlining::all) {
            return "inlined)\n";
        }
        return modules_[node.function.is_none() ? 0 : profile_.function(node.function).module];
    }

    void prepend(std::string_view text) {
        if (begin_ < text.size()) {
            const std::size_t more = bytes_.size() + text.size();
            bytes_.insert(bytes_.begin(), more, '\0');
            begin_ += more;
        }
        begin_ -= text.size();
        std::memcpy(bytes_.data() + begin_, text.data(), text.size());
    }

    const Profile& profile_;
    std::vector<std::string> names_;
    std::vector<std::string> modules_;
    std::vector<char> bytes_;
    std::size_t begin_ = 0;
};

/// Seconds, with the nanoseconds as nine digits: "12.345678901".
std::string seconds(std::int64_t time_ns) {
    constexpr std::int64_t kNanoseconds = 1'000'000'000;
    const std::int64_t time = std::max<std::int64_t>(time_ns, 0);
    const std::string fraction = std::to_string(kNanoseconds + time % kNanoseconds);
    return std::to_string(time / kNanoseconds).append(".").append(fraction, 1);
}

/// Comments, as `perf script --header` has them.
void write_header(Writer& out, const Profile& profile) {
    out.text("# ========\n# cmdline : ")
        .text(one_line(profile.command_line))
        .text("\n# exporter : ");
    out.text(creator());
    for (const std::string& fact : profile_facts(profile)) {
        out.text("\n# ").text(fact);
    }
    for (const callgraph::CodeModule& module : profile.modules) {
        if (!module.build_id.empty()) {
            out.text("\n# build id : ").text(one_line(module.build_id)).text(" ");
            out.text(one_word(module.path));
        }
    }
    out.text("\n# ========\n#\n");
}

std::string event_of(const Profile& profile) {
    if (!profile.event.empty()) {
        return one_word(profile.event);
    }
    return profile.stats.clock == "wall" ? "wall-clock" : "cpu-clock";
}

class Entries {
public:
    Entries(Writer& out, const Profile& profile)
        : out_{out},
          has_times_{profile.timeline.has_value()},
          event_{" " + event_of(profile) + ": \n"},
          changes_{profile},
          stack_{profile} {}

    void write(const Track& track, SliceReader slices) {
        const std::string heading = command(track) + " " + std::to_string(track.pid) + "/" +
                                    std::to_string(track.unique_tid) + "  ";
        Slice slice;
        while (out_.is_good() && slices.next(slice)) {
            changes_.move_to(slice.node);
            stack_.apply(changes_);
            out_.text(heading);
            if (has_times_) {
                out_.text(seconds(slice.time)).text(": ");
            }
            out_.number(static_cast<std::uint64_t>(slice.end - slice.start)).text(event_);
            out_.text(stack_.text()).text("\n");
        }
    }

private:
    Writer& out_;
    bool has_times_;
    std::string event_;
    StackChanges changes_;
    StackText stack_;
};

}  // namespace

Result<void> write_perf_script(const Profile& profile, const Sink& sink) {
    if (auto fits = check_total(profile, kLongestAxis, "perf-script"); !fits) {
        return fits;
    }
    Writer out{sink};
    write_header(out, profile);
    const Tracks tracks{profile};
    Entries entries{out, profile};
    for (const Track& track : tracks.list()) {
        entries.write(track, tracks.slices(track, WeightlessSamples::kept));
    }
    return out.finish();
}

}  // namespace sample::exports
