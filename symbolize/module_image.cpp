#include "symbolize/module_image.h"

#include "core/fd.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace sample::symbolize {
namespace {

constexpr std::string_view kVdso = "[vdso]";
constexpr std::string_view kDeleted = " (deleted)";  ///< What the kernel appends in maps files.

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
    // O_NONBLOCK: a FIFO that took the file's name must not stop us.
    Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!fd.is_open()) {
        if (errno == ENOENT || errno == ENOTDIR) {
            return unexpected(ErrorCode::not_found,
                              path + " is gone: put it back to see its functions' names");
        }
        return unexpected(Error::from_errno("cannot open " + path + " to name its functions"));
    }
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0) {
        return unexpected(Error::from_errno("cannot stat " + path));
    }
    if (!S_ISREG(info.st_mode)) {
        return unexpected(ErrorCode::corrupt, path + " is no longer a regular file");
    }
    return fd;
}

bool is_program_or_library(Elf* elf) {
    GElf_Ehdr header{};
    return elf != nullptr && gelf_getehdr(elf, &header) != nullptr &&
           (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

bool has_build_id(Elf* elf, std::span<const std::uint8_t> expected) {
    const void* bits = nullptr;
    const auto size = dwelf_elf_gnu_build_id(elf, &bits);
    return size > 0 && static_cast<std::size_t>(size) == expected.size() &&
           std::memcmp(bits, expected.data(), expected.size()) == 0;
}

bool has_debug_section(Elf* elf) {
    std::size_t names = 0;
    if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) {
        return false;
    }
    for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr header{};
        if (gelf_getshdr(scn, &header) == nullptr) {
            continue;
        }
        const char* const name = elf_strptr(elf, names, header.sh_name);
        if (name != nullptr && header.sh_type != SHT_NOBITS &&
            std::string_view{name} == ".debug_info") {
            return true;
        }
    }
    return false;
}

std::string replaced_text(const std::string& path) {
    if (path == kVdso) {
        return "[vdso] is another kernel's here: look at the recording under the kernel that it "
               "was "
               "made on to see its functions' names";
    }
    return path +
           " was replaced since: its build-id differs; put back the build that ran, or record "
           "again, to see its functions' names";
}

}  // namespace

Result<ModuleImage> ModuleImage::open(const std::string& path,
                                      std::span<const std::uint8_t> build_id,
                                      const std::string& debug_root) {
    static const unsigned version = elf_version(EV_CURRENT);  // libelf wants it once, first.
    static_cast<void>(version);
    ModuleImage image;
    image.path_ = path;
    // A deleted file's name may have been taken since; only a build-id can tell.
    if (image.path_.ends_with(kDeleted) && !build_id.empty()) {
        image.path_.resize(image.path_.size() - kDeleted.size());
    }
    auto file = path == kVdso ? open_vdso() : open_file(image.path_);
    if (!file) {
        return unexpected(file.error());
    }
    image.search_ = std::make_unique<DebugFileSearch>(DebugFileSearch{debug_root, false});
    image.dwfl_.reset(dwfl_begin(&kCallbacks));
    dwfl_report_begin(image.dwfl_.get());
    // Base 0 on top of the file's own addresses: module addresses are ELF virtual addresses.
    image.module_ = dwfl_report_elf(image.dwfl_.get(), image.path_.c_str(), image.path_.c_str(),
                                    file->get(), 0, true);
    if (image.module_ == nullptr) {
        return unexpected(ErrorCode::corrupt,
                          image.path_ + " is not a whole ELF file: " + dwfl_errmsg(-1));
    }
    static_cast<void>(file->release());  // dwfl_report_elf took it.
    dwfl_report_end(image.dwfl_.get(), nullptr, nullptr);
    GElf_Addr bias = 0;
    image.elf_ = dwfl_module_getelf(image.module_, &bias);
    if (!is_program_or_library(image.elf_)) {
        return unexpected(ErrorCode::corrupt, image.path_ + " is not an ELF program or library");
    }
    if (!build_id.empty() && !has_build_id(image.elf_, build_id)) {
        return unexpected(ErrorCode::invalid_argument, replaced_text(image.path_));
    }
    void** userdata = nullptr;
    dwfl_module_info(image.module_, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr,
                     nullptr);
    *userdata = image.search_.get();
    return image;
}

Dwarf* ModuleImage::debug_info(Dwarf_Addr& bias, std::string& problem) const {
    Dwarf* const dwarf = dwfl_module_getdwarf(module_, &bias);
    if (dwarf == nullptr && has_debug_section(elf_)) {
        problem = "the debug information of " + path_ + " can't be read (" + dwfl_errmsg(-1) +
                  "): no source lines; build it again to see them";
    }
    return dwarf;
}

}  // namespace sample::symbolize
