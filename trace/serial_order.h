// Puts events of different threads into the order of their serial numbers, which have 24 bits and
// wrap: one counter of the whole program, without gaps where nothing was lost.
//
// A number counts as the one within 2^23 of what is waited for. Which one is the stream's first is
// only known once others came, too: nothing is handed out before start().
#pragma once

#include "trace/event_view.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace sample::trace {

/// An event with all its bytes. `owner` is the caller's.
struct KeptEvent {
    struct Piece {
        std::size_t field = 0;
        std::size_t size = 0;
    };
    /// The end of a scope that is to come right behind the event.
    struct Leave {
        void* owner = nullptr;
        std::optional<std::uint64_t> cycle;
    };

    void* owner = nullptr;
    std::uint16_t stream = 0;
    Occurrence occurrence;
    std::size_t fixed_bytes = 0;
    std::vector<std::byte> bytes;  ///< The fixed part, then all pieces.
    std::vector<Piece> pieces;
    std::vector<Leave> leaves;
};

/// Not thread-safe. O(log of what is kept) an operation.
class SerialOrder {
public:
    static constexpr std::size_t kMaxBytes = std::size_t{32} << 20;
    static constexpr std::size_t kMaxEvents = std::size_t{1} << 16;

    enum class Turn : std::uint8_t {
        now,    ///< It is the one that is waited for.
        later,  ///< Others come before it: keep() it.
        late,   ///< It was given up, or came already.
    };
    struct Place {
        Turn turn = Turn::now;
        std::uint64_t number = 0;  ///< The serial without its wrapping.
    };

    [[nodiscard]] Place place(std::uint32_t serial);
    /// The event of this place was handed out.
    void pass(std::uint64_t number) noexcept { next_ = number + 1; }
    /// Only what place() said is for later.
    void keep(std::uint64_t number, KeptEvent&& event);
    /// The kept event of that number; nullptr: it was handed out.
    [[nodiscard]] KeptEvent* find(std::uint64_t number);
    /// The event that is waited for, if it is kept.
    [[nodiscard]] std::optional<KeptEvent> take_next();
    /// Waits for the first of the kept events instead of what it waited for. Returns how many
    /// numbers are given up; there is no gap before the stream's first.
    std::uint64_t give_up();

    [[nodiscard]] bool is_waiting() const noexcept { return !kept_.empty(); }
    [[nodiscard]] bool is_full() const noexcept {
        return bytes_ > kMaxBytes || kept_.size() >= kMaxEvents;
    }

private:
    std::map<std::uint64_t, KeptEvent> kept_;
    std::size_t bytes_ = 0;
    bool has_first_ = false;
    bool is_started_ = false;
    std::uint64_t next_ = 0;
};

}  // namespace sample::trace
