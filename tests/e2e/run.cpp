#include "run.h"

#include "core/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>

namespace sample::e2e {
namespace {

constexpr std::chrono::seconds kLimit{600};

struct Pipe {
    Fd reader;
    Fd writer;

    Pipe() {
        std::array<int, 2> ends{-1, -1};
        if (pipe2(ends.data(), O_CLOEXEC) == 0) {
            reader.reset(ends[0]);
            writer.reset(ends[1]);
        }
    }
};

[[noreturn]] void become(const std::vector<std::string>& words, const RunOptions& options,
                         const std::array<int, 3>& standard) {
    setpgid(0, 0);
    for (int fd = 0; fd < 3; ++fd) {
        dup2(standard[static_cast<std::size_t>(fd)], fd);
    }
    closefrom(3);
    std::signal(SIGPIPE, SIG_DFL);
    for (const auto& [name, value] : options.settings) {
        setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): a child, alone
    }
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const std::string& word : words) {
        argv.push_back(const_cast<char*>(word.c_str()));  // execvp's old signature
    }
    argv.push_back(nullptr);
    if (options.directory.empty() || chdir(options.directory.c_str()) == 0) {
        execvp(argv[0], argv.data());
    }
    _exit(127);
}

/// Reads once into `text`; closes `from` at its end.
void take(Fd& from, std::string& text) {
    std::array<char, 65536> buffer;
    const ssize_t got = read(from.get(), buffer.data(), buffer.size());
    if (got > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    } else {
        from.reset();
    }
}

/// Writes what the pipe takes; closes it when all is written or nobody reads.
void give(Fd& into, const std::string& text, std::size_t& given) {
    if (given < text.size()) {
        const ssize_t put = write(into.get(), text.data() + given, text.size() - given);
        if (put > 0) {
            given += static_cast<std::size_t>(put);
            return;
        }
    }
    into.reset();
}

/// Moves bytes until both outputs are closed. False if the limit passed first.
bool exchange(Fd input, Fd output, Fd error, const std::string& text, Outcome& outcome) {
    const auto end = std::chrono::steady_clock::now() + kLimit;
    std::size_t given = 0;
    fcntl(input.get(), F_SETFL, O_NONBLOCK);
    while (output.is_open() || error.is_open()) {
        // poll skips negative descriptors: the closed ones.
        std::array<pollfd, 3> ends = {pollfd{input.get(), POLLOUT, 0},
                                      pollfd{output.get(), POLLIN, 0},
                                      pollfd{error.get(), POLLIN, 0}};
        poll(ends.data(), ends.size(), 1000);
        if (ends[0].revents != 0) {
            give(input, text, given);
        }
        if (ends[1].revents != 0) {
            take(output, outcome.out);
        }
        if (ends[2].revents != 0) {
            take(error, outcome.err);
        }
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
    }
    return true;
}

}  // namespace

Outcome run(const std::vector<std::string>& words, const RunOptions& options) {
    Pipe input;
    Pipe output;
    Pipe error;
    std::signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): tests have one thread
    const pid_t pid = fork();
    if (pid == 0) {
        become(words, options, {input.reader.get(), output.writer.get(), error.writer.get()});
    }
    input.reader.reset();
    output.writer.reset();
    error.writer.reset();
    Outcome outcome;
    outcome.hung = !exchange(std::move(input.writer), std::move(output.reader),
                             std::move(error.reader), options.input, outcome);
    if (outcome.hung) {
        kill(-pid, SIGKILL);
    }
    int status = 0;
    rusage usage{};
    wait4(pid, &status, 0, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
        outcome.cpu_us +=
            1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
    }
    if (WIFSIGNALED(status)) {
        outcome.signal = WTERMSIG(status);
    } else {
        outcome.exit_code = WEXITSTATUS(status);
    }
    if (status != 0) {  // for who reads of a test that failed
        std::cout << words[0] << " ended with status " << status << ": " << outcome.err << "\n";
    }
    return outcome;
}

bool is_under_seccomp() {
    return prctl(PR_GET_SECCOMP) != 0;
}

}  // namespace sample::e2e
