// The modules that a walk may meet: an immutable, sorted table over the caller's storage.
//
// Whoever owns the tables (the agent) builds one outside of handlers, publishes it by a pointer
// swap, and gives every new one another generation, which keeps rows of modules that are gone out
// of the RowCache. Nothing here allocates, so that a library without libstdc++ can use it.
//
// All addresses are those of the walked program. A module of another process, or of a file mapped
// elsewhere, is read at address + image_delta.
#pragma once

#include "core/address.h"
#include "unwind/cfi/fde.h"

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::unwind {

struct AddressRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    [[nodiscard]] constexpr bool contains(std::uint64_t address) const noexcept {
        return address - begin < end - begin;
    }
    constexpr bool operator==(const AddressRange&) const = default;
};

/// One loaded object. Everything but `span` may be zero: what is not known is not used.
struct Module {
    AddressRange span;         ///< From its first mapped byte to its last; may have holes.
    std::uint64_t header = 0;  ///< .eh_frame_hdr (PT_GNU_EH_FRAME).
    std::uint64_t header_size = 0;
    AddressRange tables;      ///< Readable bytes around the header: bounds of all table reads.
    AddressRange code;        ///< Readable code: the largest segment of it.
    std::uint64_t entry = 0;  ///< e_entry; code just after it that has no CFI starts a stack.
    /// The last byte of what the file gives to tables and code. A file that is cut loses this one
    /// first: while it can be read, so can they. 0: nobody is asked.
    std::uint64_t last_byte = 0;
    std::uint64_t image_delta = 0;  ///< Where the bytes are read, minus where the program has them.
    /// Of a module without a usable or sufficient header; made by unwind/index/, outlives the
    /// table.
    const cfi::FrameIndex* index = nullptr;

    /// Where the tables' bytes are in this process.
    [[nodiscard]] constexpr cfi::Tables local_tables() const noexcept {
        return cfi::Tables{header == 0 ? 0 : header + image_delta, header_size,
                           tables.begin + image_delta, tables.end + image_delta, index};
    }
};

/// Whether the loader may be asked, by _dl_find_object (glibc 2.35; lock-free), about pcs. Only
/// right for walks of the own process.
enum class LoaderLookup : std::uint8_t {
    off,  ///< The table is all there is.
    ask,  ///< For pcs that the table does not cover (a library loaded a moment ago), and, before a
          ///< module's tables are read, whether it is still there.
};

class ModuleTable {
public:
    ModuleTable() noexcept = default;
    /// `sorted` was prepared by sort_modules(), and outlives the table.
    ModuleTable(std::span<const Module> sorted, std::uint64_t generation,
                LoaderLookup loader) noexcept
        : modules_{sorted}, generation_{generation}, loader_{loader} {}

    /// The module whose span holds `pc`, or null. O(log modules). Async-signal-safe.
    [[nodiscard]] const Module* find(Pc pc) const noexcept;

    [[nodiscard]] std::span<const Module> modules() const noexcept { return modules_; }
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
    [[nodiscard]] LoaderLookup loader() const noexcept { return loader_; }

private:
    std::span<const Module> modules_;
    std::uint64_t generation_ = 0;
    LoaderLookup loader_ = LoaderLookup::off;
};

/// Sorts by address, in place, and drops empty modules and those that overlap one before them.
/// Returns how many are left, at the front. O(n log n), no allocation. Async-signal-safe.
[[nodiscard]] std::size_t sort_modules(std::span<Module> modules) noexcept;

/// Fills a module from its program headers, as dl_iterate_phdr gives them: `bias` is the run-time
/// address minus the ELF virtual address. If the first segment holds the ELF header and is
/// readable (at image_delta), `entry` comes from there. A span that is empty says that nothing is
/// loaded. No allocation, no system calls. Async-signal-safe. Source: gABI, Program Header.
[[nodiscard]] Module describe_module(std::uint64_t bias, std::span<const Elf64_Phdr> headers,
                                     std::uint64_t image_delta = 0) noexcept;

/// The program headers of the ELF file that is mapped from `start` on; empty if they are not in its
/// first page, or that cannot be read. At most one system call (see readable_page()).
/// Async-signal-safe.
[[nodiscard]] std::span<const Elf64_Phdr> mapped_headers(std::uint64_t start) noexcept;

/// The module that the loader has at `pc`. False if there is none, or if the C library has no
/// _dl_find_object. At most one system call (see readable_page()). Async-signal-safe.
[[nodiscard]] bool find_by_loader(Pc pc, Module& out) noexcept;

class StackMemory;
/// Whether the file of a module has not been cut since it was loaded, as `memory` says, which asks
/// the kernel once in a walk; true where it asks nobody. What a cut file has lost raises SIGBUS.
/// Async-signal-safe.
[[nodiscard]] bool is_whole(const Module& module, StackMemory& memory) noexcept;

/// Whether the loader still has `module` where it was, judged by its unwind tables. True also if
/// it cannot be asked. No system calls. Async-signal-safe.
[[nodiscard]] bool is_still_loaded(const Module& module, Pc pc) noexcept;

}  // namespace sample::unwind
