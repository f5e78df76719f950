// An owned file descriptor, and reading and writing by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// All that a small file says, or one of /proc or /sys, whose size nobody tells; empty if it can't
/// be read.
[[nodiscard]] std::string read_small_file(const std::string& path);
/// The numbers of the line of a status file that begins with `key` ("Uid:"), which is not its first
/// line; none if there is no such line. Source: proc(5).
[[nodiscard]] std::vector<std::uint32_t> numbers_of_line(std::string_view status,
                                                         std::string_view key);

/// A reader that has taken nothing for so long will not.
inline constexpr int kWritePatienceMs = 10'000;

/// Writes all of `bytes`, whatever signals come and however often a pipe is full. Returns how many
/// were written; of fewer, errno says why (ETIMEDOUT: nobody reads).
std::size_t write_all(int fd, std::span<const std::byte> bytes) noexcept;
std::size_t write_all(int fd, std::string_view text) noexcept;

}  // namespace sample
