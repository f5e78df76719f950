#include "symbolize/function_parts.h"

#include "core/symbols.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sample::symbolize {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kClone = " [clone ";

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

/// One or several of them.
Ending plain_endings(std::string_view name) noexcept {
    Ending all;
    for (Ending one = plain_ending(name); one.size > 0;
         one = plain_ending(name.substr(0, name.size() - all.size))) {
        all.size += one.size;
        all.is_called = all.is_called || one.is_called;
    }
    return all;
}

/// " [clone .part.0]" at the end of `name`.
Ending clone_ending(std::string_view name) noexcept {
    const std::size_t begin = name.ends_with(']') ? name.rfind(kClone) : std::string_view::npos;
    if (begin == std::string_view::npos) {
        return {};
    }
    const std::string_view suffix =
        name.substr(begin + kClone.size(), name.size() - 1 - begin - kClone.size());
    const Ending endings = plain_endings(suffix);
    const bool is_part = !suffix.empty() && endings.size == suffix.size();
    return is_part ? Ending{name.size() - begin, endings.is_called} : Ending{};
}

Ending all_endings(std::string_view name) noexcept {
    Ending all;
    while (true) {
        const std::string_view rest = name.substr(0, name.size() - all.size);
        Ending one = clone_ending(rest);
        one = one.size > 0 ? one : plain_ending(rest);
        if (one.size == 0 || one.size == rest.size()) {
            return all;
        }
        all.size += one.size;
        all.is_called = all.is_called || one.is_called;
    }
}

std::string_view guess_mark(std::string_view name) noexcept {
    return name.ends_with(kGuessMark) ? kGuessMark : std::string_view{};
}

}  // namespace

std::string without_part(std::string_view name) {
    const std::string_view mark = guess_mark(name);
    const std::string_view rest = name.substr(0, name.size() - mark.size());
    return std::string{rest.substr(0, rest.size() - all_endings(rest).size)}.append(mark);
}

bool is_called_part(std::string_view name) noexcept {
    return all_endings(name.substr(0, name.size() - guess_mark(name).size())).is_called;
}

}  // namespace sample::symbolize
