// Fields of variable size: an event's fixed part is followed by blocks, each with a header that
// says of which field and how long it is, and by a byte that ends them.
#pragma once

#include "trace/event_view.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sample::trace {

enum class AuxEnd : std::uint8_t { found, needs_more, damaged };

/// Of a thread's event, whose size nobody says: moves `at`, the begin of a block, behind the
/// event's last one, or as far as whole ones go. `blocks` gets them; nullptr: nobody wants them.
[[nodiscard]] AuxEnd find_aux_end(std::span<const std::byte> bytes, std::size_t& at,
                                  std::vector<AuxBlock>* blocks);

/// Of an important event, whose `payload` is whole: all its blocks, from `at` on. False: damaged.
[[nodiscard]] bool read_aux(std::span<const std::byte> payload, std::size_t at,
                            std::vector<AuxBlock>& blocks);

}  // namespace sample::trace
