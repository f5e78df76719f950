// Which code of a jitdump lay at an address at a time: a JIT compiler uses addresses again.
//
// Fed with the dump's records in the file's order. What lies there now is a map of ranges; what lay
// there before is kept for as long as samples of that time may come. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>

namespace sample::collector {

class JitHistory {
public:
    static constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();

    struct Found {
        std::uint64_t code_offset = 0;      ///< Of the address's byte in the dump.
        std::uint64_t until_ns = kForever;  ///< From then on the answer is another one.
    };

    /// Code of `size` bytes was put to `address`; its bytes lie at `code_offset` of the dump.
    void load(std::uint64_t address, std::uint64_t size, std::uint64_t code_offset,
              std::uint64_t time_ns);
    /// What lay at `from` moved. Nothing known there: ignored.
    void move(std::uint64_t from, std::uint64_t to, std::uint64_t size, std::uint64_t time_ns);
    /// Code that is asked for before the time of its record, where nothing was before, was told of
    /// late: it is what lay there. O(log ranges), but for times that have passed.
    std::optional<Found> find(std::uint64_t address, std::uint64_t time_ns);
    /// No sample of that time will come any more.
    void forget_before(std::uint64_t time_ns);

    /// Goes up with every record.
    [[nodiscard]] std::uint64_t changes() const { return changes_; }
    /// Loads that were told of after samples of their time had been given to what lay there before.
    [[nodiscard]] std::uint64_t late() const { return late_; }
    [[nodiscard]] bool is_full() const { return full_; }

private:
    struct Piece {
        std::uint64_t end = 0;
        std::uint64_t code_offset = 0;  ///< Of the piece's first byte.
        std::uint64_t from_ns = 0;
        std::uint64_t asked_ns = 0;  ///< The latest time that it was asked for.
    };
    struct Past {
        std::uint64_t start = 0;
        Piece piece;
        std::uint64_t until_ns = 0;
    };
    using Pieces = std::map<std::uint64_t, Piece>;

    /// Makes room; what else a cut piece held stays.
    void retire(std::uint64_t start, std::uint64_t end, std::uint64_t time_ns);
    Pieces::iterator at(std::uint64_t address);

    Pieces now_;  ///< By first byte.
    std::deque<Past> past_;
    std::uint64_t last_ns_ = 0;
    std::uint64_t changes_ = 0;
    std::uint64_t late_ = 0;
    bool full_ = false;
};

}  // namespace sample::collector
