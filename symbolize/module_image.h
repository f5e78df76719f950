// An opened module: its ELF file, checked against the build-id of what ran, with its symbols and
// debug information within reach.
#pragma once

#include "core/result.h"
#include "symbolize/debug_file.h"

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sample::symbolize {

class ModuleImage {
public:
    /// Opens `path`, or this process's own vDSO for "[vdso]". Errors, with the text for people:
    /// not_found (gone), invalid_argument (replaced by another build), corrupt, system. An empty
    /// `build_id` is not checked. Cost: the ELF header and the notes; the rest is read when asked
    /// for.
    [[nodiscard]] static Result<ModuleImage> open(const std::string& path,
                                                  std::span<const std::uint8_t> build_id,
                                                  const std::string& debug_root);

    [[nodiscard]] Dwfl_Module* module() const { return module_; }
    [[nodiscard]] Elf* elf() const { return elf_; }
    /// Its debug information, or its debug file's; nullptr if there is none, or if it can't be
    /// read: then `problem` says so. DWARF addresses plus `bias` are the module's own.
    [[nodiscard]] Dwarf* debug_info(Dwarf_Addr& bias, std::string& problem) const;

private:
    struct DwflCloser {
        void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
    };

    std::string path_;
    std::unique_ptr<DebugFileSearch> search_;  ///< At one place: the module points to it.
    std::unique_ptr<Dwfl, DwflCloser> dwfl_;
    Dwfl_Module* module_ = nullptr;
    Elf* elf_ = nullptr;
};

}  // namespace sample::symbolize
