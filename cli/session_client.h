// The command line's end of a session's control socket (docs/control.md).
#pragma once

#include "core/fd.h"
#include "core/result.h"

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sample::cli {

/// The values of an `ok` line, decoded.
using ControlReply = std::map<std::string, std::string>;
/// Empty: there is none.
[[nodiscard]] std::string value_of(const ControlReply& reply, const std::string& key);

/// A connection. Nobody waits for a session that does not answer: ten seconds at most.
class SessionClient {
public:
    [[nodiscard]] static Result<SessionClient> connect(const std::string& path, uid_t uid);

    /// Errors: what the session says; system.
    [[nodiscard]] Result<ControlReply> ask(std::string_view line);
    /// The two halves of that. fd() is readable once something was answered, and hear() waits for
    /// nothing once has_answer(), which reads what is there.
    [[nodiscard]] Result<void> say(std::string_view line);
    [[nodiscard]] bool has_answer();
    [[nodiscard]] Result<ControlReply> hear();
    [[nodiscard]] int fd() const { return socket_.get(); }
    /// What follows the line that ask() has read, `bytes` bytes, to `fd`. Errors: system;
    /// truncated.
    [[nodiscard]] Result<void> copy_recording(int fd, std::uint64_t bytes);
    /// The same of JSON, whose end tells whether it is whole.
    [[nodiscard]] Result<void> copy_json(int fd);

private:
    explicit SessionClient(Fd socket) : socket_{std::move(socket)} {}
    [[nodiscard]] bool receive();
    struct Rest {
        std::uint64_t bytes = 0;
        std::string last;  ///< Some letters.
    };
    /// All up to the connection's end.
    [[nodiscard]] Result<Rest> copy_rest(int fd);

    Fd socket_;
    std::string heard_;
};

/// A session that has answered.
struct FoundSession {
    pid_t collector = 0;
    SessionClient client;
    ControlReply reply;
};

/// Asks all sessions of a user at once, and waits for all of them together as long as for one, or
/// until `stop_fd` is readable; those that have not answered by then are left out.
[[nodiscard]] std::vector<FoundSession> ask_sessions(uid_t uid, std::string_view line,
                                                     int stop_fd = -1);

/// The session that `target` names: the process id of its collector, or of any of its processes, or
/// the name of the program that it was started for, or that its first process runs, if it is the
/// only one. `stop_fd`: see ask_sessions(). Errors: not_found and invalid_argument, saying what
/// there is.
[[nodiscard]] Result<SessionClient> find_session(const std::string& target, int stop_fd = -1);

/// The name of the program whose command line this is.
[[nodiscard]] std::string program_of(const std::string& command_line);

}  // namespace sample::cli
