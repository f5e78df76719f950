// What a stream says of itself: its clock, its threads' names, and what their times are relative
// to.
#pragma once

#include "trace/cycle_clock.h"
#include "trace/event_view.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sample::trace {

/// What a stream says of the thread that a stream of packets belongs to.
struct StreamThread {
    std::uint32_t system_id = 0;
    std::string name;  ///< At most StreamFacts::kMaxThreadName bytes.
};

/// Not thread-safe. Memory for one entry a stream number, of which there are 16 Ki.
class StreamFacts {
public:
    static constexpr std::size_t kMaxThreadName = 1024;

    /// Whether events of the type "Logger.Event" say any of this.
    [[nodiscard]] static bool are_in(std::string_view type);
    /// An event of such a type.
    void learn(const EventView& event);

    [[nodiscard]] const CycleClock& clock() const noexcept { return clock_; }
    [[nodiscard]] const std::map<std::uint16_t, StreamThread>& threads() const { return threads_; }
    /// nullptr: nothing was said of it.
    [[nodiscard]] const StreamThread* thread(std::uint16_t stream) const;
    /// What relative times in a thread's stream count from.
    [[nodiscard]] std::uint64_t base_cycle(std::uint16_t stream) const;

private:
    void learn_clock(const EventView& event);
    void learn_thread(const EventView& event);
    void learn_base(const EventView& event);

    CycleClock clock_;
    std::map<std::uint16_t, StreamThread> threads_;
    std::unordered_map<std::uint16_t, std::uint64_t> bases_;
};

}  // namespace sample::trace
