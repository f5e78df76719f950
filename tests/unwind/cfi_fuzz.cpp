// Fuzzes the parsers of foreign bytes: the input is a module's readable bytes, with .eh_frame_hdr
// at their beginning. The first eight bytes choose the pc, near the header, and a register's value.
// The same bytes are then taken for an .eh_frame and for a .debug_frame, which are indexed; every
// FDE that an index lists has to be found again.
#include "tests/unwind/aarch64/aarch64.h"
#include "unwind/arch/x86_64.h"
#include "unwind/cfi/row.h"
#include "unwind/index/frame_index_builder.h"
#include "unwind/walk/step.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace sample::unwind;  // NOLINT(google-build-using-namespace): a program of one file

constexpr std::size_t kChoiceBytes = 8;

template <class Arch>
void look_up_as(const cfi::Tables& tables, AddressRange bytes, std::uint64_t pc,
                std::uint64_t word) {
    cfi::BasicFrameRules<Arch> found;
    if (cfi::find_rules(tables, pc, found) != cfi::Found::yes) {
        return;
    }
    static_cast<void>(cfi::pack_rules(found, pc));
    BasicKnownRegisters<Arch> frame{};
    for (std::size_t reg = 0; reg < Arch::Numbers::kCount; ++reg) {
        frame.set(reg, word);
    }
    StackMemory memory = StackMemory::recorded(
        word & ~std::uint64_t{7},
        {reinterpret_cast<const std::byte*>(bytes.begin), bytes.end - bytes.begin});
    static_cast<void>(step_by_rules(found.rules, frame, memory));
}

/// `bytes` bounds the stack that rules may read.
void look_up(const cfi::Tables& tables, AddressRange bytes, std::uint64_t pc, std::uint64_t word) {
    look_up_as<arch::X64>(tables, bytes, pc, word);
    look_up_as<arch::Aarch64>(tables, bytes, pc, word);
}

void look_up_by_index(cfi::FrameFormat format, AddressRange bytes, std::uint64_t pc,
                      std::uint64_t word) {
    const cfi::FrameSection section{bytes.begin, bytes.end, format, bytes.begin};
    const AddressRange code{bytes.begin - (1U << 20), bytes.end + (1U << 20)};
    std::vector<cfi::IndexEntry> entries(count_fdes(section, code));
    if (list_fdes(section, code, entries) != entries.size()) {
        std::abort();
    }
    cfi::FrameIndex index;
    (format == cfi::FrameFormat::eh_frame ? index.eh_frame : index.debug_frame) = {
        section, code.begin, reinterpret_cast<std::uint64_t>(entries.data()), entries.size()};
    cfi::Tables tables;
    tables.index = &index;
    look_up(tables, bytes, pc, word);
    for (const cfi::IndexEntry& entry : entries) {
        const std::uint64_t begin = code.begin + static_cast<std::uint32_t>(entry.pc);
        cfi::Fde fde;
        if (cfi::find_fde(tables, begin, fde) != cfi::Found::yes || fde.pc_begin != begin) {
            std::abort();
        }
        look_up(tables, bytes, begin + word % 64, word);
    }
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
    const AddressRange range{low, low + bytes.size()};
    const std::uint64_t pc = low + static_cast<std::uint64_t>(std::int64_t{offset});
    look_up(cfi::Tables{low, bytes.size(), low, low + bytes.size()}, range, pc, word);
    look_up_by_index(cfi::FrameFormat::eh_frame, range, pc, word);
    look_up_by_index(cfi::FrameFormat::debug_frame, range, pc, word);
    return 0;
}
