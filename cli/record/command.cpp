#include "cli/record/command.h"

#include "cli/output.h"
#include "cli/record/preloadable.h"
#include "cli/refuse.h"
#include "core/sanitizer_runtime.h"
#include "sampler/collector/code/elf_facts.h"
#include "sampler/control/protocol.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

namespace sample::cli {
namespace {

constexpr int kMaxInterpreters = 4;

bool is_regular(const std::string& path, struct stat& info) {
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// The first executable file of that name in PATH; then `denied` tells of one that may not be run.
std::string search_path(const std::string& word, bool& denied) {
    const char* variable = std::getenv("PATH");
    std::istringstream folders{variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin"};
    std::string folder;
    while (std::getline(folders, folder, ':')) {
        std::string path = (folder.empty() ? "." : folder) + "/" + word;
        struct stat info = {};
        if (!is_regular(path, info)) {
            continue;
        }
        if (::access(path.c_str(), X_OK) == 0) {
            return path;
        }
        denied = true;
    }
    return {};
}

/// The interpreter that a script's first line names; empty if it is no script.
std::string interpreter_of(const std::string& path) {
    std::ifstream file{path};
    std::string line;
    if (!std::getline(file, line) || !line.starts_with("#!")) {
        return {};
    }
    std::istringstream words{line.substr(2)};
    std::string interpreter;
    words >> interpreter;
    std::string argument;
    if (interpreter.ends_with("/env") && words >> argument && !argument.starts_with("-")) {
        bool denied = false;
        return search_path(argument, denied);
    }
    return interpreter;
}

std::string why_not(const std::string& path) {
    struct stat info = {};
    if (!is_regular(path, info)) {
        return {};
    }
    if (((info.st_mode & S_ISUID) != 0 && info.st_uid != ::geteuid()) ||
        ((info.st_mode & S_ISGID) != 0 && info.st_gid != ::getegid())) {
        return path + " is setuid or setgid: the loader ignores preloaded libraries for it";
    }
    const collector::ElfFacts facts = collector::read_elf_facts(path);
    if (!facts.is_elf) {
        return {};
    }
    if (!facts.is_x86_64) {
        return path + " is not a 64-bit x86 program";
    }
    if (facts.interpreter.empty() && !facts.is_loader) {
        return path + " is statically linked: no library can be preloaded into it";
    }
    if (facts.interpreter.find("ld-musl") != std::string::npos) {
        return path + " is linked against musl: the agent needs glibc";
    }
    return {};
}

Result<std::string> find_own_library(std::string_view name, std::string_view target) {
    std::array<char, PATH_MAX> program{};
    const ssize_t size = ::readlink("/proc/self/exe", program.data(), program.size());
    if (size <= 0) {
        return unexpected(Error::from_errno("cannot find the program's own folder"));
    }
    std::string folder{program.data(), static_cast<std::size_t>(size)};
    folder.resize(folder.rfind('/') + 1);
    for (const char* place : {"", "../" SAMPLE_LIBRARY_FOLDER "/", "../lib/"}) {
        std::string path = folder + place;
        path += name;
        if (::access(path.c_str(), R_OK) == 0) {
            return preloadable(follow_links(path));
        }
    }
    return refuse(ErrorCode::not_found,
                  "{1} is neither in {0} nor in {0}../" SAMPLE_LIBRARY_FOLDER
                  ": install both, or build the target {2}",
                  folder, name, target);
}

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

/// Of an empty order, nothing is to be joined.
void join_environment(const Order& order) {
    if (order.preload[0] == '\0') {
        return;
    }
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

/// A program in the background of nobody's terminal, which does not outlive us.
void stand_apart(int output) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const Fd nothing{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    ::dup2(nothing.get(), STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
}

[[noreturn]] void run_child(const std::vector<std::string>& command, const Inherited& inherited,
                            std::vector<char*> environment, int order_fd, int failure_fd,
                            int output) {
    if (output >= 0) {
        stand_apart(output);
    }
    Order order;
    if (!read_whole(order_fd, &order, sizeof order)) {
        ::_exit(127);
    }
    join_environment(order);
    inherited.hand_over();
    environment.push_back(nullptr);
    bool is_told = true;
    const auto tell_failure = [&] {
        const int failure = errno;
        is_told = ::write(failure_fd, &failure, sizeof failure) == sizeof failure;
        return failure;
    };
    exec_command(command);
    if (tell_failure() == E2BIG) {
        if (output < 0) {  // else it is run to be watched
            environ = environment.data();
            inherited.hand_over_environment();
            exec_command(command);
        }
        tell_failure();
    }
    ::_exit(is_told ? 127 : 126);
}

}  // namespace

Result<CommandCheck> check_command(const std::string& word) {
    CommandCheck check;
    struct stat info = {};
    if (word.find('/') != std::string::npos) {
        if (::stat(word.c_str(), &info) != 0) {
            return unexpected(ErrorCode::not_found, word + ": No such file or directory");
        }
        if (S_ISDIR(info.st_mode)) {
            return unexpected(ErrorCode::permission, word + ": Is a directory");
        }
        if (::access(word.c_str(), X_OK) != 0) {
            return unexpected(ErrorCode::permission,
                              word + ": Permission denied; is it executable (chmod +x)?");
        }
        check.path = word;
    } else {
        bool denied = false;
        check.path = search_path(word, denied);
        if (check.path.empty()) {
            return denied ? unexpected(ErrorCode::permission, word + ": Permission denied")
                          : unexpected(ErrorCode::not_found, word + ": command not found in PATH");
        }
    }
    std::string file = check.path;
    for (int depth = 0; depth < kMaxInterpreters; ++depth) {
        check.cannot_profile = why_not(file);
        const std::string library = collector::read_elf_facts(file).first_library;
        check.runtime = is_sanitizer_runtime(library) ? library : "";
        file = interpreter_of(file);
        if (!check.cannot_profile.empty() || file.empty()) {
            break;
        }
    }
    return check;
}

Result<std::string> find_agent_library(bool with_memory) {
    return find_own_library(with_memory ? "libsample-memory.so" : "libsample.so", "sample_agent");
}

Result<std::string> find_unity_host() {
    return find_own_library("libsample-unity-host.so", "sample_unity_host");
}

Result<std::string> find_module_host() {
    return find_own_library("libsample-modules.so", "sample_modules");
}

std::vector<char*> environment_now() {
    std::vector<char*> entries;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        entries.push_back(*entry);
    }
    return entries;
}

void exec_command(const std::vector<std::string>& command) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
}

Result<LaunchedCommand> LaunchedCommand::fork(const std::vector<std::string>& command,
                                              const std::vector<char*>& environment, int output) {
    int order[2] = {-1, -1};
    int failure[2] = {-1, -1};
    if (::pipe2(order, O_CLOEXEC) != 0 || ::pipe2(failure, O_CLOEXEC) != 0) {
        return unexpected(Error::from_errno("cannot make a pipe"));
    }
    Fd order_read{order[0]};
    Fd order_write{order[1]};
    Fd failure_read{failure[0]};
    Fd failure_write{failure[1]};
    Inherited inherited;
    const pid_t pid = ::fork();
    if (pid < 0) {
        const Error error = Error::from_errno("cannot make a process");
        inherited.hand_over();
        return unexpected(error);
    }
    if (pid == 0) {
        order_write.reset();
        failure_read.reset();
        run_child(command, inherited, environment, order_read.get(), failure_write.get(), output);
    }
    return LaunchedCommand{pid, std::move(inherited), std::move(order_write),
                           std::move(failure_read)};
}

Result<bool> LaunchedCommand::start(const std::string& preload, const std::string& session) {
    Order order{};
    if (preload.size() >= sizeof order.preload || session.size() >= sizeof order.session) {
        return unexpected(
            ErrorCode::invalid_argument,
            "the path of libsample.so is too long: install it in a folder with a shorter one");
    }
    std::memcpy(order.preload, preload.data(), preload.size());
    std::memcpy(order.session, session.data(), session.size());
    if (::write(order_.get(), &order, sizeof order) != sizeof order) {
        return unexpected(Error::from_errno("cannot start the command"));
    }
    order_.reset();
    int exec_errno = 0;
    const auto has_failed = [&] {
        return read_whole(failure_.get(), &exec_errno, sizeof exec_errno);
    };
    const bool is_refused = has_failed();
    if (is_refused && (exec_errno != E2BIG || has_failed())) {
        return unexpected(Error{ErrorCode::system, exec_errno, "cannot run the command"});
    }
    return !is_refused;
}

void LaunchedCommand::start_unprofiled(int order) noexcept {
    static constexpr Order kEmpty{};
    static_cast<void>(!::write(order, &kEmpty, sizeof kEmpty));
}

void LaunchedCommand::give_up() {
    order_.reset();
    static_cast<void>(wait());
    inherited_.hand_over();
}

std::optional<int> LaunchedCommand::wait_for(int milliseconds) const {
    const Fd end{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
    pollfd ended{end.get(), POLLIN, 0};
    return ::poll(&ended, 1, milliseconds) > 0 ? std::optional{wait()} : std::nullopt;
}

int LaunchedCommand::wait() const {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

}  // namespace sample::cli
