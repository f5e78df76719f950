// Which mapping of this process an address lies in: /proc/self/maps, read where nothing may be
// allocated.
#pragma once

#include <cstdint>
#include <span>

namespace sample {

struct FoundMapping {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    bool is_private = true;
};

/// False, and `found` left alone, if the address is not mapped or /proc can't be read. The file's
/// name goes to `name`, cut off to fit, with a 0 behind it; "" for anonymous memory. O(mappings).
/// Async-signal-safe. Source: proc_pid_maps(5).
bool find_mapping(std::uintptr_t address, FoundMapping& found, std::span<char> name) noexcept;

}  // namespace sample
