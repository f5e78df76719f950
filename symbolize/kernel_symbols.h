// Names of the running kernel's functions, from /proc/kallsyms.
//
// A function reaches up to the next symbol; sizes are not told. Where a function has several names,
// the rule for a program's applies (docs/symbolization.md). Functions of kernel modules, and of BPF
// programs, say which: "ext4_read_iter [ext4]".
// Source: proc(5); Linux kernel/kallsyms.c.
#pragma once

#include "symbolize/told_code.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample::symbolize {

struct KernelNames {
    ToldCode told;
    bool is_closed = false;  ///< Addresses are all zero: whoever asks may not see them.
};

/// What `text`, the content of /proc/kallsyms, says of kernel `addresses`. Foreign text: lines of
/// another form are skipped. O(symbols). Thread-safe.
[[nodiscard]] KernelNames read_kallsyms(std::string_view text,
                                        std::span<const std::uint64_t> addresses);

/// The bytes of this boot's id, which is what a recording names its kernel by; empty if unknown.
[[nodiscard]] std::vector<std::uint8_t> boot_id();

}  // namespace sample::symbolize
