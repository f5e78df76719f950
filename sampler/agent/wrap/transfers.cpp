// The functions that move data: no sample cuts them short (capture/transfers.h). They are points of
// cancellation, so none is noexcept; a thread that is cancelled there ends.
#include "sampler/capture/transfers.h"

#include "sampler/agent/processes/gate.h"
#include "sampler/agent/wrap/next_definition.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace sample::agent {
namespace {

SAMPLE_NEXT(g_write, "write", ssize_t(int, const void*, std::size_t));
SAMPLE_NEXT(g_writev, "writev", ssize_t(int, const iovec*, int));
SAMPLE_NEXT(g_read, "read", ssize_t(int, void*, std::size_t));
SAMPLE_NEXT(g_readv, "readv", ssize_t(int, const iovec*, int));
SAMPLE_NEXT(g_pwrite, "pwrite", ssize_t(int, const void*, std::size_t, off_t));
SAMPLE_NEXT(g_pwritev, "pwritev", ssize_t(int, const iovec*, int, off_t));
SAMPLE_NEXT(g_pwritev2, "pwritev2", ssize_t(int, const iovec*, int, off_t, int));
SAMPLE_NEXT(g_pread, "pread", ssize_t(int, void*, std::size_t, off_t));
SAMPLE_NEXT(g_preadv, "preadv", ssize_t(int, const iovec*, int, off_t));
SAMPLE_NEXT(g_preadv2, "preadv2", ssize_t(int, const iovec*, int, off_t, int));
SAMPLE_NEXT(g_send, "send", ssize_t(int, const void*, std::size_t, int));
SAMPLE_NEXT(g_sendto, "sendto",
            ssize_t(int, const void*, std::size_t, int, const sockaddr*, socklen_t));
SAMPLE_NEXT(g_sendmsg, "sendmsg", ssize_t(int, const msghdr*, int));
SAMPLE_NEXT(g_recv, "recv", ssize_t(int, void*, std::size_t, int));
SAMPLE_NEXT(g_recvfrom, "recvfrom", ssize_t(int, void*, std::size_t, int, sockaddr*, socklen_t*));
SAMPLE_NEXT(g_recvmsg, "recvmsg", ssize_t(int, msghdr*, int));
SAMPLE_NEXT(g_sendmmsg, "sendmmsg", int(int, mmsghdr*, unsigned, int));
SAMPLE_NEXT(g_recvmmsg, "recvmmsg", int(int, mmsghdr*, unsigned, int, timespec*));
SAMPLE_NEXT(g_read_chk, "__read_chk", ssize_t(int, void*, std::size_t, std::size_t));
SAMPLE_NEXT(g_pread_chk, "__pread_chk", ssize_t(int, void*, std::size_t, off_t, std::size_t));
SAMPLE_NEXT(g_recv_chk, "__recv_chk", ssize_t(int, void*, std::size_t, std::size_t, int));
SAMPLE_NEXT(g_recvfrom_chk, "__recvfrom_chk",
            ssize_t(int, void*, std::size_t, std::size_t, int, sockaddr*, socklen_t*));
SAMPLE_NEXT(g_getrandom, "getrandom", ssize_t(void*, std::size_t, unsigned));
SAMPLE_NEXT(g_sendfile, "sendfile", ssize_t(int, int, off_t*, std::size_t));
SAMPLE_NEXT(g_splice, "splice", ssize_t(int, off64_t*, int, off64_t*, std::size_t, unsigned));
SAMPLE_NEXT(g_vmsplice, "vmsplice", ssize_t(int, const iovec*, std::size_t, unsigned));
SAMPLE_NEXT(g_tee, "tee", ssize_t(int, int, std::size_t, unsigned));
SAMPLE_NEXT(g_copy_file_range, "copy_file_range",
            ssize_t(int, off64_t*, int, off64_t*, std::size_t, unsigned));

template <class Function, class... Arguments>
auto move_data(NextDefinition<Function>& next, Arguments... arguments) {
    Function* const function = next.get();
    if (!capture::begin_transfer(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)))) {
        return function(arguments...);
    }
    const auto moved = function(arguments...);
    if (capture::end_transfer()) {
        take_sample_of(reinterpret_cast<std::uintptr_t>(function));
    }
    return moved;
}

}  // namespace
}  // namespace sample::agent

extern "C" {

namespace agent = sample::agent;

SAMPLE_WRAPPER ssize_t write(int fd, const void* data, std::size_t bytes) {
    return agent::move_data(agent::g_write, fd, data, bytes);
}

SAMPLE_WRAPPER ssize_t writev(int fd, const iovec* parts, int count) {
    return agent::move_data(agent::g_writev, fd, parts, count);
}

SAMPLE_WRAPPER ssize_t read(int fd, void* data, std::size_t bytes) {
    return agent::move_data(agent::g_read, fd, data, bytes);
}

SAMPLE_WRAPPER ssize_t readv(int fd, const iovec* parts, int count) {
    return agent::move_data(agent::g_readv, fd, parts, count);
}

SAMPLE_WRAPPER ssize_t pwrite(int fd, const void* data, std::size_t bytes, off_t at) {
    return agent::move_data(agent::g_pwrite, fd, data, bytes, at);
}
SAMPLE_WRAPPER ssize_t pwrite64(int fd, const void* data, std::size_t bytes, off_t at)
    __attribute__((alias("pwrite")));

SAMPLE_WRAPPER ssize_t pwritev(int fd, const iovec* parts, int count, off_t at) {
    return agent::move_data(agent::g_pwritev, fd, parts, count, at);
}
SAMPLE_WRAPPER ssize_t pwritev64(int fd, const iovec* parts, int count, off_t at)
    __attribute__((alias("pwritev")));

SAMPLE_WRAPPER ssize_t pwritev2(int fd, const iovec* parts, int count, off_t at, int flags) {
    return agent::move_data(agent::g_pwritev2, fd, parts, count, at, flags);
}
SAMPLE_WRAPPER ssize_t pwritev64v2(int fd, const iovec* parts, int count, off_t at, int flags)
    __attribute__((alias("pwritev2")));

SAMPLE_WRAPPER ssize_t pread(int fd, void* data, std::size_t bytes, off_t at) {
    return agent::move_data(agent::g_pread, fd, data, bytes, at);
}
SAMPLE_WRAPPER ssize_t pread64(int fd, void* data, std::size_t bytes, off_t at)
    __attribute__((alias("pread")));

SAMPLE_WRAPPER ssize_t preadv(int fd, const iovec* parts, int count, off_t at) {
    return agent::move_data(agent::g_preadv, fd, parts, count, at);
}
SAMPLE_WRAPPER ssize_t preadv64(int fd, const iovec* parts, int count, off_t at)
    __attribute__((alias("preadv")));

SAMPLE_WRAPPER ssize_t preadv2(int fd, const iovec* parts, int count, off_t at, int flags) {
    return agent::move_data(agent::g_preadv2, fd, parts, count, at, flags);
}
SAMPLE_WRAPPER ssize_t preadv64v2(int fd, const iovec* parts, int count, off_t at, int flags)
    __attribute__((alias("preadv2")));

SAMPLE_WRAPPER ssize_t send(int fd, const void* data, std::size_t bytes, int flags) {
    return agent::move_data(agent::g_send, fd, data, bytes, flags);
}

SAMPLE_WRAPPER ssize_t sendto(int fd, const void* data, std::size_t bytes, int flags,
                              const sockaddr* to, socklen_t size) {
    return agent::move_data(agent::g_sendto, fd, data, bytes, flags, to, size);
}

SAMPLE_WRAPPER ssize_t sendmsg(int fd, const msghdr* message, int flags) {
    return agent::move_data(agent::g_sendmsg, fd, message, flags);
}

SAMPLE_WRAPPER ssize_t recv(int fd, void* data, std::size_t bytes, int flags) {
    return agent::move_data(agent::g_recv, fd, data, bytes, flags);
}

SAMPLE_WRAPPER ssize_t recvfrom(int fd, void* data, std::size_t bytes, int flags, sockaddr* from,
                                socklen_t* size) {
    return agent::move_data(agent::g_recvfrom, fd, data, bytes, flags, from, size);
}

SAMPLE_WRAPPER ssize_t recvmsg(int fd, msghdr* message, int flags) {
    return agent::move_data(agent::g_recvmsg, fd, message, flags);
}

SAMPLE_WRAPPER int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
    return agent::move_data(agent::g_sendmmsg, fd, messages, count, flags);
}

SAMPLE_WRAPPER int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags,
                            timespec* timeout) {
    return agent::move_data(agent::g_recvmmsg, fd, messages, count, flags, timeout);
}

// libc's other names, and what fortified programs call; `room` is what the compiler knows of the
// object.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming,readability-function-size):
// libc's.
SAMPLE_WRAPPER ssize_t __write(int fd, const void* data, std::size_t bytes)
    __attribute__((alias("write")));
SAMPLE_WRAPPER ssize_t __read(int fd, void* data, std::size_t bytes) __attribute__((alias("read")));
SAMPLE_WRAPPER ssize_t __pwrite64(int fd, const void* data, std::size_t bytes, off_t at)
    __attribute__((alias("pwrite")));
SAMPLE_WRAPPER ssize_t __pread64(int fd, void* data, std::size_t bytes, off_t at)
    __attribute__((alias("pread")));
SAMPLE_WRAPPER ssize_t __send(int fd, const void* data, std::size_t bytes, int flags)
    __attribute__((alias("send")));

SAMPLE_WRAPPER ssize_t __pread_chk(int fd, void* data, std::size_t bytes, off_t at,
                                   std::size_t room) {
    return agent::move_data(agent::g_pread_chk, fd, data, bytes, at, room);
}
SAMPLE_WRAPPER ssize_t __pread64_chk(int fd, void* data, std::size_t bytes, off_t at,
                                     std::size_t room) __attribute__((alias("__pread_chk")));

SAMPLE_WRAPPER ssize_t __read_chk(int fd, void* data, std::size_t bytes, std::size_t room) {
    return agent::move_data(agent::g_read_chk, fd, data, bytes, room);
}

SAMPLE_WRAPPER ssize_t __recv_chk(int fd, void* data, std::size_t bytes, std::size_t room,
                                  int flags) {
    return agent::move_data(agent::g_recv_chk, fd, data, bytes, room, flags);
}

SAMPLE_WRAPPER ssize_t __recvfrom_chk(int fd, void* data, std::size_t bytes, std::size_t room,
                                      int flags, sockaddr* from, socklen_t* size) {
    return agent::move_data(agent::g_recvfrom_chk, fd, data, bytes, room, flags, from, size);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming,readability-function-size)

SAMPLE_WRAPPER ssize_t getrandom(void* data, std::size_t bytes, unsigned flags) {
    return agent::move_data(agent::g_getrandom, data, bytes, flags);
}

SAMPLE_WRAPPER ssize_t sendfile(int to, int from, off_t* offset, std::size_t bytes) noexcept {
    return agent::move_data(agent::g_sendfile, to, from, offset, bytes);
}
SAMPLE_WRAPPER ssize_t sendfile64(int to, int from, off64_t* offset, std::size_t bytes) noexcept {
    return sendfile(to, from, offset, bytes);
}

SAMPLE_WRAPPER ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset,
                              std::size_t bytes, unsigned flags) {
    return agent::move_data(agent::g_splice, from, from_offset, to, to_offset, bytes, flags);
}

SAMPLE_WRAPPER ssize_t vmsplice(int fd, const iovec* parts, std::size_t count, unsigned flags) {
    return agent::move_data(agent::g_vmsplice, fd, parts, count, flags);
}

SAMPLE_WRAPPER ssize_t tee(int from, int to, std::size_t bytes, unsigned flags) {
    return agent::move_data(agent::g_tee, from, to, bytes, flags);
}

SAMPLE_WRAPPER ssize_t copy_file_range(int from, off64_t* from_offset, int to, off64_t* to_offset,
                                       std::size_t bytes, unsigned flags) {
    return agent::move_data(agent::g_copy_file_range, from, from_offset, to, to_offset, bytes,
                            flags);
}

}  // extern "C"
