// The processor that the calling thread uses, which may be one that a thread it looks at has just
// been put off.
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
    /// Which it may move to.
    [[nodiscard]] bool has_others() const noexcept { return has_others_; }
    /// On one of the others, where there are. Three system calls.
    void step_aside() noexcept;
    /// On any one again.
    void use_any() noexcept;

private:
    /// Of 4,096 processors; with more the thread stays where it is.
    using Set = std::array<std::uint64_t, 64>;

    /// What is not told is empty.
    [[nodiscard]] static Set read() noexcept;
    void allow(const Set& set) noexcept;

    Set allowed_{};
    Set used_{};  ///< As it was set last.
    bool has_others_ = false;
    bool is_refused_ = false;  ///< To move, by a filter.
};

}  // namespace sample::source
