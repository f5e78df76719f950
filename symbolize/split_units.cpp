#include "symbolize/split_units.h"

#include "core/regular_file.h"
#include "symbolize/debug_file.h"

#include <dwarf.h>

#include <fcntl.h>
#include <sys/mman.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sample::symbolize {

/// One skeleton unit, and what became of it.
struct SplitUnits::Skeleton {
    std::uint64_t id = 0;
    std::string name;               ///< Of the .dwo, as the compiler wrote it.
    std::string folder;             ///< The compiler's own.
    Dwarf_CU* copy = nullptr;       ///< In copies_.
    std::optional<Dwarf_Die> body;  ///< Once it was asked for; cu is null if it was not found.
};

namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr int kMostAncestors = 16;

std::string text(Dwarf_Die root, unsigned name, unsigned gnu_name) {
    for (const unsigned attribute_name : {name, gnu_name}) {
        Dwarf_Attribute attribute{};
        const char* const value = dwarf_formstring(dwarf_attr(&root, attribute_name, &attribute));
        if (value != nullptr) {
            return ::strnlen(value, kLongestPath) < kLongestPath ? value : "";
        }
    }
    return {};
}

std::optional<std::uint64_t> number(Dwarf_Die root, unsigned name) {
    Dwarf_Attribute attribute{};
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(&root, name, &attribute), &value) != 0) {
        return std::nullopt;
    }
    return value;
}

template <class T>
void put(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof bytes);
}

/// The abbreviations of the copies, all in one table: a skeleton's attributes, of which the line
/// table comes last, so that each version has two forms: with it, and without.
enum Form : char { v5 = 1, v5_lines = 2, v4 = 3, v4_lines = 4 };

std::string abbreviations() {
    std::string out;
    const auto leb = [&out](unsigned value) {
        for (; value > 0x7f; value >>= 7) {
            out += static_cast<char>(value | 0x80);
        }
        out += static_cast<char>(value);
    };
    const auto add = [&](Form form) {
        const bool is_v5 = form == Form::v5 || form == Form::v5_lines;
        leb(static_cast<unsigned>(form));
        leb(is_v5 ? DW_TAG_skeleton_unit : DW_TAG_compile_unit);
        leb(DW_CHILDREN_no);
        using Attribute = std::pair<unsigned, unsigned>;
        std::vector<Attribute> attributes{
            {DW_AT_low_pc, DW_FORM_addr},
            {is_v5 ? DW_AT_dwo_name : DW_AT_GNU_dwo_name, DW_FORM_string},
            {DW_AT_comp_dir, DW_FORM_string},
            {is_v5 ? DW_AT_addr_base : DW_AT_GNU_addr_base, DW_FORM_data8}};
        if (!is_v5) {
            attributes.push_back({DW_AT_GNU_dwo_id, DW_FORM_data8});
            attributes.push_back({DW_AT_GNU_ranges_base, DW_FORM_data8});
        }
        if (form == Form::v5_lines || form == Form::v4_lines) {
            attributes.push_back({DW_AT_stmt_list, DW_FORM_sec_offset});
        }
        attributes.push_back({0, 0});
        for (const auto& [name, encoding] : attributes) {
            leb(name);
            leb(encoding);
        }
    };
    for (const Form form : {Form::v5, Form::v5_lines, Form::v4, Form::v4_lines}) {
        add(form);
    }
    out += '\0';
    return out;
}

std::string path_of(const Fd& file) {
    return "/proc/self/fd/" + std::to_string(file.get());
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
    Dwarf* const dwarf = elf ? dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr) : nullptr;
    Dwarf_CU* unit = nullptr;
    std::uint8_t type = 0;
    bool found = false;
    while (!found && dwarf != nullptr &&
           dwarf_get_units(dwarf, unit, &unit, nullptr, &type, nullptr, nullptr) == 0) {
        std::uint64_t unit_id = 0;
        found = type == DW_UT_split_compile &&
                dwarf_cu_info(unit, nullptr, nullptr, nullptr, nullptr, &unit_id, nullptr,
                              nullptr) == 0 &&
                unit_id == id;
    }
    dwarf_end(dwarf);
    return found;
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

SplitUnits::SplitUnits(Dwarf* dwarf, SplitPlaces places)
    : dwarf_{dwarf}, places_{std::move(places)} {}

SplitUnits::~SplitUnits() {
    dwarf_end(copies_);
}

Dwarf_Die SplitUnits::body_of(Dwarf_Die root) {
    std::uint8_t type = 0;
    if (dwarf_cu_info(root.cu, nullptr, &type, nullptr, nullptr, nullptr, nullptr, nullptr) != 0 ||
        type != DW_UT_skeleton) {
        return root;
    }
    if (!copied_) {
        copied_ = true;
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

std::string SplitUnits::problem() const {
    if (missing_ == 0) {
        return {};
    }
    return "debug information of " + places_.module_path +
           " is missing: " + std::to_string(missing_) +
           (missing_ == 1 ? " .dwo file" : " .dwo files") + " not found (" + first_missing_ +
           "): put them back, or package them beside the program as " +
           places_.module_path.substr(places_.module_path.rfind('/') + 1) +
           ".dwp, to see its inlined functions and their files";
}

void SplitUnits::copy_skeletons() {
    link_target_ = Fd{::memfd_create("dwo", MFD_CLOEXEC)};
    Dwarf_CU* unit = nullptr;
    Dwarf_Half version = 0;
    std::uint8_t type = 0;
    Dwarf_Die root{};
    while (dwarf_get_units(dwarf_, unit, &unit, &version, &type, &root, nullptr) == 0) {
        if (type == DW_UT_skeleton) {
            add_skeleton(unit, version, root);
        }
    }
    make_dwarf();
}

void SplitUnits::add_skeleton(Dwarf_CU* unit, int version, Dwarf_Die root) {
    std::uint8_t address_size = 0;
    Skeleton skeleton;
    if (dwarf_cu_info(unit, nullptr, nullptr, nullptr, nullptr, &skeleton.id, &address_size,
                      nullptr) != 0 ||
        address_size != sizeof(Elf64_Addr)) {
        return;
    }
    skeleton.name = text(root, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
    skeleton.folder = text(root, DW_AT_comp_dir, DW_AT_comp_dir);
    Dwarf_Addr low_pc = 0;
    if (dwarf_lowpc(&root, &low_pc) != 0 && dwarf_entrypc(&root, &low_pc) != 0) {
        low_pc = 0;
    }
    const bool is_v5 = version >= 5;
    const auto lines = number(root, DW_AT_stmt_list);
    const bool has_lines = lines && *lines <= 0xffff'ffff;

    std::string content;
    put(content, static_cast<std::uint16_t>(is_v5 ? 5 : 4));
    if (is_v5) {
        put(content, static_cast<std::uint8_t>(DW_UT_skeleton));
        put(content, address_size);
    }
    put(content, std::uint32_t{0});  // The abbreviations' offset.
    if (is_v5) {
        put(content, skeleton.id);
        put(content, has_lines ? Form::v5_lines : Form::v5);
    } else {
        put(content, address_size);
        put(content, has_lines ? Form::v4_lines : Form::v4);
    }
    put(content, low_pc);
    content += path_of(link_target_) + '\0' + skeleton.folder + '\0';
    put(content, number(root, is_v5 ? DW_AT_addr_base : DW_AT_GNU_addr_base).value_or(0));
    if (!is_v5) {
        put(content, skeleton.id);
        put(content, number(root, DW_AT_GNU_ranges_base).value_or(0));
    }
    if (has_lines) {
        put(content, static_cast<std::uint32_t>(*lines));
    }
    put(units_, static_cast<std::uint32_t>(content.size()));
    units_ += content;
    by_root_.emplace(root.addr, skeletons_.size());
    skeletons_.push_back(std::move(skeleton));
}

void SplitUnits::make_dwarf() {
    GElf_Ehdr header{};
    constexpr unsigned char kOrder =
        std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    if (gelf_getehdr(dwarf_getelf(dwarf_), &header) == nullptr ||
        header.e_ident[EI_DATA] != kOrder) {
        return;
    }
    const std::string table = abbreviations();
    std::vector<ElfPart> parts{
        {".debug_info", std::as_bytes(std::span{units_})},
        {".debug_abbrev", std::as_bytes(std::span{table})},
    };
    for (const char* const name :
         {".debug_addr", ".debug_ranges", ".debug_line", ".debug_line_str"}) {
        ElfPart part = part_of(dwarf_, name, places_.dwarf_fd);
        if (!part.bytes.empty()) {
            parts.push_back(std::move(part));
        }
    }
    copy_ = MemoryElf::make(parts);
    copies_ = copy_ ? dwarf_begin_elf(copy_->elf(), DWARF_C_READ, nullptr) : nullptr;
    Dwarf_CU* unit = nullptr;
    for (Skeleton& skeleton : skeletons_) {
        if (copies_ == nullptr ||
            dwarf_get_units(copies_, unit, &unit, nullptr, nullptr, nullptr, nullptr) != 0) {
            return;
        }
        skeleton.copy = unit;
    }
}

bool SplitUnits::link(Skeleton& skeleton) {
    Fd found = find_dwo(skeleton);
    if (!found.is_open()) {
        found = find_packaged(skeleton.id);
    }
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

Fd SplitUnits::find_dwo(const Skeleton& skeleton) const {
    if (skeleton.name.empty()) {
        return {};
    }
    for (const std::string& path : dwo_paths(skeleton.name, skeleton.folder, places_.files)) {
        Fd file = open_regular(path);
        if (file.is_open() && has_unit(file, skeleton.id)) {
            return file;
        }
    }
    return {};
}

Fd SplitUnits::find_packaged(std::uint64_t unit_id) {
    if (!packages_opened_) {
        packages_opened_ = true;
        open_packages();
    }
    for (const DwpFile& package : packages_) {
        Fd file = package.dwo_of(unit_id);
        if (file.is_open()) {
            return file;
        }
    }
    return {};
}

void SplitUnits::open_packages() {
    std::vector<std::string> names = places_.files;
    names.push_back(places_.module_path);
    if (char* const real = ::realpath(places_.module_path.c_str(), nullptr)) {
        names.emplace_back(real);
        std::free(real);  // NOLINT(cppcoreguidelines-no-malloc): realpath's.
    }
    for (const std::string& root : places_.debug_roots) {
        names.push_back(root + places_.module_path);
    }
    constexpr std::string_view kDebug = ".debug";
    for (const std::string& name : names) {
        const std::string bare =
            name.ends_with(kDebug) ? name.substr(0, name.size() - kDebug.size()) : name;
        for (const std::string& path : {name + ".dwp", bare + ".dwp"}) {
            if (auto package = DwpFile::open(path)) {
                packages_.push_back(std::move(*package));
            }
        }
    }
}

}  // namespace sample::symbolize
