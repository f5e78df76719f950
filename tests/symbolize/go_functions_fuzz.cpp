// Any bytes as Go's table of functions: every name ends inside of it, every extent is one.
#include "symbolize/elf/go_functions.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// NOLINTNEXTLINE(readability-identifier-naming): how libFuzzer finds it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto* end = reinterpret_cast<const char*>(data) + size;
    for (const auto& function :
         sample::symbolize::go_functions(std::as_bytes(std::span{data, size}))) {
        if (function.name + std::strlen(function.name) >= end || function.start == function.end) {
            std::abort();
        }
    }
    return 0;
}
