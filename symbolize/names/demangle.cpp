// libiberty's demanglers, called through their callback interface: it hands out the readable name
// in pieces, so that the few dozen bytes that would unfold to gigabytes (substitutions of
// substitutions) can be left half-way. The only way out of a C callback is longjmp; the demanglers
// behind that interface keep everything on the stack (but for one punycode identifier at a time).
// D's has no such interface: its names may be only so long, and refer back to types only so often.
#include "symbolize/names/demangle.h"

#include <libiberty/demangle.h>

#include <csetjmp>
#include <cstddef>
#include <cstdlib>

namespace sample::symbolize {
namespace {

/// libiberty goes down one level of the stack for each type in another, which takes one letter. By
/// itself it reads no C++ name above 1 KiB, however flat, and D names of any length.
constexpr std::size_t kLongestNested = std::size_t{4} << 10;
constexpr std::size_t kMostTypeReferences = 16;
constexpr std::size_t kMostUnfoldedDName = std::size_t{32} << 20;
constexpr int kOptions = DMGL_PARAMS | DMGL_ANSI;

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

struct Output {
    std::string text;
    std::jmp_buf too_long;
};

void append(const char* piece, std::size_t size, void* opaque) {
    auto& output = *static_cast<Output*>(opaque);
    if (size > kLongestName - output.text.size()) {
        // NOLINTNEXTLINE(modernize-avoid-setjmp-longjmp,cert-err52-cpp): the file comment says why.
        std::longjmp(output.too_long, 1);
    }
    output.text.append(piece, size);
}

/// False if `name` is not of that language, or unfolds too far.
bool run(Demangler demangler, const char* name, Output& output, int options = kOptions) {
    output.text.clear();
    // NOLINTNEXTLINE(modernize-avoid-setjmp-longjmp,cert-err52-cpp)
    if (setjmp(output.too_long) != 0) {
        return false;
    }
    return demangler(name, options, append, &output) != 0 && !output.text.empty();
}

bool is_rust_or_cpp(std::string_view name) {
    return name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("_GLOBAL_");
}

/// Where the suffixes that compilers add begin. (A dot alone says nothing in Rust's legacy names.)
std::size_t suffix_of(std::string_view name) {
    const std::size_t dot = name.starts_with("_R") ? name.find('.') : name.rfind("E.");
    if (dot == std::string_view::npos) {
        return name.size();
    }
    return name[dot] == '.' ? dot : dot + 1;
}

/// libiberty drops the suffixes of Rust's names.
bool run_rust(const std::string& name, Output& output) {
    const std::string suffix = name.substr(suffix_of(name));
    const std::string base = name.substr(0, name.size() - suffix.size());
    if (!run(rust_demangle_callback, base.c_str(), output)) {
        return false;
    }
    if (!suffix.empty() && !suffix.starts_with(".llvm.")) {
        output.text += " [clone " + suffix + "]";
    }
    return true;
}

/// How many references to earlier types a D name has, or more: "Q" and a distance, base 26, the
/// last digit in lower case. What they refer to may end in another one, so each can double the
/// text. References to identifiers, which begin with their length, unfold to no more than those.
/// Source: D specification, "Name Mangling", "Back references".
std::size_t type_references(std::string_view name) {
    std::size_t count = 0;
    for (std::size_t at = name.find('Q'); at != std::string_view::npos;
         at = name.find('Q', at + 1)) {
        std::size_t distance = 0;
        std::size_t digit = at + 1;
        while (digit < name.size() && name[digit] >= 'A' && name[digit] <= 'Z' && distance < at) {
            distance = distance * 26 + static_cast<std::size_t>(name[digit++] - 'A');
        }
        if (digit < name.size() && name[digit] >= 'a' && name[digit] <= 'z') {
            distance = distance * 26 + static_cast<std::size_t>(name[digit] - 'a');
            const bool is_inside = distance > 0 && distance <= at;
            count += is_inside && (name[at - distance] < '0' || name[at - distance] > '9') ? 1 : 0;
        }
    }
    return count;
}

std::string demangle_d(const std::string& name) {
    const std::size_t references = type_references(name);
    if (name.size() > kLongestNested || references > kMostTypeReferences ||
        name.size() << references > kMostUnfoldedDName) {
        return name;
    }
    char* const text = dlang_demangle(name.c_str(), kOptions);
    if (text == nullptr) {
        return name;
    }
    std::string result{text};
    std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): libiberty's malloc.
    return result.size() > kLongestName ? name : result;
}

}  // namespace

std::string demangle(std::string_view linkage_name) {
    std::string name{linkage_name};
    if (name.size() > kLongestName) {
        return name;
    }
    if (name.starts_with("_D") && !name.starts_with("_D_")) {
        return demangle_d(name);
    }
    if (!is_rust_or_cpp(name)) {
        return name;
    }
    Output output;
    // Rust first: its legacy names are C++ names too, with a hash for a last component.
    if (run_rust(name, output) ||
        run(cplus_demangle_v3_callback, name.c_str(), output,
            name.size() <= kLongestNested ? kOptions | DMGL_NO_RECURSE_LIMIT : kOptions)) {
        return output.text;
    }
    return name;
}

}  // namespace sample::symbolize
