#include "symbolize/elf/debug_file.h"

#include "core/fd.h"
#include "core/mapped_file.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "symbolize/elf/unpacked_file.h"

#include <zlib.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sample::symbolize {
namespace {

/// What a debug file must agree with.
struct Expected {
    std::span<const std::uint8_t> build_id;  ///< Empty: compare `crc` instead.
    GElf_Word crc = 0;
    struct stat module_file = {};  ///< Not a debug file, even where the link names it.
};

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
    Fd fd = open_regular(path);
    struct stat info = {};
    if (!fd.is_open() || ::fstat(fd.get(), &info) != 0 ||
        (info.st_dev == expected.module_file.st_dev &&
         info.st_ino == expected.module_file.st_ino)) {
        return {};
    }
    const bool matches = expected.build_id.empty()
                             ? has_checksum(path, expected.crc)
                             : has_build_id(open_elf(fd.get()).get(), expected.build_id);
    return matches ? std::move(fd) : Fd{};
}

/// debuginfod's client uses the first of these that is set, or there; which that was when it
/// fetched a file, nobody knows.
std::vector<std::string> debuginfod_caches() {
    std::vector<std::string> result;
    const std::string own = environment("DEBUGINFOD_CACHE_PATH");
    const std::string xdg = environment("XDG_CACHE_HOME");
    const std::string home = environment("HOME");
    if (!own.empty()) {
        result.push_back(own);
    }
    if (!xdg.empty()) {
        result.push_back(xdg + "/debuginfod_client");
    }
    if (!home.empty()) {
        result.push_back(home + "/.cache/debuginfod_client");
        result.push_back(home + "/.debuginfod_client_cache");
    }
    return result;
}

/// ROOT/.build-id/xx/rest with the suffix, CACHE/BUILDID/kind.
std::vector<std::string> paths_by_id(std::span<const std::string> roots,
                                     std::span<const std::uint8_t> build_id, const char* suffix,
                                     const char* kind) {
    std::vector<std::string> result;
    if (build_id.size() < 2) {
        return result;
    }
    for (const std::string& root : roots) {
        result.push_back(root + "/.build-id/" + to_hex(build_id.first(1)) + "/" +
                         to_hex(build_id.subspan(1)) + suffix);
    }
    for (const std::string& cache : debuginfod_caches()) {
        result.push_back(cache + "/" + to_hex(build_id) + "/" + kind);
    }
    return result;
}

/// Where a .gnu_debuglink of that name may lead.
std::vector<std::string> linked_paths(const DebugFileSearch& search, const std::string& opened_path,
                                      const std::string& link_name) {
    std::vector<std::string> folders{folder_of(opened_path), folder_of(search.module_path)};
    if (const std::string real = real_path(opened_path); !real.empty()) {
        folders.push_back(folder_of(real));
    }
    std::vector<std::string> result;
    for (const std::string& folder : folders) {
        for (const char* const inside : {"", ".debug/"}) {
            result.emplace_back(folder).append(inside).append(link_name);
        }
    }
    for (const std::string& root : search.debug_roots) {
        for (const std::string& folder : folders) {
            if (folder.starts_with('/')) {
                result.emplace_back(root).append(folder).append(link_name);
            }
        }
    }
    return result;
}

/// What libdwfl is given: the descriptor, or -1 if none is open. The search keeps it, too.
int take(DebugFileSearch& search, Fd fd, std::span<const std::uint8_t> build_id) {
    if (fd.is_open() && search.kept != nullptr && !build_id.empty()) {
        Fd copy = open_unpacked(*search.kept, build_id, FileStamp::of(fd.get()));
        fd = copy.is_open() ? std::move(copy) : std::move(fd);
    }
    if (fd.is_open()) {
        search.debug_file_stamp = FileStamp::of(fd.get());
        search.debug_file = Fd{::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)};
    }
    return fd.release();
}

}  // namespace

std::string environment(const char* name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string real_path(const std::string& path) {
    std::error_code not_there;
    return std::filesystem::canonical(path, not_there).string();
}

std::string folder_of(const std::string& path) {
    return path.substr(0, path.rfind('/') + 1);
}

std::vector<std::string> debug_files_of(std::span<const std::string> debug_roots,
                                        std::span<const std::uint8_t> build_id) {
    return paths_by_id(debug_roots, build_id, ".debug", "debuginfo");
}

std::vector<std::string> files_of(std::span<const std::string> debug_roots,
                                  std::span<const std::uint8_t> build_id) {
    std::vector<std::string> result = paths_by_id(debug_roots, build_id, "", "executable");
    const auto debug_files = debug_files_of(debug_roots, build_id);
    result.insert(result.end(), debug_files.begin(), debug_files.end());
    return result;
}

// NOLINTNEXTLINE(readability-function-size): the parameters are libdwfl's.
int find_debug_file(Dwfl_Module* module, void** userdata, const char* module_name, Dwarf_Addr base,
                    const char* file_name, const char* link_name, GElf_Word link_crc,
                    char** debug_file_name) {
    auto* const search = static_cast<DebugFileSearch*>(*userdata);
    // Asked again, it is for the file that a dwz debug file shares with others:
    // dwarf/supplementary_file.h.
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
    const std::string opened_path = file_name != nullptr ? file_name : "";
    if (::stat(opened_path.c_str(), &expected.module_file) != 0) {
        expected.module_file = {};
    }
    std::vector<std::string> paths = debug_files_of(search->debug_roots, expected.build_id);
    if (link_name != nullptr && *link_name != '\0') {
        const auto linked = linked_paths(*search, opened_path, link_name);
        paths.insert(paths.end(), linked.begin(), linked.end());
    }
    search->paths = paths;
    for (const std::string& path : paths) {
        if (const int fd = take(*search, open_if_expected(path, expected), expected.build_id);
            fd >= 0) {
            *debug_file_name = ::strdup(path.c_str());
            return fd;
        }
    }
    if (!search->asks_servers || expected.build_id.empty()) {
        return -1;
    }
    Fd fetched{dwfl_standard_find_debuginfo(module, userdata, module_name, base, file_name,
                                            link_name, link_crc, debug_file_name)};
    return take(
        *search,
        has_build_id(open_elf(fetched.get()).get(), expected.build_id) ? std::move(fetched) : Fd{},
        expected.build_id);
}

}  // namespace sample::symbolize
