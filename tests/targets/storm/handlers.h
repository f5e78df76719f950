// Handlers and masks for a while: what was set is read back as it was, and taken back.
#pragma once

#include "storm.h"

#include <pthread.h>

#include <csignal>

namespace storm {

/// A handler for as long as this object lives.
class Handler {
public:
    Handler(int signal, void (*handler)(int), int flags = 0) : signal_{signal} {
        struct sigaction action {};
        action.sa_handler = handler;
        set(action, flags);
    }
    Handler(int signal, void (*handler)(int, siginfo_t*, void*), int flags = 0) : signal_{signal} {
        struct sigaction action {};
        action.sa_sigaction = handler;
        set(action, flags | SA_SIGINFO);
    }
    ~Handler() {
        struct sigaction now {};
        sigaction(signal_, &before_, &now);
        require(now.sa_handler == set_.sa_handler || (set_.sa_flags & SA_RESETHAND) != 0,
                "another handler than was set");
        require((now.sa_flags & kAsked) == (set_.sa_flags & kAsked) ||
                    (set_.sa_flags & SA_RESETHAND) != 0,
                "other flags than were set");
    }
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

private:
    static constexpr int kAsked = SA_RESTART | SA_NODEFER | SA_ONSTACK | SA_SIGINFO | SA_NOCLDSTOP;

    void set(struct sigaction& action, int flags) {
        sigfillset(&action.sa_mask);
        action.sa_flags = flags;
        set_ = action;
        require(sigaction(signal_, &action, &before_) == 0, "sigaction");
    }

    int signal_;
    struct sigaction set_ {};
    struct sigaction before_ {};
};

/// A mask for as long as this object lives.
class Mask {
public:
    Mask(int how, const sigset_t& set) { pthread_sigmask(how, &set, &before_); }
    ~Mask() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    Mask(const Mask&) = delete;
    Mask& operator=(const Mask&) = delete;

private:
    sigset_t before_{};
};

inline sigset_t set_of(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

}  // namespace storm
