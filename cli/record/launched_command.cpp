#include "cli/record/launched_command.h"

#include "core/sanitizer_runtime.h"
#include "sampler/control/protocol.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace sample::cli {
namespace {

struct Order {
    char preload[4096];
    char session[64];
};

bool read_whole(int fd, void* bytes, std::size_t size) {
    auto* at = static_cast<char*>(bytes);
    while (size > 0) {
        const ssize_t got = ::read(fd, at, size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

void join_environment(const Order& order) {
    const char* before = std::getenv("LD_PRELOAD");
    std::string preload = order.preload;
    if (before != nullptr && *before != '\0') {
        const std::string_view first = std::string_view{before}.substr(0, ::strcspn(before, ": "));
        preload =
            (is_sanitizer_runtime(first) ? std::string{first} + ":" : "") + preload + ":" + before;
    }
    ::setenv("LD_PRELOAD", preload.c_str(), 1);
    ::setenv(control::kSessionVariable, order.session, 1);
}

[[noreturn]] void run_child(const std::vector<std::string>& command, int order_fd, int failure_fd) {
    Order order;
    if (!read_whole(order_fd, &order, sizeof order)) {
        ::_exit(127);
    }
    join_environment(order);
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& word : command) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    const int failure = errno;
    const ssize_t written = ::write(failure_fd, &failure, sizeof failure);
    ::_exit(written == sizeof failure ? 127 : 126);
}

}  // namespace

Result<LaunchedCommand> LaunchedCommand::fork(const std::vector<std::string>& command) {
    int order[2] = {-1, -1};
    int failure[2] = {-1, -1};
    if (::pipe2(order, O_CLOEXEC) != 0 || ::pipe2(failure, O_CLOEXEC) != 0) {
        return unexpected(Error::from_errno("cannot make a pipe"));
    }
    Fd order_read{order[0]};
    Fd order_write{order[1]};
    Fd failure_read{failure[0]};
    Fd failure_write{failure[1]};
    const pid_t pid = ::fork();
    if (pid < 0) {
        return unexpected(Error::from_errno("cannot make a process"));
    }
    if (pid == 0) {
        order_write.reset();
        failure_read.reset();
        run_child(command, order_read.get(), failure_write.get());
    }
    return LaunchedCommand{pid, std::move(order_write), std::move(failure_read)};
}

Result<void> LaunchedCommand::start(const std::string& preload, const std::string& session) {
    Order order{};
    if (preload.size() >= sizeof order.preload || session.size() >= sizeof order.session) {
        return unexpected(ErrorCode::invalid_argument, "the path of libsample.so is too long");
    }
    std::memcpy(order.preload, preload.data(), preload.size());
    std::memcpy(order.session, session.data(), session.size());
    if (::write(order_.get(), &order, sizeof order) != sizeof order) {
        return unexpected(Error::from_errno("cannot start the command"));
    }
    order_.reset();
    int exec_errno = 0;
    if (read_whole(failure_.get(), &exec_errno, sizeof exec_errno)) {
        return unexpected(Error{ErrorCode::system, exec_errno, "cannot run the command"});
    }
    return {};
}

void LaunchedCommand::give_up() {
    order_.reset();
    static_cast<void>(wait());
}

int LaunchedCommand::wait() const {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

}  // namespace sample::cli
