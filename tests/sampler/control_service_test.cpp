#include "sampler/collector/control/control_service.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace sample::collector {
namespace {

/// A folder of this test's own is the user's runtime folder.
class ControlServiceTest : public ::testing::Test {
protected:
    ControlServiceTest() {
        std::string pattern = std::filesystem::temp_directory_path() / "control-XXXXXX";
        folder = ::mkdtemp(pattern.data());
        ::setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
    }
    ~ControlServiceTest() override { std::filesystem::remove_all(folder); }

    [[nodiscard]] std::unique_ptr<ControlService> open(const std::string& recording = {}) const {
        auto service = ControlService::open(recording);
        EXPECT_TRUE(service) << service.error().message();
        EXPECT_TRUE((*service)->path().starts_with(folder.string() + "/sample/"));
        return std::move(*service);
    }
    static Fd connect(const ControlService& service) {
        auto fd = connect_to_session(service.path(), ::geteuid());
        EXPECT_TRUE(fd) << fd.error().message();
        return std::move(*fd);
    }
    static void say(const Fd& client, std::string_view text) {
        ::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
    /// All until a line ends, or the connection.
    static std::string line_from(const Fd& client) {
        std::string line;
        char byte = 0;
        while (::recv(client.get(), &byte, 1, 0) == 1 && byte != '\n') {
            line += byte;
        }
        return line;
    }
    static std::vector<ControlCommand> await_commands(ControlService& service) {
        pollfd asked{service.fd(), POLLIN, 0};
        EXPECT_EQ(::poll(&asked, 1, 60'000), 1);
        return service.take();
    }

    std::filesystem::path folder;
};

TEST_F(ControlServiceTest, hands_commands_over_and_answers_back) {
    const auto service = open();
    const Fd client = connect(*service);
    say(client, "start freq=10k time=2s\nsta");
    const auto commands = await_commands(*service);
    ASSERT_EQ(commands.size(), 1U);
    EXPECT_EQ(commands[0].verb, ControlVerb::start);
    EXPECT_EQ(commands[0].frequency_hz, 10'000U);
    EXPECT_EQ(commands[0].time, std::chrono::seconds{2});
    EXPECT_EQ(commands[0].peer, ::getpid());
    service->answer(commands[0], "ok freq=10000");
    EXPECT_EQ(line_from(client), "ok freq=10000");
    say(client, "tus\n");
    EXPECT_EQ(await_commands(*service).at(0).verb, ControlVerb::status);
}

TEST_F(ControlServiceTest, refuses_what_it_does_not_know_and_goes_on) {
    const auto service = open();
    const Fd client = connect(*service);
    for (const char* wrong :
         {"\n", "begin\n", "freq 20k\n", "time never\n", "stop now\n", "open\n", "status pid=x\n",
          "\xff\xfe\n", "freq 10 20\n", "start freq=10 freq=10\n", "time 1s 2s\n"}) {
        say(client, wrong);
        EXPECT_TRUE(line_from(client).starts_with("error ")) << wrong;
    }
    say(client, "stop\n");
    EXPECT_EQ(await_commands(*service).at(0).verb, ControlVerb::stop);
}

TEST_F(ControlServiceTest, drops_a_line_without_end) {
    const auto service = open();
    const Fd client = connect(*service);
    say(client, std::string(2 * kMostCommandBytes, 'x'));
    EXPECT_EQ(line_from(client), "");
}

TEST_F(ControlServiceTest, serves_a_new_client_behind_many_silent_ones) {
    const auto service = open();
    std::vector<Fd> silent;
    for (std::size_t i = 0; i < 4 * ControlService::kMostClients; ++i) {
        silent.push_back(connect(*service));
    }
    const Fd client = connect(*service);
    say(client, "status\n");
    EXPECT_EQ(await_commands(*service).size(), 1U);
}

TEST_F(ControlServiceTest, sends_the_recording_as_long_as_it_is_when_answered) {
    const std::filesystem::path file = folder / "r.utrace";
    const std::string content(300'000, 'r');
    std::ofstream{file} << content;
    const auto service = open(file);
    ASSERT_TRUE(service->has_recording());
    const Fd client = connect(*service);
    say(client, "dump\n");
    service->answer(await_commands(*service).at(0), "ok", ControlService::Then::send_recording);
    EXPECT_EQ(line_from(client), "ok bytes=300000");
    std::string got;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = ::recv(client.get(), buffer.data(), buffer.size(), 0)) > 0;) {
        got.append(buffer.data(), static_cast<std::size_t>(size));
    }
    EXPECT_EQ(got, content);
}

TEST_F(ControlServiceTest, uses_no_folder_that_others_may_look_into) {
    const std::filesystem::path ours = folder / "sample";
    std::filesystem::create_directory(ours);
    ASSERT_EQ(::chmod(ours.c_str(), 0755), 0);
    auto socket = ControlSocket::listen();
    EXPECT_TRUE(!socket || !socket->path().starts_with(folder.string()));
    EXPECT_TRUE(std::filesystem::is_empty(ours));
}

TEST_F(ControlServiceTest, follows_no_link_in_place_of_its_folder) {
    std::filesystem::create_directory(folder / "elsewhere");
    ASSERT_EQ(::chmod((folder / "elsewhere").c_str(), 0700), 0);
    std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "sample");
    auto socket = ControlSocket::listen();
    EXPECT_TRUE(!socket || !socket->path().starts_with(folder.string()));
    EXPECT_TRUE(std::filesystem::is_empty(folder / "elsewhere"));
}

TEST_F(ControlServiceTest, a_socket_whose_process_is_gone_is_removed) {
    const pid_t ended = ::fork();
    ASSERT_GE(ended, 0);
    if (ended == 0) {
        ::_exit(0);
    }
    ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
    const auto name_of = [this](pid_t pid) {
        return folder / "sample" / (std::to_string(pid) + ".sock");
    };
    const std::filesystem::path stale = name_of(ended);
    const std::filesystem::path of_a_living = name_of(1);
    {
        const auto gone = open();
        std::filesystem::create_hard_link(gone->path(), stale);
        std::filesystem::create_hard_link(gone->path(), of_a_living);
    }
    const auto service = open();
    ASSERT_TRUE(std::filesystem::exists(stale));
    const auto found = find_sessions(::geteuid());
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const SessionAddress& each) {
        return each.collector == ::getpid();
    }));
    EXPECT_FALSE(std::filesystem::exists(stale));
    EXPECT_TRUE(std::filesystem::exists(of_a_living));
    EXPECT_TRUE(std::filesystem::exists(service->path()));
}

TEST_F(ControlServiceTest, is_found_once_where_its_folder_has_two_names) {
    // With the slash it is another name of a folder that is looked into anyway, if it is there.
    const std::string usual = "/run/user/" + std::to_string(::geteuid()) + "/";
    ::setenv("XDG_RUNTIME_DIR", usual.c_str(), 1);
    const auto socket = ControlSocket::listen();
    ASSERT_TRUE(socket) << socket.error().message();
    const auto found = find_sessions(::geteuid());
    EXPECT_EQ(
        std::count_if(found.begin(), found.end(),
                      [](const SessionAddress& each) { return each.collector == ::getpid(); }),
        1);
}

TEST_F(ControlServiceTest, is_found_by_all_who_look_while_it_begins) {
    constexpr int kSessions = 2000;
    std::atomic<bool> is_over = false;
    std::thread looking{[&] {
        while (!is_over.load()) {
            static_cast<void>(find_sessions(::geteuid()));
        }
    }};
    int found = 0;
    for (int i = 0; i < kSessions; ++i) {
        const auto socket = ControlSocket::listen();
        found += socket && connect_to_session(socket->path(), ::geteuid()) ? 1 : 0;
    }
    is_over.store(true);
    looking.join();
    EXPECT_EQ(found, kSessions);
}

TEST(PercentEncoding, keeps_any_text) {
    const std::string text = "a b%c\n\t\xc3\xa4=1%2";
    EXPECT_EQ(percent_decoded(percent_encoded(text)), text);
    EXPECT_EQ(percent_encoded(text).find_first_of(" \n\t"), std::string::npos);
    EXPECT_EQ(percent_decoded("100%"), "100%");
}

}  // namespace
}  // namespace sample::collector
