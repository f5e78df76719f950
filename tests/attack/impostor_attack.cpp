// Attacks on the agent: somebody listens where a session was, and answers a program that still
// carries the session's name.
#include "live_session.h"
#include "sampler/capture/area.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

namespace sample::e2e {
namespace {

class Impostor : public Session {
protected:
    Impostor() : name_{"sample-impostor-" + std::to_string(::getpid())} {}

    /// The program runs as bare while `answer` is given to its Hello.
    void expect_unharmed(const std::function<void(const Fd& socket)>& answer) {
        const Fd listener = listen_on(name_);
        ASSERT_TRUE(listener.is_open());
        std::thread impostor{[&] {
            pollfd ready{listener.get(), POLLIN, 0};
            if (::poll(&ready, 1, 60'000) > 0) {
                const Fd socket{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
                EXPECT_EQ(hear(socket).bytes.size(), sizeof(control::Hello));
                answer(socket);
                (void)hear(socket);  // until it has had enough
            }
        }};
        const Outcome outcome = run_program();
        impostor.join();
        EXPECT_EQ(outcome.out, "its own words\n");
        EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
        EXPECT_EQ(outcome.signal, 0);
    }

    [[nodiscard]] Outcome run_program() const {
        return run_here(
            {target("exit_code"), "7", "its own words"},
            {.settings = {{"LD_PRELOAD", agent_path()},
                          {"SAMPLE_SESSION", name_ + ":00112233445566778899aabbccddeeff:1"}}});
    }

    [[nodiscard]] const std::string& name() const { return name_; }

    [[nodiscard]] static control::Welcome good_welcome() {
        control::Welcome welcome;
        welcome.accepted = 1;
        welcome.sources = {control::Source::sigtrap, control::Source::perf,
                           control::Source::thread};
        welcome.period = 1'000'000;
        return welcome;
    }

    [[nodiscard]] static Fd memory(std::size_t size, bool sealed) {
        Fd fd{::memfd_create("impostor", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
        EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
        if (sealed) {
            ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
        }
        return fd;
    }

private:
    std::string name_;
};

TEST_F(Impostor, of_another_user_hears_nothing) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
    const pid_t stranger = ::fork();
    if (stranger == 0) {
        bool is_fine = ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
        const Fd listener = listen_on(name());
        is_fine = is_fine && ::write(ready[1], "!", 1) == 1;
        pollfd came{listener.get(), POLLIN, 0};
        is_fine = is_fine && ::poll(&came, 1, 60'000) > 0;
        const Fd socket{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        const Heard heard = hear(socket);
        ::_exit(is_fine && heard.is_closed && heard.bytes.empty() ? 0 : 1);
    }
    char word = 0;
    ASSERT_EQ(::read(ready[0], &word, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    const Outcome outcome = run_program();
    int status = -1;
    ::waitpid(stranger, &status, 0);
    EXPECT_EQ(status, 0) << "it was told something";
    EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
}

TEST_F(Impostor, with_memory_that_is_too_small) {
    for (const bool sealed : {false, true}) {
        expect_unharmed([&](const Fd& socket) {
            const Fd area = memory(4096, sealed);
            const Fd page = memory(64, sealed);
            say(socket, good_welcome(), {area.get(), page.get()});
        });
    }
}

TEST_F(Impostor, with_memory_that_may_shrink) {
    expect_unharmed([](const Fd& socket) {
        const Fd area = memory(capture::Area::kFirstBytes, false);
        const Fd page = memory(4096, false);
        say(socket, good_welcome(), {area.get(), page.get()});
        (void)::ftruncate(area.get(), 0);
        (void)::ftruncate(page.get(), 0);
    });
}

TEST_F(Impostor, with_descriptors_that_are_no_memory) {
    expect_unharmed([](const Fd& socket) {
        const Fd zero{::open("/dev/zero", O_RDWR | O_CLOEXEC)};
        const Fd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
        say(socket, good_welcome(), {zero.get(), null.get()});
    });
    expect_unharmed([](const Fd& socket) {
        std::array<int, 2> pipe{};
        ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
        say(socket, good_welcome(), {pipe[0], pipe[1]});
        ::close(pipe[0]);
        ::close(pipe[1]);
    });
}

TEST_F(Impostor, with_an_area_of_zeros) {
    expect_unharmed([](const Fd& socket) {
        const Fd area = memory(capture::Area::kFirstBytes, true);
        const Fd page = memory(4096, true);
        say(socket, good_welcome(), {area.get(), page.get()});
    });
}

TEST_F(Impostor, with_sources_that_do_not_exist) {
    expect_unharmed([](const Fd& socket) {
        const Fd area = memory(capture::Area::kFirstBytes, true);
        ASSERT_EQ(::pwrite(area.get(), &capture::kAreaMagic, sizeof capture::kAreaMagic, 0),
                  static_cast<ssize_t>(sizeof capture::kAreaMagic));
        const Fd page = memory(4096, true);
        control::Welcome welcome = good_welcome();
        welcome.sources = {static_cast<control::Source>(0x7fffffff),
                           static_cast<control::Source>(77), static_cast<control::Source>(5)};
        welcome.collector_pid = 0xffffffff;
        welcome.period = ~std::uint64_t{0};
        say(socket, welcome, {area.get(), page.get()});
    });
}

TEST_F(Impostor, with_a_refusal_that_does_not_end) {
    expect_unharmed([](const Fd& socket) {
        control::Welcome welcome;
        welcome.refusal.fill('A');
        welcome.session.fill('B');
        say(socket, welcome);
    });
}

TEST_F(Impostor, with_half_a_word_or_far_too_many) {
    expect_unharmed([](const Fd& socket) {
        const control::Welcome welcome = good_welcome();
        say(socket, &welcome, sizeof welcome / 2);
    });
    expect_unharmed([](const Fd& socket) {
        const std::vector<char> noise(60'000, 'x');
        const Fd zero{::open("/dev/zero", O_RDWR | O_CLOEXEC)};
        say(socket, noise.data(), noise.size(), std::vector<int>(60, zero.get()));
    });
}

TEST_F(Impostor, that_says_nothing) {
    expect_unharmed([](const Fd&) {});
}

}  // namespace
}  // namespace sample::e2e
