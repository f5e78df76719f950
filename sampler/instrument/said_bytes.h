// Values as bytes: what a zone's note, and a message's arguments, are in a lane.
//
// Async-signal-safe.
#pragma once

#include "sample/trace_abi.h"
#include "sampler/capture/lane_records.h"

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::instrument {

/// What follows the head of a record. What does not fit is cut or left out.
class SaidBytes {
public:
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {data_.data(), size_};
    }
    void add(const void* bytes, std::size_t count) noexcept;
    /// With the 0 at its end, of which there is always one.
    void add_text(const char* text, std::size_t most = capture::kMostSaid) noexcept;

    [[nodiscard]] std::size_t room() const noexcept { return data_.size() - size_; }

private:
    std::size_t size_ = 0;
    std::array<std::byte, capture::kMostSaid> data_;
};

/// As capture::NoteKind says.
void add_values(SaidBytes& said, std::span<const sample_trace_value> values) noexcept;

/// As trace::Message::arguments. What `format` says of them is believed, up to the first conversion
/// that C11 does not know. Source: C11 7.21.6.1.
void add_arguments(SaidBytes& said, const char* format, std::va_list arguments) noexcept;

}  // namespace sample::instrument
