#include "server/live_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

namespace sample::server {
namespace {

constexpr std::size_t kMostConnections = 16;
/// What the kernel keeps for a client that does not read.
constexpr int kSendBufferBytes = 1 << 18;
/// How long clients may take for what they have not when the session has ended.
constexpr std::chrono::seconds kEndPatience{1};
/// Without a descriptor for it, a client waits.
constexpr std::chrono::milliseconds kPause{200};

struct Listening {
    Fd socket;
    std::uint16_t port = 0;
};

Result<Listening> listen_on(std::uint16_t port) {
    Fd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    // A port of a server that has just ended may be taken again.
    const int yes = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (!listener.is_open() ||
        ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        ::bind(listener.get(), plain, size) != 0 ||
        ::listen(listener.get(), static_cast<int>(kMostConnections)) != 0 ||
        ::getsockname(listener.get(), plain, &size) != 0) {
        return unexpected(Error::from_errno(
            port == 0 ? "cannot serve live data"
                      : fmt::format("cannot serve live data at port {0}: choose another, or "
                                    "--live without one takes any that is free",
                                    port)));
    }
    return Listening{std::move(listener), ntohs(address.sin_port)};
}

}  // namespace

LiveServer::LiveServer(Fd listener, Access access, std::unique_ptr<LiveFeed> feed)
    : listener_{std::move(listener)}, access_{std::move(access)}, feed_{std::move(feed)} {}

Result<std::unique_ptr<LiveServer>> LiveServer::start(std::uint16_t port) {
    SAMPLE_TRY(token, make_token());
    SAMPLE_TRY(feed, LiveFeed::create());
    SAMPLE_TRY(listening, listen_on(port));
    std::unique_ptr<LiveServer> server{new LiveServer{
        std::move(listening.socket), Access{std::move(token), listening.port}, std::move(feed)}};
    server->thread_ = std::thread{[self = server.get()] { self->run(); }};
    return server;
}

LiveServer::~LiveServer() {
    finish();
}

void LiveServer::finish() {
    if (thread_.joinable()) {
        feed_->end();
        thread_.join();
    }
}

void LiveServer::run() {
    try {
        serve();
    } catch (const std::exception&) {
        // Out of memory: the session goes on, and clients see that nobody serves them.
        listener_.reset();
    }
    connections_.clear();
    feed_->set_wanted(false);
}

void LiveServer::serve() {
    while (wait()) {
        connections_.remove_if([this](Connection& one) {
            return Clock::now() >= one.deadline() || !one.go_on(access_, *feed_);
        });
        if (listener_.is_open() && Clock::now() >= accepts_from_) {
            accept_all();
        }
        feed_->set_wanted(std::any_of(connections_.begin(), connections_.end(),
                                      [](const Connection& one) { return one.wants_data(); }));
    }
}

bool LiveServer::wait() {
    if (listener_.is_open() && feed_->has_ended()) {
        listener_.reset();
        ends_at_ = Clock::now() + kEndPatience;
        // Who has not asked yet is too late.
        connections_.remove_if([](const Connection& one) { return one.is_unknown(); });
        return true;
    }
    const Clock::time_point now = Clock::now();
    if (!listener_.is_open() && (connections_.empty() || now >= ends_at_)) {
        return false;
    }
    const bool accepts = now >= accepts_from_;
    Clock::time_point until = accepts ? ends_at_ : std::min(ends_at_, accepts_from_);
    std::vector<pollfd> fds{{feed_->fd(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}};
    for (const Connection& one : connections_) {
        fds.push_back({one.fd(), one.events(), 0});
        until = std::min(until, one.deadline());
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - now);
    ::poll(
        fds.data(), fds.size(),
        until == Clock::time_point::max() ? -1 : std::max(static_cast<int>(left.count()) + 1, 0));
    feed_->seen();
    auto polled = fds.begin() + 2;
    connections_.remove_if([&polled](const Connection& /*one*/) {
        return (polled++->revents & (POLLERR | POLLHUP)) != 0;
    });
    return true;
}

void LiveServer::accept_all() {
    // As many as there can be: then the others' turn comes.
    for (std::size_t i = 0; i < kMostConnections; ++i) {
        Fd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        if (socket.is_open()) {
            if (make_room()) {
                ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes,
                             sizeof kSendBufferBytes);
                connections_.emplace_back(std::move(socket));
            }
        } else if (errno != ECONNABORTED && errno != EINTR) {
            if (errno != EAGAIN) {
                accepts_from_ = Clock::now() + kPause;
            }
            return;
        }
    }
}

/// Who has not said what he wants gives way: he may not know the token.
bool LiveServer::make_room() {
    if (connections_.size() < kMostConnections) {
        return true;
    }
    const auto unknown = std::find_if(connections_.begin(), connections_.end(),
                                      [](const Connection& one) { return one.is_unknown(); });
    if (unknown == connections_.end()) {
        return false;
    }
    connections_.erase(unknown);
    return true;
}

}  // namespace sample::server
