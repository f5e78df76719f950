// An owned file descriptor, and writing to one.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace sample {

/// Closes its descriptor when destroyed. Movable, not copyable. -1 is "none".
class Fd {
public:
    Fd() noexcept = default;
    explicit Fd(int fd) noexcept : fd_{fd} {}
    Fd(Fd&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    Fd& operator=(Fd&& other) noexcept {
        reset(std::exchange(other.fd_, -1));
        return *this;
    }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    void reset(int fd = -1) noexcept;

private:
    int fd_ = -1;
};

/// A reader that has taken nothing for so long will not.
inline constexpr int kWritePatienceMs = 10'000;

/// Writes all of `bytes`, whatever signals come and however often a pipe is full. Returns how many
/// were written; of fewer, errno says why (ETIMEDOUT: nobody reads).
std::size_t write_all(int fd, std::span<const std::byte> bytes) noexcept;
std::size_t write_all(int fd, std::string_view text) noexcept;

}  // namespace sample
