#include "cli/record_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace sample::cli {

RecordSignals::RecordSignals() {
    sigset_t ours{};
    ::sigemptyset(&ours);
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
        ::sigaddset(&ours, signal);
    }
    ::sigprocmask(SIG_BLOCK, &ours, &before_);
    fd_ = Fd{::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK)};
}

bool RecordSignals::handle(pid_t command) {
    bool stop = false;
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
        const int signal = static_cast<int>(info.ssi_signo);
        const bool from_terminal = info.ssi_code == SI_KERNEL;
        if (!from_terminal) {
            ::kill(command, signal);
        }
        if (signal == SIGINT || signal == SIGQUIT) {
            stop = ++interrupts_ >= 2 || stop;
        }
    }
    return stop;
}

void RecordSignals::command_goes_on() {
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace sample::cli
