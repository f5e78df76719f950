// The callgraph of a session, from the script-profiler JSON of version 2 that sample/profiler.hpp
// hands out and `sample export --format json` writes (docs/format-json.md). C++17, headers only.
//
// Ids begin at 1, as in the document: info.node(id), info.function(id). Node.children leads from a
// function to the node that stands for its calls from there; a node's own time is computed.
#ifndef SAMPLE_PROFILING_INFO_HPP
#define SAMPLE_PROFILING_INFO_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::profiler {

/// Durations are microseconds; where ProfilingInfo.unit is set, occurrences of it.
struct Category {
    std::string name;
    std::uint32_t node_id = 0;
};

struct Child {
    std::uint32_t function_id = 0;
    std::uint32_t node_id = 0;
};

struct Node {
    std::vector<Child> children;  ///< At most one for each function; the heaviest comes first.
    std::uint64_t total_duration = 0;
    std::uint64_t duration = 0;  ///< What is not its children's.
};

struct Function {
    std::optional<std::string> source;
    std::optional<std::string> name;
    std::optional<std::uint32_t> line;
    std::uint64_t total_duration = 0;
    bool is_native = false;  ///< Machine code made at run time.
    bool is_plugin = false;  ///< Code of a module that was loaded after the start.
};

struct ProfilingInfo {
    std::uint32_t version = 0;
    std::optional<std::uint64_t> session_start_time;  ///< Milliseconds since 1970.
    std::optional<std::uint64_t> session_end_time;
    std::optional<std::uint32_t> gc_function_id;  ///< The function that is memory management.
    std::string unit;                             ///< Empty: microseconds.
    std::vector<Category> categories;
    std::vector<Node> nodes;
    std::vector<Function> functions;

    /// Of ids that the document has; others are undefined.
    [[nodiscard]] const Node& node(std::uint32_t id) const { return nodes[id - 1]; }
    [[nodiscard]] const Function& function(std::uint32_t id) const { return functions[id - 1]; }
};

/// How a function is called where people read it: its name, else "source:line", else
/// "<anonymous>".
[[nodiscard]] inline std::string label(const Function& function) {
    if (function.name) {
        return *function.name;
    }
    return function.source && function.line
               ? *function.source + ":" + std::to_string(*function.line)
               : "<anonymous>";
}

namespace detail {

/// Reads JSON from its beginning to its end. Functions that return bool return false after a
/// problem, and then nothing more may be read.
class JsonText {
public:
    explicit JsonText(std::string_view text) : text_{text} {}

    [[nodiscard]] const std::string& problem() const { return problem_; }

    bool fail(const std::string& what) {
        if (problem_.empty()) {
            problem_ = "byte " + std::to_string(at_) + ": " + what;
        }
        return false;
    }

    /// `take` gets each key and reads its value.
    template <class Take>
    bool object(Take take) {
        if (!expect('{')) {
            return false;
        }
        if (accept('}')) {
            return true;
        }
        do {
            std::string key;
            if (!string(key) || !expect(':') || !take(key)) {
                return false;
            }
        } while (accept(','));
        return expect('}');
    }

    /// `take` reads each element.
    template <class Take>
    bool array(Take take) {
        if (!expect('[')) {
            return false;
        }
        if (accept(']')) {
            return true;
        }
        do {
            if (!take()) {
                return false;
            }
        } while (accept(','));
        return expect(']');
    }

    bool string(std::string& into);
    /// A number without sign, fraction and exponent.
    bool integer(std::uint64_t& into);
    bool integer(std::uint32_t& into) {
        std::uint64_t wide = 0;
        if (!integer(wide)) {
            return false;
        }
        into = static_cast<std::uint32_t>(wide);
        return into == wide || fail("the number is above 2^32-1");
    }
    template <class Value>
    bool integer(std::optional<Value>& into) {
        return integer(into.emplace());
    }
    /// Any value that nobody wants.
    bool skip(unsigned depth = 0);
    bool end() {
        skip_blanks();
        return at_ == text_.size() || fail("there is more behind the end");
    }

private:
    static constexpr unsigned kMaxDepth = 64;

    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    [[nodiscard]] static bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
    void skip_blanks() {
        while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr &&
               text_[at_] != '\0') {
            ++at_;
        }
    }
    bool accept(char letter) {
        skip_blanks();
        if (at_ == text_.size() || text_[at_] != letter) {
            return false;
        }
        ++at_;
        return true;
    }
    bool expect(char letter) {
        return accept(letter) || fail(std::string{"'"} + letter + "' is missing");
    }
    bool word(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) {
            return fail("no value of JSON");
        }
        at_ += word.size();
        return true;
    }
    bool digits() {
        const std::size_t begin = at_;
        while (is_digit(peek())) {
            ++at_;
        }
        return at_ != begin || fail("a digit is missing");
    }
    bool skip_number();
    bool escape(std::string& into);
    bool hexadecimal(std::uint32_t& into);
    bool letter(std::string& into);
    /// Bytes of the code point that begins so; 0: none does.
    [[nodiscard]] static std::size_t letter_size(unsigned char first) {
        if (first < 0x80) {
            return 1;
        }
        if (first < 0xc2 || first > 0xf4) {
            return 0;
        }
        return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    }
    static void put(std::uint32_t point, std::string& into);

    std::string_view text_;
    std::size_t at_ = 0;
    std::string problem_;
};

inline bool JsonText::integer(std::uint64_t& into) {
    skip_blanks();
    const std::size_t begin = at_;
    into = 0;
    for (; is_digit(peek()); ++at_) {
        const auto digit = static_cast<std::uint64_t>(peek() - '0');
        if (into > (~std::uint64_t{0} - digit) / 10) {
            return fail("the number is above 2^64-1");
        }
        into = into * 10 + digit;
    }
    const bool is_other = at_ == begin || (at_ - begin > 1 && text_[begin] == '0') ||
                          peek() == '.' || peek() == 'e' || peek() == 'E';
    return !is_other || fail("an integer from 0 on is expected");
}

inline bool JsonText::skip_number() {
    if (peek() == '-') {
        ++at_;
    }
    if (peek() == '0') {
        ++at_;
    } else if (!digits()) {
        return false;
    }
    if (peek() == '.') {
        ++at_;
        if (!digits()) {
            return false;
        }
    }
    if (peek() == 'e' || peek() == 'E') {
        ++at_;
        if (peek() == '+' || peek() == '-') {
            ++at_;
        }
        return digits();
    }
    return true;
}

inline bool JsonText::skip(unsigned depth) {
    if (depth > kMaxDepth) {
        return fail("nested deeper than 64");
    }
    skip_blanks();
    std::string text;
    switch (peek()) {
        case '{':
            return object([&](const std::string& /*key*/) { return skip(depth + 1); });
        case '[':
            return array([&] { return skip(depth + 1); });
        case '"':
            return string(text);
        case 't':
            return word("true");
        case 'f':
            return word("false");
        case 'n':
            return word("null");
        default:
            return skip_number();
    }
}

inline void JsonText::put(std::uint32_t point, std::string& into) {
    if (point < 0x80) {
        into += static_cast<char>(point);
        return;
    }
    const unsigned more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    const std::uint32_t mark = more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0;
    into += static_cast<char>(mark | point >> (6 * more));
    for (unsigned i = more; i-- > 0;) {
        into += static_cast<char>(0x80 | (point >> (6 * i) & 0x3f));
    }
}

inline bool JsonText::hexadecimal(std::uint32_t& into) {
    into = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
        const char letter = peek();
        const bool is_small = letter >= 'a' && letter <= 'f';
        if (!is_digit(letter) && !is_small && !(letter >= 'A' && letter <= 'F')) {
            return fail("\\u wants four hexadecimal digits");
        }
        const char base = is_digit(letter) ? '0' : is_small ? 'a' : 'A';
        into = into * 16 + static_cast<std::uint32_t>(letter - base) + (base == '0' ? 0 : 10);
    }
    return true;
}

inline bool JsonText::escape(std::string& into) {
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    const char letter = peek();
    ++at_;
    const std::size_t known = kFrom.find(letter);
    if (known != std::string_view::npos) {
        into += kTo[known];
        return true;
    }
    std::uint32_t point = 0;
    if (letter != 'u') {
        return fail("unknown escape");
    }
    if (!hexadecimal(point)) {
        return false;
    }
    if (point >= 0xd800 && point < 0xdc00 && peek() == '\\') {
        std::uint32_t low = 0;
        ++at_;
        if (peek() != 'u') {
            return fail("half a surrogate pair");
        }
        ++at_;
        if (!hexadecimal(low)) {
            return false;
        }
        if (low < 0xdc00 || low > 0xdfff) {
            return fail("half a surrogate pair");
        }
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    if (point >= 0xd800 && point < 0xe000) {
        return fail("half a surrogate pair");
    }
    put(point, into);
    return true;
}

/// One code point of UTF-8, in its shortest form.
inline bool JsonText::letter(std::string& into) {
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    const auto first = static_cast<unsigned char>(text_[at_]);
    if (first < 0x20) {
        return fail("a control character in a string");
    }
    const std::size_t size = letter_size(first);
    if (size == 0 || at_ + size > text_.size()) {
        return fail("no UTF-8");
    }
    std::uint32_t point = size == 1 ? first : first & (0xffU >> (size + 1));
    for (std::size_t i = 1; i < size; ++i) {
        const auto next = static_cast<unsigned char>(text_[at_ + i]);
        if ((next & 0xc0U) != 0x80) {
            return fail("no UTF-8");
        }
        point = point << 6 | (next & 0x3fU);
    }
    if (point < kLeast[size] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
        return fail("no UTF-8");
    }
    into.append(text_.substr(at_, size));
    at_ += size;
    return true;
}

inline bool JsonText::string(std::string& into) {
    into.clear();
    if (!expect('"')) {
        return false;
    }
    while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '\\') {
            ++at_;
            if (!escape(into)) {
                return false;
            }
        } else if (!letter(into)) {
            return false;
        }
    }
    return expect('"');
}

/// Fields by their names: each at most once, and which of them were there.
class Fields {
public:
    explicit Fields(JsonText& json) : json_{json} {}

    /// `read` reads the value of a field; null where `key` is none of them.
    template <class Read>
    bool take(const std::string& key, unsigned field, Read read) {
        const std::uint32_t bit = std::uint32_t{1} << field;
        if ((seen_ & bit) != 0) {
            return json_.fail(key + " appears twice");
        }
        seen_ |= bit;
        return read();
    }
    [[nodiscard]] bool has(unsigned field) const { return (seen_ >> field & 1U) != 0; }
    bool need(unsigned field, const char* name) {
        return has(field) || json_.fail(std::string{name} + " is missing");
    }

private:
    JsonText& json_;
    std::uint32_t seen_ = 0;
};

class InfoReader {
public:
    InfoReader(std::string_view text, ProfilingInfo& info) : json_{text}, info_{info} {}

    bool read() { return document() && json_.end() && link(); }
    [[nodiscard]] const std::string& problem() const { return json_.problem(); }

private:
    bool document();
    bool category();
    bool node();
    bool function();
    bool ids(std::vector<std::uint32_t>& into) {
        return json_.array([&] { return json_.integer(into.emplace_back()); });
    }
    bool text(std::optional<std::string>& into) { return json_.string(into.emplace()); }

    /// What was read makes trees, and self times.
    bool link();
    /// `last_caller`: by function, the last node that called it.
    bool link_children(std::uint32_t id, std::vector<std::uint32_t>& last_caller);
    bool link_to(std::uint32_t child, std::uint32_t parent, const std::string& who);
    bool has_no_cycle();

    JsonText json_;
    ProfilingInfo& info_;
    std::vector<std::uint32_t> parents_;  ///< By node: its parent's id, kTop, or 0.
    static constexpr std::uint32_t kTop = ~std::uint32_t{0};
};

inline bool InfoReader::category() {
    Category& one = info_.categories.emplace_back();
    Fields fields{json_};
    return json_.object([&](const std::string& key) {
        return key == "Name"     ? fields.take(key, 0, [&] { return json_.string(one.name); })
               : key == "NodeId" ? fields.take(key, 1, [&] { return json_.integer(one.node_id); })
                                 : json_.skip();
    }) && fields.need(0, "Name") &&
           fields.need(1, "NodeId");
}

inline bool InfoReader::node() {
    Node& one = info_.nodes.emplace_back();
    Fields fields{json_};
    std::vector<std::uint32_t> functions;
    std::vector<std::uint32_t> nodes;
    const bool is_read = json_.object([&](const std::string& key) {
        return key == "TotalDuration"
                   ? fields.take(key, 0, [&] { return json_.integer(one.total_duration); })
               : key == "FunctionIds" ? fields.take(key, 1, [&] { return ids(functions); })
               : key == "NodeIds"     ? fields.take(key, 2, [&] { return ids(nodes); })
                                      : json_.skip();
    }) && fields.need(0, "TotalDuration");
    if (!is_read) {
        return false;
    }
    if (functions.size() != nodes.size() || fields.has(1) != fields.has(2)) {
        return json_.fail("FunctionIds and NodeIds differ in length");
    }
    one.children.reserve(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        one.children.push_back({functions[i], nodes[i]});
    }
    return true;
}

inline bool InfoReader::function() {
    Function& one = info_.functions.emplace_back();
    Fields fields{json_};
    std::uint32_t flags = 0;
    const auto read = [&](const std::string& key) {
        if (key == "TotalDuration") {
            return fields.take(key, 0, [&] { return json_.integer(one.total_duration); });
        }
        if (key == "Source") {
            return fields.take(key, 1, [&] { return text(one.source); });
        }
        if (key == "Name") {
            return fields.take(key, 2, [&] { return text(one.name); });
        }
        if (key == "Line") {
            return fields.take(key, 3, [&] { return json_.integer(one.line); });
        }
        return key == "Flags" ? fields.take(key, 4, [&] { return json_.integer(flags); })
                              : json_.skip();
    };
    const bool is_read = json_.object(read) && fields.need(0, "TotalDuration");
    one.is_native = (flags & 1U) != 0;
    one.is_plugin = (flags & 2U) != 0;
    return is_read;
}

inline bool InfoReader::document() {
    Fields fields{json_};
    const auto read = [&](const std::string& key) {
        if (key == "Version") {
            return fields.take(key, 0, [&] { return json_.integer(info_.version); });
        }
        if (key == "SessionStartTime") {
            return fields.take(key, 1, [&] { return json_.integer(info_.session_start_time); });
        }
        if (key == "SessionEndTime") {
            return fields.take(key, 2, [&] { return json_.integer(info_.session_end_time); });
        }
        if (key == "GCFuncId") {
            return fields.take(key, 3, [&] { return json_.integer(info_.gc_function_id); });
        }
        if (key == "Unit") {
            return fields.take(key, 4, [&] { return json_.string(info_.unit); });
        }
        if (key == "Categories") {
            return fields.take(key, 5, [&] { return json_.array([&] { return category(); }); });
        }
        if (key == "Nodes") {
            return fields.take(key, 6, [&] { return json_.array([&] { return node(); }); });
        }
        if (key == "Functions") {
            return fields.take(key, 7, [&] { return json_.array([&] { return function(); }); });
        }
        return json_.skip();
    };
    return json_.object(read) && fields.need(0, "Version") &&
           (info_.version == 2 || json_.fail("the version is not 2")) &&
           fields.need(5, "Categories") && fields.need(6, "Nodes") && fields.need(7, "Functions");
}

inline bool InfoReader::link_to(std::uint32_t child, std::uint32_t parent, const std::string& who) {
    if (child == 0 || child > info_.nodes.size()) {
        return json_.fail(who + ": there is no node " + std::to_string(child));
    }
    return std::exchange(parents_[child - 1], parent) == 0 ||
           json_.fail(who + ": node " + std::to_string(child) + " has a parent already");
}

/// Goes up from each node to one that was seen: in this walk, then it has come back to itself.
inline bool InfoReader::has_no_cycle() {
    std::vector<std::uint32_t> seen_from(parents_.size());
    for (std::uint32_t start = 1; start <= parents_.size(); ++start) {
        std::uint32_t at = start;
        while (at != 0 && at != kTop && seen_from[at - 1] == 0) {
            seen_from[at - 1] = start;
            at = parents_[at - 1];
        }
        if (at != 0 && at != kTop && seen_from[at - 1] == start) {
            return json_.fail("node " + std::to_string(at) + " is its own ancestor");
        }
    }
    return true;
}

inline bool InfoReader::link_children(std::uint32_t id, std::vector<std::uint32_t>& last_caller) {
    const std::string who = "node " + std::to_string(id);
    Node& parent = info_.nodes[id - 1];
    parent.duration = parent.total_duration;
    for (const Child child : parent.children) {
        if (child.function_id == 0 || child.function_id > last_caller.size()) {
            return json_.fail(who + ": there is no function " + std::to_string(child.function_id));
        }
        if (std::exchange(last_caller[child.function_id - 1], id) == id) {
            return json_.fail(who + ": two children for function " +
                              std::to_string(child.function_id));
        }
        if (!link_to(child.node_id, id, who)) {
            return false;
        }
        parent.duration -= std::min(parent.duration, info_.nodes[child.node_id - 1].total_duration);
    }
    return true;
}

inline bool InfoReader::link() {
    const std::size_t function_count = info_.functions.size();
    if (info_.nodes.size() >= kTop || function_count >= kTop) {
        return json_.fail("more than 2^32-2 nodes or functions");
    }
    if (info_.gc_function_id &&
        (*info_.gc_function_id == 0 || *info_.gc_function_id > function_count)) {
        return json_.fail("GCFuncId: there is no function " +
                          std::to_string(*info_.gc_function_id));
    }
    parents_.assign(info_.nodes.size(), 0);
    for (const Category& one : info_.categories) {
        if (!link_to(one.node_id, kTop, "category " + one.name)) {
            return false;
        }
    }
    std::vector<std::uint32_t> last_caller(function_count);
    for (std::uint32_t id = 1; id <= info_.nodes.size(); ++id) {
        if (!link_children(id, last_caller)) {
            return false;
        }
    }
    return has_no_cycle();
}

}  // namespace detail

/// The callgraph that a document describes; nothing, and in *problem why, where it is no JSON or
/// not of this format: as `sample` itself refuses it (docs/format-json.md). Costs time and memory
/// in proportion to the document, which is not trusted. Thread-safe.
[[nodiscard]] inline std::optional<ProfilingInfo> deserialize(std::string_view json,
                                                              std::string* problem = nullptr) {
    ProfilingInfo info;
    detail::InfoReader reader{json, info};
    if (reader.read()) {
        return info;
    }
    if (problem != nullptr) {
        *problem = reader.problem();
    }
    return std::nullopt;
}

}  // namespace sample::profiler

#endif
