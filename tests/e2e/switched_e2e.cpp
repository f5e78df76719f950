// Channels that are switched while a program runs, by the session's control socket.
#include "cli/session_client.h"
#include "heard.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace sample {
namespace {

/// A folder of this test's own is the user's runtime folder.
class Switched : public testing::Test {
protected:
    Switched() {
        std::string pattern = std::filesystem::temp_directory_path() / "switched-XXXXXX";
        folder = ::mkdtemp(pattern.data());
        ::setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
    }
    ~Switched() override { std::filesystem::remove_all(folder); }

    /// This process has the session.
    static Result<cli::SessionClient> connect() {
        return cli::find_session(std::to_string(::getpid()));
    }
    static Result<cli::ControlReply> ask(const std::string& line) {
        SAMPLE_TRY(client, connect());
        return client.ask(line);
    }
    void await(const std::string& name) const {
        while (!std::filesystem::exists(folder / name)) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
    void let_go(int step) const { std::ofstream{folder / fmt::format("go-{}", step)}; }

    std::filesystem::path folder;
};

TEST_F(Switched, in_flight_each_process_says_what_is_on_then) {
    const Lines channels = {"bookmark,counter,cpu", "bookmark,physics",
                            "bookmark,counter,plugin,nosuch", "none"};
    std::vector<cli::ControlReply> replies;
    std::thread steering{[&] {
        for (int step = 0; step < 4; ++step) {
            await(fmt::format("parent-{}", step));
            await(fmt::format("child-{}", step));
            auto reply = ask("channels " + channels[static_cast<std::size_t>(step)]);
            EXPECT_TRUE(reply) << reply.error().message();
            replies.push_back(reply ? *std::move(reply) : cli::ControlReply{});
            let_go(step);
        }
    }};
    const Heard heard =
        listen({target("says_switched"), folder.string(), target("says_plugin.so")}, "none");
    steering.join();
    ASSERT_EQ(heard.speakers().size(), 2U);
    for (const HeardThread* speaker : heard.speakers()) {
        const bool is_child = all_of(*speaker).find("child") != std::string::npos;
        EXPECT_EQ(all_of(*speaker), fmt::format(R"(bodies=7
begin cpu
end cpu
%s %d|{0}|0
begin physics
end physics
%s %d|{0}|1
bodies=8
begin on its channel
loaded %d|1
end on its channel
%s %d|{0}|2
)",
                                                is_child ? "child" : "parent"));
    }
    ASSERT_EQ(replies.size(), 4U);
    EXPECT_EQ(replies[1],
              (cli::ControlReply{{"state", "stopped"}, {"freq", "0"}, {"channels", channels[1]}}));
    EXPECT_EQ(replies[2]["unknown"], "plugin,nosuch") << "its library is not loaded yet";
    for (const auto& [name, is_on] : heard.channels) {
        EXPECT_FALSE(is_on) << name;
    }
    EXPECT_NE(heard.note.find(
                  "channels were switched, as asked: none at first; bookmark,counter,cpu from"),
              std::string::npos)
        << heard.note;
}

TEST_F(Switched, while_libraries_come_and_go_nothing_else_is_written_to) {
    constexpr int kSwitches = 500;
    constexpr int kMostLooks = 60'000;
    std::thread steering{[&] {
        Result<cli::SessionClient> client = connect();
        for (int i = 0; i < kMostLooks && !client; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            client = connect();
        }
        EXPECT_TRUE(client) << client.error().message();
        for (int i = 0; i < kSwitches && client; ++i) {
            EXPECT_TRUE(client->ask("channels none") && client->ask("channels all"));
        }
        std::ofstream{folder / "over"};
    }};
    const Heard heard = listen(
        {target("says_switched"), "churn", target("says_channels.so"), (folder / "over").string()},
        "all");
    steering.join();
    EXPECT_TRUE(heard.speakers().empty());
}

TEST_F(Switched, without_a_trace_the_session_says_how_to_begin_one) {
    std::thread steering{[&] {
        await("parent-0");
        await("child-0");
        const auto reply = ask("channels cpu");
        EXPECT_FALSE(reply);
        if (!reply) {
            EXPECT_NE(reply.error().message().find("--trace none"), std::string::npos)
                << reply.error().message();
        }
        for (int step = 0; step < 4; ++step) {
            let_go(step);
        }
    }};
    const Heard heard =
        listen({target("says_switched"), folder.string(), target("says_plugin.so")}, "", 1000);
    steering.join();
    EXPECT_TRUE(heard.speakers().empty());
}

}  // namespace
}  // namespace sample
