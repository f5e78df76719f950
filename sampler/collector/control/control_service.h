// The session's end of its control socket: a thread of its own that talks to clients, and hands
// what they ask for to the session's loop, which alone carries it out.
//
//   client ─ line ─▶ ControlService ─ ControlCommand ─▶ the loop ─ answer() ─▶ client
//
// Nothing that a client does makes the loop or another client wait: sockets are non-blocking, who
// does not read is dropped, who says half a line is, too, after a while, and of too many clients
// the one that was silent longest. A client has one command under way at a time. What `dump` sends
// is read from the recording's file by this thread; what `data` sends is written by a process of
// its own, our program, which has the client's socket as its standard output.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "sampler/collector/control/control_command.h"
#include "sampler/collector/control/control_socket.h"

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sample::collector {

/// take(), answer() and fd() are for one thread, the session's loop.
class ControlService {
public:
    static constexpr std::size_t kMostClients = 64;
    static constexpr std::uint64_t kPatienceWithHalfALineNs = 5'000'000'000;
    static constexpr std::uint64_t kPatienceWithReadersNs = 10'000'000'000;
    static constexpr std::size_t kMostExports = 4;
    static constexpr std::uint64_t kMostForAnExportNs = 60'000'000'000;

    /// `recording`: the file that `dump` and `data` read; empty: there is none.
    static Result<std::unique_ptr<ControlService>> open(const std::string& recording);
    ~ControlService();
    ControlService(const ControlService&) = delete;
    ControlService& operator=(const ControlService&) = delete;

    [[nodiscard]] const std::string& path() const { return socket_.path(); }
    /// The recording can be read while it grows.
    [[nodiscard]] bool has_recording() const { return recording_ != nullptr; }
    /// `recording` is what later answers read. False: it is not open.
    [[nodiscard]] bool go_on_with(Fd recording);

    /// Readable when there are commands.
    [[nodiscard]] int fd() const { return asked_.get(); }
    [[nodiscard]] std::vector<ControlCommand> take();
    enum class Then : std::uint8_t { go_on, send_recording, send_export };
    /// `line`: without its end. What follows it is the recording as long as it is now.
    void answer(const ControlCommand& command, std::string line, Then then = Then::go_on);

private:
    struct Client {
        Fd socket;
        pid_t pid = 0;
        std::uint64_t id = 0;
        std::string heard;
        std::uint64_t since_ns = 0;  ///< It said something, or took something.
        bool waits = false;          ///< For the loop's answer.
        bool sends = false;          ///< The recording.
        std::uint64_t at = 0;        ///< Of it, up to `end`.
        std::uint64_t end = 0;
        std::shared_ptr<const Fd> recording;
    };
    struct Answer {
        std::uint64_t client = 0;
        std::string line;
        Then then = Then::go_on;
        std::uint64_t end = 0;                ///< Of the recording.
        std::shared_ptr<const Fd> recording;  ///< If it is sent.
    };
    struct Export {
        pid_t pid = 0;
        Fd pidfd;
        std::uint64_t since_ns = 0;
    };

    ControlService(ControlSocket socket, std::shared_ptr<const Fd> recording);
    void run();
    void poll_once();
    void accept_all();
    /// The same for all of these: false where the client is to be dropped.
    [[nodiscard]] bool hear(Client& client);
    [[nodiscard]] bool ask(Client& client);
    [[nodiscard]] bool send_answer(Client& client, const Answer& answer);
    [[nodiscard]] static bool send_more(Client& client);
    [[nodiscard]] bool start_export(const Client& client, const Fd& recording);
    [[nodiscard]] static bool send_line(const Client& client, std::string line);
    void take_answers();
    void drop_the_slow();
    void end_exports(bool all);

    ControlSocket socket_;
    std::shared_ptr<const Fd> recording_;  ///< The loop's.
    Fd asked_;
    Fd wake_;
    std::list<Client> clients_;
    std::vector<Export> exports_;
    std::uint64_t next_id_ = 1;
    std::mutex mutex_;
    std::vector<ControlCommand> commands_;  // guarded by mutex_
    std::vector<Answer> answers_;           // guarded by mutex_
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace sample::collector
