#include "symbolize/debug_file.h"

#include "core/fd.h"
#include "core/mapped_file.h"

#include <elfutils/libdwelf.h>
#include <zlib.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace sample::symbolize {
namespace {

struct ElfCloser {
    void operator()(Elf* elf) const { elf_end(elf); }
};

/// What a debug file must agree with.
struct Expected {
    std::span<const unsigned char> build_id;  ///< Empty: compare `crc` instead.
    GElf_Word crc = 0;
    struct stat module_file = {};  ///< Not a debug file, even where the link names it.
};

bool has_build_id(int fd, std::span<const unsigned char> expected) {
    const std::unique_ptr<Elf, ElfCloser> elf{elf_begin(fd, ELF_C_READ_MMAP, nullptr)};
    const void* bits = nullptr;
    const auto size = elf ? dwelf_elf_gnu_build_id(elf.get(), &bits) : -1;
    return size > 0 && static_cast<std::size_t>(size) == expected.size() &&
           std::memcmp(bits, expected.data(), expected.size()) == 0;
}

/// Reads the whole file, as only modules without a build-id need.
bool has_checksum(const std::string& path, GElf_Word expected) {
    const auto file = MappedFile::open(path);
    if (!file) {
        return false;
    }
    const auto bytes = file->bytes();
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    return crc == expected;
}

Fd open_if_expected(const std::string& path, const Expected& expected) {
    // O_NONBLOCK: a FIFO of that name must not stop us.
    Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat info = {};
    if (!fd.is_open() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
        (info.st_dev == expected.module_file.st_dev &&
         info.st_ino == expected.module_file.st_ino)) {
        return {};
    }
    const bool matches = expected.build_id.empty() ? has_checksum(path, expected.crc)
                                                   : has_build_id(fd.get(), expected.build_id);
    return matches ? std::move(fd) : Fd{};
}

std::string build_id_path(const std::string& root, std::span<const unsigned char> build_id) {
    std::string result = root + "/.build-id/";
    for (std::size_t i = 0; i < build_id.size(); ++i) {
        char digits[4] = {};
        std::snprintf(digits, sizeof digits, i == 0 ? "%02x/" : "%02x", build_id[i]);
        result += digits;
    }
    return result + ".debug";
}

std::vector<std::string> candidate_paths(const std::string& root, const Expected& expected,
                                         const std::string& module_path, const char* link_name) {
    std::vector<std::string> result;
    if (expected.build_id.size() > 1) {
        result.push_back(build_id_path(root, expected.build_id));
    }
    if (link_name != nullptr && *link_name != '\0') {
        const std::string folder = module_path.substr(0, module_path.rfind('/') + 1);
        result.push_back(folder + link_name);
        result.push_back(folder + ".debug/" + link_name);
        if (folder.starts_with('/')) {
            result.push_back(root + folder + link_name);
        }
    }
    return result;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): the parameters are libdwfl's.
int find_debug_file(Dwfl_Module* module, void** userdata, const char* /*module_name*/,
                    Dwarf_Addr /*base*/, const char* file_name, const char* link_name,
                    GElf_Word link_crc, char** debug_file_name) {
    auto* const search = static_cast<DebugFileSearch*>(*userdata);
    // Asked again, it is for the file that a dwz debug file shares with others; libdw finds that by
    // itself.
    if (search == nullptr || search->asked) {
        return -1;
    }
    search->asked = true;

    Expected expected;
    const unsigned char* bits = nullptr;
    GElf_Addr where = 0;
    const int size = dwfl_module_build_id(module, &bits, &where);
    if (size > 0) {
        expected.build_id = {bits, static_cast<std::size_t>(size)};
    }
    expected.crc = link_crc;
    const std::string module_path = file_name != nullptr ? file_name : "";
    if (::stat(module_path.c_str(), &expected.module_file) != 0) {
        expected.module_file = {};
    }
    for (const std::string& path :
         candidate_paths(search->debug_root, expected, module_path, link_name)) {
        Fd fd = open_if_expected(path, expected);
        if (fd.is_open()) {
            *debug_file_name = ::strdup(path.c_str());
            return fd.release();
        }
    }
    return -1;
}

}  // namespace sample::symbolize
