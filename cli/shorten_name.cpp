// Making long C++ and Rust names fit a column. The order of what goes, and why: template arguments
// repeat what the rest of the name implies; argument lists tell overloads apart, which is rarely
// asked; the end of a name (the method) says more than its middle.
#include "cli/text.h"

#include <cctype>
#include <string>
#include <utility>

namespace sample::cli {
namespace {

constexpr std::string_view kSymbols = "<>=-+*/%^&|!~,";

bool is_word(char c) noexcept {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
}

/// Length of "operator" and its symbol at `at`, whose brackets are not brackets; 0 if none.
std::size_t operator_length(std::string_view name, std::size_t at) noexcept {
    constexpr std::string_view kWord = "operator";
    if (!name.substr(at).starts_with(kWord) || (at > 0 && is_word(name[at - 1]))) {
        return 0;
    }
    std::size_t end = at + kWord.size();
    if (name.substr(end).starts_with("()")) {
        return kWord.size() + 2;
    }
    while (end < name.size() && kSymbols.find(name[end]) != std::string_view::npos) {
        ++end;
    }
    return end - at;
}

struct Brackets {
    char open;
    char close;
    std::string_view may_follow;  ///< What, besides a word, may stand before the opening one.
};

constexpr Brackets kTemplateArguments{'<', '>', ":"};
constexpr Brackets kArguments{'(', ')', ">)]}=<+-*/%^&|!~"};

/// Whether the bracket at `at` begins arguments. One that does not follow a word (Rust's
/// "<T as Trait>::f", "(anonymous namespace)") is part of the name.
bool begins_arguments(std::string_view name, std::size_t at, const Brackets& kind) noexcept {
    if (at == 0) {
        return false;
    }
    const char before = name[at - 1];
    // "operator<< <int>": the space keeps the symbols apart.
    const bool behind_operator =
        before == ' ' && at > 1 && kSymbols.find(name[at - 2]) != std::string_view::npos;
    return is_word(before) || behind_operator ||
           kind.may_follow.find(before) != std::string_view::npos;
}

/// Copies a name, and replaces the contents of its outermost argument brackets by an ellipsis.
class Collapser {
public:
    Collapser(std::string_view name, const Brackets& kind, std::string_view ellipsis)
        : name_{name}, kind_{kind}, ellipsis_{ellipsis} {}

    /// The name as it was if its brackets do not match.
    std::string run() {
        for (std::size_t i = 0; i < name_.size();) {
            const std::size_t symbol = operator_length(name_, i);
            if (symbol > 0) {
                keep(name_.substr(i, symbol));
                i += symbol;
            } else if (!step(i++)) {
                return std::string{name_};
            }
        }
        return depth_ == 0 && plain_ == 0 ? std::move(result_) : std::string{name_};
    }

private:
    void keep(std::string_view text) {
        if (depth_ == 0) {
            result_ += text;
        }
    }

    bool step(std::size_t at) {
        const char c = name_[at];
        const bool is_arrow = c == '>' && at > 0 && name_[at - 1] == '-';
        if (c == kind_.open) {
            open(at);
        } else if (c == kind_.close && !is_arrow) {
            return close();
        } else {
            keep(name_.substr(at, 1));
        }
        return true;
    }

    void open(std::size_t at) {
        keep(name_.substr(at, 1));
        if (depth_ == 0 && !begins_arguments(name_, at, kind_)) {
            ++plain_;
            return;
        }
        if (depth_++ == 0 && at + 1 < name_.size() && name_[at + 1] != kind_.close) {
            result_ += ellipsis_;
        }
    }

    bool close() {
        if (depth_ > 0) {
            --depth_;
        } else if (plain_-- == 0) {
            return false;
        }
        keep({&kind_.close, 1});
        return true;
    }

    std::string_view name_;
    const Brackets& kind_;
    std::string_view ellipsis_;
    std::string result_;
    std::size_t depth_ = 0;  ///< Inside how many brackets that are left out.
    std::size_t plain_ = 0;  ///< Open brackets that are part of the name.
};

std::string collapse(std::string_view name, const Brackets& kind, std::string_view ellipsis) {
    return Collapser{name, kind, ellipsis}.run();
}

/// The bytes of the first `count` code points.
std::size_t bytes_of(std::string_view text, std::size_t count) noexcept {
    std::size_t at = 0;
    while (at < text.size() && count > 0) {
        ++at;
        while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) {
            ++at;
        }
        --count;
    }
    return at;
}

std::string cut_middle(std::string_view name, std::size_t width, std::string_view ellipsis) {
    const std::size_t length = display_width(name);
    const std::size_t mark = display_width(ellipsis);
    if (width <= mark) {
        return std::string{ellipsis.substr(0, bytes_of(ellipsis, width))};
    }
    const std::size_t kept = width - mark;
    const std::size_t head = kept * 2 / 5;
    const std::size_t tail = kept - head;
    std::string result{name.substr(0, bytes_of(name, head))};
    result += ellipsis;
    result += name.substr(bytes_of(name, length - tail));
    return result;
}

}  // namespace

std::string shorten_name(std::string_view name, std::size_t width, const Terminal& terminal) {
    if (width == 0 || display_width(name) <= width) {
        return std::string{name};
    }
    const std::string_view ellipsis = terminal.utf8 ? "\u2026" : "...";
    std::string shorter = collapse(name, kTemplateArguments, ellipsis);
    if (display_width(shorter) > width) {
        shorter = collapse(shorter, kArguments, ellipsis);
    }
    return display_width(shorter) <= width ? shorter : cut_middle(shorter, width, ellipsis);
}

}  // namespace sample::cli
