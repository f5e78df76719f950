#include "trace/event_encoder.h"

#include <cassert>

namespace sample::trace {

EventEncoder::EventEncoder(const EventSpec& spec, std::vector<std::byte>& out)
    : spec_{spec}, out_{out}, start_{out.size()} {
    if (spec.is_important()) {
        wire::append(out_, spec.uid, 2);
        wire::append(out_, 0, 2);  // the size, known in finish()
    } else {
        wire::append(out_, (std::uint64_t{spec.uid} << 1) | 1, 2);
    }
}

EventEncoder& EventEncoder::number(std::uint64_t value) {
    const FieldType type = spec_.fields[next_field_++].type;
    assert(!is_variable(type));
    wire::append(out_, value, fixed_bytes(type));
    return *this;
}

EventEncoder& EventEncoder::bytes(std::span<const std::byte> value) {
    assert(is_variable(spec_.fields[next_field_].type));
    const std::uint64_t uid = spec_.is_important() ? wire::kAuxUid : wire::kAuxUid << 1;
    wire::append(out_, uid | (std::uint64_t{next_field_++} << 8) | (value.size() << 13), 4);
    wire::append(out_, value);
    return *this;
}

EventEncoder& EventEncoder::text(std::string_view value) {
    return bytes(std::as_bytes(std::span{value}));
}

void EventEncoder::finish() {
    assert(next_field_ == spec_.fields.size());
    if (spec_.has_aux()) {
        wire::append(out_, spec_.is_important() ? wire::kAuxEndUid : wire::kAuxEndUid << 1, 1);
    }
    if (spec_.is_important()) {
        const std::size_t size = out_.size() - start_ - 4;
        assert(size <= wire::kMaxRecordBytes);
        out_[start_ + 2] = static_cast<std::byte>(size);
        out_[start_ + 3] = static_cast<std::byte>(size >> 8);
    }
}

}  // namespace sample::trace
