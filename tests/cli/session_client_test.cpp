// What asks sessions waits for none that hinders it, and for all of them together.
#include "cli/session_client.h"

#include "folder_test.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

namespace sample::cli {
namespace {

class SessionsTest : public FolderTest {
protected:
    void SetUp() override {
        FolderTest::SetUp();
        ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1), 0);
        std::filesystem::create_directory(folder_ / "sample");
        std::filesystem::permissions(folder_ / "sample", std::filesystem::perms::owner_all);
    }

    [[nodiscard]] sockaddr_un address_of(int number) const {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string socket = path("sample/" + std::to_string(number) + ".sock");
        EXPECT_LT(socket.size(), sizeof address.sun_path);
        std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
        return address;
    }

    /// The socket of a session whose collector would have this number.
    [[nodiscard]] Fd listen_as(int number, int backlog) const {
        Fd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        const sockaddr_un address = address_of(number);
        EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(fd.get(), backlog), 0);
        return fd;
    }

    /// The first connection that asks something, when it has.
    [[nodiscard]] static Fd await_question(const Fd& session) {
        char first = 0;
        Fd connection;
        do {
            connection = Fd{::accept4(session.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        } while (::recv(connection.get(), &first, 1, 0) <= 0);
        return connection;
    }
};

constexpr int kOne = 1'999'999'991;  // beyond any process id
constexpr int kOther = kOne + 1;

void send(const Fd& connection, std::string_view text) {
    EXPECT_EQ(::send(connection.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
}

TEST_F(SessionsTest, that_send_half_a_line_keep_no_other_waiting) {
    const Fd half = listen_as(kOne, SOMAXCONN);
    const Fd whole = listen_as(kOther, SOMAXCONN);
    const Fd stop{::eventfd(0, EFD_CLOEXEC)};
    std::thread sessions{[&] {
        const Fd of_half = await_question(half);
        const Fd of_whole = await_question(whole);
        send(of_half, "ok command=ha");
        // Long enough that the half is met before the whole is there; if it isn't, nothing fails.
        std::this_thread::sleep_for(std::chrono::milliseconds{300});
        send(of_whole, "ok command=whole\n");
        static_cast<void>(::eventfd_write(stop.get(), 1));
        char none = 0;
        EXPECT_EQ(::recv(of_half.get(), &none, 1, 0), 0);  // its end, as it is given up
    }};
    std::vector<FoundSession> found = ask_sessions(::geteuid(), "", stop.get());
    sessions.join();
    std::erase_if(found, [](const FoundSession& each) { return each.collector < kOne; });
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(value_of(found.front().reply, "command"), "whole");
}

TEST_F(SessionsTest, that_have_no_room_for_another_are_not_waited_for) {
    const Fd full = listen_as(kOne, 0);
    const sockaddr_un address = address_of(kOne);
    std::vector<Fd> waiting;
    do {
        waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    } while (::connect(waiting.back().get(), reinterpret_cast<const sockaddr*>(&address),
                       sizeof address) == 0);
    EXPECT_EQ(errno, EAGAIN);
    for (const FoundSession& each : ask_sessions(::geteuid(), "status")) {
        EXPECT_NE(each.collector, kOne);
    }
}

}  // namespace
}  // namespace sample::cli
