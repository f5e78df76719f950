// Turns field values into the bytes of one event.
#pragma once

#include "trace/event_spec.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sample::trace {

/// Appends one event of type `spec` to `out`: one call for every field, in the order of
/// declaration, then finish(). An important event gets stream 1's framing, others that of a thread
/// stream. The caller sees to it that an important event stays under 64 KiB, and a variable field
/// under 512 KiB.
class EventEncoder {
public:
    EventEncoder(const EventSpec& spec, std::vector<std::byte>& out);

    EventEncoder& number(std::uint64_t value);
    EventEncoder& bytes(std::span<const std::byte> value);
    EventEncoder& text(std::string_view value);  ///< A field of type text.
    void finish();

private:
    const EventSpec& spec_;
    std::vector<std::byte>& out_;
    std::size_t start_;
    std::size_t next_field_ = 0;
};

}  // namespace sample::trace
