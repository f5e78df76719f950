// A session's socket with no session behind it: the other side of the protocol of docs/control.md,
// for tests of its clients.
#pragma once

#include "core/fd.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sample::api {

/// The value of ` key=` in a line, or nothing.
inline std::string value_of(const std::string& line, const std::string& key) {
    const std::size_t at = line.find(" " + key + "=");
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t begin = at + key.size() + 2;
    return line.substr(begin, line.find(' ', begin) - begin);
}

/// What such a session does with each request.
class SessionState {
public:
    std::string pid;      ///< The session's only process.
    std::string command;  ///< Percent-encoded.
    std::string json = "{}\n";
    bool is_sampling = false;
    std::string frequency = "1000";
    std::vector<std::string> tokens;  ///< The first one's is the owner.
    std::vector<std::string> requests;

    std::string answer(const std::string& line) {
        requests.push_back(line);
        const std::string verb = line.substr(0, line.find(' '));
        const std::string token = value_of(line, "token");
        if (verb == "open") {
            tokens.push_back(token);
        } else if (verb == "close") {
            tokens.erase(std::remove(tokens.begin(), tokens.end(), token), tokens.end());
            return "ok\n";
        } else if (verb == "data") {
            return "ok\n" + json;
        } else if (verb == "status") {
            return "ok root=" + pid + settings() + " command=" + command +
                   (value_of(line, "pid") == pid ? " member=1\n" : " member=0\n");
        }
        const bool is_owner = token.empty() || tokens.empty() || tokens.front() == token;
        if (is_owner && (verb == "start" || verb == "freq")) {
            frequency =
                verb == "start" ? value_of(line, "freq") : line.substr(5, line.find(' ', 5) - 5);
        }
        if (is_owner) {
            is_sampling = verb == "start" || verb == "resume" ||
                          (is_sampling && verb != "stop" && verb != "pause");
        }
        return "ok" +
               (token.empty() ? "" : " token=" + token + (is_owner ? " owner=1" : " owner=0")) +
               settings() + "\n";
    }

private:
    [[nodiscard]] std::string settings() const {
        return (is_sampling ? " state=running freq=" : " state=stopped freq=") + frequency;
    }
};

class FakeSession {
public:
    /// Gets the connection and the request's line; what it returns is sent. Where that is no line,
    /// or data, the end comes behind it, else further requests may.
    using Talk = std::function<std::string(int connection, const std::string& line)>;

    FakeSession(const std::filesystem::path& socket, Talk talk) : talk_{std::move(talk)} {
        std::filesystem::create_directories(socket.parent_path());
        std::filesystem::permissions(socket.parent_path(), std::filesystem::perms::owner_all);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        socket.string().copy(address.sun_path, sizeof address.sun_path - 1);
        listener_ = Fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        EXPECT_EQ(
            ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
            << socket << ": " << std::strerror(errno);
        EXPECT_EQ(::listen(listener_.get(), 16), 0);
        thread_ = std::thread{[this] { serve(); }};
    }
    explicit FakeSession(const std::filesystem::path& socket)
        : FakeSession{socket, [this](int /*connection*/, const std::string& line) {
                          const std::lock_guard<std::mutex> lock{mutex_};
                          return state_.answer(line);
                      }} {}
    FakeSession(const FakeSession&) = delete;
    FakeSession& operator=(const FakeSession&) = delete;
    ~FakeSession() {
        ::shutdown(listener_.get(), SHUT_RDWR);
        thread_.join();
    }

    [[nodiscard]] SessionState state() {
        const std::lock_guard<std::mutex> lock{mutex_};
        return state_;
    }
    void change(const std::function<void(SessionState&)>& change) {
        const std::lock_guard<std::mutex> lock{mutex_};
        change(state_);
    }

private:
    void serve() {
        for (;;) {
            const Fd connection{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            if (!connection.is_open()) {
                return;
            }
            while (talk_once(connection.get())) {
            }
        }
    }
    bool talk_once(int connection) {
        std::string line;
        char letter = 0;
        while (letter != '\n' && ::recv(connection, &letter, 1, 0) == 1) {
            line += letter;
        }
        if (letter != '\n') {
            return false;
        }
        line.pop_back();
        const std::string answer = talk_(connection, line);
        std::size_t sent = 0;
        while (sent < answer.size()) {
            const ssize_t now =
                ::send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
            if (now <= 0) {
                return false;
            }
            sent += static_cast<std::size_t>(now);
        }
        return !answer.empty() && answer.back() == '\n' && line.rfind("data", 0) != 0;
    }

    Talk talk_;
    std::mutex mutex_;
    SessionState state_;
    Fd listener_;
    std::thread thread_;
};

}  // namespace sample::api
