#include "callgraph/label.h"
#include "core/text.h"
#include "export/formats.h"
#include "export/shared/facts.h"
#include "export/shared/functions.h"
#include "export/shared/stack_changes.h"

#include <fmt/format.h>

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
            const std::string& path = module_file(module);
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
        return names_[function_index(profile_, node)];
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
    return fmt::format("{}.{:09}", time / kNanoseconds, time % kNanoseconds);
}

/// Comments, as `perf script --header` has them.
void write_header(Writer& out, const Profile& profile) {
    out.put("# ========\n# cmdline : ", one_line(profile.command_line),
            "\n# exporter : ", creator());
    for (const std::string& fact : fact_lines(profile)) {
        out.put("\n# ", fact);
    }
    for (const callgraph::CodeModule& module : profile.modules) {
        if (!module.build_id.empty()) {
            out.put("\n# build id : ", one_line(module.build_id), " ", one_word(module.path));
        }
    }
    out.put("\n# ========\n#\n");
}

std::string event_of(const Profile& profile) {
    if (!profile.event.empty()) {
        return one_word(profile.event);
    }
    return profile.stats.clock == "wall" ? "wall-clock" : "cpu-clock";
}

}  // namespace

Result<void> write_perf_script(const Profile& profile, const Sink& sink) {
    if (auto fits = check_total(profile, kLongestAxis, "perf-script"); !fits) {
        return fits;
    }
    Writer out{sink};
    write_header(out, profile);
    const Tracks tracks{profile};
    const std::string event = " " + event_of(profile) + ": \n";
    StackChanges changes{profile};
    StackText stack{profile};
    for (const Track& track : tracks.list()) {
        const std::string heading =
            fmt::format("{} {}/{}  ", command(track), track.pid, track.unique_tid);
        SliceReader slices = tracks.slices(track, WeightlessSamples::kept);
        Slice slice;
        while (out.is_good() && slices.next(slice)) {
            changes.move_to(slice.node);
            stack.apply(changes);
            out.put(heading);
            if (profile.timeline) {
                out.put(seconds(slice.time), ": ");
            }
            out.put(static_cast<std::uint64_t>(slice.end - slice.start), event, stack.text(), "\n");
        }
    }
    return out.finish();
}

}  // namespace sample::exports
