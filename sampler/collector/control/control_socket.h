// Where running sessions are controlled: a socket a session, named by its collector's process id,
// in a folder of the user's own.
//
//   $XDG_RUNTIME_DIR/sample/PID.sock     or, where that is not set or not usable
//   /run/user/UID/sample/PID.sock        or, where that cannot be made
//   /tmp/sample-UID/PID.sock
//
// The folder is 0700 and the user's, or it is not used: in /tmp anybody may have made it. A socket
// whose session is gone is removed by whoever looks. docs/control.md has the protocol.
#pragma once

#include "core/fd.h"
#include "core/result.h"

#include <sys/types.h>

#include <string>
#include <vector>

namespace sample::collector {

/// A socket of this process's, with its file, which goes when this does.
class ControlSocket {
public:
    /// Errors: why no folder can be used; system.
    static Result<ControlSocket> listen();
    ControlSocket(ControlSocket&& other) noexcept;
    ControlSocket& operator=(ControlSocket&&) = delete;
    ControlSocket(const ControlSocket&) = delete;
    ControlSocket& operator=(const ControlSocket&) = delete;
    ~ControlSocket();

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    ControlSocket(Fd fd, std::string path) : fd_{std::move(fd)}, path_{std::move(path)} {}

    Fd fd_;
    std::string path_;
};

struct SessionAddress {
    pid_t collector = 0;
    std::string path;
};

/// The sessions of the user `uid` whose collectors live, by their numbers. Removes what others have
/// left, where it may.
[[nodiscard]] std::vector<SessionAddress> find_sessions(uid_t uid);

/// A connection to a session, whose listener is the user `uid`'s or root's. Errors: system;
/// permission.
[[nodiscard]] Result<Fd> connect_to_session(const std::string& path, uid_t uid);

/// `text` as a value of a reply: blanks, control characters, '%' and what is not ASCII as %XX.
[[nodiscard]] std::string percent_encoded(const std::string& text);
[[nodiscard]] std::string percent_decoded(const std::string& text);

}  // namespace sample::collector
