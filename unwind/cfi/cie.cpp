// Parsing of CIEs and of encoded pointers; the contracts are in fde.h.
#include "unwind/arch/x86_64.h"
#include "unwind/cfi/fde.h"

#include <dwarf.h>

namespace sample::unwind::cfi {

namespace {

// Of DW_EH_PE_*, the low nibble is the format, the next three bits what the value is relative to.
constexpr std::uint8_t kFormatMask = 0x0f;
constexpr std::uint8_t kRelativeMask = 0x70;

constexpr unsigned kMaxAugmentation = 8;

/// The link register, of tables that another library walks by (arch/native.h).
constexpr std::uint64_t kAarch64Return = 30;

/// The data that a 'z' augmentation announces. Unknown letters end it: the length field says where
/// the instructions begin.
void read_augmentation_data(ByteReader letters, ByteReader reader, Fde& out) noexcept {
    while (reader.ok()) {
        switch (letters.u8()) {
            case 'R':
                out.pointer_encoding = reader.u8();
                break;
            case 'S':
                out.signal_frame = true;
                break;
            case 'L':
                reader.skip(1);
                break;
            case 'B':  // aarch64: return addresses are signed by key B.
                break;
            case 'P': {
                const std::uint8_t encoding = reader.u8();
                static_cast<void>(read_format(reader, encoding));
                break;
            }
            default:
                return;
        }
    }
}

/// The field that tells a CIE from an FDE.
bool is_cie_id(ByteReader& reader, const Content& content, FrameFormat format) noexcept {
    if (format == FrameFormat::eh_frame) {
        return reader.u32() == 0;
    }
    return content.wide ? reader.fixed<std::uint64_t>() == ~std::uint64_t{0}
                        : reader.u32() == ~std::uint32_t{0};
}

/// What version 4 of .debug_frame adds. Segments do not exist on this machine.
bool is_flat_64_bit(ByteReader& reader) noexcept {
    const std::uint8_t address_size = reader.u8();
    const std::uint8_t segment_selector_size = reader.u8();
    return address_size == 8 && segment_selector_size == 0;
}

}  // namespace

std::uint64_t read_format(ByteReader& reader, std::uint8_t encoding) noexcept {
    switch (encoding & kFormatMask) {
        case DW_EH_PE_absptr:
        case DW_EH_PE_udata8:
        case DW_EH_PE_sdata8:
            return reader.fixed<std::uint64_t>();
        case DW_EH_PE_uleb128:
            return reader.uleb();
        case DW_EH_PE_udata2:
            return reader.fixed<std::uint16_t>();
        case DW_EH_PE_udata4:
            return reader.u32();
        case DW_EH_PE_sleb128:
            return static_cast<std::uint64_t>(reader.sleb());
        case DW_EH_PE_sdata2:
            return sign_extended(reader.fixed<std::int16_t>());
        case DW_EH_PE_sdata4:
            return sign_extended(reader.fixed<std::int32_t>());
        default:
            reader.fail();
            return 0;
    }
}

std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding,
                           std::uint64_t data_base) noexcept {
    const std::uint64_t position = reader.position();
    std::uint64_t value = read_format(reader, encoding);
    if ((encoding & DW_EH_PE_indirect) != 0) {
        reader.fail();
    }
    switch (encoding & kRelativeMask) {
        case 0:
            break;
        case DW_EH_PE_pcrel:
            value += position;
            break;
        case DW_EH_PE_datarel:
            value += data_base;
            break;
        default:
            reader.fail();
            break;
    }
    return reader.ok() ? value : 0;
}

Found parse_cie(const Content& content, FrameFormat format, Fde& out, bool& has_data) noexcept {
    ByteReader reader{content.begin, content.end};
    const bool is_cie = is_cie_id(reader, content, format);
    const std::uint8_t version = reader.u8();
    ByteReader letters = reader;
    unsigned count = 0;
    while (reader.u8() != 0) {
        if (++count > kMaxAugmentation) {
            return Found::corrupt;
        }
    }
    if (!reader.ok() || !is_cie) {
        return Found::corrupt;
    }
    const bool is_version_4 = version == 4 && format == FrameFormat::debug_frame;
    if ((version != 1 && version != 3 && !is_version_4) ||
        (is_version_4 && !is_flat_64_bit(reader))) {
        return Found::unsupported;
    }
    out.code_align = reader.uleb();
    out.data_align = reader.sleb();
    const std::uint64_t return_column = version == 1 ? reader.u8() : reader.uleb();
    has_data = count > 0;
    if (has_data) {
        if (letters.u8() != 'z') {
            return Found::unsupported;
        }
        const std::uint64_t size = reader.uleb();
        const std::uint64_t data = reader.position();
        reader.skip(size);
        if (reader.ok()) {
            read_augmentation_data(letters, ByteReader{data, reader.position()}, out);
        }
    }
    out.initial_program = reader.position();
    out.initial_program_end = reader.end();
    if (!reader.ok()) {
        return Found::corrupt;
    }
    out.return_column = static_cast<std::uint8_t>(return_column);
    const bool is_known =
        return_column == arch::X64::Numbers::kReturn || return_column == kAarch64Return;
    return is_known ? Found::yes : Found::unsupported;
}

}  // namespace sample::unwind::cfi
