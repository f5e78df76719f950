#include "symbolize/names/name_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace sample::symbolize {
namespace {

constexpr std::string_view kOperator = "operator";

/// Longest first where one begins another. Source: [over.oper.general].
constexpr std::array<std::string_view, 44> kOperators{
    "()", "[]", "->*", "->", "<=>", "<<=", "<<",     "<=",        "<",    ">>=",     ">>",
    ">=", ">",  "==",  "=",  "!=",  "!",   "&&",     "&=",        "&",    "||",      "|=",
    "|",  "++", "+=",  "+",  "--",  "-=",  "-",      "*=",        "*",    "/=",      "/",
    "%=", "%",  "^=",  "^",  "~",   ",",   " new[]", " delete[]", " new", " delete", " co_await"};

/// What begins the contents of angle brackets that are part of a path: "foo::<impl A for B>::f" of
/// Rust, "f()::<lambda(int)>::operator()" and "<unnamed>" in the DWARF of g++.
constexpr std::array<std::string_view, 4> kPathInAngles{"impl ", "lambda", "unnamed", "anonymous"};

/// Length of `"" _suffix`, behind "operator".
std::size_t literal_operator_length(std::string_view text) noexcept {
    constexpr std::string_view kQuotes = "\"\"";
    if (!text.starts_with(kQuotes)) {
        return 0;
    }
    std::size_t end = kQuotes.size();
    if (text.substr(end).starts_with(' ')) {
        ++end;
    }
    while (end < text.size() && is_word(text[end])) {
        ++end;
    }
    return end;
}

std::size_t operator_symbol_length(std::string_view text) noexcept {
    for (const std::string_view symbol : kOperators) {
        const std::string_view rest = text.substr(std::min(symbol.size(), text.size()));
        const bool runs_on = is_word(symbol.back()) && !rest.empty() && is_word(rest.front());
        if (text.starts_with(symbol) && !runs_on) {
            return symbol.size();
        }
    }
    return 0;
}

}  // namespace

bool is_word(char c) noexcept {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
}

OperatorName operator_at(std::string_view name, std::size_t at) noexcept {
    const std::string_view text = name.substr(at);
    if (!text.starts_with(kOperator) || (at > 0 && is_word(name[at - 1]))) {
        return {};
    }
    const std::string_view rest = text.substr(kOperator.size());
    if (const std::size_t length = operator_symbol_length(rest); length > 0) {
        return {kOperator.size() + length, false};
    }
    if (const std::size_t length = literal_operator_length(rest); length > 0) {
        return {kOperator.size() + length, false};
    }
    const bool is_conversion = rest.size() > 1 && rest[0] == ' ';
    return {is_conversion ? kOperator.size() + 1 : 0, is_conversion};
}

class NameBrackets::Matcher {
public:
    Matcher(std::string_view name, NameBrackets& result) : name_{name}, result_{result} {
        result_.marks_.resize(name.size());
    }

    void run() {
        while (at_ < name_.size()) {
            if (!step()) {
                return;
            }
        }
        result_.is_balanced_ = open_.empty();
    }

private:
    bool step() {
        if (const OperatorName found = operator_at(name_, at_); found.length > 0) {
            at_ += found.length;
            behind_operator_ = at_;
            return true;
        }
        const char c = name_[at_];
        if (const std::size_t size = literal_size(); size > 0) {
            at_ += size;
            return true;
        }
        if (c == '<') {
            open_angle();
        } else if (c == '(' || c == '[' || c == '{') {
            open(c == '(' ? kind_of_parenthesis() : BracketKind::other);
        } else if (c == '>') {
            return close_angle();
        } else if (c == ')' || c == ']' || c == '}') {
            return close();
        } else {
            ++at_;
        }
        return true;
    }

    [[nodiscard]] char previous() const { return at_ > 0 ? name_[at_ - 1] : '\0'; }
    [[nodiscard]] char next() const { return at_ + 1 < name_.size() ? name_[at_ + 1] : '\0'; }
    /// "operator<< <int>": a space keeps the symbols apart.
    [[nodiscard]] bool is_behind_operator() const {
        return behind_operator_ > 0 &&
               (at_ == behind_operator_ || (at_ == behind_operator_ + 1 && previous() == ' '));
    }

    /// Size of the string or character that begins here, as D and Rust have them among template
    /// arguments; 0 if none does. A quote may also begin a lifetime.
    std::size_t literal_size() {
        const std::string_view text = name_.substr(at_);
        if (text.front() == '"' && !is_last_string_open_) {
            for (std::size_t i = 1; i < text.size(); ++i) {
                if (text[i] == '\\') {
                    ++i;
                } else if (text[i] == '"') {
                    return i + 1;
                }
            }
            is_last_string_open_ = true;
        }
        if (text.front() == '\'' && text.size() > 2) {
            constexpr std::size_t kLongestEscape = 12;  // '\u{10ffff}'
            if (text[1] == '\\') {
                const std::size_t end = text.substr(0, kLongestEscape).find('\'', 3);
                return end == std::string_view::npos ? 0 : end + 1;
            }
            return text[2] == '\'' ? 3 : 0;
        }
        return 0;
    }

    void open(BracketKind kind) {
        result_.marks_[at_].kind = kind;
        open_.push_back(static_cast<std::uint32_t>(at_++));
    }

    void open_angle() {
        const bool is_less_than =
            (previous() == ')' || previous() == '}') && at_ != behind_operator_;
        if (is_less_than) {
            while (at_ < name_.size() && (name_[at_] == '<' || name_[at_] == '=')) {
                ++at_;
            }
        } else {
            open(kind_of_angle());
        }
    }

    [[nodiscard]] BracketKind kind_of_angle() const {
        if (is_behind_operator() || previous() == ']') {
            return BracketKind::template_arguments;
        }
        if (previous() == ':') {
            const std::string_view contents = name_.substr(at_ + 1);
            const bool is_path = std::any_of(
                kPathInAngles.begin(), kPathInAngles.end(),
                [contents](std::string_view start) { return contents.starts_with(start); });
            return is_path ? BracketKind::other : BracketKind::template_arguments;
        }
        // Rust's "for<'a> fn(&'a T)".
        constexpr std::string_view kFor = "for";
        const std::string_view before = name_.substr(0, at_);
        const bool is_binder = before.ends_with(kFor) && (before.size() == kFor.size() ||
                                                          !is_word(before[at_ - kFor.size() - 1]));
        return is_word(previous()) && !is_binder ? BracketKind::template_arguments
                                                 : BracketKind::other;
    }

    [[nodiscard]] BracketKind kind_of_parenthesis() const {
        constexpr std::string_view kMayEndName = ">)]}'";
        const char before = previous();
        if (before == '!' && at_ != behind_operator_) {
            return BracketKind::template_arguments;
        }
        // Conversion operators end in a type: "operator char const*()".
        const bool is_conversion = (before == '*' || before == '&') && next() == ')';
        const bool follows_name = at_ > 0 && (is_word(before) || at_ == behind_operator_ ||
                                              kMayEndName.find(before) != std::string_view::npos);
        return follows_name || is_conversion ? BracketKind::arguments : BracketKind::other;
    }

    bool close_angle() {
        // Rust's older mangling writes the arrow's dash as a dot: "fn(u8) .> u16".
        const bool is_arrow =
            previous() == '-' || (previous() == '.' && at_ > 1 && name_[at_ - 2] == ' ');
        if (open_.empty() && !is_arrow) {
            return false;
        }
        const bool is_comparison = previous() == ')' && next() == '=';
        if (is_arrow || is_comparison || name_[open_.back()] != '<') {
            ++at_;
            return true;
        }
        pair_up();
        return true;
    }

    bool close() {
        while (!open_.empty() && name_[open_.back()] == '<') {
            result_.marks_[open_.back()].kind = BracketKind::none;  // It was a less-than.
            open_.pop_back();
        }
        constexpr std::string_view kPairs = "()[]{}";
        if (open_.empty() || kPairs[kPairs.find(name_[open_.back()]) + 1] != name_[at_]) {
            return false;
        }
        pair_up();
        return true;
    }

    void pair_up() {
        auto& opening = result_.marks_[open_.back()];
        opening.partner = static_cast<std::uint32_t>(at_);
        result_.marks_[at_] = {open_.back(), opening.kind};
        open_.pop_back();
        ++at_;
    }

    std::string_view name_;
    NameBrackets& result_;
    std::vector<std::uint32_t> open_;
    std::size_t at_ = 0;
    std::size_t behind_operator_ = 0;
    bool is_last_string_open_ = false;
};

NameBrackets::NameBrackets(std::string_view name) {
    Matcher{name, *this}.run();
}

std::string collapse(std::string_view name, BracketKind kind, std::string_view ellipsis) {
    const NameBrackets brackets{name};
    if (!brackets.is_balanced()) {
        return std::string{name};
    }
    std::string result;
    for (std::size_t i = 0; i < name.size(); ++i) {
        result += name[i];
        const std::size_t end = brackets.partner(i);
        if (brackets.kind(i) == kind && end > i) {
            if (end > i + 1) {
                result += ellipsis;
            }
            i = end - 1;
        }
    }
    return result;
}

}  // namespace sample::symbolize
