#include "import/perf_script_lines.h"

#include "import/text_lines.h"

#include <algorithm>
#include <limits>

namespace sample::imports {

namespace {

constexpr std::uint64_t kNsPerS = 1'000'000'000;

/// Words between spaces and tabs.
class Words {
public:
    explicit Words(std::string_view text) : text_{text} {}

    /// Empty behind the last.
    std::string_view next() {
        while (at_ < text_.size() && is_space(text_[at_])) {
            ++at_;
        }
        begin_ = at_;
        while (at_ < text_.size() && !is_space(text_[at_])) {
            ++at_;
        }
        return text_.substr(begin_, at_ - begin_);
    }
    [[nodiscard]] std::string_view before() const { return text_.substr(0, begin_); }
    /// From the word on that next() gave, and behind it.
    [[nodiscard]] std::string_view from_here() const { return text_.substr(begin_); }
    [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

private:
    std::string_view text_;
    std::size_t begin_ = 0;
    std::size_t at_ = 0;
};

/// "tid" or "pid/tid"; perf prints -1 for what it does not know.
bool read_ids(std::string_view word, PerfHead& head) {
    if (word.empty() || !(is_digit(word[0]) || word[0] == '-')) {
        return false;
    }
    const std::size_t slash = word.find('/');
    if (slash != std::string_view::npos) {
        const auto pid = to_number<std::uint32_t>(word.substr(0, slash));
        if (!pid) {
            return false;
        }
        head.pid = *pid;
        word.remove_prefix(slash + 1);
    }
    const auto tid =
        word == "-1" ? std::optional<std::uint32_t>{0} : to_number<std::uint32_t>(word);
    head.tid = tid.value_or(0);
    return tid.has_value();
}

bool is_cpu(std::string_view word) {
    return word.size() > 2 && word.front() == '[' && word.back() == ']' &&
           std::all_of(word.begin() + 1, word.end() - 1, is_digit);
}

/// "39885.405947:", with up to nine digits behind the point.
std::optional<std::int64_t> to_time(std::string_view word) {
    constexpr std::size_t kMostDigits = 9;
    if (word.size() < 4 || !is_digit(word[0]) || word.back() != ':') {
        return std::nullopt;
    }
    word.remove_suffix(1);
    const std::size_t point = word.find('.');
    if (point == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view fraction = word.substr(point + 1);
    const auto seconds = to_number(word.substr(0, point));
    const auto digits = to_number(fraction);
    if (!seconds || !digits || fraction.size() > kMostDigits ||
        *seconds >= std::numeric_limits<std::int64_t>::max() / 2 / kNsPerS) {
        return std::nullopt;
    }
    std::uint64_t nanoseconds = *digits;
    for (std::size_t i = fraction.size(); i < kMostDigits; ++i) {
        nanoseconds *= 10;
    }
    return static_cast<std::int64_t>(*seconds * kNsPerS + nanoseconds);
}

std::string_view without_modifiers(std::string_view event) {
    const std::size_t colon = event.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return event;
    }
    const bool are_modifiers =
        event.find_first_not_of("ukhIGHpPSDWeb", colon + 1) == std::string_view::npos;
    return are_modifiers ? event.substr(0, colon) : event;
}

/// "[period] event: rest", any of it left out.
void read_event(Words words, PerfHead& head) {
    std::string_view word = words.next();
    head.is_other_record = word.starts_with("PERF_RECORD_");
    if (const auto period = to_number(word)) {
        head.period = period;
        word = words.next();
    }
    if (word.size() > 1 && word.back() == ':') {
        head.event = without_modifiers(word.substr(0, word.size() - 1));
        head.rest = trimmed(words.rest());
    } else {
        head.rest = trimmed(words.from_here());
    }
}

bool is_hexadecimal(std::string_view text) {
    return !text.empty() &&
           text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// Source: get_srcline() of srcline.c.
bool says_no_source(std::string_view text) {
    const std::size_t bracket = text.rfind('[');
    if (bracket != std::string_view::npos && text.back() == ']') {
        return is_hexadecimal(text.substr(bracket + 1, text.size() - bracket - 2));
    }
    return text.size() > 1 && text.front() == '+' && to_number(text.substr(1)).has_value();
}

/// "sym+0x1f" without the offset.
std::string_view without_offset(std::string_view symbol) {
    const std::size_t plus = symbol.rfind("+0x");
    return plus != std::string_view::npos && plus != 0 && is_hexadecimal(symbol.substr(plus + 3))
               ? symbol.substr(0, plus)
               : symbol;
}

/// As our own export writes what readers would take for an offset, "[lib.so+0x1f]", or skip: a name
/// that begins with a parenthesis has "::" before it.
std::string_view own_name(std::string_view symbol) {
    const std::string_view inner =
        symbol.size() > 2 && symbol.starts_with('[') && symbol.ends_with(']')
            ? symbol.substr(1, symbol.size() - 2)
            : std::string_view{};
    if (!inner.empty() && without_offset(inner) != inner) {
        return inner;
    }
    return symbol.starts_with("::(") ? symbol.substr(2) : without_offset(symbol);
}

constexpr std::string_view kInlined = "(inlined)";

/// Where " (dso)" begins at the end of `text`; npos if it does not end so.
std::size_t find_dso(std::string_view text) {
    constexpr std::string_view kDeleted = " (deleted))";
    if (!text.ends_with(')')) {
        return std::string_view::npos;
    }
    const std::size_t end =
        text.ends_with(kDeleted) ? text.size() - kDeleted.size() : std::string_view::npos;
    const std::size_t found = text.rfind(" (", end == std::string_view::npos ? end : end - 1);
    return found == std::string_view::npos && text.front() == '(' ? 0 : found;
}

}  // namespace

std::optional<PerfHead> perf_head(std::string_view line) {
    PerfHead head;
    bool has_ids = false;
    Words words{trimmed(line)};
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
        const std::string_view before = trimmed(words.before());
        if (has_ids && is_cpu(word)) {
            continue;
        }
        if (has_ids) {
            head.time_ns = to_time(word);
        }
        if (head.time_ns) {
            read_event(Words{words.rest()}, head);
            return head;
        }
        PerfHead other;
        if (!before.empty() && read_ids(word, other)) {
            has_ids = true;
            head = other;
            head.comm = before;
        }
    }
    return std::nullopt;
}

std::optional<PerfHead> perf_head_without_time(std::string_view line) {
    PerfHead head;
    Words words{trimmed(line)};
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
        head.comm = trimmed(words.before());
        if (head.comm.empty() || !read_ids(word, head)) {
            continue;
        }
        const std::string_view behind = words.rest();
        const std::string_view next = words.next();
        read_event(is_cpu(next) ? words : Words{behind}, head);
        const bool is_whole = head.rest.empty() || !head.event.empty();
        return is_whole ? std::optional{head} : std::nullopt;
    }
    return std::nullopt;
}

std::optional<PerfFrame> perf_frame(std::string_view text) {
    text = trimmed(text);
    if (text.empty()) {
        return std::nullopt;
    }
    PerfFrame frame;
    const std::size_t space = text.find(' ');
    if (space != std::string_view::npos && is_hexadecimal(text.substr(0, space)) &&
        !text.substr(space).starts_with(" (inlined)")) {
        frame.address = text.substr(0, space);
        text = trimmed(text.substr(space));
    }
    if (text.ends_with(kInlined)) {
        frame.is_inlined = true;
        text = trimmed(text.substr(0, text.size() - kInlined.size()));
    } else if (const std::size_t dso = find_dso(text); dso != std::string_view::npos) {
        const std::string_view part = trimmed(text.substr(dso));
        const std::string_view name = part.substr(1, part.size() - 2);
        frame.dso = name == "[unknown]" ? std::string_view{} : name;
        text = trimmed(text.substr(0, dso));
    }
    frame.symbol = own_name(text);
    return frame;
}

bool add_source_line(std::string_view text, PerfFrame& frame) {
    text = trimmed(text);
    if (says_no_source(text)) {
        return true;
    }
    const bool is_inlined = text.ends_with(kInlined);
    if (is_inlined) {
        text = trimmed(text.substr(0, text.size() - kInlined.size()));
    }
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return false;
    }
    const auto line = to_number<std::uint32_t>(text.substr(colon + 1));
    if (!line) {
        return false;
    }
    frame.is_inlined = frame.is_inlined || is_inlined;
    if (!text.starts_with("??")) {
        frame.file = text.substr(0, colon);
        frame.line = *line;
    }
    return true;
}

}  // namespace sample::imports
