#include "core/units.h"
#include "import/readers.h"
#include "import/text_lines.h"

#include <optional>

namespace sample::imports {

namespace {

constexpr std::string_view kGc = "GC,GC,";

/// `take` takes each frame, the outermost first, until it returns false. True: it never did.
template <class Take>
bool each_frame(std::string_view stack, Take take) {
    while (!stack.empty()) {
        const std::size_t before = stack.rfind(';');
        if (!take(stack.substr(before + 1))) {
            return false;
        }
        stack = stack.substr(0, before == std::string_view::npos ? 0 : before);
    }
    return true;
}

/// The microseconds before the first space.
std::optional<std::uint64_t> duration_of(std::string_view line) {
    const std::size_t space = line.find(' ');
    return space == std::string_view::npos ? std::nullopt : to_number(line.substr(0, space));
}

std::string_view stack_of(std::string_view line) {
    return line.substr(line.find(' ') + 1);
}

}  // namespace

std::optional<FunctionKey> source_name_line(std::string_view text) {
    const std::size_t line_comma = text.rfind(',');
    if (line_comma == std::string_view::npos || line_comma == 0) {
        return std::nullopt;
    }
    const std::size_t name_comma = text.rfind(',', line_comma - 1);
    const std::string_view line = text.substr(line_comma + 1);
    const auto number = line.empty() ? std::optional{0U} : to_number<std::uint32_t>(line);
    if (name_comma == std::string_view::npos || !number) {
        return std::nullopt;
    }
    FunctionKey key;
    key.source = text.substr(0, name_comma);
    key.name = text.substr(name_comma + 1, line_comma - name_comma - 1);
    key.line = *number;
    return key;
}

bool is_luau_line(std::string_view line) {
    return duration_of(line) && !stack_of(line).empty() &&
           each_frame(stack_of(line),
                      [](std::string_view frame) { return source_name_line(frame).has_value(); });
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
        const auto duration = duration_of(line);
        if (!duration) {
            return lines.wrong("must begin with its microseconds and a space");
        }
        std::uint64_t duration_ns = 0;
        if (__builtin_mul_overflow(*duration, kNsPerUs, &duration_ns)) {
            return lines.wrong("its duration overflows 64-bit nanoseconds");
        }
        auto place = maker.category(kAll);
        std::string_view wrong;
        const auto add_frame = [&](std::string_view frame) {
            auto key = source_name_line(frame);
            if (!key) {
                wrong = frame;
                return false;
            }
            const bool is_gc = frame == kGc;
            key->source = is_gc ? std::string_view{} : key->source;
            const FunctionId function = maker.function(*key);
            gc = is_gc ? function : gc;
            place = maker.child(place, function);
            return true;
        };
        if (!each_frame(stack_of(line), add_frame)) {
            return lines.wrong("a frame must be source,name,line, not " + in_quotes(wrong));
        }
        maker.add(place, duration_ns, 0);
        if (!maker.problem().empty()) {
            return lines.wrong(maker.problem());
        }
    }
    maker.profile().memory = gc;
    return std::move(maker).finish();
}

}  // namespace sample::imports
