#include "symbolize/told_names.h"

#include "symbolize/demangle.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

namespace sample::symbolize {
namespace {

/// Python 3.12's -X perf: "py::QUALNAME:FILE".
std::optional<ReadableName> python_name(std::string_view told) {
    constexpr std::string_view kPython = "py::";
    if (!told.starts_with(kPython)) {
        return std::nullopt;
    }
    told.remove_prefix(kPython.size());
    const std::size_t colon = told.find(':');
    if (colon == std::string_view::npos || colon == 0) {
        return std::nullopt;
    }
    return ReadableName{std::string{told.substr(0, colon)}, std::string{told.substr(colon + 1)}, 0};
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

const V8Tag* v8_tag(std::string_view told) {
    const auto* const tag = std::find_if(kV8Tags.begin(), kV8Tags.end(), [&](const V8Tag& each) {
        return told.starts_with(each.text);
    });
    return tag == kV8Tags.end() ? nullptr : tag;
}

/// V8's: "TAG:" and, of JavaScript, a mark of the compiler that made it, "NAME FILE:LINE:COLUMN".
/// The mark is left out: the same function by other compilers is the same function.
std::optional<ReadableName> v8_name(std::string_view told) {
    constexpr std::string_view kMarks = "~^*+-='";
    const V8Tag* const tag = v8_tag(told);
    if (tag == nullptr) {
        return std::nullopt;
    }
    told.remove_prefix(tag->text.size());
    if (!told.empty() && kMarks.find(told.front()) != std::string_view::npos) {
        told.remove_prefix(1);
    }
    ReadableName name;
    std::uint32_t column = 0;
    std::string_view rest = told;
    if (take_last_number(rest, column) && take_last_number(rest, name.line)) {
        const std::size_t file = file_of_v8(rest);
        std::string_view source = file == std::string_view::npos ? rest : rest.substr(file + 1);
        told = file == std::string_view::npos ? std::string_view{} : rest.substr(0, file);
        constexpr std::string_view kUrl = "file://";
        source.remove_prefix(source.starts_with(kUrl) ? kUrl.size() : 0);
        name.source = source;
    }
    const std::size_t first = told.find_first_not_of(' ');
    name.name = first == std::string_view::npos ? tag->unnamed : std::string{told.substr(first)};
    return name;
}

const char* java_type(char letter) {
    switch (letter) {
        case 'B':
            return "byte";
        case 'C':
            return "char";
        case 'D':
            return "double";
        case 'F':
            return "float";
        case 'I':
            return "int";
        case 'J':
            return "long";
        case 'S':
            return "short";
        case 'Z':
            return "boolean";
        default:
            return nullptr;
    }
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
        if (const char* const simple = java_type(text.front()); simple != nullptr) {
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
std::optional<ReadableName> java_name(std::string_view told) {
    auto name = take_java_class(told);
    if (!name) {
        return std::nullopt;
    }
    if (told.starts_with("::")) {
        told.remove_prefix(2);
    }
    const std::size_t descriptor = told.find('(');
    const std::string_view method = told.substr(0, descriptor);
    if (method.empty() || method.find_first_of(" /;") != std::string_view::npos) {
        return std::nullopt;
    }
    *name += '.';
    *name += method;
    if (descriptor != std::string_view::npos) {
        *name += java_arguments(told.substr(descriptor));
    }
    return ReadableName{std::move(*name), {}, 0};
}

}  // namespace

bool is_v8_javascript(std::string_view told) {
    return v8_tag(told) != nullptr;
}

ReadableName readable_name(std::string_view told) {
    std::string clean{told};
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
