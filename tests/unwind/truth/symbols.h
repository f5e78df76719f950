// Names of functions in an ELF file, for people and for the table of expectations: symbols that
// cover an address, or the section that holds it.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sample::unwind::truth {

class Symbols {
public:
    /// Those of `path`; none if it cannot be read.
    [[nodiscard]] static Symbols of_file(const std::string& path);
    /// Those of a file's bytes.
    [[nodiscard]] static Symbols of_image(std::span<const std::byte> bytes);

    /// The function at an ELF virtual address; else the name of its section; else "?".
    [[nodiscard]] const std::string& name_of(std::uint64_t address) const;

private:
    struct Symbol {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::string name;
    };

    void read(Elf* elf);
    void read_table(Elf* elf, Elf_Scn* section, std::size_t names);

    std::vector<Symbol> functions_;  ///< By their beginnings.
    std::vector<Symbol> sections_;
};

}  // namespace sample::unwind::truth
