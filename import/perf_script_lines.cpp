#include "import/perf_script_lines.h"

#include "core/units.h"
#include "import/text_lines.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace sample::imports {

namespace {

constexpr std::size_t kPeriodColumns = 10;
constexpr std::string_view kOtherRecord = "PERF_RECORD_";

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
        return word();
    }
    /// That next() gave.
    [[nodiscard]] std::string_view word() const { return text_.substr(begin_, at_ - begin_); }
    [[nodiscard]] std::string_view before() const { return text_.substr(0, begin_); }
    /// From the word on that next() gave, and behind it.
    [[nodiscard]] std::string_view from_here() const { return text_.substr(begin_); }
    [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
    /// How wide the first word is with its padding, behind the space that ends the field before.
    [[nodiscard]] std::size_t columns() const { return at_ - std::min<std::size_t>(at_, 1); }

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
        *seconds >= std::numeric_limits<std::int64_t>::max() / 2 / kNsPerSecond) {
        return std::nullopt;
    }
    std::uint64_t nanoseconds = *digits;
    for (std::size_t i = fraction.size(); i < kMostDigits; ++i) {
        nanoseconds *= 10;
    }
    return static_cast<std::int64_t>(*seconds * kNsPerSecond + nanoseconds);
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

/// "cycles" for "cpu_core/cycles/P" and "cpu_atom/cycles/P": a processor with two kinds of cores
/// counts an event by either, while a thread moves from one to the other.
std::string_view without_kind_of_core(std::string_view event) {
    const std::size_t end = event.rfind('/');
    for (const std::string_view kind : {"cpu_core/", "cpu_atom/"}) {
        if (event.starts_with(kind) && end > kind.size()) {
            return event.substr(kind.size(), end - kind.size());
        }
    }
    return event;
}

/// "[period] event: rest", any of it left out.
void read_event(Words words, PerfHead& head) {
    std::string_view word = words.next();
    head.is_other_record = word.starts_with(kOtherRecord);
    // A wider one is a field that perf pads to sixteen columns.
    const bool is_padded_to_more = words.columns() > std::max(kPeriodColumns, word.size());
    if (const auto period = to_number(word); period && !is_padded_to_more) {
        head.period = period;
        word = words.next();
    }
    if (word.size() > 1 && word.back() == ':') {
        head.event = without_modifiers(without_kind_of_core(word.substr(0, word.size() - 1)));
        word = words.next();
    }
    if (!head.has_frame) {
        head.rest = trimmed(words.from_here());
    }
}

/// Whether `word`, which stands in the same line behind `name`, is as wide as perf pads ids. Of a
/// tracepoint's text few are, and no number at the end of a name ("worker 3").
bool is_padded_as_ids(std::string_view name, std::string_view word) {
    constexpr std::ptrdiff_t kIdColumns = 5;
    return word.data() + word.size() - (name.data() + name.size()) > kIdColumns;
}

/// "tid" or "pid/tid" behind another word.
bool are_padded_ids(const Words& words, std::string_view word) {
    const std::string_view name = trimmed(words.before());
    PerfHead ids;
    return !name.empty() && is_padded_as_ids(name, word) && read_ids(word, ids);
}

/// What a head without ids and time in their places has from its time or event on. The first word
/// that ends with a colon may be a part of the name ("nginx: worker"): not where ids follow, and
/// then the event, or nothing more.
Words find_event(std::string_view fields) {
    std::optional<Words> first;
    bool is_behind_ids = false;
    Words words{fields};
    std::string_view word = words.next();
    for (; !word.empty() && !word.starts_with(kOtherRecord); word = words.next()) {
        if (word.back() == ':') {
            if (is_behind_ids || to_time(word)) {
                return words;
            }
            first = first ? first : words;
        }
        is_behind_ids = are_padded_ids(words, word) || (is_behind_ids && is_cpu(word));
    }
    return word.empty() && first && !(is_behind_ids && fields.back() == ' ') ? *first : words;
}

bool is_hexadecimal(std::string_view text) {
    return !text.empty() &&
           text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

constexpr std::size_t kAddressColumns = 16;

/// Whether the columns that end at `end` are a space or tab and an address padded to sixteen.
bool is_address_before(std::string_view line, std::size_t end) {
    if (end <= kAddressColumns || !is_space(line[end - kAddressColumns - 1])) {
        return false;
    }
    std::string_view address = line.substr(end - kAddressColumns, kAddressColumns);
    address.remove_prefix(std::min(address.find_first_not_of(' '), address.size()));
    return is_hexadecimal(address);
}

/// Where the frame of a sample without a call chain begins; npos: there is none. The last place
/// that looks so: other fields before it (addr, weight) may be numbers of as many columns.
std::size_t find_frame(std::string_view line) {
    for (std::size_t end = line.size(); end > kAddressColumns; --end) {
        const bool is_word_end = end == line.size() || line[end] == ' ';
        if (is_word_end && is_address_before(line, end)) {
            return end - kAddressColumns;
        }
    }
    return std::string_view::npos;
}

/// `text` without what perf prints behind it by other fields: registers, instructions, addresses.
std::string_view without_other_fields(std::string_view text) {
    for (const std::string_view behind : {" ABI:", " insn:", "  "}) {
        text = text.substr(0, text.find(behind));
    }
    return text;
}

/// Where the parenthesis that opens first behind `begin` is closed before a space; npos: nowhere.
std::size_t behind_parentheses(std::string_view text, std::size_t begin) {
    int depth = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
        depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
        if (depth == 0 && text[at] == ')' && text.substr(at + 1).starts_with(' ')) {
            return at + 1;
        }
    }
    return std::string_view::npos;
}

/// Takes off the frame of a sample without a call chain.
std::string_view take_frame(std::string_view line, PerfHead& head) {
    const std::size_t at = find_frame(line.substr(0, line.find(" ABI:")));
    if (at == std::string_view::npos) {
        return line;
    }
    head.has_frame = true;
    head.rest = trimmed(line.substr(at));
    for (const std::string_view dso : {" ([", " (/"}) {
        const std::size_t begin = std::min(head.rest.rfind(dso), head.rest.size());
        head.rest = head.rest.substr(0, behind_parentheses(head.rest, begin));
    }
    head.rest = without_other_fields(head.rest);
    return line.substr(0, at);
}

/// What stands before the last word, without the spaces between, and the word.
std::pair<std::string_view, std::string_view> split_last(std::string_view text) {
    text = text.substr(0, text.find_last_not_of(" \t") + 1);
    const std::size_t space = text.find_last_of(" \t");
    const std::string_view before = text.substr(0, space == std::string_view::npos ? 0 : space);
    return {before.substr(0, before.find_last_not_of(" \t") + 1), text.substr(space + 1)};
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

/// Where " (dso)" begins at the end of `text`; npos if it does not end so. A dso's path may hold
/// parentheses and blanks, and so may a symbol: what tells them apart is the offset between, or how
/// a path begins.
std::size_t find_dso(std::string_view text) {
    constexpr std::string_view kDeleted = " (deleted))";
    if (!text.ends_with(')')) {
        return std::string_view::npos;
    }
    for (std::size_t at = text.find(" ("); at != std::string_view::npos;
         at = text.find(" (", at + 1)) {
        if (without_offset(text.substr(0, at)).size() < at) {
            return at;
        }
    }
    if (text.starts_with("(/")) {
        return 0;
    }
    if (const std::size_t path = text.find(" (/"); path != std::string_view::npos) {
        return path;
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
    PerfHead frame;
    Words words{trimmed(take_frame(line, frame))};
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
        const std::string_view before = trimmed(words.before());
        if (has_ids && is_cpu(word)) {
            continue;
        }
        if (has_ids) {
            head.time_ns = to_time(word);
        }
        if (head.time_ns) {
            head.has_frame = frame.has_frame;
            head.rest = frame.rest;
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

PerfHead perf_head_in_part(std::string_view line) {
    PerfHead head;
    const std::string_view fields = take_frame(line, head);
    const Words words = find_event(fields);
    const std::string_view word = words.word();
    head.time_ns = to_time(word);
    read_event(Words{head.time_ns ? words.rest() : words.from_here()}, head);
    auto [before, last] = split_last(words.before());
    const std::size_t columns =
        words.before().find_last_not_of(" \t") + 1 - (before.empty() ? 0 : before.size() + 1);
    const auto number = to_number(last);
    PerfHead ids;
    const bool is_padded = columns == std::max(kPeriodColumns, last.size());
    // Without a time the period, too, stands before the event.
    const bool is_behind_ids =
        number && !is_padded && !head.event.empty() && read_ids(split_last(before).second, ids);
    if (number && !head.time_ns && (is_padded || is_behind_ids)) {
        head.period = number;
        std::tie(before, last) = split_last(before);
    }
    if (is_cpu(last)) {
        std::tie(before, last) = split_last(before);
    }
    const auto end = static_cast<std::size_t>(last.data() + last.size() - fields.data());
    const bool has_ids =
        (before.empty() || is_behind_ids || is_padded_as_ids(before, last)) && read_ids(last, head);
    head.comm = trimmed(has_ids ? before : fields.substr(0, last.empty() ? 0 : end));
    return head;
}

bool is_perf_frame_line(std::string_view line) {
    const std::size_t end = std::min(line.find(' ', line.find_first_not_of(" \t")), line.size());
    return line.starts_with('\t') && end == 1 + kAddressColumns && is_address_before(line, end);
}

std::optional<PerfFrame> perf_frame(std::string_view text) {
    text = trimmed(text);
    if (text.empty()) {
        return std::nullopt;
    }
    PerfFrame frame;
    const std::size_t space = std::min(text.find(' '), text.size());
    if (is_hexadecimal(text.substr(0, space)) && !text.substr(space).starts_with(" (inlined)")) {
        frame.address = text.substr(0, space);
        text = trimmed(text.substr(space));
    }
    if (text.ends_with(kInlined)) {
        frame.is_inlined = true;
        text = trimmed(text.substr(0, text.size() - kInlined.size()));
    } else if (const std::size_t dso = find_dso(text); dso != std::string_view::npos) {
        const std::string_view part = trimmed(text.substr(dso));
        const std::string_view name = part.substr(1, part.size() - 2);
        // With -F +dsoff the address in the file follows it.
        frame.dso = name == "[unknown]" ? std::string_view{} : without_offset(name);
        text = trimmed(text.substr(0, dso));
    }
    frame.symbol = own_name(text);
    return frame;
}

bool add_source_line(std::string_view text, PerfFrame& frame) {
    text = without_other_fields(trimmed(text));
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
