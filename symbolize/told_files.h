// Names for code that is in no ELF file: made at run time, or the kernel's.
#pragma once

#include "symbolize/symbolizer.h"

#include <cstdint>
#include <span>

namespace sample::symbolize {

/// Code made at run time: `module.path` is a perf map, if it ends in ".map", else a jitdump. The
/// file is taken from `module.other_paths`, or from `path` if it belongs to this user or to root,
/// and, of a jitdump, is the one of `module.build_id`.
[[nodiscard]] ModuleSymbols symbolize_jit(const ModuleFile& module,
                                          std::span<const std::uint64_t> addresses);

/// The running kernel's: addresses lack their two highest bits.
[[nodiscard]] ModuleSymbols symbolize_kernel(const ModuleFile& module,
                                             std::span<const std::uint64_t> addresses);

}  // namespace sample::symbolize
