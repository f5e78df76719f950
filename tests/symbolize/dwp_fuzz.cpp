// Fuzzes the reading of DWARF packages: a small sound one, of which the input changes bytes. The
// first byte says how many; each change is three bytes: a place, a value. The rest of the input are
// the package's strings and their table.
#include "symbolize/dwarf/dwp_file.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace {

using namespace sample::symbolize;  // NOLINT(google-build-using-namespace): a program of one file

constexpr std::size_t kChangeBytes = 3;
constexpr std::uint64_t kFirst = 0x1122'3344'0000'0001;
constexpr std::uint64_t kSecond = 0x5566'7788'0000'0001;  ///< Its slot is the first one's.

struct Index {
    std::uint32_t version;
    std::uint32_t columns = 5;
    std::uint32_t units = 2;
    std::uint32_t slots = 4;
    std::uint64_t ids[4] = {0, kFirst, kSecond, 0};
    std::uint32_t rows[4] = {0, 1, 2, 0};
    std::uint32_t offsets[15] = {1, 3, 4, 6, 8, 0, 0, 0, 0, 0, 16, 16, 16, 8, 16};
    std::uint32_t sizes[10] = {16, 16, 16, 8, 16, 16, 16, 16, 8, 16};
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0 || size < 1 + data[0] * kChangeBytes) {
        return 0;
    }
    const std::size_t changes = data[0];
    Index index{changes % 2 == 0 ? 5U : 2U};
    std::vector<std::uint8_t> bytes(sizeof index);
    std::memcpy(bytes.data(), &index, sizeof index);
    for (std::size_t i = 0; i < changes; ++i) {
        const std::uint8_t* const change = data + 1 + i * kChangeBytes;
        bytes[(change[0] + std::size_t{256} * change[1]) % bytes.size()] = change[2];
    }
    const auto content = std::as_bytes(
        std::span{data + 1 + changes * kChangeBytes, size - 1 - changes * kChangeBytes});
    const std::vector<std::byte> units(32);
    DwpSections package{
        std::as_bytes(std::span{bytes}), units, units, units, content, content, units};
    for (const std::uint64_t id : {kFirst, kSecond, std::uint64_t{0}, ~std::uint64_t{0}}) {
        const auto dwo = dwo_of(package, id);
        // The sections, their headers, and no more than four times the strings.
        if (dwo && dwo->bytes().size() > 2048 + 6 * content.size()) {
            std::abort();
        }
    }
    return 0;
}
