#include "symbolize/names/name_forms.h"

#include "symbolize/names/demangle.h"
#include "symbolize/names/name_endings.h"
#include "symbolize/names/name_syntax.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace sample::symbolize {
namespace {

constexpr std::string_view kElided = "\u2039\u2026\u203a";
constexpr std::string_view kAnonymous = "(anonymous namespace)";

/// What a demangler says before the name of a function. Source: libiberty, cp-demangle.c.
constexpr std::array<std::string_view, 13> kPrefixes{"non-virtual thunk to ",
                                                     "virtual thunk to ",
                                                     "covariant return thunk to ",
                                                     "TLS init function for ",
                                                     "TLS wrapper function for ",
                                                     "transaction clone for ",
                                                     "non-transaction clone for ",
                                                     "global constructors keyed to ",
                                                     "global destructors keyed to ",
                                                     "initializer for module ",
                                                     "guard variable for ",
                                                     "vtable for ",
                                                     "typeinfo for "};

/// What may stand behind an argument list, of C++ and of D.
constexpr std::array<std::string_view, 9> kQualifiers{" const",     " volatile", " restrict",
                                                      " noexcept",  " &&",       " &",
                                                      " immutable", " inout",    " shared"};

/// Namespaces inside std that its users don't write: libc++'s (also Android's and Chromium's), then
/// libstdc++'s. The last two are no inline namespaces, but as little known.
constexpr std::array<std::string_view, 7> kInline{"__ndk1",    "__Cr",     "__cxx11",        "_V2",
                                                  "__cxx1998", "__detail", "__exception_ptr"};

/// Types of characters, and what the aliases for them begin with.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kCharacters{
    {{"char", ""}, {"wchar_t", "w"}, {"char8_t", "u8"}, {"char16_t", "u16"}, {"char32_t", "u32"}}};

/// What has an alias for each character, then what has one for the first two.
/// Source: [string.classes], [string.view], [iostream.forward].
constexpr std::array<std::string_view, 2> kStrings{"string", "string_view"};
constexpr std::array<std::string_view, 13> kStreams{
    "ios",      "istream", "ostream", "iostream",     "streambuf",     "stringbuf",    "ifstream",
    "ofstream", "fstream", "filebuf", "stringstream", "istringstream", "ostringstream"};

template <std::size_t kCount>
bool contains(const std::array<std::string_view, kCount>& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

/// "__1", "__cxx11", "_V2": what is no part of a name to the library's users.
bool is_inline_of_std(std::string_view component) noexcept {
    const bool is_numbered = component.size() > 2 && component.starts_with("__") &&
                             component.find_first_not_of(kDigits, 2) == std::string_view::npos;
    return is_numbered || contains(kInline, component);
}

/// "string" for basic_string<char, std::char_traits<char>, std::allocator<char> >, with inline
/// namespaces or without; empty where the library has no such alias. O(1).
std::string std_alias(std::string_view template_name, std::string_view arguments) {
    constexpr std::string_view kBasic = "basic_";
    constexpr std::size_t kLongest = 200;
    const std::string_view alias =
        template_name.substr(std::min(kBasic.size(), template_name.size()));
    const bool is_string = contains(kStrings, alias);
    if (!template_name.starts_with(kBasic) || arguments.size() > kLongest ||
        (!is_string && !contains(kStreams, alias))) {
        return {};
    }
    std::string given{arguments};
    for (const std::string_view noise : {" ", "__1::", "__cxx11::", "__ndk1::", "__Cr::"}) {
        for (std::size_t at = 0; (at = given.find(noise, at)) != std::string::npos;) {
            given.erase(at, noise.size());
        }
    }
    for (const auto& [type, prefix] :
         std::span{kCharacters}.first(is_string ? kCharacters.size() : 2)) {
        std::string all{type};
        for (const std::string_view next : {"char_traits", "allocator"}) {
            if (given == all) {
                break;
            }
            all.append(",std::").append(next).append("<").append(type).append(">");
        }
        if (given == all) {
            return std::string{prefix}.append(alias);
        }
    }
    return {};
}

/// Copies a name without what the form leaves out.
///
/// A path is a run of components joined by "::". Outside every bracket (level 0) a space ends a
/// return type, which is cut off; inside the brackets that are part of a name, and in the type of a
/// conversion operator, it is copied.
class FormWriter {
public:
    FormWriter(std::string_view name, bool is_brief)
        : name_{name}, end_{name.size()}, brackets_{name}, is_brief_{is_brief} {
        out_.reserve(name.size());
    }

    /// Nothing if `name` is no function's name in a language known here.
    std::optional<std::string> run() {
        if (!brackets_.is_balanced()) {
            return std::nullopt;
        }
        take_prefixes();
        while (at_ < end_) {
            if (!step()) {
                return std::nullopt;
            }
        }
        finish_component();
        drop_hash();
        const bool is_sentence = was_cut_ && !has_brackets_;
        if (out_.size() == base_ || is_sentence) {
            return std::nullopt;
        }
        return std::move(out_);
    }

private:
    [[nodiscard]] char peek(std::size_t at) const { return at < end_ ? name_[at] : '\0'; }
    [[nodiscard]] bool is_type() const { return level_ > 0 || in_conversion_; }

    void copy(std::size_t size) {
        out_ += name_.substr(at_, size);
        at_ += size;
    }

    /// Copies a character of a type; what follows it is another path.
    void copy_between_paths() {
        copy(1);
        begin_path();
    }

    void begin_path() {
        path_ = previous_component_ = component_ = out_.size();
        own_alias_ = {};
        class_alias_ = {};
    }

    void take_prefixes() {
        for (std::size_t i = 0; i < kPrefixes.size(); ++i) {
            if (name_.substr(at_).starts_with(kPrefixes.at(i))) {
                copy(kPrefixes.at(i).size());
                base_ = out_.size();
                begin_path();
                i = 0;
            }
        }
    }

    bool step() {
        if (const OperatorName found = operator_at(name_, at_); found.length > 0) {
            take_operator(found);
            return true;
        }
        const char c = name_[at_];
        if (brackets_.kind(at_) != BracketKind::none) {
            return take_bracket(c);
        }
        constexpr std::string_view kMayStandAnywhere = ".~'@";
        if (is_word(c) || kMayStandAnywhere.find(c) != std::string_view::npos) {
            has_module_ = has_module_ || c == '@';
            copy(1);
            return true;
        }
        if (c == ':') {
            return take_colon();
        }
        if (is_type()) {
            copy_between_paths();
            return true;
        }
        if (c == ' ' || c == '*' || c == '&') {
            cut_return_type();
            ++at_;
            return true;
        }
        const bool is_template_of_d = c == '!' && peek(at_ + 1) == '(';
        if (is_template_of_d) {
            copy(1);
        }
        return is_template_of_d;
    }

    void cut_return_type() {
        out_.resize(base_);
        begin_path();
        was_cut_ = true;
        has_brackets_ = false;
    }

    void take_operator(const OperatorName& found) {
        copy(found.length);
        if (found.is_conversion) {
            in_conversion_ = level_ == 0;
            begin_path();
        } else if (peek(at_) == ' ' && peek(at_ + 1) == '<') {
            copy(1);
            if (is_brief_) {
                out_.pop_back();
            }
        }
    }

    bool take_colon() {
        if (peek(at_ + 1) != ':') {
            // A module's partition, as in "run@net:tcp()"; else it is a name of another kind.
            const bool may_stand = is_type() || has_module_;
            copy(1);
            return may_stand;
        }
        finish_component();
        const std::string_view path = std::string_view{out_}.substr(path_);
        const bool is_noise = is_brief_ && path.starts_with("std::") &&
                              is_inline_of_std(std::string_view{out_}.substr(component_));
        if (is_noise) {
            out_.resize(component_);
            at_ += 2;
            return true;
        }
        copy(2);
        previous_component_ = std::exchange(component_, out_.size());
        class_alias_ = std::exchange(own_alias_, {});
        return true;
    }

    /// Where a component ends: what it is called, as a whole, by people.
    void finish_component() {
        if (!is_brief_) {
            return;
        }
        const std::string_view component = std::string_view{out_}.substr(component_);
        if (!class_alias_.first.empty()) {
            const bool is_destructor = component.starts_with('~');
            if (component.substr(is_destructor ? 1 : 0) == class_alias_.first) {
                out_.resize(component_ + (is_destructor ? 1 : 0));
                out_ += class_alias_.second;
            }
            class_alias_ = {};
        } else if (component.starts_with("operator()") && is_lambda(previous_component())) {
            out_.resize(component_ - 2);
            component_ = previous_component_;
        }
    }

    [[nodiscard]] std::string_view previous_component() const {
        const std::size_t end = component_ > path_ ? component_ - 2 : component_;
        return std::string_view{out_}.substr(previous_component_, end - previous_component_);
    }

    static bool is_lambda(std::string_view component) {
        const bool is_unnamed_of_clang =
            component.starts_with("$_") && component.size() > 2 &&
            component.find_first_not_of(kDigits, 2) == std::string_view::npos;
        return is_unnamed_of_clang || component.starts_with("{lambda") ||
               component.starts_with("<lambda") || component.starts_with("'lambda");
    }

    bool take_bracket(char c) {
        const std::size_t close = brackets_.partner(at_);
        if (at_ == unwrapped_close_) {
            ++at_;
            return true;
        }
        if (close < at_) {  // Of a pair that was gone into.
            --level_;
            copy_between_paths();
            return true;
        }
        if (brackets_.kind(at_) == BracketKind::arguments) {
            return take_arguments(close);
        }
        if (brackets_.kind(at_) == BracketKind::template_arguments) {
            take_template_arguments(close);
        } else {
            take_part_of_name(c, close);
        }
        return true;
    }

    void take_template_arguments(std::size_t close) {
        has_brackets_ = true;
        if (!is_brief_) {
            copy(close + 1 - at_);
            return;
        }
        const std::string_view contents = name_.substr(at_ + 1, close - at_ - 1);
        at_ = close + 1;
        if (component_ == out_.size() && component_ > path_) {  // Rust's "f::<T>".
            out_.resize(component_ - 2);
            component_ = previous_component_;
        }
        const std::string_view component = std::string_view{out_}.substr(component_);
        const std::string_view scope = std::string_view{out_}.substr(path_, component_ - path_);
        std::string alias = scope == "std::" ? std_alias(component, contents) : std::string{};
        if (alias.empty()) {
            out_ += kElided;
            return;
        }
        own_alias_ = {std::string{component}, alias};
        out_.resize(component_);
        out_ += alias;
    }

    bool take_arguments(std::size_t close) {
        if (level_ > 0) {
            go_into();
            return true;
        }
        has_brackets_ = true;
        // "operator void (*)(int)()": a conversion takes no arguments, so these are of its type.
        const bool is_of_type = close > at_ + 1 || (name_[at_ - 1] == ')' &&
                                                    brackets_.kind(at_ - 1) == BracketKind::other);
        if (in_conversion_ && is_of_type) {
            copy(close + 1 - at_);
            return true;
        }
        in_conversion_ = false;
        finish_component();
        at_ = close + 1;
        while (skip_qualifier()) {
        }
        return !is_word(peek(at_)) || at_ >= end_;
    }

    bool skip_qualifier() {
        const std::string_view rest = name_.substr(at_, end_ - at_);
        for (const std::string_view qualifier : kQualifiers) {
            const bool runs_on = is_word(qualifier.back()) && rest.size() > qualifier.size() &&
                                 is_word(rest[qualifier.size()]);
            if (rest.starts_with(qualifier) && !runs_on) {
                at_ += qualifier.size();
                return true;
            }
        }
        return false;
    }

    void go_into() {
        ++level_;
        copy_between_paths();
    }

    void take_part_of_name(char c, std::size_t close) {
        const std::string_view whole = name_.substr(at_, close + 1 - at_);
        if (whole == kAnonymous) {
            out_ += is_brief_ ? "{anonymous}" : kAnonymous;
            at_ = close + 1;
        } else if (whole.starts_with("{lambda")) {
            out_ += "{lambda";
            out_ += whole.substr(std::min(whole.rfind('#'), whole.size() - 1));
            at_ = close + 1;
        } else if (c == '[' && whole.starts_with("[abi:") && is_brief_) {
            at_ = close + 1;
        } else if (c == '<' && is_brief_ && is_type_of_rust(close)) {
            unwrapped_close_ = close;
            ++at_;
        } else if (c != '{' && (c == '<' || is_type())) {
            go_into();
        } else if (c == '(' && is_declarator(close)) {
            cut_return_type();
            end_ = close;
            ++at_;
        } else {
            copy(whole.size());
        }
    }

    /// "<alloc::vec::Vec<T>>::push": a plain path, whose angle brackets the older mangling of Rust
    /// does not have. O(length of the path): whatever is no part of one ends it.
    [[nodiscard]] bool is_type_of_rust(std::size_t close) const {
        if (level_ > 0 || !name_.substr(close + 1).starts_with("::")) {
            return false;
        }
        for (std::size_t i = at_ + 1; i < close; ++i) {
            if (brackets_.kind(i) == BracketKind::template_arguments) {
                i = brackets_.partner(i);
            } else if (!is_word(name_[i]) && name_[i] != ':') {
                return false;
            }
        }
        return close > at_ + 1;
    }

    /// "int (*f<char>(long))(short)", "int (&f<char>()) [3]": the function is inside, what is
    /// around it is its return type.
    [[nodiscard]] bool is_declarator(std::size_t close) const {
        const std::string_view rest = name_.substr(close + 1, end_ - close - 1);
        return at_ > 0 && (rest.starts_with('(') || rest.starts_with(" ["));
    }

    /// "::h" and 16 digits: what makes a name of Rust's unique, where a demangler left it.
    void drop_hash() {
        constexpr std::size_t kSize = 17;
        constexpr std::string_view kHexDigits = "0123456789abcdef";
        const std::string_view component = std::string_view{out_}.substr(component_);
        if (is_brief_ && component_ > path_ && component.size() == kSize &&
            component.front() == 'h' &&
            component.find_first_not_of(kHexDigits, 1) == std::string_view::npos) {
            out_.resize(component_ - 2);
        }
    }

    std::string_view name_;
    std::size_t end_;
    NameBrackets brackets_;
    bool is_brief_;
    std::string out_;
    std::size_t at_ = 0;
    std::size_t base_ = 0;                ///< In `out_`: where the name itself begins.
    std::size_t path_ = 0;                ///< In `out_`: where the current path begins.
    std::size_t previous_component_ = 0;  ///< In `out_`, as the next.
    std::size_t component_ = 0;
    /// A class's name and the alias shown for it: of the component at hand, and of the one before,
    /// whose constructor may follow.
    std::pair<std::string, std::string> own_alias_;
    std::pair<std::string, std::string> class_alias_;
    std::size_t level_ = 0;  ///< Brackets that were gone into.
    std::size_t unwrapped_close_ =
        std::string_view::npos;  ///< Of a pair that is left out, but not what is in it.
    bool in_conversion_ = false;
    bool has_module_ = false;
    bool was_cut_ = false;
    bool has_brackets_ = false;  ///< Since the return type.
};

}  // namespace

std::string in_form(std::string_view name, NameForm form) {
    const bool is_left_alone =
        form == NameForm::full || name.size() > kLongestName || is_opaque_name(name);
    if (is_left_alone) {
        return std::string{name};
    }
    const std::size_t end = ending_of(name);
    std::optional<std::string> result =
        FormWriter{name.substr(0, end), form == NameForm::brief}.run();
    return result ? std::move(*result).append(name.substr(end)) : std::string{name};
}

}  // namespace sample::symbolize
