// Any bytes are refused, or are names whose encoding decodes to the same.
#include "tests/trace/symbol_block_fixture.h"

#include <cstdlib>
#include <span>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using sample::trace::said_by;
    const auto block = sample::trace::decode_symbols(std::as_bytes(std::span{data, size}));
    if (!block) {
        return 0;
    }
    const auto again = sample::trace::decode_symbols(sample::trace::encode(*block));
    if (!again || again->addresses != block->addresses || said_by(*again) != said_by(*block)) {
        std::abort();
    }
    return 0;
}
