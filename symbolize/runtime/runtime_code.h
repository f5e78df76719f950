// Code that is in no ELF file, made at run time or the kernel's: what the compilers and the kernel
// say of it, which is names as they give them and source lines where there are any, and symbols
// made of that. Foreign bytes throughout: what has not the form is
// skipped. Each file's form is described where it is read. Thread-safe.
#pragma once

#include "core/jitdump.h"
#include "symbolize/symbolizer.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::symbolize {

struct RuntimeCode {
    struct Function {
        std::string name;
        std::uint64_t start = 0;  ///< As addresses are counted.
        std::uint32_t file = 0;   ///< Where it begins; 0 if unknown, and so is the line.
        std::uint32_t line = 0;
    };
    struct Location {
        std::uint32_t function = 0;  ///< Index.
        std::uint32_t file = 0;      ///< Index: where `line` is.
        std::uint32_t line = 0;      ///< Of the address itself; 0 if unknown.
    };

    std::vector<std::string> files{std::string{}};  ///< files[0] is the unknown one.
    std::vector<Function> functions;
    std::vector<std::optional<Location>> locations;  ///< By address, in the order of whoever asked.
    bool is_hidden = false;  ///< Of the kernel: all is at address 0, as for who may not see it.
};

/// What the perf map `text` says of `addresses`, the process's own. O(lines × log addresses); keeps
/// no line but those that count.
[[nodiscard]] RuntimeCode read_perf_map(std::string_view text,
                                        std::span<const std::uint64_t> addresses);

enum class DumpAddresses : std::uint8_t {
    offsets,   ///< Where the byte of code lies in the file.
    run_time,  ///< Where it ran; of code that lay there one after the other, the last.
};

/// `reader` is at the jitdump's first record. O(records × log addresses); memory for what the
/// addresses need.
[[nodiscard]] RuntimeCode read_jitdump(const jitdump::Reader& reader,
                                       std::span<const std::uint64_t> addresses, DumpAddresses are);

/// What `text`, the content of /proc/kallsyms, says of kernel `addresses`. O(symbols).
[[nodiscard]] RuntimeCode read_kallsyms(std::string_view text,
                                        std::span<const std::uint64_t> addresses);

/// Code made at run time: `module.path` is a perf map, if it ends in ".map", else a jitdump. The
/// file is taken from `module.other_paths`, or from `path` if it belongs to this user or to root,
/// and, of a jitdump, is the one of `module.build_id`.
[[nodiscard]] ModuleSymbols symbolize_jit(const ModuleIdentity& module,
                                          std::span<const std::uint64_t> addresses);

/// The running kernel's: addresses lack their two highest bits.
[[nodiscard]] ModuleSymbols symbolize_kernel(const ModuleIdentity& module,
                                             std::span<const std::uint64_t> addresses);

}  // namespace sample::symbolize
