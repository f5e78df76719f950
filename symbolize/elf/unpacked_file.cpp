#include "symbolize/elf/unpacked_file.h"

#include "core/mapped_reading.h"
#include "core/text.h"
#include "symbolize/cache/kept_files.h"
#include "trace/wire.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::symbolize {
namespace {

constexpr std::string_view kUnpackedMagic = "SMPLUNP1";
constexpr std::size_t kTrailerBytes = 32;
constexpr std::size_t kMostBytes = std::size_t{32} << 20;
constexpr std::size_t kAlignment = 16;

std::string name_of(std::span<const std::uint8_t> build_id) {
    return to_hex(build_id) + ".unpacked";
}

/// All of the trailer but the checksum.
std::vector<std::byte> stamp_bytes(const FileStamp& original) {
    const auto magic = std::as_bytes(std::span{kUnpackedMagic});
    std::vector<std::byte> out{magic.begin(), magic.end()};
    trace::wire::append(out, original.size_and_one, sizeof original.size_and_one);
    trace::wire::append(out, original.changed_ns, sizeof original.changed_ns);
    return out;
}

template <class T>
std::uint64_t append_all(std::vector<std::byte>& out, std::span<const T> items) {
    out.resize((out.size() + kAlignment - 1) / kAlignment * kAlignment);
    const std::size_t offset = out.size();
    trace::wire::append(out, std::as_bytes(items));
    return offset;
}

/// What the section has in the file; nullopt: it can't be read.
std::optional<std::span<const std::byte>> bytes_of(Elf_Scn* scn, const Elf64_Shdr& header) {
    if (header.sh_type == SHT_NOBITS || header.sh_size == 0) {
        return std::span<const std::byte>{};
    }
    const Elf_Data* const data = elf_rawdata(scn, nullptr);
    if (data == nullptr || data->d_buf == nullptr || data->d_size != header.sh_size) {
        return std::nullopt;
    }
    return std::span{static_cast<const std::byte*>(data->d_buf), data->d_size};
}

/// Empty if it can't be made.
std::vector<std::byte> copy_of(Elf* elf) {
    const Elf64_Ehdr* const old_header = has_own_byte_order(elf) ? elf64_getehdr(elf) : nullptr;
    std::size_t names = 0;
    std::size_t segments = 0;
    if (old_header == nullptr || elf_getphdrnum(elf, &segments) != 0 ||
        elf_getshdrstrndx(elf, &names) != 0) {
        return {};
    }
    std::vector<Elf64_Shdr> sections(1);
    std::vector<std::span<const std::byte>> parts(1);
    std::size_t most = sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr) + kTrailerBytes;
    for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
        const Elf64_Shdr* const old = elf64_getshdr(scn);
        if (old == nullptr) {
            return {};
        }
        Elf64_Shdr& section = sections.emplace_back(*old);
        const char* const name = elf_strptr(elf, names, section.sh_name);
        if (name != nullptr && std::string_view{name}.starts_with(".debug_loc")) {
            section.sh_type = SHT_NOBITS;
        }
        const auto bytes = bytes_of(scn, section);
        if (!bytes || bytes->size() > kMostBytes - std::min(most, kMostBytes)) {
            return {};
        }
        parts.push_back(*bytes);
        most += bytes->size() + sizeof section + kAlignment;
    }
    const Elf64_Phdr* const old_segments = elf64_getphdr(elf);
    Elf64_Ehdr header = *old_header;
    if ((segments != 0 && old_segments == nullptr) || header.e_shnum != sections.size()) {
        return {};  // Or so many sections that the header can't tell.
    }
    std::vector<std::byte> out;
    out.reserve(most + 3 * kAlignment);  // It is large: two of it at once would be felt.
    out.resize(sizeof header);
    for (std::size_t i = 1; i < sections.size(); ++i) {
        sections[i].sh_offset = append_all(out, parts[i]);
    }
    header.e_phoff = append_all(out, std::span{old_segments, segments});
    header.e_shoff = append_all(out, std::span<const Elf64_Shdr>{sections});
    std::memcpy(out.data(), &header, sizeof header);
    return out;
}

}  // namespace

Fd open_unpacked(const KeptFiles& kept, std::span<const std::uint8_t> build_id,
                 const FileStamp& original) {
    Fd file = kept.open(name_of(build_id));
    const ElfHandle elf = open_elf(file.get());
    std::size_t size = 0;
    const auto* const bytes =
        reinterpret_cast<const std::byte*>(elf ? elf_rawfile(elf.get(), &size) : nullptr);
    if (bytes == nullptr || size < kTrailerBytes) {
        return {};
    }
    const std::vector<std::byte> stamp = stamp_bytes(original);
    const std::span before{bytes, size - sizeof(std::uint64_t)};
    if (!std::equal(stamp.begin(), stamp.end(), before.end() - std::ssize(stamp)) ||
        trace::wire::load<std::uint64_t>(bytes + before.size()) != checksum(before)) {
        kept.remove(name_of(build_id));
        return {};
    }
    return file;
}

void keep_unpacked(KeptFiles& kept, std::span<const std::uint8_t> build_id,
                   const UnpackedFile& file) {
    std::vector<std::byte> bytes = copy_of(file.elf);
    if (!bytes.empty() && !file.reading.is_broken()) {
        trace::wire::append(bytes, stamp_bytes(file.original));
        trace::wire::append(bytes, checksum(bytes), sizeof(std::uint64_t));
        kept.replace(name_of(build_id), bytes);
    }
}

}  // namespace sample::symbolize
