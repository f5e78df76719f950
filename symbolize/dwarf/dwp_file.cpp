#include "symbolize/dwarf/dwp_file.h"

#include "core/fd.h"
#include "core/regular_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sample::symbolize {
namespace {

/// DW_SECT_… of DWARF 5 table 7.1; of version 2 the same but for 5, 7 and 8.
enum Column : std::uint32_t { info = 1, abbrev = 3, line = 4, str_offsets = 6, rnglists = 8 };
constexpr std::uint32_t kMostColumns = 16;  ///< There are ids for 8.

/// How many times the strings of a package may be read for one unit: places can share a string's
/// end, and hostile ones that of a long text.
constexpr std::uint64_t kMostReadings = 4;

template <class T>
T read(std::span<const std::byte> bytes, std::uint64_t at) {
    T value{};
    std::memcpy(&value, &bytes[at], sizeof value);
    return value;
}

/// Empty if it reaches beyond the end.
std::span<const std::byte> slice(std::span<const std::byte> bytes, std::uint64_t offset,
                                 std::uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) {
        return {};
    }
    return bytes.subspan(offset, size);
}

/// The tables of .debug_cu_index, all of them inside of it.
struct Index {
    std::uint32_t version = 0;
    std::uint32_t columns = 0;
    std::uint32_t units = 0;
    std::uint32_t slots = 0;
    std::span<const std::byte> ids;      ///< 8 bytes a slot.
    std::span<const std::byte> rows;     ///< 4 bytes a slot: a row, from 1.
    std::span<const std::byte> offsets;  ///< First row: each column's section. Then a row a unit.
    std::span<const std::byte> sizes;    ///< A row a unit.
};

std::optional<Index> parse_index(std::span<const std::byte> bytes) {
    constexpr std::uint64_t kHeader = 16;
    if (bytes.size() < kHeader) {
        return std::nullopt;
    }
    Index index;
    index.version = read<std::uint32_t>(bytes, 0) & 0xffff;  // Version 5: 2 bytes and padding.
    index.columns = read<std::uint32_t>(bytes, 4);
    index.units = read<std::uint32_t>(bytes, 8);
    index.slots = read<std::uint32_t>(bytes, 12);
    if ((index.version != 2 && index.version != 5) || index.columns == 0 ||
        index.columns > kMostColumns || !std::has_single_bit(index.slots)) {
        return std::nullopt;
    }
    const std::uint64_t slots = index.slots;
    const std::uint64_t row = std::uint64_t{4} * index.columns;
    index.ids = slice(bytes, kHeader, slots * 8);
    index.rows = slice(bytes, kHeader + slots * 8, slots * 4);
    index.offsets = slice(bytes, kHeader + slots * 12, row * (index.units + std::uint64_t{1}));
    index.sizes = slice(bytes, kHeader + slots * 12 + index.offsets.size(), row * index.units);
    if (index.rows.empty() || index.offsets.empty() || index.sizes.empty()) {
        return std::nullopt;
    }
    return index;
}

/// The row of the unit, from 1; 0 if there is none.
std::uint32_t find_row(const Index& index, std::uint64_t unit_id) {
    const std::uint64_t mask = index.slots - 1;
    const std::uint64_t step = ((unit_id >> 32) & mask) | 1;
    std::uint64_t slot = unit_id & mask;
    for (std::uint32_t tried = 0; tried < index.slots; ++tried, slot = (slot + step) & mask) {
        const auto row = read<std::uint32_t>(index.rows, slot * 4);
        if (row == 0) {
            return 0;
        }
        if (read<std::uint64_t>(index.ids, slot * 8) == unit_id) {
            return row <= index.units ? row : 0;
        }
    }
    return 0;
}

/// What a unit has of one section; empty if nothing.
std::span<const std::byte> contribution(const Index& index, std::uint32_t row, Column wanted,
                                        std::span<const std::byte> section) {
    for (std::uint64_t column = 0; column < index.columns; ++column) {
        if (read<std::uint32_t>(index.offsets, column * 4) == wanted) {
            const std::uint64_t at = row * std::uint64_t{index.columns} + column;
            return slice(section, read<std::uint32_t>(index.offsets, at * 4),
                         read<std::uint32_t>(index.sizes, (at - index.columns) * 4));
        }
    }
    return {};
}

/// The strings of one unit and its table of their places, which the package shares with others.
struct Strings {
    std::vector<std::byte> offsets;
    std::vector<std::byte> text;
};

/// Where the table's places begin: version 5 has a header, which g++ has left out at times.
std::uint64_t first_place(std::span<const std::byte> offsets) {
    constexpr std::uint64_t kHeader = 8;
    if (offsets.size() < kHeader) {
        return 0;
    }
    const std::uint64_t length = read<std::uint32_t>(offsets, 0);
    const bool is_header =
        length >= 4 && length <= offsets.size() - 4 && read<std::uint16_t>(offsets, 4) == 5;
    return is_header ? kHeader : 0;
}

Strings own_strings(std::span<const std::byte> offsets, std::span<const std::byte> all_text) {
    Strings result{{offsets.begin(), offsets.end()}, {std::byte{0}}};
    std::unordered_map<std::uint32_t, std::uint32_t> moved;
    std::uint64_t budget = kMostReadings * all_text.size();
    for (std::uint64_t at = first_place(offsets); at + 4 <= offsets.size(); at += 4) {
        const auto place = read<std::uint32_t>(offsets, at);
        const auto [known, is_new] = moved.try_emplace(place, 0);
        if (is_new && place < all_text.size()) {
            const auto limit = std::min<std::uint64_t>(all_text.size() - place, budget);
            const auto begin = all_text.begin() + place;
            const auto end =
                std::find(begin, begin + static_cast<std::ptrdiff_t>(limit), std::byte{0});
            const auto length = static_cast<std::uint64_t>(end - begin);
            budget -= length;
            if (length < limit) {
                known->second = static_cast<std::uint32_t>(result.text.size());
                result.text.insert(result.text.end(), begin, end + 1);
            }
        }
        std::memcpy(&result.offsets[at], &known->second, sizeof known->second);
    }
    return result;
}

}  // namespace

std::optional<MemoryElf> dwo_of(const DwpSections& package, std::uint64_t unit_id) {
    const auto index = parse_index(package.cu_index);
    const std::uint32_t row = index ? find_row(*index, unit_id) : 0;
    if (row == 0) {
        return std::nullopt;
    }
    const auto part = [&](Column column, std::span<const std::byte> section) {
        return contribution(*index, row, column, section);
    };
    const auto unit = part(Column::info, package.info);
    const auto abbreviations = part(Column::abbrev, package.abbrev);
    if (unit.empty() || abbreviations.empty()) {
        return std::nullopt;
    }
    const Strings strings =
        own_strings(part(Column::str_offsets, package.str_offsets), package.str);
    std::vector<ElfPart> parts{
        {".debug_info.dwo", unit},
        {".debug_abbrev.dwo", abbreviations},
        {".debug_line.dwo", part(Column::line, package.line)},
        {".debug_str.dwo", strings.text},
        {".debug_str_offsets.dwo", strings.offsets},
    };
    if (index->version == 5) {
        parts.push_back({".debug_rnglists.dwo", part(Column::rnglists, package.rnglists)});
    }
    std::erase_if(parts, [](const ElfPart& made) { return made.bytes.empty(); });
    return MemoryElf::make(parts);
}

std::optional<DwpFile> DwpFile::open(const std::string& path) {
    DwpFile result;
    result.file_ = open_regular(path);
    if (!result.file_.is_open()) {
        return std::nullopt;
    }
    result.elf_ = open_elf(result.file_.get());
    if (!has_own_byte_order(result.elf_.get())) {
        return std::nullopt;
    }
    const auto bytes = [elf = result.elf_.get()](const char* name) {
        return section_bytes(elf, name);
    };
    result.sections_ = {bytes(".debug_cu_index"),    bytes(".debug_info.dwo"),
                        bytes(".debug_abbrev.dwo"),  bytes(".debug_line.dwo"),
                        bytes(".debug_str.dwo"),     bytes(".debug_str_offsets.dwo"),
                        bytes(".debug_rnglists.dwo")};
    return result.sections_.cu_index.empty() ? std::nullopt : std::optional{std::move(result)};
}

Fd DwpFile::dwo_of(std::uint64_t unit_id) const {
    const auto dwo = symbolize::dwo_of(sections_, unit_id);
    return dwo ? dwo->to_file() : Fd{};
}

}  // namespace sample::symbolize
