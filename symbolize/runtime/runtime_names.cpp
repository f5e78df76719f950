#include "symbolize/runtime/runtime_names.h"

#include "symbolize/names/demangle.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

namespace sample::symbolize {
namespace {

/// Python 3.12's -X perf: "py::QUALNAME:FILE".
std::optional<ReadableName> python_name(std::string_view given) {
    constexpr std::string_view kPython = "py::";
    if (!given.starts_with(kPython)) {
        return std::nullopt;
    }
    given.remove_prefix(kPython.size());
    const std::size_t colon = given.find(':');
    if (colon == std::string_view::npos || colon == 0) {
        return std::nullopt;
    }
    return ReadableName{std::string{given.substr(0, colon)}, std::string{given.substr(colon + 1)},
                        0};
}

/// Takes ":NUMBER" off the end.
bool take_last_number(std::string_view& text, std::uint32_t& number) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return false;
    }
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, number);
    if (error != std::errc{} || rest != end) {
        return false;
    }
    text = text.substr(0, colon);
    return true;
}

/// Where the file begins in "NAME FILE", where both may hold spaces, and the name may be empty.
std::size_t file_of_v8(std::string_view text) {
    for (const std::string_view start : {" /", " file://", " node:"}) {
        if (const std::size_t at = text.find(start); at != std::string_view::npos) {
            return at;
        }
    }
    return text.rfind(' ');
}

struct V8Tag {
    std::string_view text;
    const char* unnamed;
};
constexpr std::array<V8Tag, 5> kV8Tags{{{"JS:", "(anonymous)"},
                                        {"LazyCompile:", "(anonymous)"},
                                        {"Function:", "(anonymous)"},
                                        {"Script:", "(script)"},
                                        {"Eval:", "(eval)"}}};

const V8Tag* v8_tag(std::string_view given) {
    for (const V8Tag& tag : kV8Tags) {
        if (given.starts_with(tag.text)) {
            return &tag;
        }
    }
    return nullptr;
}

/// V8's: "TAG:" and, of JavaScript, a mark of the compiler that made it, "NAME FILE:LINE:COLUMN".
/// The mark is left out: the same function by other compilers is the same function.
std::optional<ReadableName> v8_name(std::string_view given) {
    constexpr std::string_view kMarks = "~^*+-='";
    const V8Tag* const tag = v8_tag(given);
    if (tag == nullptr) {
        return std::nullopt;
    }
    given.remove_prefix(tag->text.size());
    if (!given.empty() && kMarks.find(given.front()) != std::string_view::npos) {
        given.remove_prefix(1);
    }
    ReadableName name;
    std::uint32_t column = 0;
    std::string_view rest = given;
    if (take_last_number(rest, column) && take_last_number(rest, name.line)) {
        const std::size_t file = file_of_v8(rest);
        std::string_view source = file == std::string_view::npos ? rest : rest.substr(file + 1);
        given = file == std::string_view::npos ? std::string_view{} : rest.substr(0, file);
        constexpr std::string_view kUrl = "file://";
        source.remove_prefix(source.starts_with(kUrl) ? kUrl.size() : 0);
        name.source = source;
    }
    const std::size_t first = given.find_first_not_of(' ');
    name.name = first == std::string_view::npos ? tag->unnamed : std::string{given.substr(first)};
    return name;
}

/// The simple type that a letter of a descriptor stands for; empty: none.
std::string_view java_type(char letter) {
    constexpr std::string_view kLetters = "BCDFIJSZ";
    constexpr std::array<std::string_view, kLetters.size() + 1> kTypes{
        "byte", "char", "double", "float", "int", "long", "short", "boolean", ""};
    return kTypes.at(std::min(kLetters.find(letter), kLetters.size()));
}

/// "Lcom/foo/Bar;" to "com.foo.Bar", off the front. Source: Java VM specification 4.2.1, 4.3.2.
std::optional<std::string> take_java_class(std::string_view& text) {
    const std::size_t end = text.find(';');
    if (!text.starts_with('L') || end == std::string_view::npos || end == 1) {
        return std::nullopt;
    }
    std::string name{text.substr(1, end - 1)};
    if (name.find_first_of(" ([.<>") != std::string::npos) {
        return std::nullopt;
    }
    std::replace(name.begin(), name.end(), '/', '.');
    text.remove_prefix(end + 1);
    return name;
}

/// "(I[Lcom/foo/Bar;)V" to "(int, com.foo.Bar[])"; nothing if it is no such thing.
std::string java_arguments(std::string_view text) {
    std::string arguments;
    text.remove_prefix(1);
    while (!text.empty() && text.front() != ')') {
        const std::size_t dimensions = std::min(text.find_first_not_of('['), text.size());
        text.remove_prefix(dimensions);
        if (text.empty()) {
            return {};
        }
        arguments += arguments.empty() ? "" : ", ";
        if (const std::string_view simple = java_type(text.front()); !simple.empty()) {
            arguments += simple;
            text.remove_prefix(1);
        } else if (const auto name = take_java_class(text)) {
            arguments += *name;
        } else {
            return {};
        }
        for (std::size_t i = 0; i < dimensions; ++i) {
            arguments += "[]";
        }
    }
    return "(" + arguments + ")";
}

/// The JVMTI agents': "Lcom/foo/Bar;" "::" if at all, "method" and, if at all, its descriptor.
std::optional<ReadableName> java_name(std::string_view given) {
    auto name = take_java_class(given);
    if (!name) {
        return std::nullopt;
    }
    if (given.starts_with("::")) {
        given.remove_prefix(2);
    }
    const std::size_t descriptor = given.find('(');
    const std::string_view method = given.substr(0, descriptor);
    if (method.empty() || method.find_first_of(" /;") != std::string_view::npos) {
        return std::nullopt;
    }
    *name += '.';
    *name += method;
    if (descriptor != std::string_view::npos) {
        *name += java_arguments(given.substr(descriptor));
    }
    return ReadableName{std::move(*name), {}, 0};
}

}  // namespace

bool is_v8_javascript(std::string_view given) {
    return v8_tag(given) != nullptr;
}

ReadableName readable_name(std::string_view given) {
    std::string clean{given};
    std::replace_if(
        clean.begin(), clean.end(), [](unsigned char letter) { return std::iscntrl(letter) != 0; },
        ' ');
    for (const auto& read : {python_name, v8_name, java_name}) {
        if (auto name = read(clean)) {
            return std::move(*name);
        }
    }
    return {demangle(clean), {}, 0};
}

}  // namespace sample::symbolize
