#include "cli/top/top_watcher.h"

#include "cli/output.h"
#include "cli/roomy_heap.h"
#include "cli/views/terminal.h"
#include "sampler/collector/process/proc_files.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

namespace sample::cli {
namespace {

constexpr std::chrono::seconds kRefresh{1};
/// Times as long as a page took to make, the next one waits at least: for huge callgraphs.
constexpr int kRest = 20;
/// Names are asked for, and seconds closed, so often.
constexpr int kTickMs = 200;

std::uint64_t now_ns() {
    return read_kernel_clock_ns(CLOCK_MONOTONIC);
}

/// Of the thread that calls.
std::chrono::nanoseconds thread_cpu() {
    return std::chrono::nanoseconds{read_kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID)};
}

analysis::LiveNaming naming_of(const TopOptions& options) {
    return {symbolize::NameForm::brief, options.attach.record.use_cache,
            options.attach.record.debug_folders};
}

/// Whether somebody else of this session started our process group, as a shell does that can let it
/// go on. Else nobody could (POSIX: an orphaned process group).
bool is_job_of_a_shell() {
    pid_t starter = ::getppid();
    while (starter > 0 && ::getpgid(starter) == ::getpgrp()) {
        starter = collector::parent_of(starter);
    }
    return starter > 0 && ::getsid(starter) == ::getsid(0);
}

}  // namespace

TopWatcher::TopWatcher(const TopOptions& options, std::unique_ptr<analysis::RecordQueue> queue,
                       Fd over)
    : options_{options},
      queue_{std::move(queue)},
      live_{naming_of(options)},
      state_{options.state},
      over_{std::move(over)},
      next_page_{Clock::now() + kRefresh} {}

Result<std::unique_ptr<TopWatcher>> TopWatcher::start(const TopOptions& options) {
    if (Screen::is_possible()) {
        catch_crashes();
    }
    SAMPLE_TRY(queue, analysis::RecordQueue::create());
    Fd over{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!over.is_open()) {
        return unexpected(Error::from_errno("cannot watch the session"));
    }
    keep_freed_memory();
    std::unique_ptr<TopWatcher> watcher{new TopWatcher{options, std::move(queue), std::move(over)}};
    watcher->thread_ = std::thread{[self = watcher.get()] { self->run(); }};
    return watcher;
}

TopWatcher::~TopWatcher() {
    finish(false);
}

int TopWatcher::finish(bool shows_end) {
    if (thread_.joinable()) {
        shows_end_.store(shows_end);
        ::eventfd_write(over_.get(), 1);
        thread_.join();
        if (!failure_.empty()) {
            print_error(failure_);
        }
    }
    const int signal = signals_.finish();
    return signal == SIGINT ? 0 : signal;
}

void TopWatcher::run() {
    try {
        watch();
    } catch (const std::exception& error) {
        // Out of memory, or a library's fault: the terminal goes back first.
        failure_ = std::string{"cannot go on: "} + error.what();
    }
    screen_.reset();
    signals_.stop();
}

void TopWatcher::watch() {
    if (Screen::is_possible()) {
        screen_.emplace();
        has_keyboard_ = screen_->keyboard() >= 0;
        show_page();
    }
    while (wait()) {
        if (!state_.is_frozen) {
            live_.advance(now_ns());
        }
        is_done_ = is_done_ || state_.is_over;
        if (is_done_) {
            signals_.stop();
        }
        if (is_done_ || Clock::now() < next_page_) {
            continue;
        }
        const std::chrono::nanoseconds before = thread_cpu();
        if (screen_) {
            show_page();
        } else {
            print_page();
        }
        ++pages_;
        is_done_ = is_done_ || pages_ == options_.iterations;
        next_page_ =
            Clock::now() + std::max<Clock::duration>(kRefresh, kRest * (thread_cpu() - before));
    }
    state_.is_frozen = false;
    take_batches();
    const bool was_screen = screen_.has_value();
    screen_.reset();
    if (shows_end_.load() &&
        (was_screen || options_.iterations == 0 || pages_ < options_.iterations)) {
        print_page();
    }
}

bool TopWatcher::wait() {
    std::array<pollfd, 4> fds{{{over_.get(), POLLIN, 0},
                               {signals_.page_fd(), POLLIN, 0},
                               {has_keyboard_ && !is_away_ ? screen_->keyboard() : -1, POLLIN, 0},
                               {state_.is_frozen ? -1 : queue_->fd(), POLLIN, 0}}};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        next_page_ - Clock::now() + std::chrono::milliseconds{1});
    // Once done, there is no next page, but the session's end.
    const int wait_ms = is_done_ ? kTickMs : std::clamp(static_cast<int>(left.count()), 0, kTickMs);
    ::poll(fds.data(), fds.size(), wait_ms);
    if (fds[0].revents != 0) {
        return false;
    }
    if (fds[1].revents != 0) {
        take_signals();
    }
    if ((fds[2].revents & ~POLLIN) != 0) {
        // The terminal was hung up: nobody is there any more.
        has_keyboard_ = false;
        is_done_ = true;
    } else if (fds[2].revents != 0) {
        take_keys();
    }
    if (fds[3].revents != 0) {
        take_batches();
    }
    return true;
}

void TopWatcher::take_keys() {
    const std::size_t rows = list_rows_of(page_size());
    for (const Key& key : keys_of(screen_->read_keys())) {
        press(state_, key, rows);
    }
    if (std::exchange(state_.suspends, false)) {
        suspend();
    }
    next_page_ = Clock::now();
}

void TopWatcher::suspend() {
    if (!is_job_of_a_shell()) {
        return;
    }
    if (screen_) {
        screen_->leave();
        is_away_ = true;
    }
    // All of the job, as the terminal does: the shell waits for sudo, not for us.
    ::kill(0, SIGSTOP);
    // This thread may go on for a moment; SIGCONT tells when it all goes on.
}

void TopWatcher::take_signals() {
    signals_.seen();
    if (signals_.takes_continue() && screen_) {
        // The shell has given the terminal its own settings meanwhile.
        screen_->leave();
        screen_->enter();
        is_away_ = false;
    }
    if (signals_.takes_suspend()) {
        suspend();
    }
    next_page_ = screen_ ? Clock::now() : next_page_;
}

void TopWatcher::take_batches() {
    while (const auto batch = queue_->take()) {
        live_.add(*batch);
    }
}

PageSize TopWatcher::page_size() const {
    PageSize size{detect_terminal(STDOUT_FILENO, options_.attach.record.color)};
    size.list_rows = options_.limit == 0 ? SIZE_MAX : options_.limit;
    if (screen_) {
        size.lines = screen_->lines();
    }
    return size;
}

void TopWatcher::show_page() {
    if (!is_away_) {
        screen_->show(top_page(live_, state_, page_size()));
    }
}

void TopWatcher::print_page() {
    const std::string page = top_page(live_, state_, page_size()) + "\n\n";
    if (const auto written = write_all(STDOUT_FILENO, page); !written) {
        is_done_ = true;
        const int problem = written.error().errno_value;
        if (problem != EPIPE) {  // its reader has not gone
            failure_ =
                Error{ErrorCode::system, problem, "cannot write to standard output"}.message();
        }
    }
}

}  // namespace sample::cli
