// Parsing of .eh_frame_hdr, FDEs and CIEs; the contract is in the header.
#include "unwind/cfi/fde.h"

namespace sample::unwind::cfi {

namespace {

// DW_EH_PE_*: the low nibble is the format, the next three bits what the value is relative to.
constexpr std::uint8_t kFormatMask = 0x0f;
constexpr std::uint8_t kRelativeMask = 0x70;
constexpr std::uint8_t kPcRelative = 0x10;
constexpr std::uint8_t kDataRelative = 0x30;
constexpr std::uint8_t kIndirect = 0x80;
constexpr std::uint8_t kUdata4 = 0x03;
constexpr std::uint8_t kDatarelSdata4 = 0x3b;

constexpr std::uint64_t kReturnAddressColumn = 16;
constexpr unsigned kMaxAugmentation = 8;

template <class T>
std::uint64_t sign_extended(T value) noexcept {
    return static_cast<std::uint64_t>(std::int64_t{value});
}

std::uint64_t read_format(ByteReader& reader, std::uint8_t encoding) noexcept {
    switch (encoding & kFormatMask) {
        case 0x0:
        case 0x4:
        case 0xc:
            return reader.fixed<std::uint64_t>();
        case 0x1:
            return reader.uleb();
        case 0x2:
            return reader.fixed<std::uint16_t>();
        case 0x3:
            return reader.u32();
        case 0x9:
            return static_cast<std::uint64_t>(reader.sleb());
        case 0xa:
            return sign_extended(reader.fixed<std::int16_t>());
        case 0xb:
            return sign_extended(reader.fixed<std::int32_t>());
        default:
            reader.fail();
            return 0;
    }
}

struct Entry {
    std::int32_t pc;
    std::int32_t fde;
};

Entry entry_at(std::uint64_t table, std::uint64_t index) noexcept {
    Entry entry{};
    __builtin_memcpy(&entry, reinterpret_cast<const void*>(table + index * sizeof(Entry)),
                     sizeof(Entry));
    return entry;
}

/// The length field of a CIE or FDE; the reader is left at the first byte that it counts. The
/// returned reader ends with the entry. `wide`: the 64-bit format.
ByteReader entry_body(const Tables& tables, std::uint64_t address) noexcept {
    if (address < tables.low || address >= tables.high) {
        return ByteReader{0, 0};
    }
    ByteReader reader{address, tables.high};
    std::uint64_t length = reader.u32();
    if (length == 0xffffffff) {
        length = reader.fixed<std::uint64_t>();
    }
    const std::uint64_t begin = reader.position();
    reader.skip(length);
    // A zero length is the terminator of .eh_frame, not an entry.
    if (!reader.ok() || length == 0) {
        return ByteReader{0, 0};
    }
    return ByteReader{begin, begin + length};
}

struct Augmentation {
    char letters[kMaxAugmentation] = {};
    unsigned count = 0;
};

Augmentation read_augmentation(ByteReader& reader) noexcept {
    Augmentation augmentation;
    for (;;) {
        const auto letter = static_cast<char>(reader.u8());
        if (letter == 0 || !reader.ok()) {
            return augmentation;
        }
        if (augmentation.count == kMaxAugmentation) {
            reader.fail();
            return augmentation;
        }
        augmentation.letters[augmentation.count++] = letter;
    }
}

/// The data that a 'z' augmentation announces. Unknown letters end it: the length field says where
/// the instructions begin.
void read_augmentation_data(ByteReader reader, const Augmentation& augmentation,
                            Fde& out) noexcept {
    for (unsigned i = 1; i < augmentation.count && reader.ok(); ++i) {
        switch (augmentation.letters[i]) {
            case 'R':
                out.pointer_encoding = reader.u8();
                break;
            case 'S':
                out.signal_frame = true;
                break;
            case 'L':
                reader.skip(1);
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

Found parse_cie(const Tables& tables, std::uint64_t address, Fde& out) noexcept {
    ByteReader reader = entry_body(tables, address);
    const std::uint32_t id = reader.u32();
    const std::uint8_t version = reader.u8();
    const Augmentation augmentation = read_augmentation(reader);
    if (!reader.ok() || id != 0) {
        return Found::corrupt;
    }
    if (version != 1 && version != 3) {
        return Found::unsupported;
    }
    out.code_align = reader.uleb();
    out.data_align = reader.sleb();
    const std::uint64_t return_column = version == 1 ? reader.u8() : reader.uleb();
    if (augmentation.count > 0) {
        if (augmentation.letters[0] != 'z') {
            return Found::unsupported;
        }
        const std::uint64_t size = reader.uleb();
        ByteReader data = reader;
        reader.skip(size);
        if (reader.ok()) {
            read_augmentation_data(ByteReader{data.position(), reader.position()}, augmentation,
                                   out);
        }
    }
    out.initial_program = reader.position();
    out.initial_program_end = reader.end();
    if (!reader.ok()) {
        return Found::corrupt;
    }
    return return_column == kReturnAddressColumn ? Found::yes : Found::unsupported;
}

/// Whether the CIE began with 'z', so that its FDEs carry an augmentation length.
bool has_augmentation_data(const Tables& tables, std::uint64_t cie) noexcept {
    ByteReader reader = entry_body(tables, cie);
    reader.skip(5);
    return reader.u8() == 'z';
}

}  // namespace

std::uint64_t read_pointer(ByteReader& reader, std::uint8_t encoding,
                           std::uint64_t data_base) noexcept {
    const std::uint64_t position = reader.position();
    std::uint64_t value = read_format(reader, encoding);
    if ((encoding & kIndirect) != 0) {
        reader.fail();
    }
    switch (encoding & kRelativeMask) {
        case 0:
            break;
        case kPcRelative:
            value += position;
            break;
        case kDataRelative:
            value += data_base;
            break;
        default:
            reader.fail();
            break;
    }
    return reader.ok() ? value : 0;
}

Found parse_fde(const Tables& tables, std::uint64_t address, Fde& out) noexcept {
    out = Fde{};
    ByteReader reader = entry_body(tables, address);
    const std::uint64_t back_from = reader.position();
    const std::uint64_t back = reader.u32();
    if (!reader.ok() || back == 0) {
        return Found::corrupt;
    }
    const std::uint64_t cie = back_from - back;
    if (const Found found = parse_cie(tables, cie, out); found != Found::yes) {
        return found;
    }
    out.pc_begin = read_pointer(reader, out.pointer_encoding, tables.header);
    out.pc_end = out.pc_begin + read_format(reader, out.pointer_encoding & kFormatMask);
    if (has_augmentation_data(tables, cie)) {
        reader.skip(reader.uleb());
    }
    out.program = reader.position();
    out.program_end = reader.end();
    return reader.ok() && out.pc_end >= out.pc_begin ? Found::yes : Found::corrupt;
}

Found find_fde(const Tables& tables, std::uint64_t pc, Fde& out) noexcept {
    if (tables.header == 0) {
        return Found::no;
    }
    if (tables.header < tables.low || tables.header >= tables.high) {
        return Found::corrupt;
    }
    const std::uint64_t room = tables.high - tables.header;
    ByteReader reader{tables.header,
                      tables.header + (tables.header_size < room ? tables.header_size : room)};
    const std::uint8_t version = reader.u8();
    const std::uint8_t frame_encoding = reader.u8();
    const std::uint8_t count_encoding = reader.u8();
    const std::uint8_t table_encoding = reader.u8();
    if (!reader.ok() || version != 1) {
        return Found::corrupt;
    }
    if (count_encoding != kUdata4 || table_encoding != kDatarelSdata4) {
        return Found::unsupported;
    }
    static_cast<void>(read_format(reader, frame_encoding));
    const std::uint64_t count = reader.u32();
    const std::uint64_t table = reader.position();
    reader.skip(count * sizeof(Entry));
    if (!reader.ok()) {
        return Found::corrupt;
    }

    // Offsets from the header are 32 bits: a pc further away is in no FDE.
    const auto offset = static_cast<std::int64_t>(pc - tables.header);
    std::uint64_t first = 0;
    for (std::uint64_t size = count; size > 0;) {
        const std::uint64_t half = size / 2;
        const bool right = entry_at(table, first + half).pc <= offset;
        first = right ? first + half + 1 : first;
        size = right ? size - half - 1 : half;
    }
    if (first == 0) {
        return Found::no;
    }
    const std::uint64_t fde = tables.header + sign_extended(entry_at(table, first - 1).fde);
    if (const Found found = parse_fde(tables, fde, out); found != Found::yes) {
        return found;
    }
    return pc >= out.pc_begin && pc < out.pc_end ? Found::yes : Found::no;
}

}  // namespace sample::unwind::cfi
