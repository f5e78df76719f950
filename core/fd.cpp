#include "core/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

namespace sample {

void Fd::reset(int fd) noexcept {
    const int old = std::exchange(fd_, fd);
    if (old >= 0) {
        ::close(old);
    }
}

std::string read_small_file(const std::string& path) {
    const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    std::string text;
    std::array<char, 4096> buffer{};
    ssize_t got = 0;
    while (fd.is_open() && (got = ::read(fd.get(), buffer.data(), buffer.size())) > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

std::vector<std::uint32_t> numbers_of_line(std::string_view status, std::string_view key) {
    std::size_t at = status.find(key);
    while (at != std::string_view::npos && (at == 0 || status[at - 1] != '\n')) {
        at = status.find(key, at + 1);
    }
    std::vector<std::uint32_t> numbers;
    if (at == std::string_view::npos) {
        return numbers;
    }
    std::string_view rest = status.substr(at + key.size());
    rest = rest.substr(0, rest.find('\n'));
    while (!(rest = rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size()))).empty()) {
        std::uint32_t number = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        if (error != std::errc{}) {
            break;
        }
        numbers.push_back(number);
        rest = rest.substr(static_cast<std::size_t>(end - rest.data()));
    }
    return numbers;
}

std::size_t write_all(int fd, std::span<const std::byte> bytes) noexcept {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t count = ::write(fd, bytes.data() + done, bytes.size() - done);
        if (count > 0) {
            done += static_cast<std::size_t>(count);
        } else if (count == 0) {
            errno = EIO;
            break;
        } else if (errno == EAGAIN) {
            pollfd ready{fd, POLLOUT, 0};
            if (::poll(&ready, 1, kWritePatienceMs) == 0) {
                errno = ETIMEDOUT;
                break;
            }
        } else if (errno != EINTR) {
            break;
        }
    }
    return done;
}

std::size_t write_all(int fd, std::string_view text) noexcept {
    return write_all(fd, std::as_bytes(std::span{text}));
}

}  // namespace sample
