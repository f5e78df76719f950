// Serves a session's live data over HTTP on this machine: docs/live.md, docs/format-live.md.
//
//   publications ─▶ LiveFeed ─▶ this thread ─▶ clients, none of which it waits for
//
// No library of servers: cpp-httplib, the obvious one, takes a thread for each client and has no
// way to end one that does not read, hands its sockets on to whatever this process executes,
// changes what SIGPIPE does, and loads OpenSSL into every `sample`. What is served here is three
// pages by GET.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "server/access.h"
#include "server/connection.h"
#include "server/live_feed.h"

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>

namespace sample::server {

class LiveServer {
public:
    /// Listens on 127.0.0.1 alone; `port` 0: any that is free. The thread that calls has the
    /// signal mask that the server's is to have. Errors: system (the port is taken), with what to
    /// do.
    [[nodiscard]] static Result<std::unique_ptr<LiveServer>> start(std::uint16_t port);
    /// As finish().
    ~LiveServer();
    LiveServer(const LiveServer&) = delete;
    LiveServer& operator=(const LiveServer&) = delete;

    /// With the token: for the eyes of who may read.
    [[nodiscard]] std::string address() const { return access_.address(); }
    /// Where what is to be served is published.
    [[nodiscard]] LiveFeed& feed() { return *feed_; }
    /// Nothing more will be published: clients have a moment to take what they have not yet.
    void finish();

private:
    using Clock = Connection::Clock;

    LiveServer(Fd listener, Access access, std::unique_ptr<LiveFeed> feed);

    void run();
    void serve();
    /// Waits for what comes next. False: all is over.
    bool wait();
    void accept_all();
    [[nodiscard]] bool make_room();

    Fd listener_;
    Access access_;
    std::unique_ptr<LiveFeed> feed_;
    std::list<Connection> connections_;  ///< The oldest first.
    Clock::time_point accepts_from_;
    Clock::time_point ends_at_ = Clock::time_point::max();
    std::thread thread_;
};

}  // namespace sample::server
