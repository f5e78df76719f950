// Split DWARF: the functions of a skeleton unit lie in a .dwo file or in a package of them (.dwp).
//
// libdw links a unit to its .dwo, but opens whatever file the skeleton names, in the build folder
// as it was, and knows no packages. So the skeletons are copied into a file made up here, each
// naming one descriptor; what was found for a unit is put behind that descriptor, and libdw links
// it. The copy shares the sections that the linked unit needs: addresses, ranges, names of files.
#pragma once

#include "symbolize/dwp_file.h"
#include "symbolize/memory_elf.h"

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sample::symbolize {

/// The files that a module's debug information is read from, and where more may be.
struct SplitPlaces {
    std::string module_path;         ///< As recorded.
    std::vector<std::string> files;  ///< As opened: the module, its debug file.
    std::vector<std::string> debug_roots;
    int dwarf_fd = -1;  ///< The file that holds the skeletons, if it is open; must outlive this.
};

/// Not thread-safe: one per module and thread.
class SplitUnits {
public:
    /// `dwarf` must outlive this; nothing is looked at before the first skeleton is asked for.
    SplitUnits(Dwarf* dwarf, SplitPlaces places);
    ~SplitUnits();
    SplitUnits(const SplitUnits&) = delete;
    SplitUnits& operator=(const SplitUnits&) = delete;
    SplitUnits(SplitUnits&&) = delete;
    SplitUnits& operator=(SplitUnits&&) = delete;

    /// The root entry that has the functions of the unit whose root is given: the .dwo's for a
    /// skeleton, if it was found; else `root` itself. Looks for each unit's .dwo once.
    [[nodiscard]] Dwarf_Die body_of(Dwarf_Die root);

    /// One line for people on the .dwo files that were not found; empty if all were.
    [[nodiscard]] std::string problem() const;

private:
    struct Skeleton;

    void copy_skeletons();
    void add_skeleton(Dwarf_CU* unit, int version, Dwarf_Die root);
    void make_dwarf();
    bool link(Skeleton& skeleton);
    Fd find_dwo(const Skeleton& skeleton) const;
    Fd find_packaged(std::uint64_t unit_id);
    void open_packages();

    Dwarf* dwarf_;
    SplitPlaces places_;
    bool copied_ = false;
    bool packages_opened_ = false;
    std::vector<DwpFile> packages_;
    std::vector<Skeleton> skeletons_;
    std::unordered_map<const void*, std::size_t> by_root_;  ///< Of `dwarf_`, to skeletons_.
    Fd link_target_;                                        ///< What the copies name.
    std::string units_;                                     ///< Their .debug_info.
    std::optional<MemoryElf> copy_;
    EmptyDwarf no_shared_;     ///< What .dwo files share with others: nothing.
    Dwarf* copies_ = nullptr;  ///< Of copy_.
    std::size_t missing_ = 0;
    std::string first_missing_;
};

}  // namespace sample::symbolize
