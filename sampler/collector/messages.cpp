#include "sampler/collector/messages.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

namespace sample::collector {

std::optional<Received> receive(int socket) {
    Received received;
    received.bytes.resize(1024);
    iovec part{received.bytes.data(), received.bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * control::kMaxPassedFds)> room{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); size >= 0 && head != nullptr;
         head = CMSG_NXTHDR(&message, head)) {
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
            const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
                received.fds.emplace_back(fd);
            }
        }
    }
    if (size <= 0) {
        return std::nullopt;
    }
    received.bytes.resize(static_cast<std::size_t>(size));
    return received;
}

bool send_with_fds(int socket, const void* bytes, std::size_t size, std::array<int, 2> fds,
                   std::size_t fd_count) {
    iovec part{const_cast<void*>(bytes), size};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fds)> room{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fd_count != 0) {
        message.msg_control = room.data();
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        cmsghdr* head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        std::memcpy(CMSG_DATA(head), fds.data(), sizeof(int) * fd_count);
    }
    return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

void copy_text(std::span<char> out, const std::string& text) {
    const std::size_t size = std::min(text.size(), out.size() - 1);
    std::memcpy(out.data(), text.data(), size);
    out[size] = '\0';
}

void send_refusal(const Fd& socket, const std::string& why) {
    control::Welcome answer;
    copy_text(answer.refusal, why);
    send_with_fds(socket.get(), &answer, sizeof answer, {}, 0);
}

void refuse(const Fd& socket, const std::string& why) {
    pollfd ready{socket.get(), POLLIN, 0};
    ::poll(&ready, 1, 10'000);
    // Unread words would reset the connection, and the answer with it.
    const auto hello = receive(socket.get());
    if (hello) {
        send_refusal(socket, why);
    }
}

}  // namespace sample::collector
