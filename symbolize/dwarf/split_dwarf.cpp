#include "symbolize/dwarf/split_dwarf.h"

#include "core/regular_file.h"
#include "symbolize/dwarf/debug_entry.h"

#include <dwarf.h>

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace sample::symbolize {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr int kMostAncestors = 16;
constexpr std::size_t kMostUnpacked = std::size_t{64} << 20;

/// What each copy of a skeleton says, in the form of version 4 whatever the skeleton's: libdw takes
/// a .dwo of either version for it. The table has no other abbreviation.
constexpr std::array<std::pair<unsigned, unsigned>, 8> kSkeletonForm{
    {{DW_AT_low_pc, DW_FORM_addr},
     {DW_AT_GNU_dwo_name, DW_FORM_string},
     {DW_AT_comp_dir, DW_FORM_string},
     {DW_AT_GNU_addr_base, DW_FORM_data8},
     {DW_AT_GNU_dwo_id, DW_FORM_data8},
     {DW_AT_GNU_ranges_base, DW_FORM_data8},
     {DW_AT_stmt_list, DW_FORM_sec_offset},
     {0, 0}}};
constexpr char kAbbreviation = 1;

std::string abbreviations() {
    std::string out{kAbbreviation, DW_TAG_compile_unit, DW_CHILDREN_no};
    const auto put_leb = [&out](unsigned value) {
        for (; value > 0x7f; value >>= 7) {
            out += static_cast<char>(value | 0x80);
        }
        out += static_cast<char>(value);
    };
    for (const auto& [name, encoding] : kSkeletonForm) {
        put_leb(name);
        put_leb(encoding);
    }
    return out + '\0';
}

template <class T>
void put(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof bytes);
}

/// Of the entry itself: libdw would look for the .dwo to find what a skeleton lacks.
std::string path_at(Dwarf_Die root, unsigned name) {
    Dwarf_Attribute attribute{};
    const char* const value = dwarf_formstring(dwarf_attr(&root, name, &attribute));
    return value != nullptr && ::strnlen(value, kLongestPath) < kLongestPath ? value : "";
}

/// A section of the file that `dwarf` reads, with its place there if it was not packed.
ElfPart part_of(Dwarf* dwarf, const char* name, int fd) {
    Elf* const elf = dwarf_getelf(dwarf);
    Elf_Scn* scn = find_section(elf, name);
    if (scn == nullptr) {
        scn = find_section(elf, (std::string{".z"} + (name + 1)).c_str());
    }
    Elf_Data* const data = scn != nullptr ? elf_getdata(scn, nullptr) : nullptr;
    if (data == nullptr || data->d_buf == nullptr) {
        return {name, {}};
    }
    const std::span bytes{static_cast<const std::byte*>(data->d_buf), data->d_size};
    std::size_t file_size = 0;
    const auto* const file = reinterpret_cast<const std::byte*>(elf_rawfile(elf, &file_size));
    const bool is_in_file =
        file != nullptr && bytes.data() >= file && bytes.data() + bytes.size() <= file + file_size;
    return is_in_file ? ElfPart{name, bytes, fd, static_cast<std::uint64_t>(bytes.data() - file)}
                      : ElfPart{name, bytes};
}

/// Whether the file is a .dwo that has the unit.
bool has_unit(const Fd& file, std::uint64_t id) {
    const ElfHandle elf = open_elf(file.get());
    const DwarfHandle dwarf{elf ? dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr) : nullptr};
    Dwarf_CU* unit = nullptr;
    std::uint8_t type = 0;
    std::uint64_t unit_id = 0;
    while (dwarf &&
           dwarf_get_units(dwarf.get(), unit, &unit, nullptr, &type, nullptr, nullptr) == 0) {
        if (type == DW_UT_split_compile &&
            dwarf_cu_info(unit, nullptr, nullptr, nullptr, nullptr, &unit_id, nullptr, nullptr) ==
                0 &&
            unit_id == id) {
            return true;
        }
    }
    return false;
}

/// A .dwo with type units has one more .debug_info.dwo (.debug_types.dwo in version 4) for each, of
/// which libdw reads one alone: the same .dwo with one that has all, or `file` if it is none such.
Fd with_joined_units(Fd file) {
    constexpr std::array kOfUnits{".debug_info.dwo", ".debug_types.dwo"};
    const ElfHandle elf = open_elf(file.get());
    const auto has_several = [&](const char* name) {
        Elf_Scn* const first = find_section(elf.get(), name);
        return first != nullptr && find_section(elf.get(), name, first) != nullptr;
    };
    if (std::none_of(kOfUnits.begin(), kOfUnits.end(), has_several)) {
        return file;
    }
    // Hostile sections may share their bytes; honest ones may be packed.
    std::size_t room = 0;
    static_cast<void>(elf_rawfile(elf.get(), &room));
    room += kMostUnpacked;
    std::array<std::vector<std::byte>, kOfUnits.size()> joined;
    std::vector<ElfPart> parts;
    for (std::size_t i = 0; i < kOfUnits.size(); ++i) {
        for (Elf_Scn* scn = nullptr;
             (scn = find_section(elf.get(), kOfUnits[i], scn)) != nullptr;) {
            const auto bytes = section_bytes(scn);
            if (bytes.size() > room) {
                return {};
            }
            room -= bytes.size();
            joined[i].insert(joined[i].end(), bytes.begin(), bytes.end());
        }
        parts.push_back({kOfUnits[i], joined[i]});
    }
    for (const char* const name : {".debug_abbrev.dwo", ".debug_line.dwo", ".debug_str.dwo",
                                   ".debug_str_offsets.dwo", ".debug_rnglists.dwo"}) {
        parts.push_back({name, section_bytes(elf.get(), name)});
    }
    std::erase_if(parts, [](const ElfPart& part) { return part.bytes.empty(); });
    const auto whole = MemoryElf::make(parts);
    return whole ? whole->to_file() : Fd{};
}

/// Where a .dwo may be: as the compiler names it, beside the module, and, if the build folder was
/// moved as a whole, as far from one of the folders that the module lies in.
std::vector<std::string> dwo_paths(const std::string& name, const std::string& compiled_in,
                                   const std::vector<std::string>& files) {
    std::vector<std::string> result;
    std::string relative = name;
    if (name.starts_with('/')) {
        result.push_back(name);
        relative = !compiled_in.empty() && name.starts_with(compiled_in + "/")
                       ? name.substr(compiled_in.size() + 1)
                       : name.substr(name.rfind('/') + 1);
    } else if (!compiled_in.empty()) {
        result.push_back(compiled_in + "/" + name);
    }
    for (const std::string& file : files) {
        std::string folder = folder_of(file);
        result.push_back(folder + name.substr(name.rfind('/') + 1));
        for (int i = 0; i < kMostAncestors && !folder.empty(); ++i) {
            result.push_back(folder + relative);
            folder.pop_back();
            folder = folder_of(folder);
        }
    }
    return result;
}

}  // namespace

Dwarf_Die SplitDwarf::body_of(Dwarf_Die root) {
    std::uint8_t type = 0;
    if (dwarf_cu_info(root.cu, nullptr, &type, nullptr, nullptr, nullptr, nullptr, nullptr) != 0 ||
        type != DW_UT_skeleton) {
        return root;
    }
    if (!std::exchange(copied_, true)) {
        copy_skeletons();
    }
    const auto found = by_root_.find(root.addr);
    if (found == by_root_.end()) {
        return root;
    }
    Skeleton& skeleton = skeletons_[found->second];
    if (!skeleton.body && !link(skeleton)) {
        skeleton.body = Dwarf_Die{};
        first_missing_ = missing_++ == 0 ? skeleton.name : first_missing_;
    }
    return skeleton.body->cu != nullptr ? *skeleton.body : root;
}

std::string SplitDwarf::problem() const {
    if (missing_ == 0) {
        return {};
    }
    const std::string& module = paths_.files.front();
    return "debug information of " + module + " is missing: " + std::to_string(missing_) +
           (missing_ == 1 ? " .dwo file" : " .dwo files") + " not found (" + first_missing_ +
           "): put them back, or package them beside the program as " +
           module.substr(module.rfind('/') + 1) +
           ".dwp, to see its inlined functions and their files";
}

void SplitDwarf::copy_skeletons() {
    link_target_ = Fd{::memfd_create("dwo", MFD_CLOEXEC)};
    Dwarf_CU* unit = nullptr;
    std::uint8_t type = 0;
    Dwarf_Die root{};
    while (dwarf_get_units(dwarf_, unit, &unit, nullptr, &type, &root, nullptr) == 0) {
        if (type == DW_UT_skeleton) {
            add_skeleton(unit, root);
        }
    }
    make_dwarf();
}

void SplitDwarf::add_skeleton(Dwarf_CU* unit, Dwarf_Die root) {
    std::uint8_t address_size = 0;
    Skeleton skeleton;
    if (dwarf_cu_info(unit, nullptr, nullptr, nullptr, nullptr, &skeleton.id, &address_size,
                      nullptr) != 0 ||
        address_size != sizeof(Elf64_Addr)) {
        return;
    }
    skeleton.name = path_at(root, DW_AT_dwo_name);
    skeleton.name = skeleton.name.empty() ? path_at(root, DW_AT_GNU_dwo_name) : skeleton.name;
    skeleton.folder = path_at(root, DW_AT_comp_dir);
    Dwarf_Addr low_pc = 0;
    if (dwarf_lowpc(&root, &low_pc) != 0 && dwarf_entrypc(&root, &low_pc) != 0) {
        low_pc = 0;
    }
    const auto addresses = number_at(root, DW_AT_addr_base);
    // No line table lies there.
    constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
    const std::uint64_t lines = number_at(root, DW_AT_stmt_list).value_or(kNowhere);

    std::string content;
    put(content, std::uint16_t{4});  // The version; then the abbreviations' offset.
    put(content, std::uint32_t{0});
    put(content, address_size);
    put(content, kAbbreviation);
    put(content, low_pc);
    content += "/proc/self/fd/" + std::to_string(link_target_.get()) + '\0';
    content += skeleton.folder + '\0';
    put(content, addresses ? *addresses : number_at(root, DW_AT_GNU_addr_base).value_or(0));
    put(content, skeleton.id);
    put(content, number_at(root, DW_AT_GNU_ranges_base).value_or(0));
    put(content, static_cast<std::uint32_t>(std::min<std::uint64_t>(lines, kNowhere)));
    put(units_, static_cast<std::uint32_t>(content.size()));
    units_ += content;
    by_root_.emplace(root.addr, skeletons_.size());
    skeletons_.push_back(std::move(skeleton));
}

void SplitDwarf::make_dwarf() {
    if (!has_own_byte_order(dwarf_getelf(dwarf_))) {
        return;
    }
    const std::string table = abbreviations();
    std::vector<ElfPart> parts{
        {".debug_info", std::as_bytes(std::span{units_})},
        {".debug_abbrev", std::as_bytes(std::span{table})},
    };
    for (const char* const name :
         {".debug_addr", ".debug_ranges", ".debug_line", ".debug_line_str"}) {
        ElfPart part = part_of(dwarf_, name, fd_);
        if (!part.bytes.empty()) {
            parts.push_back(std::move(part));
        }
    }
    copy_ = MemoryElf::make(parts);
    copies_.reset(copy_ ? dwarf_begin_elf(copy_->elf(), DWARF_C_READ, nullptr) : nullptr);
    Dwarf_CU* unit = nullptr;
    for (Skeleton& skeleton : skeletons_) {
        if (!copies_ ||
            dwarf_get_units(copies_.get(), unit, &unit, nullptr, nullptr, nullptr, nullptr) != 0) {
            return;
        }
        skeleton.copy = unit;
    }
}

bool SplitDwarf::link(Skeleton& skeleton) {
    const Fd found = find_dwo(skeleton);
    if (skeleton.copy == nullptr || !found.is_open() ||
        ::dup3(found.get(), link_target_.get(), O_CLOEXEC) < 0) {
        return false;
    }
    Dwarf_Die body{};
    if (dwarf_cu_info(skeleton.copy, nullptr, nullptr, nullptr, &body, nullptr, nullptr, nullptr) !=
            0 ||
        body.cu == nullptr) {
        return false;
    }
    // Else libdw would look for it by itself.
    dwarf_setalt(dwarf_cu_getdwarf(body.cu), no_shared_.get());
    skeleton.body = body;
    return true;
}

Fd SplitDwarf::find_dwo(const Skeleton& skeleton) {
    const auto paths = skeleton.name.empty()
                           ? std::vector<std::string>{}
                           : dwo_paths(skeleton.name, skeleton.folder, paths_.files);
    for (const std::string& path : paths) {
        Fd file = with_joined_units(open_regular(path));
        if (file.is_open() && has_unit(file, skeleton.id)) {
            return file;
        }
    }
    if (!std::exchange(packages_opened_, true)) {
        open_packages();
    }
    for (const DwpFile& package : packages_) {
        Fd file = package.dwo_of(skeleton.id);
        if (file.is_open()) {
            return file;
        }
    }
    return {};
}

void SplitDwarf::open_packages() {
    const std::string& module = paths_.files.front();
    std::vector<std::string> names = paths_.files;
    names.push_back(real_path(module));
    for (const std::string& root : paths_.debug_roots) {
        names.push_back(root + module);
    }
    constexpr std::string_view kDebug = ".debug";
    for (const std::string& name : names) {
        const std::string bare =
            name.ends_with(kDebug) ? name.substr(0, name.size() - kDebug.size()) : name;
        for (const std::string& path : {name + ".dwp", bare + ".dwp"}) {
            if (auto package = name.empty() ? std::nullopt : DwpFile::open(path)) {
                packages_.push_back(std::move(*package));
            }
        }
    }
}

}  // namespace sample::symbolize
