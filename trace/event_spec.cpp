#include "trace/event_spec.h"

namespace sample::trace {
namespace {

void append_name(std::vector<std::byte>& out, std::string_view name) {
    wire::append(out, std::as_bytes(std::span{name}));
}

}  // namespace

void append_declaration(std::vector<std::byte>& out, const EventSpec& spec) {
    std::vector<std::byte> payload;
    wire::append(payload, spec.uid, 2);
    wire::append(payload, spec.fields.size(), 1);
    wire::append(payload, spec.flags, 1);
    wire::append(payload, spec.logger.size(), 1);
    wire::append(payload, spec.name.size(), 1);
    std::size_t offset = 0;
    for (const FieldSpec& field : spec.fields) {
        const std::size_t size = fixed_bytes(field.type);
        wire::append(payload, 0, 2);  // family "regular", and a byte without use
        wire::append(payload, offset, 2);
        wire::append(payload, size, 2);
        wire::append(payload, static_cast<std::uint8_t>(field.type), 1);
        wire::append(payload, field.name.size(), 1);
        offset += size;
    }
    append_name(payload, spec.logger);
    append_name(payload, spec.name);
    for (const FieldSpec& field : spec.fields) {
        append_name(payload, field.name);
    }
    if (payload.size() % 2 != 0) {
        wire::append(payload, 0, 1);
    }
    wire::append(out, wire::kNewEventUid, 2);
    wire::append(out, payload.size(), 2);
    wire::append(out, payload);
}

}  // namespace sample::trace
