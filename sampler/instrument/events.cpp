#include "sampler/instrument/events.h"

#include "sampler/capture/capture.h"
#include "sampler/instrument/definitions.h"
#include "sampler/instrument/lane_writer.h"

#include <array>

namespace sample::instrument {
namespace {

using capture::kMostEventBytes;
using capture::kMostEventFields;
using capture::ScopeBegin;

/// More than any event may have.
constexpr std::size_t kTooMuch = kMostEventBytes + 1;
constexpr std::uint32_t kFirstSupplementary = 0x10000;
constexpr std::uint32_t kReplacement = 0xfffd;

std::uint32_t element(const sample_trace_part& part, std::uint64_t index) noexcept {
    std::uint32_t value = 0;
    __builtin_memcpy(&value, static_cast<const std::byte*>(part.data) + index * part.element_bytes,
                     part.element_bytes < sizeof value ? part.element_bytes : sizeof value);
    return value;
}

std::size_t size_of(const sample_trace_part& part) noexcept {
    if (part.data == nullptr || part.field >= kMostEventFields) {
        return 0;
    }
    if (part.count > kMostEventBytes) {
        return kTooMuch;
    }
    switch (part.how) {
        case SAMPLE_TRACE_NARROWED:
            return part.count;
        case SAMPLE_TRACE_UTF16: {
            std::size_t units = 0;
            for (std::uint64_t i = 0; i < part.count; ++i) {
                units += element(part, i) < kFirstSupplementary ? 1U : 2U;
            }
            return units * 2;
        }
        default:
            return part.count * part.element_bytes;
    }
}

/// UTF-16 of `part` to the `size` bytes at `out`, whatever has become of its text since these were
/// counted. Source: Unicode 15, 3.9, table 3-5.
void write_utf16(std::byte* out, const sample_trace_part& part, std::size_t size) noexcept {
    __builtin_memset(out, 0, size);
    std::size_t at = 0;
    const auto put = [&](std::uint32_t unit) {
        const auto narrow = static_cast<std::uint16_t>(unit);
        if (at + sizeof narrow <= size) {
            __builtin_memcpy(out + at, &narrow, sizeof narrow);
            at += sizeof narrow;
        }
    };
    for (std::uint64_t i = 0; i < part.count; ++i) {
        const std::uint32_t code = element(part, i);
        if (code < kFirstSupplementary) {
            put(code);
        } else if (code > 0x10ffff) {
            put(kReplacement);
            put(kReplacement);
        } else {
            put(0xd800 + ((code - kFirstSupplementary) >> 10U));
            put(0xdc00 + ((code - kFirstSupplementary) & 0x3ffU));
        }
    }
}

struct Sizes {
    std::array<std::uint32_t, kMostEventFields> parts;
    std::size_t data = 0;  ///< Of all parts.
    std::size_t total = 0;
};

/// False: it is no event, or a too large one.
bool measure(const sample_trace_event& event, Sizes& sizes) noexcept {
    if (event.part_count > kMostEventFields || event.fixed_bytes > kMostEventBytes) {
        return false;
    }
    sizes.total = event.fixed_bytes;
    for (std::uint64_t i = 0; i < event.part_count; ++i) {
        const std::size_t size = size_of(event.parts[i]);
        sizes.parts[i] = static_cast<std::uint32_t>(size);
        sizes.data += size;
        sizes.total += size == 0 ? 0 : size + capture::kEventPartBytes;
    }
    return sizes.total <= kMostEventBytes - sizeof(std::uint64_t);
}

void write(std::byte* out, const sample_trace_event& event, const Sizes& sizes) noexcept {
    __builtin_memcpy(out, event.fixed, event.fixed_bytes);
    out += event.fixed_bytes;
    for (std::uint64_t i = 0; i < event.part_count; ++i) {
        const sample_trace_part& part = event.parts[i];
        const std::size_t size = sizes.parts[i];
        if (size == 0) {
            continue;
        }
        const std::uint32_t head = capture::event_part(part.field, size);
        __builtin_memcpy(out, &head, sizeof head);
        out += sizeof head;
        if (part.how == SAMPLE_TRACE_UTF16) {
            write_utf16(out, part, size);
        } else if (part.how == SAMPLE_TRACE_NARROWED) {
            for (std::size_t n = 0; n < size; ++n) {
                out[n] = static_cast<std::byte>(element(part, n) & 0x7fU);
            }
        } else {
            __builtin_memcpy(out, part.data, size);
        }
        out += size;
    }
}

bool keep(const sample_trace_event& event, const Sizes& sizes) noexcept {
    const KeptRoom room = sizes.data > event.stated_bytes ? KeptRoom{} : reserve_kept(sizes.total);
    if (room.said == nullptr) {
        count_lost(0, 1);
        return false;
    }
    write(room.said, event, sizes);
    commit_kept(room, sizes.total, event.type);
    return true;
}

}  // namespace

bool raise_event(const sample_trace_event& event) noexcept {
    capture::DefinitionStore* const store =
        capture::g_attached->definitions.load(std::memory_order_acquire);
    Sizes sizes;
    if (store == nullptr || event.type == 0 || !measure(event, sizes)) {
        count_lost(0, 1);
        return false;
    }
    if ((event.flags & SAMPLE_TRACE_IMPORTANT) != 0) {
        return keep(event, sizes);
    }
    const auto scope = static_cast<ScopeBegin>(event.scope);
    const std::size_t bytes = sizeof(std::uint64_t) + sizes.total;
    const EventRoom room = reserve_event(bytes, scope);
    if (room.said == nullptr) {
        return false;
    }
    const std::uint64_t serial =
        (event.flags & SAMPLE_TRACE_NO_SYNC) != 0
            ? 0
            : store->next_serial.fetch_add(1, std::memory_order_relaxed) + 1;
    __builtin_memcpy(room.said, &serial, sizeof serial);
    write(room.said + sizeof serial, event, sizes);
    commit_event(room, bytes, event.type, scope);
    return true;
}

}  // namespace sample::instrument
