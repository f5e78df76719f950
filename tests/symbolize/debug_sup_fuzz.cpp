// Fuzzes the reading of .debug_sup. What it returns must lie in what it was given.
#include "symbolize/dwarf/supplementary_file.h"

#include <cstdint>
#include <cstdlib>
#include <span>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto link = sample::symbolize::parse_debug_sup(std::as_bytes(std::span{data, size}));
    if (link && (link->checksum.empty() || link->checksum.data() < data ||
                 link->checksum.data() + link->checksum.size() > data + size ||
                 link->file_name.size() >= size)) {
        std::abort();
    }
    return 0;
}
