// An opened module: its ELF file, checked against the build-id of what ran, with its symbols and
// debug information within reach.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "symbolize/dwarf/split_dwarf.h"
#include "symbolize/dwarf/supplementary_file.h"
#include "symbolize/elf/debug_file.h"

#include <elfutils/libdwfl.h>

#include <memory>
#include <string>
#include <vector>

namespace sample {
class MappedReading;
}

namespace sample::symbolize {

class KeptFiles;
struct ModuleIdentity;
struct Options;

/// Its files stay mapped: it is to be used inside a MappedReading.
class ModuleImage {
public:
    /// Opens what fits of the module's paths, then of what is kept by build-id (debug_file.h), or
    /// this process's own vDSO for "[vdso]". Errors, with the text for people: not_found (gone),
    /// invalid_argument (replaced by another build), corrupt, system. An empty build-id is not
    /// checked. Cost: the ELF header and the notes of each; the rest is read when asked for.
    [[nodiscard]] static Result<ModuleImage> open(const ModuleIdentity& module,
                                                  const Options& options);

    [[nodiscard]] Dwfl_Module* module() const { return module_; }
    [[nodiscard]] Elf* elf() const { return elf_; }
    /// Opens the very same file again; "" if it holds no code, as a debug file does.
    [[nodiscard]] std::string unwind_path() const;
    /// Its debug information, or its debug file's; nullptr if there is none. If it can't be read,
    /// or is not whole, `problem` says so. DWARF addresses plus `bias` are the module's own. Call
    /// it once.
    [[nodiscard]] Dwarf* debug_info(Dwarf_Addr& bias, std::string& problem) const;
    /// One line for people, if the module's file or its debug file is not whole; else "".
    [[nodiscard]] std::string cut_off_text() const;
    /// The one of the module's paths that was opened.
    [[nodiscard]] const std::string& path() const { return path_; }
    /// The first of its files that was written to since it was opened; "" if none was. Of files
    /// that others share with it, and of split debug information, it does not know.
    [[nodiscard]] std::string changed_file() const;
    /// Where its debug file was looked for, there or not; empty where none was needed.
    [[nodiscard]] const std::vector<std::string>& debug_paths() const { return search_->paths; }
    /// If debug_info() found it compressed in a debug file, keeps that unpacked for whoever opens
    /// the module next, unless `reading` was broken.
    void keep_unpacked(KeptFiles& kept, const MappedReading& reading) const;
    /// What finds the split units of that; must not outlive this.
    [[nodiscard]] SplitDwarf split_dwarf(Dwarf* dwarf) const;

private:
    struct DwflCloser {
        void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
    };

    static Result<ModuleImage> open_one(const std::string& path, const ModuleIdentity& module,
                                        const Options& options);

    [[nodiscard]] std::vector<std::string> own_files() const;

    std::string path_;
    Fd file_;                                  ///< The same open file as libdwfl's.
    FileStamp stamp_;                          ///< When it was opened.
    std::unique_ptr<DebugFileSearch> search_;  ///< At one place: the module points to it.
    std::unique_ptr<SupplementaryFile> shared_;
    std::unique_ptr<Dwfl, DwflCloser> dwfl_;
    Dwfl_Module* module_ = nullptr;
    Elf* elf_ = nullptr;
};

/// One line for people, if a file was cut off, which `reading` tells, or written to, while the
/// module was read; else "". `image` is nullptr if it was not opened; `path` is the module's.
[[nodiscard]] std::string changed_text(const MappedReading& reading, const ModuleImage* image,
                                       const std::string& path);

}  // namespace sample::symbolize
