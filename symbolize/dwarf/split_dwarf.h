// Split DWARF: the functions of a skeleton unit lie in a .dwo file or in a package of them (.dwp).
//
// libdw links a unit to its .dwo, but opens whatever file the skeleton names, in the build folder
// as it was, and knows no packages. So the skeletons are copied into a file made up here, each
// naming one descriptor; what was found for a unit is put behind that descriptor, and libdw links
// it. The copy shares the sections that the linked unit needs: addresses, ranges, names of files.
#pragma once

#include "symbolize/dwarf/dwp_file.h"
#include "symbolize/elf/debug_file.h"
#include "symbolize/elf/memory_elf.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::symbolize {

/// Not thread-safe: one per module and thread.
class SplitDwarf {
public:
    /// `dwarf` must outlive this, and `fd`, the file that holds it, or -1. Nothing is looked at
    /// before the first skeleton is asked for.
    SplitDwarf(Dwarf* dwarf, int fd, SearchPaths paths)
        : dwarf_{dwarf}, fd_{fd}, paths_{std::move(paths)} {}

    /// The root entry that has the functions of the unit whose root is given: the .dwo's for a
    /// skeleton, if it was found; else `root` itself. Looks for each unit's .dwo once.
    [[nodiscard]] Dwarf_Die body_of(Dwarf_Die root);

    /// One line for people on the .dwo files that were not found; empty if all were.
    [[nodiscard]] std::string problem() const;

private:
    /// One skeleton unit, and what became of it.
    struct Skeleton {
        std::uint64_t id = 0;
        std::string name;               ///< Of the .dwo, as the compiler wrote it.
        std::string folder;             ///< The compiler's own.
        Dwarf_CU* copy = nullptr;       ///< In copies_.
        std::optional<Dwarf_Die> body;  ///< Once it was asked for; cu is null if it was not found.
    };

    void copy_skeletons();
    void add_skeleton(Dwarf_CU* unit, Dwarf_Die root);
    void make_dwarf();
    bool link(Skeleton& skeleton);
    Fd find_dwo(const Skeleton& skeleton);
    void open_packages();

    Dwarf* dwarf_;
    int fd_;
    SearchPaths paths_;
    bool copied_ = false;
    bool packages_opened_ = false;
    std::vector<DwpFile> packages_;
    std::vector<Skeleton> skeletons_;
    std::unordered_map<const void*, std::size_t> by_root_;  ///< Of `dwarf_`, to skeletons_.
    Fd link_target_;                                        ///< What the copies name.
    std::string units_;                                     ///< Their .debug_info.
    std::optional<MemoryElf> copy_;
    EmptyDwarf no_shared_;  ///< What .dwo files share with others: nothing.
    DwarfHandle copies_;    ///< Of copy_.
    std::size_t missing_ = 0;
    std::string first_missing_;
};

}  // namespace sample::symbolize
