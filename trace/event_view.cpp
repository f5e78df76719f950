#include "trace/event_view.h"

#include "trace/text.h"
#include "trace/wire.h"

#include <algorithm>
#include <limits>

namespace sample::trace {
namespace {

/// Writers differ in how wide text of important events is kept: two bytes a character, or one.
/// The latter has nothing but printable ASCII; of the former only a few ideographs look like that.
bool is_narrow(std::span<const std::byte> text) {
    return std::all_of(text.begin(), text.end(), [](std::byte byte) {
        const auto c = std::to_integer<unsigned char>(byte);
        return (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\n' || c == '\r';
    });
}

}  // namespace

std::uint64_t EventView::integer(std::string_view field) const {
    const auto index = type_.field(field);
    if (!index) {
        return 0;
    }
    const DeclaredField& declared = type_.fields[*index];
    if (declared.is_array() || declared.is_float() || !has(declared)) {
        return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = declared.size; i-- > 0;) {
        value = (value << 8) | std::to_integer<std::uint64_t>(fixed_[declared.offset + i]);
    }
    if (declared.is_signed()) {
        const std::size_t unused_bits = 64 - 8 * std::size_t{declared.size};
        value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused_bits) >>
                                           unused_bits);
    }
    return value;
}

double EventView::real(std::string_view field) const {
    const auto index = type_.field(field);
    if (!index) {
        return 0;
    }
    const DeclaredField& declared = type_.fields[*index];
    if (declared.is_array() || !declared.is_float() || !has(declared)) {
        return 0;
    }
    const std::byte* at = fixed_.data() + declared.offset;
    return declared.size == sizeof(double)  ? wire::load<double>(at)
           : declared.size == sizeof(float) ? double{wire::load<float>(at)}
                                            : 0;
}

std::span<const std::byte> EventView::bytes_of(std::size_t index) const {
    const DeclaredField& declared = type_.fields[index];
    if (!declared.is_array()) {
        return {};
    }
    if (declared.size != 0) {
        return has(declared) ? fixed_.subspan(declared.offset, declared.size)
                             : std::span<const std::byte>{};
    }
    return joined(index, index);
}

std::span<const std::byte> EventView::joined(std::size_t first, std::size_t last) const {
    std::span<const std::byte> whole;
    bool in_scratch = false;
    for (const AuxBlock& block : aux_) {
        if (block.field < first || block.field > last || block.data.empty()) {
            continue;
        }
        if (whole.empty()) {
            whole = block.data;
            continue;
        }
        if (!in_scratch) {
            scratch_.assign(whole.begin(), whole.end());
            in_scratch = true;
        }
        scratch_.insert(scratch_.end(), block.data.begin(), block.data.end());
        whole = scratch_;
    }
    return whole;
}

std::span<const std::byte> EventView::attachment() const {
    return joined(type_.fields.size(), std::numeric_limits<std::size_t>::max());
}

std::span<const std::byte> EventView::bytes(std::string_view field) const {
    const auto index = type_.field(field);
    return index ? bytes_of(*index) : std::span<const std::byte>{};
}

std::string EventView::text(std::string_view field) const {
    const auto index = type_.field(field);
    if (!index) {
        return {};
    }
    const std::span<const std::byte> data = bytes_of(*index);
    if (type_.fields[*index].element_bytes() == 2 &&
        !(stream_ == wire::kImportantStream && is_narrow(data))) {
        return utf8_from_utf16(data);
    }
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace sample::trace
