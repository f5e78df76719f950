#include "sampler/agent/session/local_socket.h"

#include "sampler/capture/raw_syscall.h"
#include "sampler/control/protocol.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace sample::agent {
namespace {

using capture::as_argument;
using capture::raw_syscall;

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * control::kMaxPassedFds);

/// Until it has an answer, or the patience is at its end: then once more, as a collector that has
/// answered meanwhile may have ended, too.
template <class Call>
long retry(Patience& patience, Call call) noexcept {
    for (bool goes_on = true;;) {
        const long result = call();
        if ((result != -EINTR && result != -EAGAIN) || !goes_on) {
            return result;
        }
        goes_on = patience.goes_on();
    }
}

/// Who made the socket listen: the kernel noted it then. Source: unix(7), SO_PEERCRED.
bool is_trusted(int socket, Patience& patience) noexcept {
    ucred listener{};
    socklen_t size = sizeof listener;
    if (raw_syscall(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, as_argument(&listener),
                    as_argument(&size)) != 0) {
        return false;
    }
    const bool has_started_us = listener.pid == raw_syscall(SYS_getppid);
    patience.set_collector(listener.pid, has_started_us ? Patience::kMostForADiskNs : 0);
    return listener.uid == 0 || listener.uid == static_cast<uid_t>(raw_syscall(SYS_geteuid));
}

}  // namespace

void limit_waits(int socket) noexcept {
    const timeval slice{0, Patience::kSliceNs / 1000};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
        raw_syscall(SYS_setsockopt, socket, SOL_SOCKET, option, as_argument(&slice), sizeof slice);
    }
}

int connect_to_collector(const char* name, Patience& patience) noexcept {
    const int fd =
        static_cast<int>(raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (fd < 0) {
        return fd;
    }
    limit_waits(fd);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t length = strnlen(name, sizeof address.sun_path - 1);
    memcpy(address.sun_path + 1, name, length);
    const auto size = static_cast<long>(offsetof(sockaddr_un, sun_path) + 1 + length);
    const long result =
        retry(patience, [&] { return raw_syscall(SYS_connect, fd, as_argument(&address), size); });
    if (result < 0 || !is_trusted(fd, patience)) {
        close_descriptor(fd);
        return result < 0 ? static_cast<int>(result) : -EACCES;
    }
    return fd;
}

int send_message(int socket, const void* bytes, std::size_t size, const int* fds,
                 std::size_t fd_count, Patience& patience) noexcept {
    iovec part{const_cast<void*>(bytes), size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[kControlBytes] = {};
    if (fd_count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        cmsghdr* head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(head), fds, sizeof(int) * fd_count);
    }
    const long result = retry(patience, [&] {
        return raw_syscall(SYS_sendmsg, socket, as_argument(&message), MSG_NOSIGNAL);
    });
    return result < 0 ? static_cast<int>(result) : 0;
}

long receive_message(int socket, void* bytes, std::size_t size, int* fds, std::size_t& fd_count,
                     Patience& patience) noexcept {
    iovec part{bytes, size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[kControlBytes] = {};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const long result = retry(patience, [&] {
        return raw_syscall(SYS_recvmsg, socket, as_argument(&message), MSG_CMSG_CLOEXEC);
    });
    const std::size_t room = fd_count;
    fd_count = 0;
    if (result < 0) {
        return result;
    }
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
         head = CMSG_NXTHDR(&message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
            if (fd_count < room) {
                fds[fd_count++] = fd;
            } else {
                close_descriptor(fd);
            }
        }
    }
    return result;
}

void close_descriptor(int fd) noexcept {
    if (fd >= 0) {
        capture::raw_syscall(SYS_close, fd);
    }
}

}  // namespace sample::agent
