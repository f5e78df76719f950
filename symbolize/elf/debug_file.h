// Finds what belongs to a module but lies in files of its own: by build-id below the debug roots
// and in the cache folder that debuginfod's client keeps, then by the names that links in the
// module give.
//
// Written here because libdwfl's own search ends with asking debuginfod servers, and a profiler
// must not talk to the network behind its user's back: unless they are to be asked, only files of
// debuginfod that are already there are read. Whatever a name leads to is taken only if its
// build-id or checksum is the right one.
#pragma once

#include "core/fd.h"
#include "symbolize/elf/elf_file.h"

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sample::symbolize {

class KeptFiles;

/// The files that refer to others by name, and where those may be installed.
struct SearchPaths {
    std::vector<std::string> files;  ///< The module as recorded and as opened; its debug file.
    std::vector<std::string> debug_roots;
};

/// The state of one module's search; the userdata of its Dwfl_Module.
struct DebugFileSearch {
    std::vector<std::string> debug_roots;
    std::string module_path;  ///< As recorded; the file opened may be another.
    bool asks_servers = false;
    const KeptFiles* kept = nullptr;  ///< Where it may lie unpacked; nullptr: nowhere.
    Fd debug_file;                    ///< What was found, or kept of that, for whoever maps it too.
    FileStamp debug_file_stamp = {};
    bool asked = false;
    std::vector<std::string> paths = {};  ///< Where it was looked for.
};

/// libdwfl's find_debuginfo callback; *userdata is a DebugFileSearch. A file is taken only if its
/// build-id is the module's, or, where the module has none, if its checksum is the one that the
/// link states. Returns an open descriptor, or -1.
int find_debug_file(Dwfl_Module* module, void** userdata, const char* module_name, Dwarf_Addr base,
                    const char* file_name, const char* link_name, GElf_Word link_crc,
                    char** debug_file_name);

/// Where distributions and debuginfod's client keep the debug file of a build-id, in the order to
/// look: ROOT/.build-id/xx/rest.debug, CACHE/BUILDID/debuginfo. Nothing for an id of less than 2
/// bytes. Source: debuginfod_find_debuginfo(3), "CACHE"; gdb manual, "Separate Debug Files".
[[nodiscard]] std::vector<std::string> debug_files_of(std::span<const std::string> debug_roots,
                                                      std::span<const std::uint8_t> build_id);

/// Where a module of that build-id may be kept whole, then its debug files, which have its symbols
/// too: ROOT/.build-id/xx/rest, CACHE/BUILDID/executable, debug_files_of().
[[nodiscard]] std::vector<std::string> files_of(std::span<const std::string> debug_roots,
                                                std::span<const std::uint8_t> build_id);

/// A variable of the environment; "" if it is not set.
[[nodiscard]] std::string environment(const char* name);

/// The path without symbolic links; "" if there is no such file.
[[nodiscard]] std::string real_path(const std::string& path);

/// The path without its last part, ending with '/'; "" if it has one part.
[[nodiscard]] std::string folder_of(const std::string& path);

}  // namespace sample::symbolize
