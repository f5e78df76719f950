// A marker event's values, as sample/trace.h takes them.
//
// Async-signal-safe, no allocation.
#pragma once

#include "sample/trace_abi.h"
#include "sample/unity/IUnityProfilerTypes.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

namespace sample::unity {

inline constexpr std::size_t kMostValues = 16;

using MarkerValues = std::span<const UnityProfilerMarkerData>;

/// What SetMarkerMetadataName has said of one value.
struct ValueName {
    const char* name;
    UnityProfilerMarkerDataType type;
    UnityProfilerMarkerDataUnit unit;
};
using ValueNames = std::array<std::atomic<const ValueName*>, kMostValues>;

/// At most kMostValues of them; texts are cut to 120 bytes. By `names`, or "value 1" and so on.
class RecordedValues {
public:
    /// `names`: null, there are none.
    RecordedValues(const ValueNames* names, MarkerValues values) noexcept;
    [[nodiscard]] const sample_trace_value* data() const noexcept { return values_.data(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    static constexpr std::size_t kTextBytes = 512;
    const char* text_of(const UnityProfilerMarkerData& value) noexcept;

    std::array<sample_trace_value, kMostValues> values_;
    std::array<char, kTextBytes> text_;
    std::size_t size_ = 0;
    std::size_t used_ = 0;  ///< Of the text.
};

struct Number {
    bool is_real = false;
    std::int64_t integer = 0;
    double real = 0;
};
/// The number that a value is. False: it is none.
[[nodiscard]] bool read_number(const UnityProfilerMarkerData& value, Number& number) noexcept;

/// UTF-8 of a value that is UTF-16, without a 0 behind it. Returns how many bytes.
std::size_t to_utf8(const UnityProfilerMarkerData& value, std::span<char> out) noexcept;
/// UTF-16 of `text`, UTF-8, into `units`. Returns how many.
std::size_t to_utf16(const char* text, std::span<char16_t> units) noexcept;

}  // namespace sample::unity
