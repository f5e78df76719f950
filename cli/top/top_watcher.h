// The other half of `sample top`: a thread that takes what the session records, and shows it.
//
//   session's loop (the main thread) ─▶ RecordQueue ─▶ this thread ─▶ screen or pages
//                                                        ▲ keys
//
// On a terminal a page replaces the last one each second, and at each key. Elsewhere pages are
// printed one after the other. Frozen, it takes nothing: the queue keeps it.
#pragma once

#include "analysis/live/live_recording.h"
#include "analysis/live/record_queue.h"
#include "cli/options/options.h"
#include "cli/top/screen.h"
#include "cli/top/top_page.h"
#include "cli/top/top_signals.h"
#include "cli/top/top_state.h"
#include "core/fd.h"
#include "core/kernel_clock.h"
#include "core/result.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace sample::cli {

class TopWatcher {
public:
    /// `options` outlive it. What the command inherits must be settled: signals are blocked from
    /// here on. Errors: system.
    [[nodiscard]] static Result<std::unique_ptr<TopWatcher>> start(const TopOptions& options);
    ~TopWatcher();
    TopWatcher(const TopWatcher&) = delete;
    TopWatcher& operator=(const TopWatcher&) = delete;

    /// For the session's loop.
    [[nodiscard]] trace::RecordSink& sink() { return *queue_; }
    /// Readable when the session is to end.
    [[nodiscard]] int stop_fd() const { return signals_.stop_fd(); }

    /// The session has ended, or did not begin: gives the terminal back, `shows_end` says whether
    /// the last page stays there, and signals act as before. Returns the signal that is to end
    /// this process; 0: none. Later calls do nothing.
    int finish(bool shows_end);
    /// After finish(), which has said why: pages are missing.
    [[nodiscard]] bool has_failed() const { return !failure_.empty(); }

private:
    using Clock = KernelClock;

    TopWatcher(const TopOptions& options, std::unique_ptr<analysis::RecordQueue> queue, Fd over);

    void run();
    void watch();
    /// Waits for what comes next; false: all is over.
    bool wait();
    void take_keys();
    void take_signals();
    /// Gives the terminal back and stops the job that this process is of, if a shell is there to
    /// let it go on.
    void suspend();
    void take_batches();
    void show_page();
    void print_page();
    [[nodiscard]] PageSize page_size() const;

    const TopOptions& options_;
    TopSignals signals_;  // before what makes threads, which are to have its mask
    std::unique_ptr<analysis::RecordQueue> queue_;
    analysis::LiveRecording live_;
    TopState state_;
    Fd over_;  ///< An eventfd: the session has ended.
    std::atomic<bool> shows_end_{false};
    std::optional<Screen> screen_;
    bool has_keyboard_ = false;
    bool is_away_ = false;  ///< Stopped, or about to be: the terminal is the shell's.
    std::uint64_t pages_ = 0;
    bool is_done_ = false;  ///< Nobody wants a page any more.
    Clock::time_point next_page_;
    std::string failure_;
    std::thread thread_;
};

}  // namespace sample::cli
