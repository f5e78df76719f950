#include "import/luau.h"

#include "import/profile_maker.h"
#include "import/source_name_line.h"
#include "import/text_lines.h"

#include <optional>

namespace sample::imports {

namespace {

constexpr std::string_view kAll = "all";
constexpr std::string_view kGc = "GC,GC,";
constexpr std::uint64_t kNsPerUs = 1000;

/// A line's two parts; none if it has not two.
struct Parts {
    std::string_view duration;
    std::string_view stack;
};

std::optional<Parts> parts_of(std::string_view line) {
    const std::size_t space = line.find(' ');
    return space == std::string_view::npos
               ? std::nullopt
               : std::optional{Parts{line.substr(0, space), line.substr(space + 1)}};
}

/// Takes the frame at the end, the outermost, off `stack`.
std::string_view take_outermost(std::string_view& stack) {
    const std::size_t before = stack.rfind(';');
    const std::string_view frame = stack.substr(before + 1);
    stack = before == std::string_view::npos ? std::string_view{} : stack.substr(0, before);
    return frame;
}

/// Goes on from `place` to the function of `frame`, and keeps which one is the collector's. False
/// if the frame has not three parts.
bool add_frame(std::string_view frame, ProfileMaker& maker, ProfileMaker::Place& place,
               std::optional<FunctionId>& gc) {
    auto key = source_name_line(frame);
    if (!key) {
        return false;
    }
    if (frame == kGc) {
        key->source = {};
        gc = maker.function(*key);
    }
    place = maker.child(place, maker.function(*key));
    return true;
}

}  // namespace

bool is_luau_line(std::string_view line) {
    const auto parts = parts_of(line);
    if (!parts || !to_number(parts->duration) || parts->stack.empty()) {
        return false;
    }
    std::string_view stack = parts->stack;
    while (!stack.empty()) {
        if (!source_name_line(take_outermost(stack))) {
            return false;
        }
    }
    return true;
}

Result<callgraph::Profile> read_luau(std::string_view text, const Options& options) {
    ProfileMaker maker{options};
    std::optional<FunctionId> gc;
    Lines lines{text};
    std::string_view line;
    while (lines.next(line)) {
        if (line.empty()) {
            continue;
        }
        const auto parts = parts_of(line);
        const auto duration = parts ? to_number(parts->duration) : std::nullopt;
        if (!duration) {
            return lines.wrong("must begin with its microseconds and a space");
        }
        std::uint64_t duration_ns = 0;
        if (__builtin_mul_overflow(*duration, kNsPerUs, &duration_ns)) {
            return lines.wrong("its duration overflows 64-bit nanoseconds");
        }
        auto place = maker.category(kAll);
        std::string_view stack = parts->stack;
        while (!stack.empty()) {
            const std::string_view frame = take_outermost(stack);
            if (!add_frame(frame, maker, place, gc)) {
                return lines.wrong("a frame must be source,name,line, not " + in_quotes(frame));
            }
        }
        maker.add(place, duration_ns, 0);
        if (!maker.problem().empty()) {
            return lines.wrong(maker.problem());
        }
    }
    maker.profile().gc = gc;
    return std::move(maker).finish();
}

}  // namespace sample::imports
