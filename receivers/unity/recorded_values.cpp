#include "receivers/unity/recorded_values.h"

#include "receivers/shared/text.h"

#include <algorithm>
#include <cstring>

namespace sample::unity {
namespace {

constexpr std::size_t kMostTextBytes = 120;
constexpr char32_t kReplacement = 0xfffd;

constexpr std::array<const char*, kMostValues> kKeys{
    "value 1", "value 2",  "value 3",  "value 4",  "value 5",  "value 6",  "value 7",  "value 8",
    "value 9", "value 10", "value 11", "value 12", "value 13", "value 14", "value 15", "value 16"};

/// Nothing where the value says that it is smaller.
template <class T>
bool read_as(const UnityProfilerMarkerData& value, T& read) noexcept {
    if (value.ptr == nullptr || value.size < sizeof read) {
        return false;
    }
    std::memcpy(&read, value.ptr, sizeof read);
    return true;
}

template <class T>
bool read_integer(const UnityProfilerMarkerData& value, Number& number) noexcept {
    T read = 0;
    const bool is_there = read_as(value, read);
    number.integer = static_cast<std::int64_t>(read);
    return is_there;
}

template <class T>
bool read_real(const UnityProfilerMarkerData& value, Number& number) noexcept {
    T read = 0;
    const bool is_there = read_as(value, read);
    number.is_real = true;
    number.real = static_cast<double>(read);
    return is_there;
}

/// The next character of `text`, which goes on behind it. A broken one is the replacement.
char32_t take_utf8(const char*& text) noexcept {
    const auto first = static_cast<unsigned char>(*text++);
    if (first < 0x80) {
        return first;
    }
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
    char32_t code = first & (more == 3 ? 0x07U : more == 2 ? 0x0fU : 0x1fU);
    for (int i = 0; i < more; ++i) {
        const auto byte = static_cast<unsigned char>(*text);
        if ((byte & 0xc0U) != 0x80) {
            return kReplacement;
        }
        code = code << 6U | (byte & 0x3fU);
        ++text;
    }
    return more == 0 || code > 0x10ffff ? kReplacement : code;
}

}  // namespace

std::size_t to_utf8(const UnityProfilerMarkerData& value, std::span<char> out) noexcept {
    const auto unit_at = [&](std::size_t index) {
        char16_t unit = 0;
        std::memcpy(&unit, static_cast<const char*>(value.ptr) + index * sizeof unit, sizeof unit);
        return unit;
    };
    const std::size_t count = value.size / sizeof(char16_t);
    std::size_t used = 0;
    for (std::size_t i = 0; i < count && unit_at(i) != 0; ++i) {
        char32_t code = unit_at(i);
        if (code >= 0xd800 && code < 0xe000) {
            const char32_t next = i + 1 < count ? unit_at(i + 1) : 0;
            const bool is_pair = code < 0xdc00 && next >= 0xdc00 && next < 0xe000;
            code = is_pair ? 0x10000 + ((code - 0xd800) << 10U) + (next - 0xdc00) : kReplacement;
            i += is_pair ? 1 : 0;
        }
        const std::size_t put = receivers::put_utf8(code, out.subspan(used));
        if (put == 0) {
            break;
        }
        used += put;
    }
    return used;
}

std::size_t to_utf16(const char* text, std::span<char16_t> units) noexcept {
    std::size_t used = 0;
    while (*text != '\0' && used + 1 < units.size()) {
        const char32_t code = take_utf8(text);
        if (code < 0x10000) {
            units[used++] = static_cast<char16_t>(code);
        } else {
            units[used++] = static_cast<char16_t>(0xd800 + ((code - 0x10000) >> 10U));
            units[used++] = static_cast<char16_t>(0xdc00 + ((code - 0x10000) & 0x3ffU));
        }
    }
    return used;
}

bool read_number(const UnityProfilerMarkerData& value, Number& number) noexcept {
    switch (value.type) {
        case kUnityProfilerMarkerDataTypeInstanceId:
        case kUnityProfilerMarkerDataTypeInt32:
            return read_integer<std::int32_t>(value, number);
        case kUnityProfilerMarkerDataTypeUInt32:
            return read_integer<std::uint32_t>(value, number);
        case kUnityProfilerMarkerDataTypeInt64:
            return read_integer<std::int64_t>(value, number);
        case kUnityProfilerMarkerDataTypeUInt64:
        case kUnityProfilerMarkerDataTypeGfxResourceId:
            return read_integer<std::uint64_t>(value, number);
        case kUnityProfilerMarkerDataTypeFloat:
            return read_real<float>(value, number);
        case kUnityProfilerMarkerDataTypeDouble:
            return read_real<double>(value, number);
        default:
            return false;
    }
}

const char* RecordedValues::text_of(const UnityProfilerMarkerData& value) noexcept {
    const std::size_t left = text_.size() - used_;
    if (value.ptr == nullptr || left < 2) {
        return "";
    }
    char* const begin = text_.data() + used_;
    const std::span<char> room{begin, std::min(left - 1, kMostTextBytes)};
    std::size_t size = 0;
    if (value.type == kUnityProfilerMarkerDataTypeString) {
        size = ::strnlen(static_cast<const char*>(value.ptr),
                         std::min<std::size_t>(value.size, room.size()));
        std::memcpy(begin, value.ptr, size);
    } else if (value.type == kUnityProfilerMarkerDataTypeString16) {
        size = to_utf8(value, room);
    }
    begin[size] = '\0';
    used_ += size + 1;
    return begin;
}

RecordedValues::RecordedValues(const ValueNames* names, MarkerValues values) noexcept {
    for (const UnityProfilerMarkerData& each : values.first(std::min(values.size(), kMostValues))) {
        const ValueName* const named =
            names == nullptr ? nullptr : (*names)[size_].load(std::memory_order_acquire);
        sample_trace_value& made = values_[size_];
        made.key = named != nullptr ? named->name : kKeys[size_];
        Number number;
        if (read_number(each, number)) {
            made.kind = number.is_real ? SAMPLE_TRACE_VALUE_REAL : SAMPLE_TRACE_VALUE_INTEGER;
            if (number.is_real) {
                made.as.real = number.real;
            } else {
                made.as.integer = number.integer;
            }
        } else if (each.type == kUnityProfilerMarkerDataTypeBlob8) {
            made.key = "bytes";
            made.kind = SAMPLE_TRACE_VALUE_INTEGER;
            made.as.integer = each.size;
        } else {
            made.kind = SAMPLE_TRACE_VALUE_TEXT;
            made.as.text = text_of(each);
        }
        ++size_;
    }
}

}  // namespace sample::unity
