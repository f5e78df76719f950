#include "cli/top/top_signals.h"

#include "cli/record/record_signals.h"
#include "cli/top/screen.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>

namespace sample::cli {
namespace {

constexpr int kMostForTheRestMs = 10'000;
constexpr std::array kTaken{SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH};

Fd make_event() {
    return Fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
}

}  // namespace

TopSignals::TopSignals() : stop_{make_event()}, page_{make_event()}, done_{make_event()} {
    sigset_t ours{};
    ::sigemptyset(&ours);
    for (const int signal : kTaken) {
        ::sigaddset(&ours, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &ours, &before_);
    signals_ = Fd{::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (signals_.is_open() && done_.is_open()) {
        thread_ = std::thread{[this] { watch(); }};
    } else {
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
}

TopSignals::~TopSignals() {
    finish();
}

void TopSignals::stop() const {
    ::eventfd_write(stop_.get(), 1);
}

void TopSignals::seen() const {
    eventfd_t count = 0;
    ::eventfd_read(page_.get(), &count);
}

void TopSignals::take(int signal) {
    switch (signal) {
        case SIGTSTP:
            suspends_.store(true);
            break;
        case SIGCONT:
            goes_on_.store(true);
            break;
        case SIGWINCH:
            break;
        default:
            if (ending_ != 0) {
                restore_terminal();
                end_by(signal);
            }
            ending_ = signal;
            stop();
    }
    ::eventfd_write(page_.get(), 1);
}

void TopSignals::watch() {
    for (;;) {
        std::array<pollfd, 2> fds{{{signals_.get(), POLLIN, 0}, {done_.get(), POLLIN, 0}}};
        const int ready = ::poll(fds.data(), fds.size(), ending_ != 0 ? kMostForTheRestMs : -1);
        if (ready == 0) {
            restore_terminal();
            end_by(ending_);
        }
        signalfd_siginfo info{};
        while (ready > 0 && ::read(signals_.get(), &info, sizeof info) == sizeof info) {
            take(static_cast<int>(info.ssi_signo));
        }
        if (ready > 0 && fds[1].revents != 0) {
            return;
        }
    }
}

int TopSignals::finish() {
    if (thread_.joinable()) {
        ::eventfd_write(done_.get(), 1);
        thread_.join();
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    return ending_;
}

}  // namespace sample::cli
