// What is where in the traced program: its stacks, its code, and its modules as the walker wants
// them. Modules are read from their files, as another process's are; the vDSO has none, and is read
// from the program.
#pragma once

#include "tests/unwind/truth/symbols.h"
#include "tests/unwind/truth/tracee.h"
#include "unwind/host/elf_image.h"
#include "unwind/walk/module_table.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sample::unwind::truth {

class AddressSpace {
public:
    /// `program` is the main program's file, called "program" in places; its symbols are those of
    /// `symbol_file`. `tracee` outlives the object.
    AddressSpace(const Tracee& tracee, std::string program, std::string symbol_file);

    /// Reads everything again; to be called after a system call that maps or unmaps. Errors: those
    /// of ElfImage::map().
    [[nodiscard]] Result<void> refresh();

    /// A generation of its own after each change.
    [[nodiscard]] const ModuleTable& modules() const noexcept { return table_; }

    /// The mapping that holds `sp`. The main stack may have to grow to hold it.
    [[nodiscard]] Result<AddressRange> stack_of(std::uint64_t sp);
    [[nodiscard]] bool is_code(std::uint64_t address) const noexcept;
    [[nodiscard]] bool is_vdso(std::uint64_t address) const noexcept;

    /// "module:symbol", "module:section" where no symbol covers the pc, or "?".
    [[nodiscard]] std::string place_of(std::uint64_t pc);
    /// "module+0x123": the address in the module's file, for readelf and objdump.
    [[nodiscard]] std::string offset_of(std::uint64_t pc) const;

private:
    struct Loaded {
        std::string path;
        AddressRange range;
        std::uint64_t bias = 0;
    };

    [[nodiscard]] const Mapping* mapping_of(std::uint64_t address) const noexcept;
    [[nodiscard]] const Loaded* loaded_at(std::uint64_t pc) const noexcept;
    [[nodiscard]] std::string name_of(const std::string& path) const;
    [[nodiscard]] Result<void> add_file(const Mapping& first, std::vector<Module>& modules);
    void add_vdso(const Mapping& mapping, std::vector<Module>& modules);

    const Tracee& tracee_;
    std::string program_;
    std::string symbol_file_;
    std::vector<Mapping> mappings_;
    std::vector<Loaded> loaded_;
    std::map<std::string, ElfImage> images_;
    std::map<std::string, Symbols> symbols_;
    std::vector<std::byte> vdso_;
    std::vector<Module> modules_;
    ModuleTable table_;
    std::uint64_t generation_ = 0;
};

}  // namespace sample::unwind::truth
