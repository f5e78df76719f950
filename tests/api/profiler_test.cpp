// sample/profiler.hpp: what a program gets of the agent, of a session's socket, and of neither.
#include "sample/profiler.hpp"

#include "sessions_folder.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <iterator>

namespace sample::api {
namespace {

using profiler::Profiler;
using profiler::Result;

class ProfilerOfAnother : public SessionsFolder {
protected:
    static Profiler found() {
        Profiler profiler;
        EXPECT_EQ(profiler.find(::getpid()), Result::ok);
        return profiler;
    }
};

std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, {});
}

TEST(Profiler, without_an_agent_does_nothing_and_says_so) {
    Profiler profiler;
    profiler::State state{};
    profiler::Data data;
    EXPECT_EQ(profiler.start(), Result::no_agent);
    EXPECT_EQ(profiler.stop(), Result::no_agent);
    EXPECT_EQ(profiler.pause(), Result::no_agent);
    EXPECT_EQ(profiler.resume(), Result::no_agent);
    EXPECT_EQ(profiler.set_frequency(10), Result::no_agent);
    EXPECT_EQ(profiler.status(state), Result::no_agent);
    EXPECT_EQ(state.is_connected, 0U);
    EXPECT_EQ(profiler.open(), Result::no_agent);
    EXPECT_EQ(profiler.close(), Result::no_agent);
    EXPECT_EQ(profiler.request_data(data), Result::no_agent);
    EXPECT_EQ(profiler.request_data(), Result::no_agent);
    EXPECT_EQ(profiler::Sampling(profiler).result(), Result::no_agent);
}

/// What an agent was asked, by a table in its place.
struct Asked {
    static inline unsigned command = 0;
    static inline unsigned frequency_hz = 0;
    static inline bool is_answered = true;

    static std::uint32_t control(std::uint32_t what, std::uint32_t hz, std::uint32_t /*timeout*/) {
        command = what;
        frequency_hz = hz;
        return is_answered ? 1 : 0;
    }
    static void sampling(sample_profiler_sampling* into) { *into = {1, 1, 997}; }
    static std::uint32_t socket_path(char* /*path*/, std::size_t /*bytes*/) { return 0; }
};

TEST(Profiler, of_the_own_process_asks_its_agent) {
    constexpr sample_profiler_functions kTable{SAMPLE_PROFILER_VERSION,
                                               sizeof(sample_profiler_functions), Asked::control,
                                               Asked::sampling, Asked::socket_path};
    sample_profiling_agent = &kTable;
    Profiler profiler;
    EXPECT_EQ(profiler.start(), Result::ok);
    EXPECT_EQ(Asked::command, SAMPLE_PROFILER_START);
    EXPECT_EQ(Asked::frequency_hz, 1000U);
    EXPECT_EQ(profiler.start(10'000), Result::ok);
    EXPECT_EQ(Asked::frequency_hz, 10'000U);
    Asked::command = 0;
    EXPECT_EQ(profiler.start(10'001), Result::bad_frequency);
    EXPECT_EQ(profiler.start(0), Result::bad_frequency);
    EXPECT_EQ(Asked::command, 0U);
    EXPECT_EQ(profiler.stop(), Result::ok);
    EXPECT_EQ(Asked::command, SAMPLE_PROFILER_STOP);
    EXPECT_EQ(profiler.pause(), Result::ok);
    EXPECT_EQ(Asked::command, SAMPLE_PROFILER_PAUSE);
    EXPECT_EQ(profiler.resume(), Result::ok);
    EXPECT_EQ(Asked::command, SAMPLE_PROFILER_RESUME);
    profiler::State state{};
    EXPECT_EQ(profiler.status(state), Result::ok);
    EXPECT_EQ(state.is_sampling, 1U);
    EXPECT_EQ(state.frequency_hz, 997U);
    EXPECT_EQ(profiler.open(), Result::no_session);
    Asked::is_answered = false;
    EXPECT_EQ(profiler.stop(), Result::timed_out);
    sample_profiling_agent = nullptr;
}

TEST_F(ProfilerOfAnother, is_found_by_the_process_and_steers_its_session) {
    const auto session = this->session("77");
    Profiler profiler;
    ASSERT_EQ(profiler.find(::getpid()), Result::ok);
    EXPECT_EQ(profiler.pid(), ::getpid());
    EXPECT_EQ(profiler.start(10'000), Result::ok);
    profiler::State state{};
    EXPECT_EQ(profiler.status(state), Result::ok);
    EXPECT_EQ(state.is_sampling, 1U);
    EXPECT_EQ(state.frequency_hz, 10'000U);
    EXPECT_EQ(profiler.pause(), Result::ok);
    EXPECT_EQ(profiler.resume(), Result::ok);
    EXPECT_EQ(profiler.set_frequency(50), Result::ok);
    EXPECT_EQ(profiler.stop(), Result::ok);
    EXPECT_EQ(
        session->state().requests,
        (std::vector<std::string>{"status pid=" + std::to_string(::getpid()), "start freq=10000",
                                  "status", "pause", "resume", "freq 50", "stop"}));
    EXPECT_EQ(profiler.start(10'001), Result::bad_frequency);
    EXPECT_EQ(profiler.set_frequency(0), Result::bad_frequency);
    EXPECT_EQ(session->state().requests.size(), 7U);
}

TEST_F(ProfilerOfAnother, is_found_by_a_name_that_one_session_has) {
    const std::string own = std::filesystem::read_symlink("/proc/self/exe").filename();
    const auto session = this->session("77");
    std::ofstream{socket("78")} << "no socket";
    Profiler profiler;
    EXPECT_EQ(profiler.find(own), Result::ok);
    EXPECT_EQ(profiler.pid(), ::getpid());
    EXPECT_EQ(profiler.find("no such program"), Result::no_session);
    session->change([](SessionState& state) { state.command = "/a/game%20server%20game"; });
    EXPECT_EQ(profiler.find("game"), Result::ok);
    EXPECT_EQ(profiler.find("server"), Result::no_session);
    EXPECT_EQ(profiler.find("gam"), Result::no_session);
    EXPECT_EQ(profiler.find("games"), Result::no_session);
    EXPECT_EQ(profiler.find(2), Result::no_session);
    const auto other = this->session("79");
    EXPECT_EQ(profiler.find(own), Result::ambiguous);
}

TEST_F(ProfilerOfAnother, is_found_in_a_private_folder_alone) {
    const auto session = this->session("77");
    const std::filesystem::path folder = socket("77").parent_path();
    const std::filesystem::path real = folder.parent_path() / "real";
    Profiler profiler;
    std::filesystem::permissions(folder, std::filesystem::perms{0755});
    EXPECT_EQ(profiler.find(::getpid()), Result::no_session);
    std::filesystem::permissions(folder, std::filesystem::perms{0700});
    EXPECT_EQ(profiler.find(::getpid()), Result::ok);
    std::filesystem::rename(folder, real);
    std::filesystem::create_directory_symlink(real, folder);
    EXPECT_EQ(profiler.find(::getpid()), Result::no_session);
}

TEST_F(ProfilerOfAnother, shares_a_session_which_the_first_owner_sets) {
    const auto session = this->session("77");
    Profiler first = found();
    Profiler second = found();
    EXPECT_EQ(first.close(), Result::not_open);
    EXPECT_EQ(first.open(), Result::ok);
    EXPECT_EQ(second.open(), Result::ok);
    EXPECT_TRUE(first.is_owner());
    EXPECT_FALSE(second.is_owner());
    EXPECT_EQ(first.start(2000), Result::ok);
    EXPECT_EQ(second.start(10'000), Result::not_owner);
    EXPECT_EQ(second.set_frequency(10'000), Result::not_owner);
    EXPECT_EQ(second.start(2000), Result::ok);
    EXPECT_EQ(second.resume(), Result::ok);
    EXPECT_EQ(second.stop(), Result::not_owner);
    EXPECT_EQ(second.pause(), Result::not_owner);
    EXPECT_EQ(session->state().frequency, "2000");
    EXPECT_TRUE(session->state().is_sampling);
    EXPECT_EQ(first.stop(), Result::ok);
    EXPECT_EQ(second.start(2000), Result::not_owner);
    EXPECT_EQ(second.resume(), Result::not_owner);
    EXPECT_FALSE(session->state().is_sampling);
    EXPECT_EQ(first.close(), Result::ok);
    EXPECT_EQ(second.start(10'000), Result::ok) << "the next one owns it";
    { const Profiler gone = std::move(second); }
    EXPECT_TRUE(session->state().tokens.empty()) << "closed with its scope";
}

TEST_F(ProfilerOfAnother, hands_data_to_the_callback_with_who_it_came_from) {
    const auto session = this->session("77");
    const std::string json = std::string(300'000, 'x') + "}\n";
    session->change([&](SessionState& state) { state.json = json; });
    Profiler profiler = found();
    int calls = 0;
    profiler.on_new_data([&](const profiler::Data& data) {
        ++calls;
        EXPECT_EQ(data.json, json);
        EXPECT_EQ(data.pid, ::getpid());
        EXPECT_FALSE(data.name.empty());
    });
    EXPECT_EQ(profiler.request_data(), Result::ok);
    EXPECT_EQ(calls, 1);
}

TEST_F(ProfilerOfAnother, hands_no_data_over_that_are_cut_short) {
    const auto session = this->session("77");
    session->change([](SessionState& state) { state.json = R"({"Version":2,"Nodes":[)"; });
    Profiler profiler = found();
    profiler.on_new_data([](const profiler::Data& data) { ADD_FAILURE() << data.json; });
    EXPECT_EQ(profiler.request_data(), Result::refused);
    EXPECT_STREQ(profiler.problem(), "the session sent a part of the data only");
}

TEST_F(ProfilerOfAnother, says_why_a_session_refuses) {
    const FakeSession session{socket("77"), [](int /*connection*/, const std::string& line) {
                                  return line.rfind("status", 0) == 0
                                             ? std::string{"ok member=1\n"}
                                             : "error the recording is complete\n";
                              }};
    Profiler profiler = found();
    EXPECT_EQ(profiler.start(), Result::refused);
    EXPECT_STREQ(profiler.problem(), "the recording is complete");
}

TEST_F(ProfilerOfAnother, gives_a_silent_session_up) {
    const FakeSession session{socket("77"), [](int connection, const std::string& line) {
                                  if (line.rfind("status", 0) == 0) {
                                      return std::string{"ok member=1\n"};
                                  }
                                  pollfd client{connection, POLLRDHUP, 0};
                                  ::poll(&client, 1, 60'000);
                                  return std::string{};
                              }};
    Profiler profiler = found();
    profiler.set_timeout_ms(20);
    EXPECT_EQ(profiler.stop(), Result::timed_out);
}

TEST_F(ProfilerOfAnother, says_so_where_a_session_ends) {
    Profiler profiler;
    {
        const FakeSession session{
            socket("77"), [](int /*connection*/, const std::string& line) {
                return line.rfind("status", 0) == 0 ? std::string{"ok member=1\n"} : "ok ow";
            }};
        ASSERT_EQ(profiler.find(::getpid()), Result::ok);
        EXPECT_EQ(profiler.start(), Result::no_session);
    }
    EXPECT_EQ(profiler.start(), Result::no_session);
}

TEST_F(ProfilerOfAnother, keeps_no_descriptor) {
    const auto session = this->session("77");
    Profiler profiler = found();
    ASSERT_EQ(profiler.open(), Result::ok);
    const std::ptrdiff_t before = open_descriptors();
    EXPECT_EQ(profiler.start(), Result::ok);
    EXPECT_EQ(profiler.request_data(), Result::ok);
    EXPECT_EQ(profiler.stop(), Result::ok);
    // The session's side of the last connection may be closed a moment later.
    for (int look = 0; look < 1000 && open_descriptors() > before; ++look) {
        ::usleep(1000);
    }
    EXPECT_LE(open_descriptors(), before);
}

TEST_F(ProfilerOfAnother, goes_on_in_a_forked_child) {
    const auto session = this->session("77");
    Profiler profiler = found();
    ASSERT_EQ(profiler.open(), Result::ok);
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(profiler.start(500) == Result::ok ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(session->state().frequency, "500");
}

TEST_F(ProfilerOfAnother, is_not_disturbed_by_signals) {
    // Data come piece by piece, with a signal that restarts nothing every half a millisecond.
    const std::string piece(1000, 'y');
    const FakeSession session{socket("77"), [&](int connection, const std::string& line) {
                                  if (line.rfind("status", 0) == 0) {
                                      return std::string{"ok member=1\n"};
                                  }
                                  ::send(connection, "ok\n", 3, MSG_NOSIGNAL);
                                  for (int i = 0; i < 50; ++i) {
                                      ::usleep(1000);
                                      ::send(connection, piece.data(), piece.size(), MSG_NOSIGNAL);
                                  }
                                  ::send(connection, "}\n", 2, MSG_NOSIGNAL);
                                  return std::string{};
                              }};
    Profiler profiler = found();
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
    const itimerval often{{0, 500}, {0, 500}};
    const itimerval never{};
    ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
    profiler::Data data;
    const Result result = profiler.request_data(data);
    ASSERT_EQ(::setitimer(ITIMER_REAL, &never, nullptr), 0);
    ASSERT_EQ(::sigaction(SIGALRM, &before, nullptr), 0);
    EXPECT_EQ(result, Result::ok);
    EXPECT_EQ(data.json.size(), 50'002U);
}

}  // namespace
}  // namespace sample::api
