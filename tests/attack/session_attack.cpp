// Attacks on a collector: by strangers, and by processes of its own session that lie.
#include "live_session.h"
#include "sampler/capture/shared_area.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace sample::e2e {
namespace {

/// The shell and three_leaves: two images of one process.
constexpr std::size_t kOwnImages = 2;

using SessionAttack = LiveSession;

/// Whether the collector closes the connection without a word.
bool is_turned_away(const Fd& socket) {
    const Heard heard = hear(socket);
    return heard.is_closed && heard.bytes.empty() && heard.fds.empty();
}

bool is_welcome(const Heard& heard) {
    control::Welcome welcome;
    if (heard.bytes.size() != sizeof welcome) {
        return false;
    }
    std::memcpy(&welcome, heard.bytes.data(), sizeof welcome);
    return welcome.accepted == 1 && heard.fds.size() == 2;
}

capture::AreaHeader* map_header(const Heard& heard) {
    void* header = ::mmap(nullptr, sizeof(capture::AreaHeader), PROT_READ | PROT_WRITE, MAP_SHARED,
                          heard.fds.at(0).get(), 0);
    return header == MAP_FAILED ? nullptr : static_cast<capture::AreaHeader*>(header);
}

capture::SessionPage* map_page(const Heard& heard) {
    void* page =
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, heard.fds.at(1).get(), 0);
    return page == MAP_FAILED ? nullptr : static_cast<capture::SessionPage*>(page);
}

void ring(capture::SessionPage& page) {
    page.doorbell.fetch_add(1);
    ::syscall(SYS_futex, &page.doorbell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

TEST_F(SessionAttack, no_secret_is_turned_away) {
    const Fd socket = connect_to(words().name);
    control::Hello hello = own_hello();
    hello.secret = {};
    EXPECT_TRUE(say(socket, hello));
    EXPECT_TRUE(is_turned_away(socket));
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, a_secret_with_one_wrong_bit_is_turned_away) {
    for (const std::size_t byte : {std::size_t{0}, words().secret.size() - 1}) {
        const Fd socket = connect_to(words().name);
        control::Hello hello = own_hello();
        hello.secret[byte] ^= 1;
        EXPECT_TRUE(say(socket, hello));
        EXPECT_TRUE(is_turned_away(socket));
    }
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, nobody_else_adds_programs_or_threads) {
    control::Unprofiled unprofiled;
    unprofiled.reason = control::NotProfiled::static_program;
    unprofiled.pid = static_cast<std::uint32_t>(shell());
    unprofiled.sender_pid = unprofiled.pid;
    const control::ArmThread thread;
    const Fd first = connect_to(words().name);
    EXPECT_TRUE(say(first, unprofiled));
    EXPECT_TRUE(is_turned_away(first));
    const Fd second = connect_to(words().name);
    EXPECT_TRUE(say(second, thread, {0}));
    EXPECT_TRUE(is_turned_away(second));
    EXPECT_EQ(expect_unharmed(), kOwnImages);
    EXPECT_EQ(Recording{recording()}.stats()["unprofiled"].size(), 0U);
}

TEST_F(SessionAttack, another_user_is_turned_away) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    EXPECT_TRUE(as_another_process(kNobody, [&] {
        const Fd socket = connect_to(words().name);
        control::Hello hello = own_hello();
        hello.secret.back() ^= 0x80;
        hello.pid = static_cast<std::uint32_t>(shell());
        return say(socket, hello) && is_turned_away(socket);
    }));
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, silent_peers_by_the_thousand_cost_a_bounded_number_of_descriptors) {
    const std::size_t before = open_descriptors();
    constexpr std::size_t kSilent = 700;
    std::vector<Fd> silent;
    silent.reserve(kSilent);
    while (silent.size() < kSilent) {
        silent.push_back(connect_to(words().name));
    }
    // They are let in in their order: when this one is answered, all have been.
    const Fd last = connect_to(words().name);
    EXPECT_TRUE(say(last, own_hello()));
    EXPECT_TRUE(is_welcome(hear(last)));
    EXPECT_LT(open_descriptors(), before + 300);
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, a_silent_peer_is_closed_after_a_while) {
    const Fd socket = connect_to(words().name, 60);
    EXPECT_TRUE(is_turned_away(socket));
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, peers_that_never_read_stop_nobody) {
    std::vector<Fd> deaf;
    for (int i = 0; i < 300; ++i) {
        deaf.push_back(connect_to(words().name));
        const int least = 1;
        ::setsockopt(deaf.back().get(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
        EXPECT_TRUE(say(deaf.back(), own_hello()));
    }
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, hello_said_again_and_again_ends_the_conversation) {
    const Fd socket = connect_to(words().name);
    for (int i = 0; i < 1000 && say(socket, own_hello()); ++i) {
    }
    EXPECT_TRUE(is_welcome(hear(socket)));
    EXPECT_TRUE(hear(socket).is_closed);
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, datagrams_of_every_wrong_size_are_turned_away) {
    std::vector<char> bytes(65536);
    control::Hello hello = own_hello();
    std::memcpy(bytes.data(), &hello, sizeof hello);
    for (std::size_t size = 1; size < sizeof hello; ++size) {
        const Fd socket = connect_to(words().name);
        EXPECT_TRUE(say(socket, bytes.data(), size));
        EXPECT_TRUE(is_turned_away(socket)) << size;
    }
    for (const std::size_t size : {sizeof hello + 1, std::size_t{1024}, bytes.size()}) {
        const Fd socket = connect_to(words().name);
        EXPECT_TRUE(say(socket, bytes.data(), size));
        EXPECT_TRUE(is_turned_away(socket)) << size;
    }
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, words_out_of_their_order_are_turned_away) {
    control::Hello old = own_hello();
    old.version = control::kProtocolVersion - 1;
    control::Hello unknown = own_hello();
    unknown.kind = static_cast<control::MessageKind>(77);
    for (const control::Hello& hello : {old, unknown}) {
        const Fd socket = connect_to(words().name);
        EXPECT_TRUE(say(socket, hello));
        EXPECT_TRUE(is_turned_away(socket));
    }
    const Fd armed = connect_to(words().name);
    EXPECT_TRUE(say(armed, control::Armed{}, {0, 1, 2}));
    EXPECT_TRUE(is_turned_away(armed));
    const Fd welcome = connect_to(words().name);
    EXPECT_TRUE(say(welcome, control::Welcome{}));
    EXPECT_TRUE(is_turned_away(welcome));
    const Fd go = connect_to(words().name);
    EXPECT_TRUE(say(go, control::Go{}));
    EXPECT_TRUE(is_turned_away(go));
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, descriptors_that_are_no_events_are_closed) {
    const std::size_t before = open_descriptors();
    const Fd socket = connect_to(words().name);
    EXPECT_TRUE(say(socket, own_hello()));
    const Heard heard = hear(socket);
    ASSERT_TRUE(is_welcome(heard));
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const Fd reader{pipe[0]};
    const Fd writer{pipe[1]};
    const Fd zero{::open("/dev/zero", O_RDWR | O_CLOEXEC)};
    std::vector<int> wrong;
    while (wrong.size() + 4 <= control::kMaxPassedFds) {
        wrong.insert(wrong.end(), {reader.get(), zero.get(), heard.fds[0].get(), socket.get()});
    }
    control::Armed armed;
    armed.source = control::Source::perf;
    EXPECT_TRUE(say(socket, armed, wrong));
    EXPECT_TRUE(hear(socket).is_closed);
    EXPECT_LT(open_descriptors(), before + 10);
    // A thread's event, too.
    const Fd second = connect_to(words().name);
    control::ArmThread thread;
    thread.secret = words().secret;
    thread.pid = static_cast<std::uint32_t>(::getpid());
    EXPECT_TRUE(say(second, thread, {reader.get()}));
    EXPECT_EQ(hear(second).bytes.size(), sizeof(control::Go));
    EXPECT_EQ(expect_unharmed(), kOwnImages + 1);
}

TEST_F(SessionAttack, a_socket_that_takes_long_to_close_is_closed_at_once) {
    const Fd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(listener.get(), 16), 0);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    for (const bool is_known : {false, true}) {
        Fd slow{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        ASSERT_EQ(::connect(slow.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
        const std::vector<char> unread(std::size_t{16} << 20U);
        ::send(slow.get(), unread.data(), unread.size(), MSG_DONTWAIT);
        const linger hours{1, 7200};
        ::setsockopt(slow.get(), SOL_SOCKET, SO_LINGER, &hours, sizeof hours);
        control::Hello hello = own_hello();
        hello.secret[0] ^= is_known ? 0 : 1;
        const Fd socket = connect_to(words().name);
        EXPECT_TRUE(say(socket, hello, {slow.get()}));
        say(socket, control::Go{}, {slow.get()});  // mostly, nobody waits for this one
        slow.reset();
        while (!hear(socket).is_closed) {
        }
    }
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, a_hello_in_anothers_name_replaces_nobody) {
    const Fd socket = connect_to(words().name);
    control::Hello hello = own_hello();
    hello.pid = static_cast<std::uint32_t>(shell());
    EXPECT_TRUE(say(socket, hello));
    ASSERT_TRUE(is_welcome(hear(socket)));
    EXPECT_TRUE(say(socket, control::Armed{}));
    EXPECT_TRUE(hear(socket).is_closed);
    EXPECT_EQ(expect_unharmed(), kOwnImages + 1);
}

// As of a program that an emulator of programs runs, which has an agent of its own.
TEST_F(SessionAttack, a_second_agent_of_an_image_is_turned_away) {
    const auto joins = [&]() -> capture::AreaHeader* {
        const Fd socket = connect_to(words().name);
        EXPECT_TRUE(say(socket, own_hello()));
        const Heard heard = hear(socket);
        if (!is_welcome(heard)) {
            return nullptr;
        }
        EXPECT_TRUE(say(socket, control::Armed{}));
        EXPECT_TRUE(hear(socket).is_closed);
        return map_header(heard);
    };
    capture::AreaHeader* const first = joins();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(joins(), nullptr);
    first->last_cpu_ns.store(1);
    capture::AreaHeader* const second = joins();
    EXPECT_NE(second, nullptr) << "an exec that was told";
    ::munmap(first, sizeof *first);
    ::munmap(second, sizeof *second);
    EXPECT_NE(joins(), nullptr) << "an exec past libc";
    EXPECT_EQ(expect_unharmed(), kOwnImages + 3);
}

TEST_F(SessionAttack, armed_twice_counts_once) {
    const Fd socket = connect_to(words().name);
    EXPECT_TRUE(say(socket, own_hello()));
    ASSERT_TRUE(is_welcome(hear(socket)));
    say(socket, control::Armed{});
    say(socket, control::Armed{});
    EXPECT_TRUE(hear(socket).is_closed);
    EXPECT_EQ(expect_unharmed(), kOwnImages + 1);
}

TEST_F(SessionAttack, a_child_cannot_end_the_session) {
    const Fd socket = connect_to(words().name);
    EXPECT_TRUE(say(socket, own_hello()));
    const Heard heard = hear(socket);
    ASSERT_TRUE(is_welcome(heard));
    EXPECT_TRUE(say(socket, control::Armed{}));
    EXPECT_TRUE(hear(socket).is_closed);
    capture::AreaHeader* header = map_header(heard);
    capture::SessionPage* page = map_page(heard);
    ASSERT_TRUE(header != nullptr && page != nullptr);
    header->is_root = 1;
    header->exit_known.store(1);
    header->finish_request.store(1);
    header->gate_requests.store(7);
    for (int rings = 0; rings < 1000 && header->gate_acks.load() != 7; ++rings) {
        ring(*page);
        ::usleep(10'000);
    }
    EXPECT_EQ(header->gate_acks.load(), 7U);
    EXPECT_EQ(expect_unharmed(), kOwnImages + 1);
}

TEST_F(SessionAttack, shared_memory_cannot_be_made_smaller) {
    const Fd socket = connect_to(words().name);
    EXPECT_TRUE(say(socket, own_hello()));
    const Heard heard = hear(socket);
    ASSERT_TRUE(is_welcome(heard));
    EXPECT_NE(::ftruncate(heard.fds[0].get(), 0), 0);
    EXPECT_NE(::ftruncate(heard.fds[1].get(), 0), 0);
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, a_page_full_of_noise_ends_nothing) {
    const Fd socket = connect_to(words().name);
    EXPECT_TRUE(say(socket, own_hello()));
    const Heard heard = hear(socket);
    ASSERT_TRUE(is_welcome(heard));
    capture::SessionPage* page = map_page(heard);
    ASSERT_NE(page, nullptr);
    for (std::uint32_t noise = 0; noise < 20'000; ++noise) {
        page->pings.store(noise * 2654435761U);
        page->pongs.store(noise);
        page->stalled.store(1);
        ring(*page);
    }
    // The collector takes back that nobody is to wait for it.
    for (int tries = 0; tries < 1000 && page->stalled.load() != 0; ++tries) {
        ::usleep(20'000);
    }
    EXPECT_EQ(page->stalled.load(), 0U);
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

TEST_F(SessionAttack, ten_thousand_announced_programs_are_no_burden) {
    for (int i = 0; i < 10'000; ++i) {
        const Fd socket = connect_to(words().name);
        control::Unprofiled unprofiled;
        unprofiled.secret = words().secret;
        unprofiled.reason = control::NotProfiled::musl;
        unprofiled.pid = static_cast<std::uint32_t>(::getpid());  // which runs another program
        unprofiled.sender_pid = unprofiled.pid;
        unprofiled.path.fill('x');
        ASSERT_TRUE(say(socket, unprofiled));
    }
    EXPECT_EQ(expect_unharmed(), kOwnImages);
    EXPECT_EQ(Recording{recording()}.stats()["unprofiled"].size(), 0U);
}

TEST_F(SessionAttack, processes_that_leave_in_the_middle_leave_nothing) {
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE(as_another_process(0, [&] {
            const Fd socket = connect_to(words().name);
            return say(socket, own_hello()) && is_welcome(hear(socket));
        }));
    }
    // The collector sees them leave at its next looks.
    for (int tries = 0; tries < 1000 && open_descriptors() >= before + 30; ++tries) {
        ::usleep(20'000);
    }
    EXPECT_LT(open_descriptors(), before + 30);
    EXPECT_EQ(expect_unharmed(), kOwnImages);
}

}  // namespace
}  // namespace sample::e2e
