// Reads any stream of this container and hands events to whoever subscribed to them by name.
//
// The stream's own declarations say what its events look like, so events of unknown types are
// skipped, and known ones may have gained or lost fields. Packets are processed in the order of
// the file; events of different threads are not brought into one order (serial numbers are
// skipped).
#pragma once

#include "core/result.h"
#include "trace/event_type.h"
#include "trace/event_view.h"
#include "trace/packet_reader.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sample::trace {

/// How far a stream could be read.
struct StreamOutcome {
    std::string problem;           ///< Why it was not read to its end, for people; empty if it was.
    std::uint64_t bytes_used = 0;  ///< The file up to the last packet whose events were handed out.
    std::uint64_t unknown_events = 0;  ///< Of types that nobody subscribed to.
};

/// Not thread-safe. Whatever the file's bytes are: no crash, time in O(its decoded size), memory
/// for at most 64 MiB of unfinished events and 64 Ki declared fields.
class EventReader {
public:
    /// Called for each event of a type. nullopt: go on; a text: stop, the stream is damaged, the
    /// text says how.
    using Handler = std::function<std::optional<std::string>(const EventView&)>;

    /// `name` is "Logger.Event". One handler a name.
    void subscribe(std::string_view name, Handler handler);

    /// Reads `file` to its end, or as far as possible. Errors: those of PacketReader::open().
    Result<StreamOutcome> run(std::span<const std::byte> file);
    /// True if the stream that was read declares the type "Logger.Event".
    [[nodiscard]] bool is_declared(std::string_view name) const;

private:
    struct Declared {
        EventType type;
        const Handler* handler = nullptr;
    };
    /// A stream's bytes that do not make a whole event yet.
    struct Unfinished {
        std::vector<std::byte> bytes;
        std::size_t scanned = 0;  ///< How much of it the search for the event's end has seen.
    };
    enum class Step : std::uint8_t { done, needs_more, damaged };

    /// Hands out the whole events of one packet. False: damaged, problem_ is set.
    bool take_packet(const Packet& packet);
    Step take_events(std::uint16_t tid, std::span<const std::byte>& bytes, std::size_t& scanned);
    Step take_record(bool is_schema, std::span<const std::byte>& bytes);
    Step take_thread_event(std::span<const std::byte>& bytes, std::size_t& scanned);
    Step find_aux_end(std::span<const std::byte> bytes, std::size_t& at, bool collect);
    Step dispatch(const Declared& declared, std::span<const std::byte> fixed);
    Step declare(std::span<const std::byte> payload);
    Step important(std::uint16_t uid, std::span<const std::byte> payload);
    Step damaged(std::string problem);

    std::map<std::string, Handler, std::less<>> handlers_;
    std::unordered_map<std::uint16_t, Declared> types_;
    std::unordered_map<std::uint16_t, Unfinished> unfinished_;
    std::size_t unfinished_bytes_ = 0;
    std::size_t declared_fields_ = 0;
    std::vector<AuxBlock> aux_;
    std::vector<std::byte> scratch_;
    StreamOutcome outcome_;
};

}  // namespace sample::trace
