#include "symbolize/names/name_endings.h"

#include "core/symbols.h"
#include "symbolize/names/name_syntax.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace sample::symbolize {
namespace {

constexpr std::string_view kClone = " [clone ";

bool is_offset_name(std::string_view name) {
    const std::size_t at = name.rfind("+0x");
    return at != std::string_view::npos && at + 3 < name.size() &&
           name.find_first_not_of("0123456789abcdef", at + 3) == std::string_view::npos;
}

/// "-[Class method:]", "+[Class method]", and "__41-[Class method]_block_invoke".
bool is_objective_c(std::string_view name) {
    if (name.starts_with("__")) {
        name.remove_prefix(std::min(name.find_first_not_of(kDigits, 2), name.size()));
    }
    return name.starts_with("-[") || name.starts_with("+[");
}

enum class Number : std::uint8_t { required, optional };
struct Kind {
    std::string_view word;
    Number number;
    bool is_called;  ///< With its number.
};
/// Source: clone_function_name() and its callers in GCC; HotColdSplitting, PromoteModuleNames
/// (ThinLTO) and UniqueInternalLinkageNames in LLVM; BOLT's
/// function splitting.
constexpr std::array<Kind, 9> kKinds{{{"cold", Number::optional, true},
                                      {"warm", Number::optional, false},
                                      {"part", Number::required, true},
                                      {"constprop", Number::required, false},
                                      {"isra", Number::required, false},
                                      {"lto_priv", Number::required, false},
                                      {"localalias", Number::optional, false},
                                      {"llvm", Number::required, false},
                                      {"__uniq", Number::required, false}}};

struct Ending {
    std::size_t size = 0;  ///< 0: none.
    bool is_called = false;
};

/// ".part.0" at the end of `name`.
Ending plain_ending(std::string_view name) noexcept {
    const std::size_t stem = name.find_last_not_of(kDigits) + 1;
    const bool has_number = stem > 0 && stem < name.size() && name[stem - 1] == '.';
    const std::string_view words = has_number ? name.substr(0, stem - 1) : name;
    for (const Kind& kind : kKinds) {
        const bool ends = words.size() > kind.word.size() && words.ends_with(kind.word) &&
                          words[words.size() - kind.word.size() - 1] == '.';
        if (ends && (has_number || kind.number == Number::optional)) {
            return {name.size() - words.size() + kind.word.size() + 1,
                    has_number && kind.is_called};
        }
    }
    return {};
}

Ending clone_ending(std::string_view name) noexcept;

/// All of them; something of the name stays.
Ending all_endings(std::string_view name) noexcept {
    Ending all;
    while (true) {
        const std::string_view rest = name.substr(0, name.size() - all.size);
        const Ending clone = clone_ending(rest);
        const Ending one = clone.size > 0 ? clone : plain_ending(rest);
        if (one.size == 0 || one.size == rest.size()) {
            return all;
        }
        all = {all.size + one.size, all.is_called || one.is_called};
    }
}

/// " [clone .part.0]" at the end of `name`: nothing but endings in the brackets.
Ending clone_ending(std::string_view name) noexcept {
    const std::size_t begin = name.ends_with(']') ? name.rfind(kClone) : std::string_view::npos;
    if (begin == std::string_view::npos) {
        return {};
    }
    // With the space before them, which stays.
    const std::size_t space = begin + kClone.size() - 1;
    const std::string_view inside = name.substr(space, name.size() - 1 - space);
    const Ending endings = all_endings(inside);
    const bool is_part = endings.size > 0 && endings.size + 1 == inside.size();
    return is_part ? Ending{name.size() - begin, endings.is_called} : Ending{};
}

std::string_view guess_mark(std::string_view name) noexcept {
    return name.ends_with(kGuessMark) ? kGuessMark : std::string_view{};
}

}  // namespace

bool is_opaque_name(std::string_view name) {
    return name.starts_with('[') || is_offset_name(name) || is_objective_c(name);
}

std::size_t ending_of(std::string_view name) {
    constexpr std::string_view kPlt = "@plt";
    std::size_t end = name.size();
    if (name.ends_with(kGuessMark)) {
        end -= kGuessMark.size();
    } else if (name.ends_with(kPlt)) {
        end -= kPlt.size();
    }
    while (end > 0 && name[end - 1] == ']') {
        const std::size_t begin = name.substr(0, end).rfind(kClone);
        if (begin == std::string_view::npos || name.find(']', begin) != end - 1) {
            break;
        }
        end = begin;
    }
    return end;
}

std::string without_part(std::string_view name) {
    const std::string_view mark = guess_mark(name);
    const std::string_view rest = name.substr(0, name.size() - mark.size());
    return std::string{rest.substr(0, rest.size() - all_endings(rest).size)}.append(mark);
}

bool is_called_part(std::string_view name) noexcept {
    return all_endings(name.substr(0, name.size() - guess_mark(name).size())).is_called;
}

}  // namespace sample::symbolize
