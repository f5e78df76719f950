#include "sampler/collector/control/control_service.h"

#include "sampler/collector/process/tick_clock.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace sample::collector {
namespace {

constexpr int kLookMs = 1000;
constexpr int kPauseWithoutDescriptorsMs = 100;

/// A file that can be read from its beginning while it grows, or nullptr.
std::shared_ptr<const Fd> open_recording_to_read(const std::string& path) {
    struct stat info {};
    Fd fd{path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    return fd.is_open() && ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode)
               ? std::make_shared<const Fd>(std::move(fd))
               : nullptr;
}

bool would_block() {
    return errno == EAGAIN || errno == EINTR;
}

/// Our program, writing the recording `from` as JSON to `to`, which stays the caller's. 0: it could
/// not be started.
pid_t spawn_export(int from, int to) {
    constexpr int kRecordingFd = 3;
    std::array<std::string, 5> words{"sample", "export", "--format", "json", "/dev/fd/3"};
    std::array<char*, words.size() + 1> arguments{};
    std::transform(words.begin(), words.end(), arguments.begin(),
                   [](std::string& word) { return word.data(); });
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    // Ours may be the very number that the next one is put at.
    const Fd safe_from{::fcntl(from, F_DUPFD_CLOEXEC, 10)};
    const Fd safe_to{::fcntl(to, F_DUPFD_CLOEXEC, 10)};
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, safe_to.get(), 1);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, safe_from.get(), kRecordingFd);
    sigset_t none{};
    sigset_t all{};
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = 0;
    const bool started = safe_from.is_open() && safe_to.is_open() &&
                         ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes,
                                       arguments.data(), environ) == 0;
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    return started ? pid : 0;
}

}  // namespace

Result<std::unique_ptr<ControlService>> ControlService::open(const std::string& recording) {
    SAMPLE_TRY(socket, ControlSocket::listen());
    return std::unique_ptr<ControlService>{
        new ControlService{std::move(socket), open_recording_to_read(recording)}};
}

ControlService::ControlService(ControlSocket socket, std::shared_ptr<const Fd> recording)
    : socket_{std::move(socket)},
      recording_{std::move(recording)},
      asked_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      thread_{[this] { run(); }} {}

ControlService::~ControlService() {
    stopping_.store(true);
    ::eventfd_write(wake_.get(), 1);
    thread_.join();
    end_exports(true);
}

std::vector<ControlCommand> ControlService::take() {
    eventfd_t count = 0;
    ::eventfd_read(asked_.get(), &count);
    const std::lock_guard lock{mutex_};
    return std::exchange(commands_, {});
}

bool ControlService::go_on_with(Fd recording) {
    if (!recording.is_open()) {
        return false;
    }
    recording_ = std::make_shared<const Fd>(std::move(recording));
    return true;
}

void ControlService::answer(const ControlCommand& command, std::string line, Then then) {
    struct stat info {};
    Answer answer{command.client, std::move(line), then, 0, nullptr};
    if (then != Then::go_on) {
        answer.recording = recording_;
    }
    if (then == Then::send_recording && ::fstat(recording_->get(), &info) == 0) {
        answer.end = static_cast<std::uint64_t>(info.st_size);
        answer.line += " bytes=" + std::to_string(answer.end);
    }
    {
        const std::lock_guard lock{mutex_};
        answers_.push_back(std::move(answer));
    }
    ::eventfd_write(wake_.get(), 1);
}

void ControlService::run() {
    // Signals are for the threads that know of them.
    sigset_t all{};
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (!stopping_.load()) {
        poll_once();
    }
}

void ControlService::poll_once() {
    std::vector<pollfd> fds;
    fds.push_back({socket_.fd(), POLLIN, 0});
    fds.push_back({wake_.get(), POLLIN, 0});
    for (const Client& client : clients_) {
        // One that waits is not heard; its end is noticed when it has its answer.
        const short events = client.sends ? POLLOUT : POLLIN;
        fds.push_back({client.waits ? -1 : client.socket.get(), events, 0});
    }
    for (const Export& each : exports_) {
        fds.push_back({each.pidfd.get(), POLLIN, 0});
    }
    if (::poll(fds.data(), fds.size(), kLookMs) > 0) {
        std::size_t index = 2;
        for (auto at = clients_.begin(); at != clients_.end(); ++index) {
            const bool is_ready = fds[index].revents != 0;
            const bool stays = !is_ready || (at->sends ? send_more(*at) : hear(*at));
            at = stays ? std::next(at) : clients_.erase(at);
        }
        take_answers();
        if (fds[0].revents != 0) {
            accept_all();
        }
    }
    end_exports(false);  // also one whose end no descriptor has told
    drop_the_slow();
}

void ControlService::accept_all() {
    // As many as there can be: then the others' turn comes.
    for (std::size_t i = 0; i < kMostClients; ++i) {
        Client client;
        client.socket = Fd{::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        if (!client.socket.is_open()) {
            if (errno == EMFILE || errno == ENFILE) {
                ::poll(nullptr, 0, kPauseWithoutDescriptorsMs);  // the queue wakes us at once
            }
            return;
        }
        ucred peer{};
        socklen_t size = sizeof peer;
        if (::getsockopt(client.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
            (peer.uid != ::geteuid() && peer.uid != 0)) {
            continue;
        }
        client.pid = peer.pid;
        client.id = next_id_++;
        client.since_ns = monotonic_ns();
        clients_.push_back(std::move(client));
        if (clients_.size() > kMostClients) {
            clients_.erase(std::min_element(
                clients_.begin(), clients_.end(),
                [](const Client& a, const Client& b) { return a.since_ns < b.since_ns; }));
        }
    }
}

bool ControlService::hear(Client& client) {
    std::array<char, kMostCommandBytes> buffer{};
    const ssize_t got = ::recv(client.socket.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) {
        return got < 0 && would_block();
    }
    client.heard.append(buffer.data(), static_cast<std::size_t>(got));
    client.since_ns = monotonic_ns();
    return ask(client);
}

bool ControlService::ask(Client& client) {
    while (!client.waits && !client.sends) {
        const std::size_t end = client.heard.find('\n');
        if (end == std::string::npos) {
            return client.heard.size() < kMostCommandBytes;
        }
        if (end >= kMostCommandBytes) {
            return false;
        }
        auto command = parse_control_command(std::string_view{client.heard}.substr(0, end));
        client.heard.erase(0, end + 1);
        if (!command) {
            if (!send_line(client, "error " + command.error().message())) {
                return false;
            }
            continue;
        }
        command->peer = client.pid;
        command->client = client.id;
        client.waits = true;
        {
            const std::lock_guard lock{mutex_};
            commands_.push_back(*std::move(command));
        }
        ::eventfd_write(asked_.get(), 1);
    }
    return true;
}

bool ControlService::send_line(const Client& client, std::string line) {
    std::replace(line.begin(), line.end(), '\n', ' ');
    line += '\n';
    return ::send(client.socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(line.size());
}

void ControlService::take_answers() {
    eventfd_t count = 0;
    ::eventfd_read(wake_.get(), &count);
    std::vector<Answer> answers;
    {
        const std::lock_guard lock{mutex_};
        answers.swap(answers_);
    }
    for (const Answer& answer : answers) {
        const auto client = std::find_if(clients_.begin(), clients_.end(), [&](const Client& each) {
            return each.id == answer.client;
        });
        if (client != clients_.end() && !send_answer(*client, answer)) {
            clients_.erase(client);
        }
    }
}

bool ControlService::send_answer(Client& client, const Answer& answer) {
    client.waits = false;
    client.since_ns = monotonic_ns();
    if (answer.then == Then::send_export && exports_.size() >= kMostExports) {
        return send_line(client, "error too many clients read the data at once: ask again later") &&
               ask(client);
    }
    if (!send_line(client, answer.line)) {
        return false;
    }
    if (answer.then == Then::send_export) {
        return start_export(client, *answer.recording);
    }
    client.sends = answer.then == Then::send_recording;
    client.end = answer.end;
    client.recording = answer.recording;
    return ask(client);  // it may have said more meanwhile
}

bool ControlService::send_more(Client& client) {
    std::array<char, std::size_t{64} << 10U> buffer{};
    const ssize_t got = ::pread(client.recording->get(), buffer.data(),
                                std::min<std::uint64_t>(buffer.size(), client.end - client.at),
                                static_cast<off_t>(client.at));
    if (got <= 0) {
        return false;
    }
    const ssize_t sent = ::send(client.socket.get(), buffer.data(), static_cast<std::size_t>(got),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
        return would_block();
    }
    client.at += static_cast<std::uint64_t>(sent);
    client.since_ns = monotonic_ns();
    return client.at < client.end;
}

bool ControlService::start_export(const Client& client, const Fd& recording) {
    // From here on it is the other process's, which may wait.
    const int flags = ::fcntl(client.socket.get(), F_GETFL);
    ::fcntl(client.socket.get(), F_SETFL, flags & ~O_NONBLOCK);
    if (const pid_t pid = spawn_export(recording.get(), client.socket.get()); pid != 0) {
        exports_.push_back(
            {pid, Fd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))}, monotonic_ns()});
    }
    return false;
}

void ControlService::end_exports(bool all) {
    std::erase_if(exports_, [all](const Export& each) {
        if (all) {
            ::kill(each.pid, SIGKILL);
        }
        return ::waitpid(each.pid, nullptr, all ? 0 : WNOHANG) != 0;
    });
}

void ControlService::drop_the_slow() {
    const std::uint64_t now = monotonic_ns();
    for (const Export& each : exports_) {
        if (now - each.since_ns > kMostForAnExportNs) {
            ::kill(each.pid, SIGKILL);
        }
    }
    clients_.remove_if([now](const Client& each) {
        const std::uint64_t silent = now - std::min(now, each.since_ns);
        return each.sends ? silent > kPatienceWithReadersNs
                          : !each.waits && !each.heard.empty() && silent > kPatienceWithHalfALineNs;
    });
}

}  // namespace sample::collector
