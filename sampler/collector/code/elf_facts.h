// What the collector must know of an ELF file without symbols: can it be preloaded, who made it,
// which build is it, where do its segments lie.
//
// Foreign bytes: every offset is checked; a file that does not parse is `is_elf == false`.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sample::collector {

struct ElfSegment {
    std::uint64_t offset = 0;
    std::uint64_t address = 0;
    std::uint64_t file_size = 0;
};

struct ElfFacts {
    bool is_elf = false;
    bool is_x86_64 = false;
    std::string interpreter;    ///< Empty: statically linked, if it is not the loader itself.
    std::string first_library;  ///< The first that it needs.
    bool is_loader = false;     ///< glibc's, which runs the program that it is told of.
    bool is_go = false;
    std::vector<std::uint8_t> build_id;
    std::vector<ElfSegment> segments;  ///< PT_LOAD

    /// Run-time address minus ELF address of a mapping of file offset `offset` at `start`.
    [[nodiscard]] std::optional<std::uint64_t> bias_of_mapping(std::uint64_t start,
                                                               std::uint64_t offset) const;
};

/// Thread-safe.
[[nodiscard]] ElfFacts read_elf_facts(const std::string& path);

/// Its build-id alone; empty if it has none. Reads the file's first pages only.
/// Thread-safe.
[[nodiscard]] std::vector<std::uint8_t> read_build_id(const std::string& path);

/// Whether it defines a function of that name for other modules, as far as can be seen: true where
/// it can't be read. Thread-safe.
[[nodiscard]] bool may_define(const std::string& path, std::string_view function);

/// Which programs are Go's: asked at every start of a process, read from its file once. A file is
/// known by device, inode, size and time of change, as long as the session lasts. Not thread-safe.
class GoPrograms {
public:
    /// Whether the file that `pid` runs is a Go program. False if it cannot be read.
    [[nodiscard]] bool is_go(pid_t pid);

private:
    using FileKey = std::array<std::uint64_t, 5>;
    std::map<FileKey, bool> is_go_;
};

}  // namespace sample::collector
