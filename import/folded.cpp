#include "import/readers.h"
#include "import/text_lines.h"

namespace sample::imports {

namespace {

using callgraph::Inlining;

struct Frame {
    FunctionKey function;
    Inlining inlining = Inlining::none;
};

/// Source of the marks: stackcollapse-perf.pl, flamegraph.pl --color=java.
Frame frame_of(std::string_view text) {
    constexpr std::size_t kMark = 4;
    Frame frame;
    frame.function.name = text;
    if (text.size() <= kMark || !text.ends_with(']')) {
        return frame;
    }
    const std::string_view mark = text.substr(text.size() - kMark);
    if (mark == "_[i]") {
        frame.inlining = Inlining::all;
    } else if (mark == "_[j]") {
        frame.function.flags = callgraph::kNative;
    } else if (mark == "_[k]") {
        frame.function.source = "[kernel]";
    } else {
        return frame;
    }
    frame.function.name.remove_suffix(kMark);
    return frame;
}

ProfileMaker::Place place_of(std::string_view stack, FirstFrame first, ProfileMaker& maker) {
    if (stack.empty()) {
        return maker.category(kUnknown);
    }
    const auto take = [&stack] {
        const std::size_t end = stack.find(';');
        const std::string_view frame = stack.substr(0, end);
        stack = end == std::string_view::npos ? std::string_view{} : stack.substr(end + 1);
        return frame;
    };
    const std::string_view thread = first == FirstFrame::thread ? take() : kAll;
    ProfileMaker::Place place = maker.category(thread.empty() ? kUnknown : thread);
    while (!stack.empty()) {
        const Frame frame = frame_of(take());
        place = maker.child(place, maker.function(frame.function), {0, 0, frame.inlining});
    }
    return place;
}

/// Takes the last word off, if it is a whole number.
bool take_count(std::string_view& line) {
    const std::size_t space = line.find_last_of(" \t");
    if (space == std::string_view::npos || !to_number(line.substr(space + 1))) {
        return false;
    }
    line = trimmed(line.substr(0, space));
    return true;
}

/// Whether each line ends with two counts. A frame's name may end with a number, too; so do all of
/// them only where they are no names.
bool are_differences(std::string_view text) {
    Lines lines{text};
    std::string_view line;
    bool has_any = false;
    while (lines.next(line)) {
        line = trimmed(line);
        if (line.empty()) {
            continue;
        }
        has_any = take_count(line);
        if (!has_any || !take_count(line)) {
            return false;
        }
    }
    return has_any;
}

}  // namespace

Result<callgraph::Profile> read_folded(std::string_view text, FirstFrame first,
                                       const Options& options) {
    if (are_differences(text)) {
        return unexpected(
            ErrorCode::unsupported,
            "two counts a line, as difffolded.pl writes them: no profile, but the "
            "difference of two. Keep the stacks of each run in a file of its own, and "
            "compare those: sample diff A B");
    }
    ProfileMaker maker{options};
    Lines lines{text};
    std::string_view line;
    while (lines.next(line)) {
        line = trimmed(line);
        if (line.empty()) {
            continue;
        }
        const std::size_t space = line.find_last_of(" \t");
        const std::string_view count = line.substr(space + 1);
        const auto weight = to_number(count);
        if (!weight) {
            return lines.wrong(
                "must end with a space and a count, a whole number of at most 64 "
                "bits, not with " +
                in_quotes(count));
        }
        const std::string_view stack =
            space == std::string_view::npos ? std::string_view{} : trimmed(line.substr(0, space));
        maker.add(place_of(stack, first, maker), *weight, 0);
        if (!maker.problem().empty()) {
            return lines.wrong(maker.problem());
        }
    }
    callgraph::Profile& profile = maker.profile();
    profile.event = "folded";
    profile.metric.unit = "counts";
    profile.stats.notes.emplace_back(
        "folded stacks do not say what their counts are: samples, as a rule, or microseconds");
    if (first == FirstFrame::function) {
        profile.stats.notes.emplace_back(
            "every frame was taken as a function: if the first of each line names a thread or a "
            "process, say --from folded-threads");
    }
    return std::move(maker).finish();
}

}  // namespace sample::imports
