#include "trace/event_writer.h"

#include <algorithm>

namespace sample::trace {
namespace {

/// Of thread streams, each of which has up to 4 KB of memory.
constexpr std::size_t kMostFillingStreams = 4096;

}  // namespace

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

void EventWriter::add(const EventSpec& spec, std::span<const std::byte> event,
                      std::uint16_t stream) {
    if (!spec.is_important()) {
        add_to_thread(stream, event);
        return;
    }
    if (packets_.has_failed()) {
        return;
    }
    if (importants_.size() + event.size() > wire::kMaxPayloadBytes) {
        close_importants();
    }
    wire::append(importants_, event);
}

std::vector<std::byte>& EventWriter::waiting(std::uint16_t stream) {
    const std::size_t index = std::size_t{stream} - wire::kFirstThreadStream;
    if (index >= threads_.size()) {
        threads_.resize(index + 1);
    }
    return threads_[index];
}

void EventWriter::add_to_thread(std::uint16_t stream, std::span<const std::byte> events) {
    if (packets_.has_failed()) {
        return;
    }
    std::vector<std::byte>& its = waiting(stream);
    if (its.empty()) {
        if (filling_.size() >= kMostFillingStreams) {
            close_all();
        }
        filling_.push_back(stream);
    } else if (its.size() + events.size() > wire::kMaxPayloadBytes) {
        close_thread(stream);
    }
    wire::append(its, events);
}

/// Makes packets of `events`, which are gone then.
void EventWriter::write(std::uint16_t stream, std::vector<std::byte>& events) {
    std::span<const std::byte> rest{events};
    while (!rest.empty()) {
        const std::size_t size = std::min(rest.size(), wire::kMaxPayloadBytes);
        packets_.packet(stream, rest.first(size));
        rest = rest.subspan(size);
    }
    events.clear();
}

/// It stays in filling_.
void EventWriter::close_thread(std::uint16_t stream) {
    close_importants();
    write(stream, waiting(stream));
}

void EventWriter::close_importants() {
    write(wire::kImportantStream, importants_);
}

void EventWriter::close_all() {
    close_importants();
    for (const std::uint16_t stream : filling_) {
        std::vector<std::byte>& its = waiting(stream);
        write(stream, its);
        its.shrink_to_fit();
    }
    filling_.clear();
}

}  // namespace sample::trace
