#include "core/fd.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace sample {

void Fd::reset(int fd) noexcept {
    const int old = std::exchange(fd_, fd);
    if (old >= 0) {
        ::close(old);
    }
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
