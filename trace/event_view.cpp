#include "trace/event_view.h"

#include "trace/text.h"
#include "trace/wire.h"

namespace sample::trace {

std::uint64_t EventView::integer(std::string_view field) const {
    const auto index = type_.field(field);
    if (!index) {
        return 0;
    }
    const DeclaredField& declared = type_.fields[*index];
    if (declared.is_array() || declared.is_float()) {
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
    if (declared.is_array() || !declared.is_float()) {
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
        return fixed_.subspan(declared.offset, declared.size);
    }
    std::span<const std::byte> whole;
    bool in_scratch = false;
    for (const AuxBlock& block : aux_) {
        if (block.field != index || block.data.empty()) {
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
    if (type_.fields[*index].element_bytes() == 2) {
        return utf8_from_utf16(data);
    }
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace sample::trace
