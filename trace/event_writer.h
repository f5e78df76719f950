// Gathers events into packets and keeps the order that readers need: a packet of a thread stream is
// never written before the important events that came first.
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

/// The streams of the schema and of important events, and any thread streams. Not thread-safe.
/// Failures are kept by the PacketWriter. Memory: 4 KB for each of at most 4096 thread streams that
/// wait for a packet, and 24 bytes for each below the highest that was used.
class EventWriter {
public:
    /// The thread stream that all batches of samples travel in.
    static constexpr std::uint16_t kDataStream = wire::kFirstThreadStream;

    explicit EventWriter(PacketWriter packets) : packets_{std::move(packets)} {}

    /// Declares types at once: packets of the schema stream.
    void declare(std::span<const EventSpec> specs);
    /// Adds one event made by EventEncoder, to the stream of important events if it is one, else to
    /// the thread stream `stream`. One that does not fit into a packet is continued in the next.
    void add(const EventSpec& spec, std::span<const std::byte> event,
             std::uint16_t stream = kDataStream);
    /// Adds a record as an event of `spec`, which has its fields.
    template <class Record>
    void add(const Record& record, const EventSpec& spec = kSpec<Record>,
             std::uint16_t stream = kDataStream) {
        scratch_.clear();
        append_event(scratch_, record, spec);
        add(spec, scratch_, stream);
    }
    /// Adds what belongs together, a scope's begin and its event for instance.
    void add_to_thread(std::uint16_t stream, std::span<const std::byte> events);

    /// Makes packets of the important events, or of all.
    void close_importants();
    void close_all();

    [[nodiscard]] PacketWriter& packets() noexcept { return packets_; }
    [[nodiscard]] const PacketWriter& packets() const noexcept { return packets_; }

private:
    std::vector<std::byte>& waiting(std::uint16_t stream);
    void write(std::uint16_t stream, std::vector<std::byte>& events);
    void close_thread(std::uint16_t stream);

    PacketWriter packets_;
    std::vector<std::byte> importants_;
    std::vector<std::vector<std::byte>> threads_;  ///< By stream - kFirstThreadStream.
    std::vector<std::uint16_t> filling_;           ///< Thread streams that have events.
    std::vector<std::byte> scratch_;
};

}  // namespace sample::trace
