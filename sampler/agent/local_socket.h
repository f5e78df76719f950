// The few socket calls of the agent, by raw system calls: no errno, no cancellation point, EINTR
// retried. Async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sample::agent {

/// Connects to an abstract unix socket. A descriptor (close-on-exec), or a negative errno.
int connect_abstract(const char* name) noexcept;

/// One datagram with descriptors. 0, or a negative errno.
int send_message(int socket, const void* bytes, std::size_t size, const int* fds,
                 std::size_t fd_count) noexcept;

/// One datagram; received descriptors are close-on-exec. Bytes received, or a negative errno.
/// `fd_count`: in: room; out: how many came.
long receive_message(int socket, void* bytes, std::size_t size, int* fds,
                     std::size_t& fd_count) noexcept;

void close_descriptor(int fd) noexcept;

}  // namespace sample::agent
