// An ELF file's segments mapped as the loader would map them, read-only: the tables of a module
// that another process runs. What .eh_frame_hdr does not find is indexed when the file is mapped.
#pragma once

#include "core/result.h"
#include "unwind/arch/native.h"
#include "unwind/index/frame_index_builder.h"
#include "unwind/walk/module_table.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace sample::unwind {

/// Owns the mapping. Nothing is relocated: tables that use absolute pointers, which linkers do not
/// write into .eh_frame, would be off.
class ElfImage {
public:
    /// `machine`: the architecture that the file has to be for (e_machine). Errors: system (open,
    /// mmap), corrupt (not such an ELF executable or library), unsupported (nothing to load). Not
    /// async-signal-safe.
    [[nodiscard]] static Result<ElfImage> map(const std::string& path,
                                              std::uint16_t machine = arch::Native::kElfMachine);

    ElfImage(ElfImage&& other) noexcept;
    ElfImage& operator=(ElfImage&& other) noexcept;
    ElfImage(const ElfImage&) = delete;
    ElfImage& operator=(const ElfImage&) = delete;
    ~ElfImage();

    /// The module as it would be at `bias` (run-time address minus ELF virtual address) in the
    /// walked program; its tables are read from this image, which has to outlive it.
    [[nodiscard]] Module module_at(std::uint64_t bias) const noexcept;

    /// Whether the module has an index, or why not.
    [[nodiscard]] IndexResult index_result() const noexcept { return index_result_; }

private:
    struct OwnIndex;
    struct FreeIndex {
        void operator()(OwnIndex* index) const noexcept;
    };

    ElfImage(std::uint64_t base, std::size_t size) noexcept : base_{base}, size_{size} {}
    void make_index(int fd, std::span<const Elf64_Phdr> headers, std::uint64_t delta);

    std::uint64_t base_;
    std::size_t size_;
    Module at_zero_;  ///< The module at bias 0.
    IndexResult index_result_ = IndexResult::not_needed;
    std::unique_ptr<OwnIndex, FreeIndex> index_;  ///< Null without one.
};

}  // namespace sample::unwind
