// The collector's end of a conversation with an agent: who may have one, and datagrams with
// descriptors over a SOCK_SEQPACKET socket.
//
// What arrives is another process's: sizes and kinds are checked, descriptors are owned at once.
// See control/protocol.h for what is said. Thread-safe for distinct sockets.
#pragma once

#include "core/fd.h"
#include "sampler/control/protocol.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::collector {

/// The name and the secret of a session: who knows both belongs to it.
struct SessionKey {
    std::string name;  ///< Of the abstract socket.
    control::Secret secret{};

    /// False: the kernel has no random bytes for us.
    static bool make(SessionKey& key);

    /// What SAMPLE_SESSION must be.
    [[nodiscard]] std::string text() const;
    /// Takes the same time whatever `said` is.
    [[nodiscard]] bool opens_with(const control::Secret& said) const;
};

struct Received {
    std::vector<std::byte> bytes;
    std::vector<Fd> fds;
};

/// One datagram, without waiting for it. Nothing: the peer is gone, or has said nothing.
[[nodiscard]] std::optional<Received> receive(int socket);

/// The message, if it is one of that kind.
template <class Message>
bool parse(const Received& received, control::MessageKind kind, Message& out) {
    if (received.bytes.size() != sizeof(Message)) {
        return false;
    }
    std::memcpy(&out, received.bytes.data(), sizeof out);
    return out.kind == kind;
}

/// Never blocks. False: the peer is gone, or does not read.
bool send_with_fds(int socket, const void* bytes, std::size_t size, std::array<int, 2> fds,
                   std::size_t fd_count);

/// `text`, cut to fit, with a NUL behind it.
void copy_text(std::span<char> out, const std::string& text);

/// Answers a Hello that was read with a no; an empty reason: silently not wanted.
void send_refusal(const Fd& socket, const std::string& why);

/// Turns away, with the reason for people, whoever says Hello on `socket`. Waits for that, ten
/// seconds at most.
void refuse(const Fd& socket, const std::string& why);

/// Closes `socket` and whatever was passed over it and not received. A descriptor can be such that
/// its last close takes as long as its maker has chosen; here it does not.
void turn_away(Fd socket);

/// Whether a descriptor that came from another process is a perf event: reading it or asking it by
/// ioctl() cannot block.
[[nodiscard]] bool is_perf_event(int fd);

}  // namespace sample::collector
