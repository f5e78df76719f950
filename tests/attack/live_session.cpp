#include "live_session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace sample::e2e {
namespace {

constexpr int kMostMs = 60'000;

struct Address {
    sockaddr_un address{};
    socklen_t size;

    explicit Address(const std::string& name)
        : size{static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())} {
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size());
    }
    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&address);
    }
};

std::string read_line(const Fd& from) {
    std::string line;
    char letter = 0;
    pollfd ready{from.get(), POLLIN, 0};
    while (::poll(&ready, 1, kMostMs) > 0 && ::read(from.get(), &letter, 1) == 1 &&
           letter != '\n') {
        line += letter;
    }
    return line;
}

}  // namespace

SessionWords parse_session(const std::string& text) {
    SessionWords words;
    const std::size_t end = text.find(':');
    words.name = text.substr(0, end);
    for (std::size_t i = 0; i < words.secret.size() && end != std::string::npos; ++i) {
        words.secret[i] = static_cast<std::uint8_t>(
            std::strtoul(text.substr(end + 1 + 2 * i, 2).c_str(), nullptr, 16));
    }
    return words;
}

Fd connect_to(const std::string& name, int patience_s) {
    Fd socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    const timeval patience{patience_s, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const Address address{name};
    if (::connect(socket.get(), address.get(), address.size) != 0) {
        socket.reset();
    }
    return socket;
}

Fd listen_on(const std::string& name) {
    Fd socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    const Address address{name};
    if (::bind(socket.get(), address.get(), address.size) != 0 || ::listen(socket.get(), 16) != 0) {
        socket.reset();
    }
    return socket;
}

bool say(const Fd& socket, const void* bytes, std::size_t size, const std::vector<int>& fds) {
    iovec part{const_cast<void*>(bytes), size};
    std::vector<char> room(CMSG_SPACE(sizeof(int) * fds.size()));
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
        message.msg_control = room.data();
        message.msg_controllen = room.size();
        cmsghdr* head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
        std::memcpy(CMSG_DATA(head), fds.data(), sizeof(int) * fds.size());
    }
    return ::sendmsg(socket.get(), &message, MSG_NOSIGNAL) >= 0;
}

Heard hear(const Fd& socket) {
    Heard heard;
    heard.bytes.resize(4096);
    iovec part{heard.bytes.data(), heard.bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 16)> room{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    const ssize_t size = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
    heard.is_closed = size == 0 || (size < 0 && errno == ECONNRESET);
    heard.bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); size >= 0 && head != nullptr;
         head = CMSG_NXTHDR(&message, head)) {
        for (std::size_t i = 0; i < (head->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
            heard.fds.emplace_back(fd);
        }
    }
    return heard;
}

bool as_another_process(uid_t user, const std::function<bool()>& attack) {
    const pid_t child = ::fork();
    if (child == 0) {
        const bool is_other = user == 0 || (::setgid(user) == 0 && ::setuid(user) == 0);
        ::_exit(is_other && attack() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status == 0;
}

void LiveSession::SetUp() {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    ASSERT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    const std::string script =
        R"(echo "$SAMPLE_SESSION"; echo $$; read word; exec ")" + target("three_leaves") + "\" 0.2";
    const std::string binary = sample_path();
    const std::string kept = recording();
    collector_ = ::fork();
    if (collector_ == 0) {
        ::dup2(in[0], 0);
        ::dup2(out[1], 1);
        ::execl(binary.c_str(), "sample", "--quiet", "--freq", "10k", "-o", kept.c_str(), "--",
                "sh", "-c", script.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    input_.reset(in[1]);
    output_.reset(out[0]);
    words_ = parse_session(read_line(output_));
    shell_ = std::atoi(read_line(output_).c_str());
    ASSERT_FALSE(words_.name.empty());
    ASSERT_GT(shell_, 1);
}

void LiveSession::TearDown() {
    if (collector_ > 0) {
        ::kill(collector_, SIGKILL);
        ::waitpid(collector_, nullptr, 0);
    }
}

std::size_t LiveSession::open_descriptors() const {
    const std::string folder = "/proc/" + std::to_string(collector_) + "/fd";
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{folder}, {}));
}

control::Hello LiveSession::own_hello() const {
    control::Hello hello;
    hello.secret = words_.secret;
    hello.pid = static_cast<std::uint32_t>(::getpid());
    hello.parent_pid = static_cast<std::uint32_t>(::getppid());
    return hello;
}

std::size_t LiveSession::expect_unharmed() {
    EXPECT_EQ(::write(input_.get(), "go\n", 3), 3);
    const std::string told_leaves = read_line(output_);
    while (!read_line(output_).empty()) {
    }
    int status = -1;
    pollfd never{-1, 0, 0};
    for (int waited = 0; ::waitpid(collector_, &status, WNOHANG) == 0; waited += 20) {
        if (waited > kMostMs) {
            ADD_FAILURE() << "`sample` does not end";
            return 0;
        }
        ::poll(&never, 1, 20);
    }
    collector_ = -1;
    EXPECT_EQ(status, 0);
    const Recording seen{recording()};
    EXPECT_TRUE(seen.flag("whole"));
    EXPECT_FALSE(seen.flag("stopped_early")) << seen.stats();
    EXPECT_GT(seen.total_us("leaf_"), 50'000) << told_leaves;
    std::size_t leaves = 0;
    for (const auto& process : seen.stats()["process_list"]) {
        if (process["executable"].get<std::string>().ends_with("/three_leaves")) {
            ++leaves;
            EXPECT_EQ(process["ending"], "exited with 0");
            EXPECT_EQ(process["pid"], shell_);
        }
    }
    EXPECT_EQ(leaves, 1U);
    return seen.stats()["process_list"].size();
}

}  // namespace sample::e2e
