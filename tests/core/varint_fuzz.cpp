// Any bytes are refused, or decode to a value whose encoding is no longer and decodes to the same.
#include "core/varint.h"

#include <array>
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    std::uint64_t value = 0;
    const std::size_t read = sample::read_varint(bytes, bytes + size, value);
    if (read == 0) {
        return 0;
    }
    std::array<std::uint8_t, sample::kMaxVarintBytes> encoded{};
    const std::size_t written = sample::write_varint(encoded.data(), value);
    std::uint64_t again = 0;
    const std::size_t reread = sample::read_varint(encoded.data(), encoded.data() + written, again);
    if (read > size || written > read || reread != written || again != value) {
        __builtin_trap();
    }
    return 0;
}
