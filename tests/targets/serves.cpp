// A server that keeps its own account.
//
//     serves WORK_UNITS SECONDS
//
// Its fifty clients, each on a connection of its own and all in one other process, ask again when
// they have their answers. The server waits for them in wait_part(), reads what they ask and works
// WORK_UNITS on each in read_part(), and writes the answers in answer_part().
//
// Stats: `wait_cpu_ns=`, `read_cpu_ns=` and `answer_cpu_ns=` by the server's thread's clock,
// `asked=` how often it was asked, `turns=` in how many rounds.
#include "work.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <span>
#include <utility>
#include <vector>

namespace {

constexpr int kConnections = 50;
constexpr std::size_t kBytes = 40;
using Message = std::array<char, kBytes>;

/// The connections of one side.
class Side {
public:
    void add(int connection) const {
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        wanted.data.fd = connection;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, connection, &wanted) != 0) {
            std::perror("epoll_ctl");
            std::exit(1);
        }
    }
    /// Those that have something to read.
    std::span<const epoll_event> wait() {
        const int count = epoll_wait(epoll_, ready_.data(), kConnections, -1);
        return {ready_.data(), static_cast<std::size_t>(count < 0 ? 0 : count)};
    }

private:
    int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    std::array<epoll_event, kConnections> ready_{};
};

bool send(int connection) {
    const Message message{};
    return write(connection, message.data(), kBytes) == kBytes;
}

bool receive(int connection) {
    Message message{};
    return read(connection, message.data(), kBytes) == kBytes;
}

/// Until `end_ns` by the wall clock.
void ask(const std::vector<int>& connections, std::uint64_t end_ns) {
    Side side;
    for (const int connection : connections) {
        side.add(connection);
        send(connection);
    }
    while (targets::wall_ns() < end_ns) {
        for (const epoll_event& ready : side.wait()) {
            if (receive(ready.data.fd)) {
                send(ready.data.fd);
            }
        }
    }
}

/// How long each part took. Each ends with one reading of the clock. What is left of that once the
/// clock is read counts for the next part, and makes up for what this one got of the one before.
struct Account {
    std::uint64_t wait_ns = 0;
    std::uint64_t read_ns = 0;
    std::uint64_t answer_ns = 0;
    std::uint64_t last_ns = targets::thread_cpu_ns();

    void end(std::uint64_t& part_ns) {
        const std::uint64_t now_ns = targets::thread_cpu_ns();
        part_ns += now_ns - std::exchange(last_ns, now_ns);
    }
};

}  // namespace

TARGET_KEEP std::span<const epoll_event> wait_part(Side& side, Account& account) {
    const auto ready = side.wait();
    account.end(account.wait_ns);
    return ready;
}

/// False: a client has gone.
TARGET_KEEP bool read_part(std::span<const epoll_event> ready, std::uint64_t units,
                           Account& account) {
    std::uint64_t state = 88172645463325252U;
    bool are_there = true;
    for (const epoll_event& each : ready) {
        are_there = receive(each.data.fd) && are_there;
        for (std::uint64_t unit = 0; unit < units; ++unit) {
            state = targets::work_unit(state);
        }
    }
    targets::consume(state);
    account.end(account.read_ns);
    return are_there;
}

TARGET_KEEP bool answer_part(std::span<const epoll_event> ready, Account& account) {
    bool are_there = true;
    for (const epoll_event& each : ready) {
        are_there = send(each.data.fd) && are_there;
    }
    account.end(account.answer_ns);
    return are_there;
}

static void serve(Side& side, std::uint64_t units) {
    Account account;
    std::uint64_t asked = 0;
    std::uint64_t turns = 0;
    for (bool are_there = true; are_there;) {
        const auto ready = wait_part(side, account);
        are_there = read_part(ready, units, account);
        are_there = answer_part(ready, account) && are_there;
        asked += ready.size();
        ++turns;
    }
    targets::tell("wait_cpu_ns", account.wait_ns);
    targets::tell("read_cpu_ns", account.read_ns);
    targets::tell("answer_cpu_ns", account.answer_ns);
    targets::tell("asked", asked);
    targets::tell("turns", turns);
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return targets::usage("WORK_UNITS SECONDS");
    }
    const std::uint64_t units = targets::number(argv[1]);
    const std::uint64_t end_ns = targets::wall_ns() + targets::seconds_to_ns(argv[2]);
    Side side;
    std::vector<int> clients;
    for (int i = 0; i < kConnections; ++i) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            std::perror("socketpair");
            return 1;
        }
        side.add(ends[0]);
        clients.push_back(ends[1]);
    }
    signal(SIGPIPE, SIG_IGN);
    const pid_t client = fork();
    if (client < 0) {
        std::perror("fork");
        return 1;
    }
    if (client == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        ask(clients, end_ns);
        _exit(0);
    }
    for (const int connection : clients) {
        close(connection);
    }
    serve(side, units);
    return waitpid(client, nullptr, 0) == client ? 0 : 1;
}
