#include "server/live_server.h"

#include "tests/server/live_client.h"
#include "tests/server/live_reader.h"
#include "tests/server/made_up_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <thread>

namespace sample::server {
namespace {

/// A server, and a session that publishes whenever somebody waits.
class LiveServerTest : public testing::Test {
protected:
    void SetUp() override {
        auto server = LiveServer::start(0);
        ASSERT_TRUE(server) << server.error().message();
        server_ = std::move(*server);
    }
    [[nodiscard]] LiveServer& server() { return *server_; }
    [[nodiscard]] LiveAddress address() const { return LiveAddress{server_->address()}; }
    void publish(const Stacks& stacks) {
        server_->feed().publish(made_up_tree(stacks), LiveFigures{});
    }
    void await_interest() {
        while (!server_->feed().is_wanted()) {
            std::this_thread::yield();
        }
    }
    /// More than sockets hold at once.
    [[nodiscard]] static Stacks long_stacks() {
        constexpr int kStacks = 300;
        constexpr std::size_t kNameBytes = 20'000;
        Stacks stacks;
        for (int i = 0; i < kStacks; ++i) {
            stacks["main;" + std::string(kNameBytes, 'f') + std::to_string(i)] = 1;
        }
        return stacks;
    }

private:
    std::unique_ptr<LiveServer> server_;
};

TEST_F(LiveServerTest, tells_what_is_here) {
    const std::string answer =
        answer_to(address(), address().path, "Host: " + address().host + "\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_NE(answer.find("snapshot"), std::string::npos) << answer;
}

TEST_F(LiveServerTest, answers_what_it_does_not_serve) {
    const std::string host = "Host: " + address().host + "\r\n";
    EXPECT_TRUE(answer_to(address(), "/", host).starts_with("HTTP/1.1 404 Not Found\r\n"));
    EXPECT_TRUE(answer_to(address(), address().path, "").starts_with("HTTP/1.1 403 Forbidden\r\n"));
    LiveClient vague{address().port};
    vague.send("hello\r\n\r\n");
    EXPECT_TRUE(vague.rest().starts_with("HTTP/1.1 400 Bad Request\r\n"));
    LiveClient endless{address().port};
    endless.send("GET / HTTP/1.1\r\nA: " + std::string(kMostRequestBytes, 'b'));
    EXPECT_TRUE(endless.rest().starts_with("HTTP/1.1 400 Bad Request\r\n"));
}

TEST_F(LiveServerTest, nothing_is_wanted_before_somebody_asks) {
    EXPECT_FALSE(server().feed().is_wanted());
    LiveEvents events{address()};
    await_interest();
    EXPECT_NE(events.head().find("Content-Type: text/event-stream\r\n"), std::string::npos);
}

TEST_F(LiveServerTest, streams_a_snapshot_deltas_and_the_end) {
    publish({{"main;before", 1}});
    LiveEvents events{address()};
    await_interest();
    publish({{"main;before", 1}, {"main;run", 2}});
    const LiveEvent first = events.next();
    EXPECT_EQ(first.name, "snapshot");
    publish({{"main;before", 1}, {"main;run", 5}});
    const LiveEvent second = events.next();
    EXPECT_EQ(second.name, "delta");
    LiveReader reader;
    reader.take(first.data, true);
    reader.take(second.data, false);
    EXPECT_EQ(reader.self_sum(), 6);
    EXPECT_EQ(reader.sequence(), 3);
    server().finish();
    EXPECT_EQ(events.next().name, "end");
    EXPECT_EQ(events.next().name, "");
    EXPECT_FALSE(LiveClient{address().port}.is_connected());
}

TEST_F(LiveServerTest, a_client_that_does_not_read_holds_nobody_up) {
    LiveClient asleep{address().port};
    asleep.get(address().path + "events", "Host: " + address().host + "\r\n");
    LiveEvents events{address()};
    await_interest();
    Stacks stacks = long_stacks();
    LiveReader reader;
    for (int i = 0; i < 8; ++i) {
        stacks["main;f" + std::to_string(i)] = 1;
        publish(stacks);
        const LiveEvent event = events.next();
        reader.take(event.data, event.name == "snapshot");
    }
    EXPECT_EQ(reader.self_sum(), stacks.size());
    server().finish();  // does not wait for who is asleep
    EXPECT_EQ(events.next().name, "end");
}

TEST_F(LiveServerTest, who_has_fallen_behind_goes_on_with_a_snapshot) {
    LiveEvents slow{address()};
    await_interest();
    Stacks stacks = long_stacks();
    publish(stacks);
    slow.await_data();  // the beginning of the first one: its socket is full
    constexpr int kMissed = 10;
    for (int i = 0; i < kMissed; ++i) {
        for (auto& [stack, self] : stacks) {
            self += 1;
        }
        publish(stacks);
    }
    const LiveEvent first = slow.next();
    const LiveEvent second = slow.next();
    EXPECT_EQ(first.name, "snapshot");
    EXPECT_EQ(second.name, "snapshot");
    LiveReader reader;
    reader.take(second.data, true);
    EXPECT_EQ(reader.sequence(), 1 + kMissed);
    EXPECT_EQ(reader.self_sum(), (1 + kMissed) * stacks.size());
}

TEST_F(LiveServerTest, those_who_say_nothing_give_way) {
    std::list<LiveClient> silent;
    for (int i = 0; i < 40; ++i) {
        silent.emplace_back(address().port);
    }
    const std::string answer =
        answer_to(address(), address().path, "Host: " + address().host + "\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
}

TEST_F(LiveServerTest, whatever_is_executed_gets_none_of_its_descriptors) {
    LiveEvents events{address()};
    await_interest();
    int descriptors = 0;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        const int fd = std::stoi(entry.path().filename());
        sockaddr_in own{};
        socklen_t size = sizeof own;
        if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
            own.sin_family == AF_INET && ntohs(own.sin_port) == address().port) {
            EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
            ++descriptors;
        }
    }
    EXPECT_EQ(descriptors, 2) << "the one that listens, and the client's";
}

TEST_F(LiveServerTest, a_port_that_is_taken_is_said) {
    const auto other = LiveServer::start(address().port);
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().message().find(std::to_string(address().port)), std::string::npos);
    EXPECT_NE(other.error().message().find("choose another"), std::string::npos);
}

}  // namespace
}  // namespace sample::server
