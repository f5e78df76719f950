// What those share that make plain values of the container's events.
#pragma once

#include "trace/cycle_clock.h"
#include "trace/record_sink.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace sample::trace {

/// A file's numbers of something, and our ids of it, which count up from 1.
class NumberMap {
public:
    /// The new id of `number`, which has none.
    std::uint32_t add(std::uint64_t number) {
        const std::uint32_t id = add_nameless();
        if (number < kSmallNumbers || number == small_.size()) {
            small_.resize(std::max<std::size_t>(small_.size(), number + 1));
            small_[number] = id;
        } else {
            large_.emplace(number, id);
        }
        return id;
    }
    /// An id that belongs to no number.
    std::uint32_t add_nameless() noexcept { return ++last_; }
    /// 0: it has none.
    [[nodiscard]] std::uint32_t find(std::uint64_t number) const {
        const std::uint32_t id = number < small_.size() ? small_[number] : 0;
        return id != 0 || large_.empty() ? id : find_large(number);
    }

private:
    static constexpr std::uint64_t kSmallNumbers = 1 << 20;  ///< These are looked up by index.

    [[nodiscard]] std::uint32_t find_large(std::uint64_t number) const {
        const auto found = large_.find(number);
        return found == large_.end() ? 0 : found->second;
    }

    std::vector<std::uint32_t> small_;
    std::unordered_map<std::uint64_t, std::uint32_t> large_;
    std::uint32_t last_ = 0;
};

/// Of one file that is read.
struct ReadingState {
    /// Bytes. What goes beyond is left out and counted.
    static constexpr std::size_t kMostDefined = std::size_t{256} << 20;

    RecordSink* sink;
    bool is_ours = true;
    CycleClock clock = {};
    std::uint64_t newest_ns = 0;
    std::uint64_t undefined = 0;  ///< References.
    std::uint64_t left_out = 0;   ///< Definitions.
    std::size_t defined_bytes = 0;

    std::uint64_t time(std::uint64_t cycle) {
        const std::uint64_t time_ns = clock.nanoseconds(cycle);
        newest_ns = std::max(newest_ns, time_ns);
        return time_ns;
    }
    /// For a definition: `kept` bytes are kept here, `handed_on` wherever a foreign file's
    /// definitions wait.
    [[nodiscard]] bool has_room(std::size_t kept, std::size_t handed_on) {
        constexpr std::size_t kDefinitionBytes = 64;  // What one takes here, about.
        const std::size_t bytes = kept + kDefinitionBytes + (is_ours ? 0 : handed_on);
        if (kMostDefined - defined_bytes < bytes) {
            ++left_out;
            return false;
        }
        defined_bytes += bytes;
        return true;
    }
    void hand_on(const Instrumentation& said) const { sink->instrumentation(said); }
};

}  // namespace sample::trace
