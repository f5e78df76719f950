#include "symbolize/elf/module_image.h"

#include "core/mapped_reading.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "symbolize/elf/elf_file.h"
#include "symbolize/elf/unpacked_file.h"
#include "symbolize/symbolizer.h"

#include <gelf.h>

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace sample::symbolize {
namespace {

constexpr std::string_view kVdso = "[vdso]";

constexpr Dwfl_Callbacks kCallbacks = {
    nullptr,  // find_elf: every file is opened here.
    find_debug_file,
    dwfl_offline_section_address,
    nullptr,
};

/// A copy of the vDSO in a file of its own, so that it is read like any other module.
Result<Fd> open_vdso() {
    const auto* const image = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
    if (image == nullptr) {
        return unexpected(ErrorCode::not_found, "this kernel gives programs no vDSO to read");
    }
    Elf64_Ehdr header{};
    std::memcpy(&header, image, sizeof header);
    // The section headers are the last thing in the image (arch/x86/entry/vdso/vdso-layout.lds.S
    // leaves them where the linker puts them).
    const std::size_t size = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
    Fd fd{::memfd_create("vdso", MFD_CLOEXEC)};
    if (!fd.is_open() || ::write(fd.get(), image, size) != static_cast<ssize_t>(size)) {
        return unexpected(Error::from_errno("cannot copy the vDSO"));
    }
    return fd;
}

Result<Fd> open_file(const std::string& path) {
    if (!path.starts_with('/')) {
        return unexpected(ErrorCode::not_found,
                          path +
                              " leads from a folder that is not known any more: load it by its "
                              "full path to see its functions' names");
    }
    Fd fd = open_regular(path);
    if (fd.is_open()) {
        return fd;
    }
    if (errno == 0) {
        return unexpected(ErrorCode::corrupt, path + " is no longer a regular file");
    }
    if (errno == ENOENT || errno == ENOTDIR) {
        return unexpected(ErrorCode::not_found,
                          path + " is gone: put it back to see its functions' names");
    }
    return unexpected(Error::from_errno("cannot open " + path + " to name its functions"));
}

bool is_program_or_library(Elf* elf) {
    GElf_Ehdr header{};
    return elf != nullptr && gelf_getehdr(elf, &header) != nullptr &&
           (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

/// A debug file has the program's headers; what they speak of is not there.
bool is_without_code(Elf* elf) {
    for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr header{};
        if (gelf_getshdr(scn, &header) != nullptr && header.sh_type == SHT_NOBITS &&
            (header.sh_flags & SHF_EXECINSTR) != 0) {
            return true;
        }
    }
    return false;
}

/// By another method than zlib's; libelf says no more than that it failed.
bool is_packed_unreadably(Elf_Scn* scn) {
    GElf_Chdr header{};
    return gelf_getchdr(scn, &header) != nullptr && header.ch_type != ELFCOMPRESS_ZLIB;
}

std::string replaced_text(const std::string& path) {
    if (path == kVdso) {
        return "[vdso] is another kernel's here: look at the recording under the kernel that it "
               "was made on to see its functions' names";
    }
    return path +
           " was replaced since: its build-id differs; put back the build that ran, or record "
           "again, to see its functions' names";
}

/// Where the module's file may be, the best first.
std::vector<std::string> places_of(const ModuleIdentity& module, const Options& options) {
    if (module.path == kVdso) {
        return {module.path};
    }
    if (module.build_id.empty()) {
        std::vector<std::string> places = module.other_paths;
        places.push_back(module.path);
        return places;
    }
    // A deleted file's name may have been taken since; only a build-id can tell.
    std::vector<std::string> places{std::string{without_deleted(module.path)}};
    places.insert(places.end(), module.other_paths.begin(), module.other_paths.end());
    const auto kept = files_of(options.debug_roots, module.build_id);
    places.insert(places.end(), kept.begin(), kept.end());
    return places;
}

}  // namespace

Result<ModuleImage> ModuleImage::open(const ModuleIdentity& module, const Options& options) {
    std::optional<Error> problem;
    for (const std::string& place : places_of(module, options)) {
        auto image = open_one(place, module, options);
        if (image) {
            return image;
        }
        // The first says most, unless a later one is there, but another build.
        if (!problem ||
            (problem->code == ErrorCode::not_found && image.error().code != ErrorCode::not_found)) {
            problem = image.error();
        }
    }
    return unexpected(*problem);
}

Result<ModuleImage> ModuleImage::open_one(const std::string& path, const ModuleIdentity& module,
                                          const Options& options) {
    auto file = path == kVdso ? open_vdso() : open_file(path);
    if (!file) {
        return unexpected(file.error());
    }
    const FileStamp stamp = FileStamp::of(file->get());
    // Before libdwfl looks at a byte of it: another build's file may be anything.
    if (!module.build_id.empty()) {
        const ElfHandle elf = open_elf(file->get());
        if (is_program_or_library(elf.get()) && !has_build_id(elf.get(), module.build_id)) {
            return unexpected(ErrorCode::invalid_argument, replaced_text(path));
        }
    }
    ModuleImage image;
    image.path_ = path;
    image.file_ = Fd{::fcntl(file->get(), F_DUPFD_CLOEXEC, 0)};
    image.stamp_ = stamp;
    image.search_ = std::make_unique<DebugFileSearch>();
    image.search_->debug_roots = options.debug_roots;
    image.search_->module_path = module.path;
    image.search_->asks_servers = options.asks_servers;
    image.search_->kept = options.kept;
    image.shared_ = std::make_unique<SupplementaryFile>();
    image.dwfl_.reset(dwfl_begin(&kCallbacks));
    dwfl_report_begin(image.dwfl_.get());
    // Base 0 on top of the file's own addresses: module addresses are ELF virtual addresses.
    image.module_ =
        dwfl_report_elf(image.dwfl_.get(), path.c_str(), path.c_str(), file->get(), 0, true);
    if (image.module_ == nullptr) {
        return unexpected(ErrorCode::corrupt,
                          path + " is not a whole ELF file: " + dwfl_errmsg(-1));
    }
    static_cast<void>(file->release());  // dwfl_report_elf took it.
    dwfl_report_end(image.dwfl_.get(), nullptr, nullptr);
    GElf_Addr bias = 0;
    image.elf_ = dwfl_module_getelf(image.module_, &bias);
    if (!is_program_or_library(image.elf_)) {
        return unexpected(ErrorCode::corrupt, path + " is not an ELF program or library");
    }
    void** userdata = nullptr;
    dwfl_module_info(image.module_, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr,
                     nullptr);
    *userdata = image.search_.get();
    return image;
}

std::string ModuleImage::unwind_path() const {
    if (!file_.is_open() || is_without_code(elf_)) {
        return {};
    }
    return "/proc/self/fd/" + std::to_string(file_.get());
}

Dwarf* ModuleImage::debug_info(Dwarf_Addr& bias, std::string& problem) const {
    Dwarf* const dwarf = dwfl_module_getdwarf(module_, &bias);
    const std::string error = dwfl_errmsg(-1);
    const ElfHandle debug_file = open_elf(search_->debug_file.get());
    for (Elf* const elf : {elf_, debug_file.get()}) {
        Elf_Scn* const scn = find_section(elf, ".debug_info");
        if (scn != nullptr && is_packed_unreadably(scn)) {
            problem = "the debug information of " + path_ +
                      " is compressed by a method that this elfutils does not know (zstd?): no "
                      "source lines; unpack it with objcopy --decompress-debug-sections";
        } else if (scn != nullptr && dwarf == nullptr && problem.empty()) {
            problem = "the debug information of " + path_ + " can't be read (" + error +
                      "): no source lines; build it again to see them";
        }
    }
    const std::string missing = shared_->attach(dwarf, {own_files(), search_->debug_roots});
    problem = problem.empty() ? missing : problem;
    return dwarf;
}

void ModuleImage::keep_unpacked(KeptFiles& kept, const MappedReading& reading) const {
    // As it is on disk: in the one that libdw reads nothing is compressed any more.
    const ElfHandle debug_file = open_elf(search_->debug_file.get());
    Elf_Scn* const scn = find_section(debug_file.get(), ".debug_info");
    GElf_Shdr header{};
    const unsigned char* build_id = nullptr;
    GElf_Addr where = 0;
    const int size = dwfl_module_build_id(module_, &build_id, &where);
    Dwarf_Addr bias = 0;
    Dwarf* const dwarf = dwfl_module_getdwarf(module_, &bias);
    if (dwarf != nullptr && dwarf_getelf(dwarf) != elf_ && size > 0 &&
        gelf_getshdr(scn, &header) != nullptr && (header.sh_flags & SHF_COMPRESSED) != 0) {
        symbolize::keep_unpacked(kept, {build_id, static_cast<std::size_t>(size)},
                                 {dwarf_getelf(dwarf), search_->debug_file_stamp, reading});
    }
}

std::string ModuleImage::cut_off_text() const {
    // Opened anew: a handle whose sections were decompressed tells the sizes that they have now.
    const ElfHandle module = open_elf(file_.get());
    const ElfHandle debug_file = open_elf(search_->debug_file.get());
    const bool is_module = is_cut_off(module.get());
    if (!is_module && (!debug_file || !is_cut_off(debug_file.get()))) {
        return {};
    }
    return (is_module ? path_ : own_files().back()) +
           " is cut off: names and lines may be missing; put the whole file back to see them";
}

std::string ModuleImage::changed_file() const {
    if (FileStamp::of(file_.get()) != stamp_) {
        return path_;
    }
    const bool is_same = FileStamp::of(search_->debug_file.get()) == search_->debug_file_stamp;
    return is_same ? std::string{} : own_files().back();
}

/// The module and, if it has one, its debug file, as opened and as recorded.
std::vector<std::string> ModuleImage::own_files() const {
    std::vector<std::string> result{search_->module_path, path_};
    const char* debug_file = nullptr;
    dwfl_module_info(module_, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &debug_file);
    if (debug_file != nullptr) {
        result.emplace_back(debug_file);
    }
    return result;
}

SplitDwarf ModuleImage::split_dwarf(Dwarf* dwarf) const {
    const bool is_own = dwarf != nullptr && dwarf_getelf(dwarf) == elf_;
    return {dwarf,
            is_own ? file_.get() : search_->debug_file.get(),
            {own_files(), search_->debug_roots}};
}

std::string changed_text(const MappedReading& reading, const ModuleImage* image,
                         const std::string& path) {
    const bool was_cut_off = reading.is_broken();
    std::string file = was_cut_off || image == nullptr ? reading.file() : image->changed_file();
    if (was_cut_off && file.empty()) {
        file = path;
    }
    return file.empty() ? file
                        : file +
                              " changed while it was read: its symbols are not used; look at "
                              "the recording again once it is whole";
}

}  // namespace sample::symbolize
