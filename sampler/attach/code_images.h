// The files that watched processes run, mapped once each: unwind tables and bytes of code for the
// walk of copied stacks.
#pragma once

#include "sampler/collector/code/elf_facts.h"
#include "sampler/collector/process/proc_files.h"
#include "unwind/host/elf_image.h"

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sample::attach {

/// One file.
struct CodeImage {
    std::string path;  ///< As the process has named it that ran it first.
    collector::ElfFacts facts;
    unwind::ElfImage elf;
    bool is_vdso = false;
};

/// Not thread-safe.
class CodeImages {
public:
    /// Files that nobody runs are kept for who runs them next, as long as there are no more than
    /// this in all.
    static constexpr std::size_t kMostKept = 1024;

    /// The image of what `pid` has mapped; null if that is no ELF file, or cannot be read by whom
    /// this thread acts as (ActingAs). "[vdso]" is this kernel's own.
    std::shared_ptr<const CodeImage> find(pid_t pid, const collector::Mapping& mapping);
    /// If there are too many: those that nobody has but this.
    void forget_unused();

private:
    using FileKey = std::array<std::uint64_t, 4>;

    std::map<FileKey, std::shared_ptr<const CodeImage>> images_;
    std::shared_ptr<const CodeImage> vdso_;
};

}  // namespace sample::attach
