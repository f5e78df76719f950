// Reads any stream of this container and hands events to whoever subscribed to them by name.
//
// The stream's own declarations say what its events look like, so events of unknown types are
// skipped and counted, and known ones may have gained or lost fields.
//
// Order: events without a serial number (important ones, NoSync) are handed out as their packets
// come. Those with one are handed out in its order, which is that of all threads: an event whose
// predecessors have not come yet is kept. What does not come (it was lost, or cut off) is waited
// for until kSyncsWaited sync packets have passed, too much is kept, or the stream ends; then it is
// counted and the reading goes on.
#pragma once

#include "core/result.h"
#include "trace/event_type.h"
#include "trace/event_view.h"
#include "trace/packet_reader.h"
#include "trace/serial_order.h"
#include "trace/stream_facts.h"

#include <cstddef>
#include <cstdint>
#include <deque>
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

/// Is told of a part of what is read that nobody will look at again.
using Passed = std::function<void(std::span<const std::byte>)>;

/// Something of a stream that nobody got.
struct Skipped {
    std::string what;  ///< A type's name, or words in parentheses.
    std::uint64_t count = 0;
};

/// How far a stream could be read.
struct StreamOutcome {
    std::string problem;           ///< Why it was not read to its end, for people; empty if it was.
    std::uint64_t bytes_used = 0;  ///< The file up to the last packet whose events were handed out.
    std::uint64_t unknown_events = 0;  ///< Of types that nobody subscribed to.
    std::uint64_t lost_serials = 0;    ///< Ordered events that never came.
    std::vector<Skipped> skipped;      ///< By name: all of the above, and what is out of place.
};

/// A type that the stream declares, and what came of it.
struct TypeUse {
    const EventType* type = nullptr;
    std::uint64_t events = 0;  ///< Ends of scopes are not counted.
    std::uint64_t bytes = 0;   ///< Of the decoded stream, with the events' headers.
};

/// Reads one stream. Not thread-safe. Whatever its bytes are: no crash, time in O(its decoded size)
/// but for the logarithm of what is kept; memory for at most 64 MiB of unfinished events, 64 Ki
/// declared fields, kMaxHeldBytes of events kept for their order, 64 Ki open scopes and 16 Ki
/// threads' names.
class EventReader {
public:
    static constexpr std::size_t kMaxHeldBytes = SerialOrder::kMaxBytes;
    static constexpr unsigned kSyncsWaited = 3;

    /// Called for each event of a type. nullopt: go on; a text: stop, the stream is damaged, the
    /// text says how.
    using Handler = std::function<std::optional<std::string>(const EventView&)>;

    /// `name` is "Logger.Event". One handler a name. Before the first bytes.
    void subscribe(std::string_view name, Handler handler);
    /// For events of all types that nobody subscribed to by name.
    void subscribe_to_others(Handler handler) { others_ = std::move(handler); }
    /// Of a handler: it needs no more. Nothing more is handed out to anyone.
    void stop() noexcept { is_stopped_ = true; }

    /// Reads `file` to its end, or as far as possible. `passed` gets all of that, some MiB at once.
    /// Errors: it is empty; those of PacketReader::take_header().
    Result<StreamOutcome> run(std::span<const std::byte> file, const Passed& passed = {});

    /// The next bytes of a stream that comes in pieces of any size. False: no more are wanted, as
    /// it is damaged or a handler called stop(). Errors: those of PacketReader::take_header().
    Result<bool> feed(std::span<const std::byte> bytes);
    /// Waits no longer for events that have not come: of a stream that pauses.
    void settle();
    /// The stream ends here: hands out what is kept.
    StreamOutcome finish();

    /// True if the stream that was read declares the type "Logger.Event".
    [[nodiscard]] bool is_declared(std::string_view name) const;
    /// By name. Valid until the next bytes.
    [[nodiscard]] std::vector<TypeUse> types() const;
    /// What the stream has said of itself so far.
    [[nodiscard]] const StreamFacts& facts() const noexcept { return facts_; }
    [[nodiscard]] const ContainerHeader& header() const noexcept { return header_; }

private:
    struct Declared {
        EventType type;
        const Handler* handler = nullptr;
        bool has_facts = false;  ///< StreamFacts wants its events.
        std::uint64_t events = 0;
        std::uint64_t bytes = 0;
    };
    /// A scope that has begun and not ended.
    struct OpenScope {
        Declared* declared;
        std::optional<std::uint64_t> kept_as;  ///< In order_, if its begin was kept there.
    };
    /// What is known of one stream between its packets.
    struct Stream {
        std::vector<std::byte> bytes;  ///< That do not make a whole event yet.
        std::size_t scanned = 0;   ///< How much of them the search for the event's end has seen.
        bool is_entering = false;  ///< The next event begins a scope.
        bool zero_may_follow = false;        ///< The last byte of a scope's time, which some write.
        std::optional<std::uint64_t> cycle;  ///< Of the scope that begins.
        std::vector<OpenScope> scopes;
        std::uint64_t last_kept = 0;
    };
    enum class Step : std::uint8_t { done, needs_more, broken_off };

    [[nodiscard]] bool is_over() const noexcept { return is_damaged_ || is_stopped_; }
    /// Moves `bytes` behind the last whole packet. Errors: those of PacketReader::take_header().
    Result<void> take(std::span<const std::byte>& bytes);
    void take_packets(std::span<const std::byte>& bytes);
    /// Hands out the whole events of one packet. False: the reading is over.
    bool take_packet(const Packet& packet);
    bool forgive();
    Step take_events(std::uint16_t tid, Stream& stream, std::span<const std::byte>& bytes);
    Step take_record(bool is_schema, std::span<const std::byte>& bytes);
    Step take_thread_event(std::uint16_t tid, Stream& stream, std::span<const std::byte>& bytes);
    Step take_scope(std::uint16_t tid, Stream& stream, std::span<const std::byte>& bytes);
    Step end_scope(std::uint16_t tid, Stream& stream, std::optional<std::uint64_t> cycle);
    Step in_order(Declared& declared, std::uint16_t tid, Stream& stream,
                  std::span<const std::byte> fixed, std::optional<std::uint32_t> serial);
    Step dispatch(Declared& declared, std::uint16_t tid, std::span<const std::byte> fixed,
                  const Occurrence& occurrence);
    Step hand_out(const KeptEvent& event);
    Step hand_out_kept();
    Step give_up_waiting();
    void on_sync();
    Step declare(std::span<const std::byte> payload);
    Step important(std::uint16_t uid, std::span<const std::byte> payload);
    Step damaged(std::string problem);
    void skip(std::string_view what, std::uint64_t count = 1);

    ContainerHeader header_;
    bool has_header_ = false;
    bool is_stopped_ = false;
    bool is_damaged_ = false;
    std::vector<std::byte> rest_;  ///< Fed, and not a whole packet yet.
    std::uint64_t position_ = 0;   ///< Where rest_ begins in the stream.
    PacketReader packets_;
    std::map<std::string, Handler, std::less<>> handlers_;
    Handler others_;
    std::deque<Declared> declared_;  ///< Kept events refer to them.
    std::unordered_map<std::uint16_t, Declared*> types_;
    std::unordered_map<std::uint16_t, Stream> streams_;
    StreamFacts facts_;
    SerialOrder order_;
    unsigned syncs_waited_ = 0;
    std::size_t unfinished_bytes_ = 0;
    std::size_t declared_fields_ = 0;
    std::size_t open_scopes_ = 0;
    std::vector<AuxBlock> aux_;
    std::vector<std::byte> scratch_;
    std::map<std::string, std::uint64_t, std::less<>> skipped_;
    StreamOutcome outcome_;
};

}  // namespace sample::trace
