#include "cli/record/injected.h"

#include "cli/output.h"
#include "cli/record/command.h"
#include "core/fd.h"
#include "core/file_rights.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/inject/inject.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

constexpr int kSocket = 3;
/// It is read from a disk first.
constexpr int kMostToStartSeconds = 20;

/// Who a process is: what root takes on to do something in its name.
bool become(const FileRights& user) {
    return ::setgroups(user.groups.size(), user.groups.data()) == 0 &&
           ::setresgid(user.group, user.group, user.group) == 0 &&
           ::setresuid(user.user, user.user, user.user) == 0;
}

[[noreturn]] void become_collector(pid_t pid, const std::string& recording, const Fd& socket,
                                   const FileRights* user) {
    ::setsid();
    if (::chdir("/") != 0) {  // it keeps no folder from being unmounted
        ::_exit(1);
    }
    const Fd nothing{::open("/dev/null", O_RDWR | O_CLOEXEC)};
    for (int fd = 0; fd < kSocket; ++fd) {
        ::dup2(nothing.get(), fd);
    }
    const Fd moved{::fcntl(socket.get(), F_DUPFD_CLOEXEC, kSocket + 1)};
    ::dup2(moved.get(), kSocket);
    // Our user's files and settings are not for the other one, who may look into his process.
    ::closefrom(kSocket + 1);
    if (user != nullptr && !become(*user)) {
        ::_exit(1);
    }
    std::vector<std::string> settings{"SAMPLE_START=off", "SAMPLE_OUTPUT=" + recording};
    for (char** each = environ; *each != nullptr; ++each) {
        const std::string_view entry{*each};
        if (entry.starts_with("PATH=") || (user == nullptr && !entry.starts_with("SAMPLE_"))) {
            settings.emplace_back(entry);
        }
    }
    std::vector<char*> environment;
    environment.reserve(settings.size() + 1);
    for (std::string& setting : settings) {
        environment.push_back(setting.data());
    }
    environment.push_back(nullptr);
    const std::string number = std::to_string(pid);
    sigset_t none{};
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execle("/proc/self/exe", "sample", "collect", "3", number.c_str(), nullptr,
             environment.data());
    ::_exit(1);
}

/// What of the collector has to go where the agent does not come in.
class Collector {
public:
    static Result<Collector> start(pid_t pid) {
        int ends[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            return unexpected(Error::from_errno("cannot make a socket to a collector"));
        }
        const Fd ours{ends[0]};
        Fd theirs{ends[1]};
        // Nobody else's has this name; the collector makes it, and refuses one that is there.
        const std::string recording =
            fmt::format("/tmp/sample-injected-{}-{:x}.utrace", pid,
                        std::chrono::system_clock::now().time_since_epoch().count());
        const auto user = lesser_rights_in(collector::status_of(pid), nullptr);
        const pid_t child = ::fork();
        if (child < 0) {
            return unexpected(Error::from_errno("cannot make a process for a collector"));
        }
        if (child == 0) {
            become_collector(pid, recording, theirs, user.get());
        }
        theirs.reset();
        Collector started{child, recording};
        const timeval patience{kMostToStartSeconds, 0};
        ::setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        std::array<char, 1024> answer{};
        const ssize_t got = ::recv(ours.get(), answer.data(), answer.size(), 0);
        started.session_ = std::string{answer.data(), static_cast<std::size_t>(got > 0 ? got : 0)};
        if (started.session_.empty() || started.session_.starts_with(kNoCollector)) {
            return unexpected(ErrorCode::system,
                              started.session_.empty()
                                  ? "a collector could not be started"
                                  : started.session_.substr(kNoCollector.size()));
        }
        return started;
    }
    Collector(Collector&& other) noexcept
        : pid_{std::exchange(other.pid_, 0)},
          recording_{std::move(other.recording_)},
          session_{std::move(other.session_)} {}
    Collector& operator=(Collector&&) = delete;
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;
    ~Collector() {
        if (pid_ != 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
            ::unlink(recording_.c_str());
        }
    }

    [[nodiscard]] const std::string& session() const { return session_; }
    /// From here on it is nobody's.
    void let_go() { pid_ = 0; }

private:
    Collector(pid_t pid, std::string recording) : pid_{pid}, recording_{std::move(recording)} {}

    pid_t pid_;
    std::string recording_;
    std::string session_;
};

}  // namespace

Result<void> bring_agent_into(pid_t pid, bool quiet) {
    SAMPLE_TRY(library, find_agent_library(false));
    SAMPLE_CHECK(inject::check_process(pid, library));
    SAMPLE_TRY(collector, Collector::start(pid));
    SAMPLE_TRY(injected, inject::inject_agent(pid, library, collector.session()));
    collector.let_go();
    if (!quiet) {
        const double ms = std::chrono::duration<double, std::milli>{injected.stopped}.count();
        print_error(
            fmt::format("the agent was brought into process {}, one of whose threads stood still "
                        "for {:.1f} ms; it stays, and sleeps when this recording is over",
                        pid, ms));
    }
    return {};
}

}  // namespace sample::cli
