// The few socket calls of the agent, by raw system calls: no errno, no cancellation point. None
// waits longer than the patience lasts. Async-signal-safe.
#pragma once

#include "sampler/agent/session/patience.h"

#include <cstddef>
#include <cstdint>

namespace sample::agent {

/// Connects to the collector that listens on an abstract unix socket, and tells `patience` of it. A
/// descriptor (close-on-exec), or a negative errno; -EACCES: the listener is neither root nor the
/// user that this process acts for, so it is not the session's.
int connect_to_collector(const char* name, Patience& patience) noexcept;

/// Starts a collector for a program that was run with the library preloaded and no front end: see
/// collector_start.cpp. Our end of a socket to it, whose process is `collector`, or -1; then
/// `problem` (one line for people) says why. The program's own wait() never meets a child that it
/// did not make.
int start_collector(int& collector, const char*& problem) noexcept;

/// No call on this socket blocks for longer than a slice.
void limit_waits(int socket) noexcept;

/// One datagram with descriptors. 0, or a negative errno.
int send_message(int socket, const void* bytes, std::size_t size, const int* fds,
                 std::size_t fd_count, Patience& patience) noexcept;

/// One datagram; received descriptors are close-on-exec. Bytes received, or a negative errno.
/// `fd_count`: in: room; out: how many came.
long receive_message(int socket, void* bytes, std::size_t size, int* fds, std::size_t& fd_count,
                     Patience& patience) noexcept;

void close_descriptor(int fd) noexcept;

}  // namespace sample::agent
