#include "sampler/collector/joining/messages.h"

#include "core/text.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace sample::collector {
namespace {

/// As many as Linux passes with one message, SCM_MAX_FD: what does not fit it closes in our place.
constexpr std::size_t kMostDescriptors = 253;
/// More than fits into a socket's buffer.
constexpr int kMostWaiting = 1024;

bool fill(std::span<std::uint8_t> bytes) {
    return ::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

}  // namespace

bool SessionKey::make(SessionKey& key) {
    std::array<std::uint8_t, 8> name{};
    if (!fill(name) || !fill(key.secret)) {
        return false;
    }
    key.name = "sample-" + to_hex(name);
    return true;
}

std::string SessionKey::text() const {
    return name + ":" + to_hex(secret) + ":" + control::kMayWait;
}

bool SessionKey::opens_with(const control::Secret& said) const {
    unsigned differs = 0;
    for (std::size_t i = 0; i < secret.size(); ++i) {
        differs |= static_cast<unsigned>(secret[i] ^ said[i]);
    }
    return differs == 0;
}

std::optional<Received> receive(int socket) {
    Received received;
    received.bytes.resize(1024);
    iovec part{received.bytes.data(), received.bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostDescriptors)> room{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    // Not libc's: a preloaded library that stands before those knows nothing of these sockets.
    const ssize_t size = ::syscall(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); size >= 0 && head != nullptr;
         head = CMSG_NXTHDR(&message, head)) {
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
            const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
                // Else closing a socket of theirs could take long. Of others it is an error.
                constexpr linger kNone{0, 0};
                ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &kNone, sizeof kNone);
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
    return ::syscall(SYS_sendmsg, socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(size);
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

void turn_away(Fd socket) {
    if (socket.is_open()) {
        ::shutdown(socket.get(), SHUT_RD);
        for (int i = 0; i < kMostWaiting && receive(socket.get()); ++i) {
        }
    }
}

bool is_perf_event(int fd) {
    constexpr std::string_view kKind = "anon_inode:[perf_event]";
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    std::array<char, kKind.size() + 1> kind{};
    const ssize_t size = ::readlink(path.c_str(), kind.data(), kind.size());
    return size == static_cast<ssize_t>(kKind.size()) &&
           std::string_view{kind.data(), kKind.size()} == kKind;
}

}  // namespace sample::collector
