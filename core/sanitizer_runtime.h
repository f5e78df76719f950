// Libraries that have to be loaded before every other: the runtimes of sanitizers. They take calls
// of libc for themselves, and some end the program where another library came first.
// Source: GCC's libsanitizer, asan/asan_linux.cpp, AsanCheckDynamicRTPrereqs.
#pragma once

#include <initializer_list>
#include <string_view>

namespace sample {

/// By its name, with or without a folder. Async-signal-safe.
constexpr bool is_sanitizer_runtime(std::string_view library) noexcept {
    library.remove_prefix(library.rfind('/') + 1);  // npos + 1 is 0
    for (const std::string_view name :
         {"libasan.so", "libtsan.so", "liblsan.so", "libclang_rt.asan", "libclang_rt.tsan"}) {
        if (library.starts_with(name)) {
            return true;
        }
    }
    return false;
}

}  // namespace sample
