// The processor that the calling thread wakes up on, which it takes from whoever runs there.
//
// Only the thread itself is moved, within what it was allowed when it began or has been since, by
// whoever. One owner. Async-signal-safe. Source: sched_setaffinity(2).
#pragma once

#include <array>
#include <cstdint>

namespace sample::source {

class OwnProcessor {
public:
    /// The calling thread's are asked for.
    void begin() noexcept;
    /// On that one alone; on any one, if it may not use that, or it is kNoProcessor. At most four
    /// system calls, and the move.
    void go_to(unsigned processor) noexcept;
    /// On any one again.
    void use_any() noexcept;

private:
    /// Of 4,096 processors; with more the thread stays where it is.
    using Set = std::array<std::uint64_t, 64>;

    /// What is not told is empty.
    [[nodiscard]] static Set read() noexcept;

    Set allowed_{};
    Set used_{};               ///< As it was set last.
    bool is_refused_ = false;  ///< To move, by a filter.
};

}  // namespace sample::source
