#include "terminal.h"

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

namespace sample::e2e {
namespace {

constexpr int kPollMs = 100;
constexpr int kTries = 600;

}  // namespace

Terminal::Terminal(const std::vector<std::string>& words, const Settings& settings) {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const std::string& word : words) {
        argv.push_back(const_cast<char*>(word.c_str()));  // execvp's old signature
    }
    argv.push_back(nullptr);
    int master = -1;
    pid_ = forkpty(&master, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
        closefrom(3);
        for (const auto& [name, value] : settings) {
            setenv(name.c_str(), value.c_str(), 1);
        }
        execvp(argv[0], argv.data());
        _exit(127);
    }
    master_.reset(master);
}

Terminal::~Terminal() {
    if (pid_ > 0) {
        kill(-pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
}

bool Terminal::read_more() {
    pollfd end{master_.get(), POLLIN, 0};
    if (poll(&end, 1, kPollMs) <= 0) {
        return true;
    }
    std::array<char, 4096> buffer;
    const ssize_t got = read(master_.get(), buffer.data(), buffer.size());
    if (got <= 0) {
        return false;
    }
    text_.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
}

bool Terminal::wait_for(std::string_view text, int times) {
    for (int tries = 0; tries < kTries; ++tries) {
        int seen = 0;
        for (std::size_t at = text_.find(text); at != std::string::npos;
             at = text_.find(text, at + 1)) {
            ++seen;
        }
        if (seen >= times) {
            return true;
        }
        if (!read_more()) {
            return false;
        }
    }
    return false;
}

void Terminal::type(std::string_view keys) const {
    [[maybe_unused]] const ssize_t put = write(master_.get(), keys.data(), keys.size());
}

void Terminal::resize(int lines, int columns) const {
    winsize size{};
    size.ws_row = static_cast<unsigned short>(lines);
    size.ws_col = static_cast<unsigned short>(columns);
    ioctl(master_.get(), TIOCSWINSZ, &size);
}

void Terminal::signal(int number) const {
    kill(pid_, number);
}

void Terminal::signal_job(int number) const {
    kill(-tcgetpgrp(master_.get()), number);
}

bool Terminal::edits_lines() const {
    termios settings{};
    constexpr tcflag_t kEdits = ICANON | ECHO | ISIG;
    return tcgetattr(master_.get(), &settings) == 0 && (settings.c_lflag & kEdits) == kEdits;
}

int Terminal::finish() {
    for (int tries = 0; tries < kTries; ++tries) {
        const bool open = read_more();
        int status = 0;
        if (waitpid(pid_, &status, open ? WNOHANG : 0) == pid_) {
            pid_ = -1;
            // The rest: until all have closed the terminal, or say nothing.
            for (std::size_t had = text_.size() + 1; open && text_.size() != had;) {
                had = text_.size();
                if (!read_more()) {
                    break;
                }
            }
            return status;
        }
    }
    return -1;
}

}  // namespace sample::e2e
