// How a stream's cycles become nanoseconds.
#pragma once

#include <cstdint>

namespace sample::trace {

/// A file's cycles as nanoseconds since `start`. Without a division, as each edge of a zone asks.
class CycleClock {
public:
    CycleClock() : CycleClock{0, kNsPerSecond} {}
    /// `frequency`: cycles a second; 0 is not known, and taken for nanoseconds.
    CycleClock(std::uint64_t start, std::uint64_t frequency);

    [[nodiscard]] std::uint64_t start() const noexcept { return start_; }
    [[nodiscard]] std::uint64_t frequency() const noexcept { return frequency_; }
    /// 0 before the start.
    [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t cycle) const noexcept {
        const Wide since = cycle > start_ ? cycle - start_ : 0;
        return static_cast<std::uint64_t>(since * factor_ >> shift_);
    }

private:
    __extension__ using Wide = unsigned __int128;
    static constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

    std::uint64_t start_;
    std::uint64_t frequency_;
    std::uint64_t factor_ = 0;
    unsigned shift_ = 0;
};

}  // namespace sample::trace
