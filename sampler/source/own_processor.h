// The processor that the calling thread wakes up on, which it takes from whoever runs there.
//
// In a virtual machine the kernel leaves a thread where it is, whoever runs there: an idle
// processor that its host has taken counts as busy. Source: Linux, kernel/sched/sched.h,
// available_idle_cpu().
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
    /// On that one alone. False, and on any one: it may not use that, or it is kNoProcessor. At
    /// most three system calls, and the move.
    bool go_to(unsigned processor) noexcept;
    /// To another than `processor`, where that may be, and from then on on any one. At most four
    /// system calls, and the move, where it is there.
    void leave(unsigned processor) noexcept;

private:
    /// Of 4,096 processors; with more the thread stays where it is.
    using Set = std::array<std::uint64_t, 64>;

    /// What is not told is empty.
    [[nodiscard]] static Set read() noexcept;
    /// False: it stays where it was.
    bool use(const Set& set) noexcept;
    /// What others have changed holds from now on.
    void look_again() noexcept;

    Set allowed_{};
    Set used_{};               ///< As it was set last.
    bool is_refused_ = false;  ///< To move, by a filter.
};

}  // namespace sample::source
