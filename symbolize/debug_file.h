// Finds the separate debug file of a module: by build-id below the debug root, then by
// .gnu_debuglink beside the module.
//
// Written here because libdwfl's own search ends with asking debuginfod servers, and a profiler
// must not talk to the network behind its user's back. Nothing in symbolize/ does.
#pragma once

#include <elfutils/libdwfl.h>

#include <string>

namespace sample::symbolize {

/// The state of one module's search; the userdata of its Dwfl_Module.
struct DebugFileSearch {
    std::string debug_root;  ///< Where distributions put debug files: "/usr/lib/debug".
    bool asked = false;
};

/// libdwfl's find_debuginfo callback; *userdata is a DebugFileSearch. A file is taken only if its
/// build-id is the module's, or, where the module has none, if its checksum is the one that the
/// link states. Returns an open descriptor, or -1.
int find_debug_file(Dwfl_Module* module, void** userdata, const char* module_name, Dwarf_Addr base,
                    const char* file_name, const char* link_name, GElf_Word link_crc,
                    char** debug_file_name);

}  // namespace sample::symbolize
