// Fuzzes the parsers of foreign bytes: the input is a module's readable bytes, with .eh_frame_hdr
// at their beginning. The first eight bytes choose the pc, near the header, and a register's value.
#include "unwind/cfi/row.h"
#include "unwind/walk/step.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using namespace sample::unwind;  // NOLINT(google-build-using-namespace): a program of one file

constexpr std::size_t kChoiceBytes = 8;

void look_up(const cfi::Tables& tables, std::uint64_t pc, std::uint64_t word) {
    cfi::FrameRules found;
    if (cfi::find_rules(tables, pc, found) != cfi::Found::yes) {
        return;
    }
    static_cast<void>(cfi::pack_rules(found, pc));
    KnownRegisters frame{};
    for (std::size_t reg = 0; reg < Registers::kCount; ++reg) {
        frame.set(reg, word);
    }
    StackMemory memory = StackMemory::recorded(
        word & ~std::uint64_t{7},
        {reinterpret_cast<const std::byte*>(tables.low), tables.high - tables.low});
    static_cast<void>(step_by_rules(found.rules, frame, memory));
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < kChoiceBytes) {
        return 0;
    }
    std::int32_t offset = 0;
    std::uint32_t word = 0;
    std::memcpy(&offset, data, sizeof(offset));
    std::memcpy(&word, data + sizeof(offset), sizeof(word));
    // A copy of its own, so that the sanitizer sees every byte that is read past the end.
    const std::vector<std::uint8_t> bytes(data + kChoiceBytes, data + size);
    const auto low = reinterpret_cast<std::uint64_t>(bytes.data());
    const cfi::Tables tables{low, bytes.size(), low, low + bytes.size()};
    look_up(tables, low + static_cast<std::uint64_t>(std::int64_t{offset}), word);
    return 0;
}
