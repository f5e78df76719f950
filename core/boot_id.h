// Which boot of the machine this is: what the kernel's addresses are true for.
#pragma once

#include <cstdint>
#include <vector>

namespace sample {

/// The bytes of this boot's id, which is what a recording names its kernel by; empty if unknown.
/// Source: random(4).
[[nodiscard]] std::vector<std::uint8_t> boot_id();

}  // namespace sample
