#include "symbolize/std_names.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sample::symbolize {
namespace {

/// libc++'s (also Android's and Chromium's), then libstdc++'s. The last two are no inline
/// namespaces, but as little known to the library's users.
constexpr std::array<std::string_view, 7> kInline{"__ndk1",    "__Cr",     "__cxx11",        "_V2",
                                                  "__cxx1998", "__detail", "__exception_ptr"};

struct Character {
    std::string_view type;
    std::string_view prefix;  ///< Of the aliases.
};
constexpr std::array<Character, 5> kCharacters{
    {{"char", ""}, {"wchar_t", "w"}, {"char8_t", "u8"}, {"char16_t", "u16"}, {"char32_t", "u32"}}};

/// Source: [string.classes], [string.view], [iostream.forward].
constexpr std::array<std::string_view, 2> kStrings{"string", "string_view"};
constexpr std::array<std::string_view, 13> kStreams{
    "ios",      "istream", "ostream", "iostream",     "streambuf",     "stringbuf",    "ifstream",
    "ofstream", "fstream", "filebuf", "stringstream", "istringstream", "ostringstream"};

template <std::size_t kCount>
bool contains(const std::array<std::string_view, kCount>& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

/// "std::allocator<char>"
std::string of(std::string_view name, std::string_view type) {
    return std::string{name}.append("<").append(type).append(">");
}

std::string without(std::string text, std::string_view part) {
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
        text.erase(at, part.size());
    }
    return text;
}

}  // namespace

bool is_inline_of_std(std::string_view component) noexcept {
    constexpr std::string_view kDigits = "0123456789";
    const bool is_numbered = component.size() > 2 && component.starts_with("__") &&
                             component.find_first_not_of(kDigits, 2) == std::string_view::npos;
    return is_numbered || contains(kInline, component);
}

std::string std_alias(std::string_view template_name, std::string_view arguments) {
    constexpr std::string_view kBasic = "basic_";
    constexpr std::size_t kLongest = 200;
    if (!template_name.starts_with(kBasic) || arguments.size() > kLongest) {
        return {};
    }
    const std::string_view alias = template_name.substr(kBasic.size());
    const bool is_string = contains(kStrings, alias);
    if (!is_string && !contains(kStreams, alias)) {
        return {};
    }
    std::string given = without(std::string{arguments}, " ");
    for (const std::string_view inner : {"__1::", "__cxx11::", "__ndk1::", "__Cr::"}) {
        given = without(std::move(given), inner);
    }
    const std::size_t count = is_string ? kCharacters.size() : 2;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string_view type = kCharacters.at(i).type;
        const std::string traits = of("std::char_traits", type).insert(0, ",").insert(0, type);
        const std::string allocator = of("std::allocator", type).insert(0, ",").insert(0, traits);
        if (given == type || given == traits || given == allocator) {
            return std::string{kCharacters.at(i).prefix}.append(alias);
        }
    }
    return {};
}

}  // namespace sample::symbolize
