// The brackets of a readable name, and what each pair encloses: the one parser that everything
// rests on which shows less of a name than there is.
//
// It reads names as demanglers print them (C++, Rust, D), not the languages: operators are no
// brackets, "->" closes nothing, a "<" that is still open when its parenthesis closes was a
// less-than. A name that does not fit is not balanced, and its reader leaves it as it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sample::symbolize {

inline constexpr std::string_view kDigits = "0123456789";

/// What a name is made of: letters, digits, '_', '$', and every byte of a character beyond ASCII.
[[nodiscard]] bool is_word(char c) noexcept;

/// An operator's name: "operator<<", "operator new[]", "operator\"\" _ms".
struct OperatorName {
    std::size_t length = 0;      ///< 0: none.
    bool is_conversion = false;  ///< "operator " is all of it, the type follows.
};
[[nodiscard]] OperatorName operator_at(std::string_view name, std::size_t at) noexcept;

enum class BracketKind : std::uint8_t {
    none,                ///< No bracket, or one without a partner.
    template_arguments,  ///< vector<…>, Rust's "f::<…>", D's "map!(…)".
    arguments,           ///< f(…), {lambda(…)#1}
    other,  ///< Part of the name: Rust's <T as Trait>, (anonymous namespace), {closure#0}, [abi:…]
};

/// Every bracket's partner and kind. O(size), whatever the name.
class NameBrackets {
public:
    explicit NameBrackets(std::string_view name);

    [[nodiscard]] bool is_balanced() const noexcept { return is_balanced_; }
    /// Of the bracket at `at`, opening or closing.
    [[nodiscard]] BracketKind kind(std::size_t at) const { return marks_[at].kind; }
    /// Where its partner is, if its kind is not none.
    [[nodiscard]] std::size_t partner(std::size_t at) const { return marks_[at].partner; }

private:
    class Matcher;
    struct Mark {
        std::uint32_t partner = 0;
        BracketKind kind = BracketKind::none;
    };
    std::vector<Mark> marks_;
    bool is_balanced_ = false;
};

/// `name` with `ellipsis` between the outermost brackets of `kind`, where anything is between them.
/// The name itself if it is not balanced.
[[nodiscard]] std::string collapse(std::string_view name, BracketKind kind,
                                   std::string_view ellipsis);

}  // namespace sample::symbolize
