// A client of live data that sees every byte.
#pragma once

#include "core/fd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace sample::server {

/// "http://127.0.0.1:PORT/TOKEN/", as it is printed.
struct LiveAddress {
    explicit LiveAddress(const std::string& url) {
        constexpr std::string_view kBefore = "http://127.0.0.1:";
        const std::size_t slash = url.find('/', kBefore.size());
        port = static_cast<std::uint16_t>(std::atoi(url.c_str() + kBefore.size()));
        path = url.substr(slash);
        host = "127.0.0.1:" + std::to_string(port);
    }

    std::uint16_t port = 0;
    std::string path;  ///< "/TOKEN/"
    std::string host;
};

class LiveClient {
public:
    explicit LiveClient(std::uint16_t port, const char* of_host = "127.0.0.1")
        : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        const int little = 1 << 16;
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        ::inet_pton(AF_INET, of_host, &address.sin_addr);
        is_connected_ = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                                  sizeof address) == 0;
    }

    [[nodiscard]] bool is_connected() const { return is_connected_; }
    void send(std::string_view text) const { write_all(socket_.get(), text); }
    /// `headers` end with a line's end.
    void get(const std::string& target, const std::string& headers) const {
        send("GET " + target + " HTTP/1.1\r\n" + headers + "\r\n");
    }
    /// Waits for something to take.
    void await_data() {
        while (text_.empty() && read_more()) {
        }
    }
    /// All up to the end.
    [[nodiscard]] std::string rest() {
        while (read_more()) {
        }
        return std::exchange(text_, {});
    }
    /// All up to `end`, with it; if that does not come, what there is.
    [[nodiscard]] std::string until(std::string_view end) {
        std::size_t at = text_.find(end);
        while (at == std::string::npos && read_more()) {
            at = text_.find(end);
        }
        const std::size_t length = at == std::string::npos ? text_.size() : at + end.size();
        const std::string taken = text_.substr(0, length);
        text_.erase(0, length);
        return taken;
    }

private:
    bool read_more() {
        std::array<char, 65536> bytes{};
        const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
        text_.append(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
        return got > 0;
    }

    Fd socket_;
    bool is_connected_ = false;
    std::string text_;
};

/// What is answered, whole.
inline std::string answer_to(const LiveAddress& address, const std::string& target,
                             const std::string& headers) {
    LiveClient client{address.port};
    client.get(target, headers);
    return client.rest();
}

/// The body of a snapshot.
inline std::string snapshot_of(const LiveAddress& address) {
    const std::string answer =
        answer_to(address, address.path + "snapshot", "Host: " + address.host + "\r\n");
    const std::size_t body = answer.find("\r\n\r\n");
    return body == std::string::npos ? "" : answer.substr(body + 4);
}

struct LiveEvent {
    std::string name;
    std::string data;
};

/// Asks for events, and takes one after the other.
class LiveEvents {
public:
    explicit LiveEvents(const LiveAddress& address) : client_{address.port} {
        client_.get(address.path + "events", "Host: " + address.host + "\r\n");
        head_ = client_.until("\r\n\r\n");
    }
    [[nodiscard]] const std::string& head() const { return head_; }
    void await_data() { client_.await_data(); }
    /// No name: there is none.
    [[nodiscard]] LiveEvent next() {
        constexpr std::string_view kName = "event: ";
        constexpr std::string_view kData = "\ndata: ";
        const std::string text = client_.until("\n\n");
        const std::size_t data = text.find(kData);
        if (!text.starts_with(kName) || data == std::string::npos) {
            return {};
        }
        const std::size_t from = data + kData.size();
        return {text.substr(kName.size(), data - kName.size()),
                text.substr(from, text.size() - from - 2)};
    }

private:
    LiveClient client_;
    std::string head_;
};

}  // namespace sample::server
