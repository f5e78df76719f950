// Gathers events into packets and keeps the order that readers need: a packet of samples is never
// written before the important events that came first.
#pragma once

#include "core/result.h"
#include "trace/event_spec.h"
#include "trace/packet_writer.h"
#include "trace/record_type.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sample::trace {

/// Three streams: the schema, important events, and one thread stream for the rest. Not
/// thread-safe. Failures are kept by the PacketWriter.
class EventWriter {
public:
    /// The thread stream that all our own batches travel in.
    static constexpr std::uint16_t kDataStream = wire::kFirstThreadStream;

    explicit EventWriter(PacketWriter packets) : packets_{std::move(packets)} {}

    /// Declares types at once: packets of the schema stream.
    void declare(std::span<const EventSpec> specs);
    /// Adds one event made by EventEncoder. An event of the thread stream fits into one packet; an
    /// important one that does not is continued in the next.
    void add(const EventSpec& spec, std::span<const std::byte> event);
    /// Adds a record as an event of `spec`, which has its fields.
    template <class Record>
    void add(const Record& record, const EventSpec& spec = kSpec<Record>) {
        scratch_.clear();
        append_event(scratch_, record, spec);
        add(spec, scratch_);
    }

    /// Makes packets of the important events, or of all.
    void close_importants();
    void close_all();

    [[nodiscard]] PacketWriter& packets() noexcept { return packets_; }
    [[nodiscard]] const PacketWriter& packets() const noexcept { return packets_; }

private:
    PacketWriter packets_;
    std::vector<std::byte> importants_;
    std::vector<std::byte> data_;
    std::vector<std::byte> scratch_;
};

}  // namespace sample::trace
