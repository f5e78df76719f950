// Names of PLT stubs: "puts@plt".
//
// A stub has no symbol; what it calls is found the way the processor does it: by the GOT slot that
// its jump reads, and the relocation that fills the slot. So .plt, .plt.sec and .plt.got of every
// linker are covered alike, and a stub that does something else has no name.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sample::symbolize {

struct PltStub {
    std::string target;  ///< The linker's name of the function called, without a version.
    std::uint64_t start = 0;
};

/// x86-64 only: of another machine's file, no stub is known.
class PltTable {
public:
    /// Reads the dynamic relocations once. `elf` must outlive the table.
    explicit PltTable(Elf* elf);

    [[nodiscard]] std::optional<PltStub> find(std::uint64_t address) const;

private:
    struct Section {
        std::uint64_t start = 0;
        std::uint64_t entry_bytes = 0;
        const unsigned char* bytes = nullptr;
        std::size_t size = 0;
    };

    void read_relocations(Elf_Scn* scn, const GElf_Shdr& header, bool is_plt);
    [[nodiscard]] const char* target_of(const Section& section, std::size_t offset) const;

    Elf* elf_;
    std::vector<Section> sections_;
    std::unordered_map<std::uint64_t, const char*> slots_;  ///< GOT address to name.
    std::vector<const char*> by_index_;                     ///< In the order of .rela.plt.
};

}  // namespace sample::symbolize
