// Parsing of .eh_frame_hdr and FDEs; the contracts are in the headers.
#include "unwind/cfi/fde.h"

#include "unwind/arch/native.h"

namespace sample::unwind::cfi {

namespace {

constexpr std::uint8_t kFormatMask = 0x0f;
constexpr std::uint8_t kPcrelSdata4 = 0x1b;
// The encodings of the search table's count and entries that are searched: udata4, datarel sdata4.
constexpr std::uint16_t kSearchable = 0x3b03;
// .eh_frame_hdr as linkers write it: version 1, pcrel sdata4, the above; a pointer; the count.
constexpr std::uint32_t kUsualHeader = 0x3b031b01;
constexpr std::uint64_t kUsualHeaderBytes = 12;

// A pair of .eh_frame_hdr's table looks like one of an index; both are relative to the header.
using Entry = IndexEntry;

/// How many of the `count` entries at `table` begin at `offset` or before it. Four parts at a step:
/// three loads that do not wait for each other, no branch to mispredict, half the steps.
[[gnu::always_inline]] inline std::uint64_t entries_up_to(std::uint64_t table, std::uint64_t count,
                                                          std::int64_t offset) noexcept {
    // `step` if the entry begins early enough, else nothing.
    const auto step_if = [offset](std::uint64_t entry, std::uint64_t step) {
        return load<std::int32_t>(entry) <= offset ? step : 0;
    };
    std::uint64_t first = table;
    while (count > 3) {
        const std::uint64_t part = (count / 4) * sizeof(Entry);
        first += (step_if(first + part, part) + step_if(first + 2 * part, part)) +
                 step_if(first + 3 * part, part);
        count -= 3 * (count / 4);
    }
    std::uint64_t rest = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        rest += step_if(first + i * sizeof(Entry), 1);
    }
    return (first - table) / sizeof(Entry) + rest;
}

/// The CIE of most functions that every compiler writes: id 0, version 1, "zR", the alignment
/// factors, the return address's column, one byte of data: pcrel sdata4.
[[gnu::always_inline]] inline bool is_usual_cie(Content content) noexcept {
    constexpr std::uint64_t kFirst = 0x00527a01'00000000;
    constexpr std::uint64_t kLastMask = 0xff'ffffffff;
    return content.size() >= 16 && load<std::uint64_t>(content.begin) == kFirst &&
           (load<std::uint64_t>(content.begin + 8) & kLastMask) == arch::Native::kUsualCie;
}
constexpr std::uint64_t kUsualCieBytes = 13;

/// The search table of .eh_frame_hdr.
struct SearchTable {
    std::uint64_t entries = 0;
    std::uint64_t count = 0;
};

/// A header with another encoding of the pointer to .eh_frame.
[[gnu::noinline]] Found find_unusual_table(std::uint64_t header, std::uint64_t size,
                                           SearchTable& out) noexcept {
    ByteReader reader{header, header + size};
    const std::uint8_t version = reader.u8();
    const std::uint8_t pointer_encoding = reader.u8();
    const std::uint16_t encodings = reader.fixed<std::uint16_t>();
    if (!reader.ok() || version != 1) {
        return Found::corrupt;
    }
    if (encodings != kSearchable) {
        return Found::unsupported;
    }
    static_cast<void>(read_format(reader, pointer_encoding));
    out.count = reader.u32();
    out.entries = reader.position();
    reader.skip(out.count * sizeof(Entry));
    return reader.ok() ? Found::yes : Found::corrupt;
}

[[gnu::always_inline]] inline Found find_table(const Tables& tables, SearchTable& out) noexcept {
    const std::uint64_t header = tables.header;
    if (header < tables.low || header >= tables.high) {
        return Found::corrupt;
    }
    const std::uint64_t room = tables.high - header;
    const std::uint64_t size = tables.header_size < room ? tables.header_size : room;
    if (size < kUsualHeaderBytes || load<std::uint32_t>(header) != kUsualHeader) [[unlikely]] {
        return find_unusual_table(header, size, out);
    }
    out.count = load<std::uint32_t>(header + 8);
    out.entries = header + kUsualHeaderBytes;
    return out.count * sizeof(Entry) <= size - kUsualHeaderBytes ? Found::yes : Found::corrupt;
}

/// The FDE of the table's last entry that begins at `offset` or before it.
[[gnu::always_inline]] inline bool search(std::uint64_t entries, std::uint64_t count,
                                          std::int64_t offset, std::uint64_t& fde) noexcept {
    const std::uint64_t before = entries_up_to(entries, count, offset);
    if (before == 0) {
        return false;
    }
    fde = sign_extended(load<Entry>(entries + (before - 1) * sizeof(Entry)).fde);
    return true;
}

/// An FDE that was found, unless it ends before the pc.
Found covering(Found parsed, std::uint64_t pc, const Fde& fde) noexcept {
    return parsed == Found::yes && (pc < fde.pc_begin || pc >= fde.pc_end) ? Found::no : parsed;
}

Found find_by_header(const Tables& tables, std::uint64_t pc, Fde& out) noexcept {
    if (tables.header == 0) {
        return Found::no;
    }
    SearchTable table;
    if (const Found found = find_table(tables, table); found != Found::yes) {
        return found;
    }
    // Offsets from the header are 32 bits: a pc further away is in no FDE.
    std::uint64_t fde = 0;
    if (!search(table.entries, table.count, static_cast<std::int64_t>(pc - tables.header), fde)) {
        return Found::no;
    }
    return covering(parse_fde(tables, tables.header + fde, out), pc, out);
}

Found find_in(const IndexedSection& indexed, std::uint64_t pc, Fde& out) noexcept {
    std::uint64_t fde = 0;
    if (!search(indexed.entries, indexed.count, static_cast<std::int64_t>(pc - indexed.pc_base),
                fde)) {
        return Found::no;
    }
    return covering(parse_fde(indexed.section, indexed.section.begin + fde, out), pc, out);
}

/// Moves the reader past what an FDE has before its program.
void read_range(ByteReader& reader, std::uint64_t data_base, bool has_data, Fde& out) noexcept {
    out.pc_begin = read_pointer(reader, out.pointer_encoding, data_base);
    out.pc_end = out.pc_begin + read_format(reader, out.pointer_encoding & kFormatMask);
    if (has_data) {
        reader.skip(reader.uleb());
    }
}

Found finish(const ByteReader& reader, Fde& out) noexcept {
    out.program = reader.position();
    out.program_end = reader.end();
    return reader.ok() && out.pc_end >= out.pc_begin ? Found::yes : Found::corrupt;
}

Found parse_debug_fde(const FrameSection& section, std::uint64_t address, Fde& out) noexcept {
    out = Fde{};
    const Content content = content_at(section.begin, section.end, address);
    ByteReader reader{content.begin, content.end};
    const std::uint64_t cie = content.wide ? reader.fixed<std::uint64_t>() : reader.u32();
    if (!reader.ok() || cie >= section.end - section.begin) {
        return Found::corrupt;
    }
    bool has_data = false;
    const Content cie_content = content_at(section.begin, section.end, section.begin + cie);
    if (const Found found = parse_cie(cie_content, section.format, out, has_data);
        found != Found::yes) {
        return found;
    }
    read_range(reader, 0, has_data, out);
    out.pc_begin += section.address_bias;
    out.pc_end += section.address_bias;
    out.address_bias = section.address_bias;
    return finish(reader, out);
}

}  // namespace

Found parse_fde(const Tables& tables, std::uint64_t address, Fde& out) noexcept {
    out = Fde{};
    const Content content = content_at(tables.low, tables.high, address);
    if (content.size() < 4) {
        return Found::corrupt;
    }
    const std::uint32_t back = load<std::uint32_t>(content.begin);
    if (back == 0) {
        return Found::corrupt;
    }
    const Content cie = content_at(tables.low, tables.high, content.begin - back);
    bool has_data = true;
    if (is_usual_cie(cie)) [[likely]] {
        out.code_align = arch::Native::kCodeAlign;
        out.data_align = -8;
        out.return_column = arch::Native::Numbers::kReturn;
        out.pointer_encoding = kPcrelSdata4;
        out.initial_program = cie.begin + kUsualCieBytes;
        out.initial_program_end = cie.end;
    } else if (const Found found = parse_cie(cie, FrameFormat::eh_frame, out, has_data);
               found != Found::yes) {
        return found;
    }
    ByteReader reader{content.begin + 4, content.end};
    if (out.pointer_encoding == kPcrelSdata4) [[likely]] {
        const std::uint64_t position = reader.position();
        out.pc_begin = position + sign_extended(reader.fixed<std::int32_t>());
        out.pc_end = out.pc_begin + sign_extended(reader.fixed<std::int32_t>());
        if (has_data) {
            reader.skip(reader.uleb());
        }
        return finish(reader, out);
    }
    read_range(reader, tables.header, has_data, out);
    return finish(reader, out);
}

Found parse_fde(const FrameSection& section, std::uint64_t address, Fde& out) noexcept {
    if (section.format == FrameFormat::debug_frame) {
        return parse_debug_fde(section, address, out);
    }
    return parse_fde(Tables{0, 0, section.begin, section.end}, address, out);
}

bool has_search_table(const Tables& tables, std::uint64_t& entries) noexcept {
    SearchTable table;
    if (tables.header == 0 || find_table(tables, table) != Found::yes) {
        return false;
    }
    entries = table.count;
    return true;
}

Found find_fde(const Tables& tables, std::uint64_t pc, Fde& out) noexcept {
    if (tables.index == nullptr) [[likely]] {
        return find_by_header(tables, pc, out);
    }
    const FrameIndex& index = *tables.index;
    const Found found = index.eh_frame.count != 0 ? find_in(index.eh_frame, pc, out)
                                                  : find_by_header(tables, pc, out);
    if (found == Found::yes || find_in(index.debug_frame, pc, out) != Found::yes) {
        return found;
    }
    return Found::yes;
}

}  // namespace sample::unwind::cfi
