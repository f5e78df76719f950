// What `sample top` does with signals: those that would end or stop it, and those of the terminal.
//
// A thread of its own takes them, so that each works whatever the others wait for. The first one
// that would end us ends the session; a second one, or ten seconds in which the rest is not done,
// ends us, with the terminal as it was.
#pragma once

#include "core/fd.h"

#include <atomic>
#include <csignal>
#include <thread>

namespace sample::cli {

class TopSignals {
public:
    /// Blocks them in this thread and those that it makes from here on.
    TopSignals();
    ~TopSignals();
    TopSignals(const TopSignals&) = delete;
    TopSignals& operator=(const TopSignals&) = delete;

    /// Readable when the session is to end.
    [[nodiscard]] int stop_fd() const { return stop_.get(); }
    /// The user has had enough.
    void stop() const;
    /// Readable when one has come that concerns the page.
    [[nodiscard]] int page_fd() const { return page_.get(); }
    /// Whether the shell is to get the terminal, since the last call: by SIGTSTP.
    [[nodiscard]] bool takes_suspend() { return suspends_.exchange(false); }
    /// Whether the process was stopped and goes on, since the last call.
    [[nodiscard]] bool takes_continue() { return goes_on_.exchange(false); }
    /// Forgets that page_fd() is readable.
    void seen() const;

    /// From here on they are as they were. Returns the one that ended the session; 0: none did.
    int finish();

private:
    void watch();
    void take(int signal);

    sigset_t before_{};
    Fd signals_;
    Fd stop_;
    Fd page_;
    Fd done_;
    std::atomic<bool> suspends_{false};
    std::atomic<bool> goes_on_{false};
    int ending_ = 0;  ///< The thread's, until it is joined.
    std::thread thread_;
};

}  // namespace sample::cli
