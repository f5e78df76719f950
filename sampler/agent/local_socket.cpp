#include "sampler/agent/local_socket.h"

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

template <class Call>
long retry_interrupted(Call call) noexcept {
    for (;;) {
        const long result = call();
        if (result != -EINTR) {
            return result;
        }
    }
}

}  // namespace

int connect_abstract(const char* name) noexcept {
    const int fd =
        static_cast<int>(raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (fd < 0) {
        return fd;
    }
    // A collector that is stopped must not stop the program: give up after a while.
    const timeval patience{5, 0};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
        raw_syscall(SYS_setsockopt, fd, SOL_SOCKET, option, as_argument(&patience),
                    sizeof patience);
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t length = strnlen(name, sizeof address.sun_path - 1);
    memcpy(address.sun_path + 1, name, length);
    const auto size = static_cast<long>(offsetof(sockaddr_un, sun_path) + 1 + length);
    const long result = retry_interrupted(
        [&] { return raw_syscall(SYS_connect, fd, as_argument(&address), size); });
    if (result < 0) {
        close_descriptor(fd);
        return static_cast<int>(result);
    }
    return fd;
}

int send_message(int socket, const void* bytes, std::size_t size, const int* fds,
                 std::size_t fd_count) noexcept {
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
    const long result = retry_interrupted(
        [&] { return raw_syscall(SYS_sendmsg, socket, as_argument(&message), MSG_NOSIGNAL); });
    return result < 0 ? static_cast<int>(result) : 0;
}

long receive_message(int socket, void* bytes, std::size_t size, int* fds,
                     std::size_t& fd_count) noexcept {
    iovec part{bytes, size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[kControlBytes] = {};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const long result = retry_interrupted(
        [&] { return raw_syscall(SYS_recvmsg, socket, as_argument(&message), MSG_CMSG_CLOEXEC); });
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
