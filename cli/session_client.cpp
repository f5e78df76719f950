#include "cli/session_client.h"

#include "cli/output.h"
#include "cli/refuse.h"
#include "core/text.h"
#include "sampler/collector/control/control_socket.h"
#include "sampler/collector/process/proc_files.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <vector>

namespace sample::cli {
namespace {

constexpr time_t kPatienceSeconds = 10;
constexpr std::size_t kMostReplyBytes = std::size_t{64} << 10U;
/// Not behind any other line of it (docs/control.md).
constexpr std::string_view kEndOfJson = "}\n";
/// Names of a list of sessions, in an error.
constexpr std::size_t kMostListed = 8;

std::optional<pid_t> number_in(const std::string& text) {
    pid_t pid = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), pid);
    return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? std::optional{pid}
                                                                               : std::nullopt;
}

/// Root controls everybody's sessions.
uid_t owner_of(std::optional<pid_t> pid) {
    struct stat info {};
    return pid && ::geteuid() == 0 && ::stat(("/proc/" + std::to_string(*pid)).c_str(), &info) == 0
               ? info.st_uid
               : ::geteuid();
}

bool is_command(const ControlReply& reply, const std::string& name) {
    return program_of(value_of(reply, "command")) == name;
}

/// Of what the command's process runs, whose path may have blanks.
bool is_program(const ControlReply& reply, const std::string& name) {
    const pid_t root = number_in(value_of(reply, "root")).value_or(0);
    return collector::thread_name_of(root, root) == name ||
           file_name(collector::executable_of(root)) == name;
}

std::string listed(const std::vector<FoundSession>& sessions) {
    std::string text;
    for (std::size_t i = 0; i < sessions.size() && i < kMostListed; ++i) {
        text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", sessions[i].collector,
                            program_of(value_of(sessions[i].reply, "command")));
    }
    return text + (sessions.size() > kMostListed ? ", …" : "");
}

}  // namespace

std::string value_of(const ControlReply& reply, const std::string& key) {
    const auto at = reply.find(key);
    return at != reply.end() ? at->second : std::string{};
}

Result<SessionClient> SessionClient::connect(const std::string& path, uid_t uid) {
    SAMPLE_TRY(socket, collector::connect_to_session(path, uid));
    const timeval patience{kPatienceSeconds, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return SessionClient{std::move(socket)};
}

bool SessionClient::receive() {
    std::array<char, std::size_t{64} << 10U> buffer{};
    ssize_t got = 0;
    do {
        got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        heard_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return got > 0;
}

Result<ControlReply> SessionClient::ask(std::string_view line) {
    SAMPLE_CHECK(say(line));
    return hear();
}

Result<void> SessionClient::say(std::string_view line) {
    const std::string text = std::string{line} + "\n";
    if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size())) {
        return unexpected(Error::from_errno("the session has ended"));
    }
    return {};
}

/// True as well if no more of it will come.
bool SessionClient::has_answer() {
    return !receive() || heard_.size() > kMostReplyBytes || heard_.find('\n') != std::string::npos;
}

Result<ControlReply> SessionClient::hear() {
    std::size_t end = 0;
    while ((end = heard_.find('\n')) == std::string::npos) {
        if (heard_.size() > kMostReplyBytes || !receive()) {
            return unexpected(
                ErrorCode::truncated,
                "the session did not answer: it may have ended; sample sessions lists what runs");
        }
    }
    const std::string answer = heard_.substr(0, end);
    heard_.erase(0, end + 1);
    constexpr std::string_view kError = "error ";
    if (answer.starts_with(kError)) {
        return unexpected(ErrorCode::unsupported, answer.substr(kError.size()));
    }
    ControlReply reply;
    for (std::size_t at = 0; at < answer.size();) {
        const std::size_t stop = std::min(answer.find(' ', at), answer.size());
        const std::string word = answer.substr(at, stop - at);
        if (const std::size_t equals = word.find('='); equals != std::string::npos) {
            reply[word.substr(0, equals)] = collector::percent_decoded(word.substr(equals + 1));
        }
        at = stop + 1;
    }
    return reply;
}

Result<SessionClient::Rest> SessionClient::copy_rest(int fd) {
    // An export is made first: it takes as long as it takes.
    const timeval none{};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    Rest rest;
    do {
        SAMPLE_CHECK(write_all(fd, heard_));
        rest.bytes += heard_.size();
        rest.last += heard_;
        rest.last.erase(0, rest.last.size() - std::min(rest.last.size(), kEndOfJson.size()));
        heard_.clear();
    } while (receive());
    if (rest.bytes == 0) {
        return unexpected(ErrorCode::truncated, "the session sent nothing: it may have ended");
    }
    return rest;
}

Result<void> SessionClient::copy_recording(int fd, std::uint64_t bytes) {
    SAMPLE_TRY(rest, copy_rest(fd));
    if (rest.bytes != bytes) {
        return unexpected(
            ErrorCode::truncated,
            fmt::format("the session sent {} of {} bytes only: ask again, or read its file",
                        rest.bytes, bytes));
    }
    return {};
}

Result<void> SessionClient::copy_json(int fd) {
    SAMPLE_TRY(rest, copy_rest(fd));
    if (rest.last != kEndOfJson) {
        return unexpected(ErrorCode::truncated,
                          "the session sent a part of the data only: ask again");
    }
    return {};
}

std::string program_of(const std::string& command_line) {
    return std::string{file_name(command_line.substr(0, command_line.find(' ')))};
}

std::vector<FoundSession> ask_sessions(uid_t uid, std::string_view line, int stop_fd) {
    std::vector<FoundSession> sessions;
    std::vector<pollfd> fds{{stop_fd, POLLIN, 0}};
    for (const auto& [collector, path] : collector::find_sessions(uid)) {
        auto client = SessionClient::connect(path, uid);
        if (client && client->say(line)) {
            fds.push_back({client->fd(), POLLIN, 0});
            sessions.push_back({collector, *std::move(client), {}});
        }
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kPatienceSeconds};
    for (std::size_t silent = sessions.size(); silent > 0 && fds[0].revents == 0;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (left.count() <= 0) {
            break;
        }
        if (::poll(fds.data(), fds.size(), static_cast<int>(left.count())) < 0) {
            continue;  // a signal: nothing was looked at
        }
        for (std::size_t i = 0; i < sessions.size(); ++i) {
            pollfd& answer = fds[i + 1];
            if (answer.revents == 0 || !sessions[i].client.has_answer()) {
                continue;
            }
            if (auto reply = sessions[i].client.hear()) {
                sessions[i].reply = *std::move(reply);
            }
            answer.fd = -1;
            answer.revents = 0;
            --silent;
        }
    }
    std::erase_if(sessions, [](const FoundSession& each) { return each.reply.empty(); });
    return sessions;
}

Result<SessionClient> find_session(const std::string& target, int stop_fd) {
    const std::optional<pid_t> pid = number_in(target);
    const std::string line = pid ? fmt::format("status pid={}", *pid) : "status";
    std::vector<FoundSession> sessions = ask_sessions(owner_of(pid), line, stop_fd);
    if (sessions.empty()) {
        return refuse(ErrorCode::not_found,
                      "no session of yours runs: sample sessions lists them, and sample COMMAND "
                      "starts one");
    }
    const std::string all = listed(sessions);
    const bool is_a_command =
        std::any_of(sessions.begin(), sessions.end(),
                    [&](const FoundSession& each) { return is_command(each.reply, target); });
    std::erase_if(sessions, [&](const FoundSession& each) {
        return pid            ? *pid != each.collector && value_of(each.reply, "member") != "1"
               : is_a_command ? !is_command(each.reply, target)
                              : !is_program(each.reply, target);
    });
    if (sessions.empty()) {
        return refuse(ErrorCode::not_found, "no session is '{}'; there is {}", target, all);
    }
    if (sessions.size() > 1) {
        return refuse("several sessions are of '{}': name one by its number, {}", target,
                      listed(sessions));
    }
    return std::move(sessions.front().client);
}

}  // namespace sample::cli
