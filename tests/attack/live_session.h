// A session that is under way while a test attacks it, and an attacker's sockets.
#pragma once

#include "core/fd.h"
#include "sampler/control/protocol.h"
#include "tests/e2e/session.h"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sample::e2e {

inline constexpr uid_t kNobody = 65534;

/// What is said by NAME:SECRET:MARK.
struct SessionWords {
    std::string name;
    control::Secret secret{};
};
[[nodiscard]] SessionWords parse_session(const std::string& text);

/// Connected to the session's socket, or not open. `patience_s`: how long a read waits at most.
[[nodiscard]] Fd connect_to(const std::string& name, int patience_s = 20);
/// Listens on that name; or not open.
[[nodiscard]] Fd listen_on(const std::string& name);

bool say(const Fd& socket, const void* bytes, std::size_t size, const std::vector<int>& fds = {});
template <class Message>
bool say(const Fd& socket, const Message& message, const std::vector<int>& fds = {}) {
    return say(socket, &message, sizeof message, fds);
}

struct Heard {
    std::vector<char> bytes;
    std::vector<Fd> fds;
    bool is_closed = false;  ///< The other end is gone; else a timeout, or bytes.
};
[[nodiscard]] Heard hear(const Fd& socket);

/// Runs `attack` in a child process, as another user if `user` is not 0; its result.
[[nodiscard]] bool as_another_process(uid_t user, const std::function<bool()>& attack);

/// `sample` records a shell, which waits for a word and then becomes three_leaves.
class LiveSession : public Session {
protected:
    void SetUp() override;
    void TearDown() override;

    [[nodiscard]] const SessionWords& words() const { return words_; }
    [[nodiscard]] pid_t collector() const { return collector_; }
    [[nodiscard]] pid_t shell() const { return shell_; }
    [[nodiscard]] std::size_t open_descriptors() const;
    /// A Hello as a process of the session would say it.
    [[nodiscard]] control::Hello own_hello() const;

    /// The attack is over: the program goes on, joins as another image, ends, and its recording is
    /// whole and right. Processes of the recording, those of attackers that joined included.
    [[nodiscard]] std::size_t expect_unharmed();

private:
    SessionWords words_;
    pid_t collector_ = -1;
    pid_t shell_ = -1;
    Fd input_;
    Fd output_;
};

}  // namespace sample::e2e
