// Lets the processes of the session in, and nobody else.
//
//   listening socket ─▶ who is it? (uid) ─▶ Hello (secret) ─▶ Welcome + area, page
//     ─▶ Armed + events ─▶ gatekeeper and Arrivals
//
// A thread of its own that never touches the recording's file: a program must not wait for a disk
// in front of its main(). Nothing that a peer does makes it wait: all sockets are non-blocking, who
// does not read is dropped, and who says nothing is, too, after a while or when too many do.
// Memory and descriptors are spent on a peer only once it has said the secret.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "sampler/collector/code/elf_facts.h"
#include "sampler/collector/events/gatekeeper.h"
#include "sampler/collector/joining/arrivals.h"
#include "sampler/collector/joining/messages.h"
#include "sampler/collector/process/tick_clock.h"
#include "sampler/collector/session_options.h"

#include <sys/types.h>

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sample::collector {

class Doorkeeper {
public:
    /// Peers that have not said the secret: one more, and the oldest is closed.
    static constexpr std::size_t kMostSilent = 256;
    static constexpr std::uint64_t kPatienceWithSilentNs = 5'000'000'000;
    /// Those that have their area, and are opening their events.
    static constexpr std::size_t kMostGreeted = 512;
    static constexpr std::uint64_t kPatienceWithGreetedNs = 60'000'000'000;

    struct Parts {
        const SessionOptions& options;
        const TickClock& clock;
        Gatekeeper& gatekeeper;
        Arrivals& arrivals;
        const Pace& pace;
        std::string control_socket = {};  ///< Its path; empty: there is none.
    };

    /// Listens from here on; answers from start() on. What `parts` names must live longer.
    static Result<std::unique_ptr<Doorkeeper>> open(const Parts& parts);
    ~Doorkeeper();
    Doorkeeper(const Doorkeeper&) = delete;
    Doorkeeper& operator=(const Doorkeeper&) = delete;

    /// What SAMPLE_SESSION must be in the environment of whoever is to join.
    [[nodiscard]] std::string session() const { return key_.text(); }
    /// The part of it that is no secret.
    [[nodiscard]] const std::string& name() const { return key_.name; }

    /// `connected`: a socket of the root's, which has started this collector and waits for it at
    /// its exit; or none.
    void start(pid_t root, Fd connected);
    /// Whoever comes now is not wanted any more.
    void turn_all_away() { turns_all_away_.store(true); }
    /// Hears what has been said by now, and ends.
    void close();

    // After close():
    [[nodiscard]] std::uint64_t threads_without_event() const { return threads_without_event_; }
    /// Somebody has waited for us in vain.
    [[nodiscard]] bool was_late() const { return was_late_; }
    /// Why a process was refused; empty: none was, or people need not know.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }
    /// Whether anybody of the session has come at all.
    [[nodiscard]] bool has_met_anybody() const { return next_ticket_ != 1; }

private:
    struct Connection {
        Fd socket;
        pid_t pid = 0;
        bool is_known = false;  ///< It needs no secret: we were started with it.
        std::uint64_t since_ns = 0;
        std::uint64_t ticket = 0;  ///< Of its Hello; 0: it has not said it.
        std::shared_ptr<AreaMapping> mapping;
        ProcessIdentity identity;
        pid_t tracer = 0;
        bool comes_late = false;
        Fd pidfd;  ///< Taken while the process waits for us: its number is its own.
    };

    Doorkeeper(const Parts& parts, SessionKey key);
    Result<void> listen();
    void run();
    void poll_once(int timeout_ms);
    /// False: there is nobody more.
    bool accept_one();
    void admit(Fd socket, pid_t peer);
    void drop_the_silent();
    /// Hears one message, if there is one. False: the conversation is over.
    bool serve(Connection& connection);
    bool greet(Connection& connection, const control::Hello& hello);
    /// Says in it how the session samples by now.
    void set_up(AreaMapping& mapping) const;
    void tell_arrival(Connection& connection, const control::Hello& hello);
    control::Welcome answer_to(Connection& connection);
    bool refuse(Connection& connection, const std::string& why);
    /// Whether the image that has joined last as `pid` is there still, and has not said its end.
    [[nodiscard]] bool has_agent(pid_t pid) const;
    bool arm(Connection& connection, const control::Armed& armed, std::vector<Fd> events);
    void arm_thread(const Connection& connection, const control::ArmThread& said,
                    std::vector<Fd> events);
    void await_tracer(const Connection& connection, const control::Tracing& said);
    /// What `pid` has said and nobody has heard yet.
    void serve_waiting(pid_t pid);
    /// Best first. Its identity gets the reason why one is left out.
    [[nodiscard]] std::vector<control::Source> sources_for(Connection& connection);

    Parts parts_;
    SessionKey key_;
    SpareArea spare_area_;
    GoPrograms programs_;
    Fd listener_;
    Fd wake_;
    Fd reserve_;  ///< Given up for a moment where no descriptor is left.
    pid_t root_ = 0;
    bool root_waits_ = false;
    std::list<Connection> connections_;
    std::map<pid_t, std::weak_ptr<AreaMapping>> joined_;  ///< Each with its last area.
    std::uint64_t next_ticket_ = 1;
    bool loop_is_late_ = false;
    std::uint64_t threads_without_event_ = 0;
    bool was_late_ = false;
    std::string refusal_;
    std::atomic<bool> turns_all_away_{false};
    std::atomic<bool> closing_{false};
    std::thread thread_;
};

}  // namespace sample::collector
