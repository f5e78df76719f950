#include "trace/event_writer.h"

#include <algorithm>

namespace sample::trace {

void EventWriter::declare(std::span<const EventSpec> specs) {
    std::vector<std::byte> payload;
    std::vector<std::byte> declaration;
    for (const EventSpec& spec : specs) {
        declaration.clear();
        append_declaration(declaration, spec);
        if (payload.size() + declaration.size() > wire::kMaxPayloadBytes) {
            packets_.packet(wire::kSchemaStream, payload);
            payload.clear();
        }
        wire::append(payload, declaration);
    }
    packets_.packet(wire::kSchemaStream, payload);
}

void EventWriter::add(const EventSpec& spec, std::span<const std::byte> event) {
    if (packets_.has_failed()) {
        return;
    }
    if (!spec.is_important()) {
        if (data_.size() + event.size() > wire::kMaxPayloadBytes) {
            close_all();
        }
        wire::append(data_, event);
        return;
    }
    if (importants_.size() + event.size() > wire::kMaxPayloadBytes) {
        close_importants();
    }
    wire::append(importants_, event);
}

void EventWriter::close_importants() {
    std::span<const std::byte> rest{importants_};
    while (!rest.empty()) {
        const std::size_t size = std::min(rest.size(), wire::kMaxPayloadBytes);
        packets_.packet(wire::kImportantStream, rest.first(size));
        rest = rest.subspan(size);
    }
    importants_.clear();
}

void EventWriter::close_all() {
    close_importants();
    if (!data_.empty()) {
        packets_.packet(kDataStream, data_);
        data_.clear();
    }
}

}  // namespace sample::trace
