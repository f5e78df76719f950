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
constexpr std::uint8_t kPcrelSdata4 = 0x1b;
// The encodings of the search table's count and entries that are searched: udata4, datarel sdata4.
constexpr std::uint32_t kSearchable = 0x3b03;
// The first four bytes of .eh_frame_hdr as linkers write them: version 1, pcrel sdata4, the above.
constexpr std::uint32_t kUsualHeader = 0x3b031b01;

// x86-64's and aarch64's: no other is known here.
constexpr std::uint8_t kUsualReturnColumn = 16;
constexpr std::uint8_t kLinkReturnColumn = 30;
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

template <class T>
T load(std::uint64_t address) noexcept {
    T value;
    __builtin_memcpy(&value, reinterpret_cast<const void*>(address), sizeof(T));
    return value;
}

/// A pair of the search table; both are relative to .eh_frame_hdr.
struct Entry {
    std::int32_t pc;
    std::int32_t fde;
};

/// How many of the `count` entries at `table` begin at `offset` or before it. Four parts at a step:
/// three loads that do not wait for each other, no branch to mispredict, half the steps.
std::uint64_t entries_up_to(std::uint64_t table, std::uint64_t count,
                            std::int64_t offset) noexcept {
    const auto begins = [offset](std::uint64_t entry) {
        return std::uint64_t{load<std::int32_t>(entry) <= offset};
    };
    std::uint64_t first = table;
    while (count > 3) {
        const std::uint64_t part = (count / 4) * sizeof(Entry);
        const std::uint64_t parts =
            begins(first + part) + begins(first + 2 * part) + begins(first + 3 * part);
        first += parts * part;
        count -= 3 * (count / 4);
    }
    std::uint64_t rest = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        rest += begins(first + i * sizeof(Entry));
    }
    return (first - table) / sizeof(Entry) + rest;
}

/// What the length field of a CIE or FDE counts; empty if that is not within the tables, or if it
/// is the terminator, which has no content.
struct Content {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    [[nodiscard]] bool empty() const noexcept { return begin == end; }
    [[nodiscard]] std::uint64_t size() const noexcept { return end - begin; }
};

[[gnu::always_inline]] inline Content content_at(const Tables& tables,
                                                 std::uint64_t address) noexcept {
    if (address < tables.low || address >= tables.high || tables.high - address < 4) {
        return {};
    }
    std::uint64_t begin = address + 4;
    std::uint64_t length = load<std::uint32_t>(address);
    if (length == 0xffffffff) [[unlikely]] {  // The 64-bit format.
        if (tables.high - begin < 8) {
            return {};
        }
        length = load<std::uint64_t>(begin);
        begin += 8;
    }
    return tables.high - begin < length ? Content{} : Content{begin, begin + length};
}

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

/// `has_data`: its FDEs carry augmentation data.
Found parse_cie(Content content, Fde& out, bool& has_data) noexcept {
    ByteReader reader{content.begin, content.end};
    const std::uint32_t id = reader.u32();
    const std::uint8_t version = reader.u8();
    ByteReader letters = reader;
    unsigned count = 0;
    while (reader.u8() != 0) {
        if (++count > kMaxAugmentation) {
            return Found::corrupt;
        }
    }
    if (!reader.ok() || id != 0) {
        return Found::corrupt;
    }
    if (version != 1 && version != 3) {
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
    return return_column == kUsualReturnColumn || return_column == kLinkReturnColumn
               ? Found::yes
               : Found::unsupported;
}

/// The CIE of most functions that every compiler writes: id 0, version 1, "zR", code alignment 1,
/// data alignment -8, the return address's column, one byte of data: pcrel sdata4.
[[gnu::always_inline]] inline bool is_usual_cie(Content content) noexcept {
    constexpr std::uint64_t kFirst = 0x00527a01'00000000;
    constexpr std::uint64_t kLast = 0x1b'01107801;
    constexpr std::uint64_t kLastMask = 0xff'ffffffff;
    return content.size() >= 16 && load<std::uint64_t>(content.begin) == kFirst &&
           (load<std::uint64_t>(content.begin + 8) & kLastMask) == kLast;
}
constexpr std::uint64_t kUsualCieBytes = 13;

/// The search table of .eh_frame_hdr.
struct SearchTable {
    std::uint64_t entries = 0;
    std::uint64_t count = 0;
};

Found find_table(const Tables& tables, SearchTable& out) noexcept {
    if (tables.header < tables.low || tables.header >= tables.high) {
        return Found::corrupt;
    }
    const std::uint64_t room = tables.high - tables.header;
    ByteReader reader{tables.header,
                      tables.header + (tables.header_size < room ? tables.header_size : room)};
    const std::uint32_t encodings = reader.u32();
    if (!reader.ok() || (encodings & 0xff) != 1) {
        return Found::corrupt;
    }
    if (encodings >> 16 != kSearchable) {
        return Found::unsupported;
    }
    if (encodings == kUsualHeader) [[likely]] {
        reader.skip(4);
    } else {
        static_cast<void>(read_format(reader, static_cast<std::uint8_t>(encodings >> 8)));
    }
    out.count = reader.u32();
    out.entries = reader.position();
    reader.skip(out.count * sizeof(Entry));
    return reader.ok() ? Found::yes : Found::corrupt;
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
    const Content content = content_at(tables, address);
    if (content.size() < 4) {
        return Found::corrupt;
    }
    const std::uint32_t back = load<std::uint32_t>(content.begin);
    if (back == 0) {
        return Found::corrupt;
    }
    const Content cie = content_at(tables, content.begin - back);
    bool has_data = true;
    if (is_usual_cie(cie)) [[likely]] {
        out.data_align = -8;
        out.return_column = kUsualReturnColumn;
        out.pointer_encoding = kPcrelSdata4;
        out.initial_program = cie.begin + kUsualCieBytes;
        out.initial_program_end = cie.end;
    } else if (const Found found = parse_cie(cie, out, has_data); found != Found::yes) {
        return found;
    }
    ByteReader reader{content.begin + 4, content.end};
    if (out.pointer_encoding == kPcrelSdata4) [[likely]] {
        const std::uint64_t position = reader.position();
        out.pc_begin = position + sign_extended(reader.fixed<std::int32_t>());
        out.pc_end = out.pc_begin + sign_extended(reader.fixed<std::int32_t>());
    } else {
        ByteReader pointers = reader;
        out.pc_begin = read_pointer(pointers, out.pointer_encoding, tables.header);
        out.pc_end = out.pc_begin + read_format(pointers, out.pointer_encoding & kFormatMask);
        reader = pointers;
    }
    if (has_data) {
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
    SearchTable table;
    if (const Found found = find_table(tables, table); found != Found::yes) {
        return found;
    }
    // Offsets from the header are 32 bits: a pc further away is in no FDE.
    const std::uint64_t before =
        entries_up_to(table.entries, table.count, static_cast<std::int64_t>(pc - tables.header));
    if (before == 0) {
        return Found::no;
    }
    const auto last = load<Entry>(table.entries + (before - 1) * sizeof(Entry));
    if (const Found found = parse_fde(tables, tables.header + sign_extended(last.fde), out);
        found != Found::yes) {
        return found;
    }
    return pc >= out.pc_begin && pc < out.pc_end ? Found::yes : Found::no;
}

}  // namespace sample::unwind::cfi
