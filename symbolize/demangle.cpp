// libiberty's demanglers, called through their callback interface: it hands out the readable name
// in pieces, so that the few dozen bytes that would unfold to gigabytes (substitutions of
// substitutions) can be left half-way. The only way out of a C callback is longjmp; the demanglers
// behind that interface keep everything on the stack (but for one punycode identifier at a time).
#include "symbolize/demangle.h"

#include <libiberty/demangle.h>

#include <csetjmp>
#include <cstddef>
#include <cstdlib>

namespace sample::symbolize {
namespace {

constexpr std::size_t kLongestName = std::size_t{64} << 10;
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
bool run(Demangler demangler, const char* name, Output& output) {
    output.text.clear();
    // NOLINTNEXTLINE(modernize-avoid-setjmp-longjmp,cert-err52-cpp)
    if (setjmp(output.too_long) != 0) {
        return false;
    }
    return demangler(name, kOptions, append, &output) != 0 && !output.text.empty();
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

std::string demangle_d(const std::string& name) {
    char* const text = dlang_demangle(name.c_str(), kOptions);
    if (text == nullptr) {
        return name;
    }
    std::string result{text};
    std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): libiberty's malloc.
    return result;
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
    if (run_rust(name, output) || run(cplus_demangle_v3_callback, name.c_str(), output)) {
        return output.text;
    }
    return name;
}

}  // namespace sample::symbolize
