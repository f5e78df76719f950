// Any bytes are refused, or are code or source text whose encoding decodes to the same.
#include "tests/trace/code_fixture.h"
#include "trace/code_codec.h"

#include <cstdint>
#include <cstdlib>
#include <span>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using sample::trace::text_of;
    const auto bytes = std::as_bytes(std::span{data, size});
    if (const auto code = sample::trace::decode_code(bytes)) {
        const auto again = sample::trace::decode_code(sample::trace::encode_code(*code));
        if (!again || text_of(*again) != text_of(*code)) {
            std::abort();
        }
    }
    if (const auto sources = sample::trace::decode_sources(bytes)) {
        const auto again = sample::trace::decode_sources(sample::trace::encode_sources(*sources));
        if (!again || text_of(*again) != text_of(*sources)) {
            std::abort();
        }
    }
    return 0;
}
