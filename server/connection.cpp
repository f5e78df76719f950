#include "server/connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace sample::server {
namespace {

constexpr std::chrono::seconds kRequestPatience{5};
constexpr std::chrono::seconds kAnswerPatience{10};

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kJson = "application/json";

constexpr const char* kIndex =
    "Live data of sample, as docs/format-live.md describes it:\n"
    "  snapshot  all there is now, as JSON\n"
    "  events    a snapshot, then each second what has changed, as server-sent events\n";

const char* reason_of(int status) {
    switch (status) {
        case kOk:
            return "OK";
        case kForbidden:
            return "Forbidden";
        case kNotFound:
            return "Not Found";
        case kMethodNotAllowed:
            return "Method Not Allowed";
        default:
            return "Bad Request";
    }
}

/// No cache keeps it, no other page may have it, and the token goes nowhere.
std::string head_of(int status, const char* type) {
    return fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n"
        "Referrer-Policy: no-referrer\r\nConnection: close\r\n",
        status, reason_of(status), type);
}

bool would_block() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Connection::Connection(Fd socket)
    : socket_{std::move(socket)}, deadline_{Clock::now() + kRequestPatience} {}

short Connection::events() const {
    if (state_ == State::reading) {
        return POLLIN;
    }
    return out_.empty() ? 0 : POLLOUT;
}

Connection::Clock::time_point Connection::deadline() const {
    const bool is_idle = wants_data() && out_.empty();
    return is_idle ? Clock::time_point::max() : deadline_;
}

bool Connection::go_on(const Access& access, LiveFeed& feed) {
    if (state_ == State::reading && !read(access, feed)) {
        return false;
    }
    do {
        if (!write()) {
            return false;
        }
    } while (fill(feed));
    return state_ != State::answering || !out_.empty();
}

bool Connection::read(const Access& access, const LiveFeed& feed) {
    std::array<char, kMostRequestBytes> bytes{};
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size() - request_.size(), 0);
    if (got <= 0) {
        return got < 0 && would_block();
    }
    request_.append(bytes.data(), static_cast<std::size_t>(got));
    if (request_length(request_) == 0) {
        if (request_.size() == kMostRequestBytes) {
            answer({kBadRequest}, feed);
        }
        return true;
    }
    const auto request = parse_request(request_);
    answer(request ? access.judge(*request) : Verdict{kBadRequest}, feed);
    return true;
}

void Connection::answer(const Verdict& verdict, const LiveFeed& feed) {
    request_ = {};
    asked_at_ = feed.sequence();
    if (verdict.page == Page::snapshot) {
        state_ = State::waiting;
    } else if (verdict.page == Page::events) {
        state_ = State::streaming;
        put(head_of(kOk, "text/event-stream") + "\r\n");
    } else {
        answer(verdict.status, kText,
               std::make_shared<const std::string>(
                   verdict.page == Page::index ? std::string{kIndex}
                                               : std::string{reason_of(verdict.status)} + "\n"));
    }
}

void Connection::answer(int status, const char* type, std::shared_ptr<const std::string> body) {
    put(fmt::format("{}Content-Length: {}\r\n\r\n", head_of(status, type), body->size()));
    put(std::move(body));
    state_ = State::answering;
}

bool Connection::fill(LiveFeed& feed) {
    if (!out_.empty() || !wants_data()) {
        return false;
    }
    const bool has_ended = feed.has_ended();
    if (has_ == 0 && feed.sequence() == asked_at_ && !has_ended) {
        return false;
    }
    if (state_ == State::waiting) {
        answer(kOk, kJson, feed.snapshot().text);
        return true;
    }
    const LiveMessage message = feed.after(has_);
    if (message.text != nullptr) {
        put(fmt::format("event: {}\ndata: ", message.is_snapshot ? "snapshot" : "delta"));
        put(message.text);
        put("\n\n");
        has_ = message.sequence;
    } else if (has_ended) {
        put("event: end\ndata: {}\n\n");
        state_ = State::answering;
    }
    return !out_.empty();
}

void Connection::put(std::shared_ptr<const std::string> text) {
    if (out_.empty()) {
        deadline_ = Clock::now() + kAnswerPatience;
    }
    out_.push_back(std::move(text));
}

bool Connection::write() {
    while (!out_.empty()) {
        const std::string& text = *out_.front();
        const ssize_t sent =
            ::send(socket_.get(), text.data() + written_, text.size() - written_, MSG_NOSIGNAL);
        if (sent < 0) {
            return would_block();
        }
        deadline_ = Clock::now() + kAnswerPatience;
        written_ += static_cast<std::size_t>(sent);
        if (written_ == text.size()) {
            out_.pop_front();
            written_ = 0;
        }
    }
    return true;
}

}  // namespace sample::server
