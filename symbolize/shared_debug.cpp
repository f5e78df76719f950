#include "symbolize/shared_debug.h"

#include "core/regular_file.h"
#include "symbolize/debug_file.h"

#include <elfutils/libdwelf.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace sample::symbolize {
namespace {

constexpr std::string_view kUsualRoot = "/usr/lib/debug";

/// What a module says of the file that it shares.
struct Link {
    std::string name;
    std::vector<std::uint8_t> id;  ///< Its build-id, or the checksum that both name.
    bool is_standard = false;      ///< .debug_sup, not .gnu_debugaltlink.
};

std::span<const std::byte> debug_sup_of(Elf* elf) {
    Elf_Scn* const scn = find_section(elf, ".debug_sup");
    const Elf_Data* const data = scn != nullptr ? elf_rawdata(scn, nullptr) : nullptr;
    if (data == nullptr || data->d_buf == nullptr) {
        return {};
    }
    return {static_cast<const std::byte*>(data->d_buf), data->d_size};
}

std::optional<Link> link_of(Dwarf* dwarf) {
    const char* name = nullptr;
    const void* id = nullptr;
    const ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
    if (size > 0) {
        const auto* const bytes = static_cast<const std::uint8_t*>(id);
        return Link{name, {bytes, bytes + size}, false};
    }
    const auto standard = parse_debug_sup(debug_sup_of(dwarf_getelf(dwarf)));
    if (!standard || standard->is_supplementary) {
        return std::nullopt;
    }
    return Link{standard->file_name, {standard->checksum.begin(), standard->checksum.end()}, true};
}

bool is_the_one(Elf* elf, const Link& link) {
    if (!link.is_standard) {
        return has_build_id(elf, link.id);
    }
    const auto own = parse_debug_sup(debug_sup_of(elf));
    return own && own->is_supplementary && std::ranges::equal(own->checksum, link.id);
}

std::vector<std::string> paths_of(const Link& link, const SharedPlaces& places) {
    std::vector<std::string> result = debug_files_of(places.debug_roots, link.id);
    if (link.name.starts_with('/')) {
        result.push_back(link.name);
        const bool is_usual = link.name.starts_with(std::string{kUsualRoot} + "/");
        for (const std::string& root : places.debug_roots) {
            result.push_back(root + link.name);
            if (is_usual) {
                result.push_back(root + link.name.substr(kUsualRoot.size()));
            }
        }
        return result;
    }
    for (const std::string& file : places.files) {
        result.push_back(folder_of(file) + link.name);
        // Debug files are reached by links too: .build-id/xx/rest.debug may be one.
        if (char* const real = ::realpath(file.c_str(), nullptr)) {
            result.push_back(folder_of(real) + link.name);
            std::free(real);  // NOLINT(cppcoreguidelines-no-malloc): realpath's.
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

SharedDebug::~SharedDebug() {
    dwarf_end(shared_);
}

std::string SharedDebug::attach(Dwarf* dwarf, const SharedPlaces& places) {
    const auto link = dwarf != nullptr ? link_of(dwarf) : std::nullopt;
    if (!link) {
        return {};
    }
    for (const std::string& path : paths_of(*link, places)) {
        Fd file = open_regular(path);
        ElfHandle elf = file.is_open() ? open_elf(file.get()) : nullptr;
        if (!elf || !is_the_one(elf.get(), *link)) {
            continue;
        }
        shared_ = dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr);
        if (shared_ != nullptr) {
            file_ = std::move(file);
            elf_ = std::move(elf);
            dwarf_setalt(shared_, empty_.get());
            dwarf_setalt(dwarf, shared_);
            return {};
        }
    }
    dwarf_setalt(dwarf, empty_.get());
    return "debug information that " + places.files.front() +
           " shares with other files is missing: " + link->name +
           " is not found, or of another build; install it to see all names and lines";
}

}  // namespace sample::symbolize
