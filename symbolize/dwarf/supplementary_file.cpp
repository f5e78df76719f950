#include "symbolize/dwarf/supplementary_file.h"

#include "core/regular_file.h"

#include <elfutils/libdwelf.h>

#include <algorithm>
#include <string_view>

namespace sample::symbolize {
namespace {

constexpr std::string_view kUsualRoot = "/usr/lib/debug";

std::optional<SupplementaryLink> link_of(Dwarf* dwarf) {
    const char* name = nullptr;
    const void* id = nullptr;
    const ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
    if (size > 0) {
        const auto* const bytes = static_cast<const std::uint8_t*>(id);
        return SupplementaryLink{false, name, {bytes, bytes + size}, true};
    }
    auto link = parse_debug_sup(section_bytes(dwarf_getelf(dwarf), ".debug_sup"));
    return link && !link->is_supplementary ? link : std::nullopt;
}

bool is_the_one(Elf* elf, const SupplementaryLink& link) {
    if (link.is_build_id) {
        return has_build_id(elf, link.checksum);
    }
    const auto own = parse_debug_sup(section_bytes(elf, ".debug_sup"));
    return own && own->is_supplementary && std::ranges::equal(own->checksum, link.checksum);
}

std::vector<std::string> paths_of(const SupplementaryLink& link, const SearchPaths& paths) {
    std::vector<std::string> result = debug_files_of(paths.debug_roots, link.checksum);
    if (link.file_name.starts_with('/')) {
        result.push_back(link.file_name);
        const bool is_usual = link.file_name.starts_with(std::string{kUsualRoot} + "/");
        for (const std::string& root : paths.debug_roots) {
            result.push_back(root + link.file_name);
            if (is_usual) {
                result.push_back(root + link.file_name.substr(kUsualRoot.size()));
            }
        }
        return result;
    }
    for (const std::string& file : paths.files) {
        // Debug files are reached by links too: .build-id/xx/rest.debug may be one.
        for (const std::string& from : {file, real_path(file)}) {
            if (!from.empty()) {
                result.push_back(folder_of(from) + link.file_name);
            }
        }
    }
    return result;
}

}  // namespace

std::optional<SupplementaryLink> parse_debug_sup(std::span<const std::byte> section) {
    const auto byte = [section](std::size_t at) { return std::to_integer<unsigned>(section[at]); };
    constexpr std::size_t kName = 3;  // After the version and one flag.
    if (section.size() <= kName || byte(0) + 256 * byte(1) != 5 || byte(2) > 1) {
        return std::nullopt;
    }
    SupplementaryLink link;
    link.is_supplementary = byte(2) == 1;
    std::size_t at = kName;
    for (; at < section.size() && byte(at) != 0; ++at) {
        link.file_name += static_cast<char>(byte(at));
    }
    // The checksum's length in one byte of LEB128: no checksum is longer than 127 bytes.
    const std::size_t length_at = at + 1;
    if (length_at >= section.size() || byte(length_at) > 0x7f || byte(length_at) == 0 ||
        byte(length_at) > section.size() - length_at - 1) {
        return std::nullopt;
    }
    const auto bytes = section.subspan(length_at + 1, byte(length_at));
    link.checksum = {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
    return link;
}

std::string SupplementaryFile::attach(Dwarf* dwarf, const SearchPaths& paths) {
    const auto link = dwarf != nullptr ? link_of(dwarf) : std::nullopt;
    if (!link) {
        return {};
    }
    for (const std::string& path : paths_of(*link, paths)) {
        Fd file = open_regular(path);
        ElfHandle elf = file.is_open() ? open_elf(file.get()) : nullptr;
        if (!elf || !is_the_one(elf.get(), *link)) {
            continue;
        }
        shared_.reset(dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr));
        if (shared_) {
            file_ = std::move(file);
            elf_ = std::move(elf);
            dwarf_setalt(shared_.get(), empty_.get());
            dwarf_setalt(dwarf, shared_.get());
            return {};
        }
    }
    dwarf_setalt(dwarf, empty_.get());
    return "debug information that " + paths.files.front() +
           " shares with other files is missing: " + link->file_name +
           " is not found, or of another build; install it to see all names and lines";
}

}  // namespace sample::symbolize
