// Sets the session's source to work on this process's threads: perf events, timers, or the sampling
// thread.
//
// Everything is made stopped, and set going once the handler is ready. Perf events then belong to
// the collector; the others need nobody.
#pragma once

#include "sampler/capture/area.h"
#include "sampler/control/protocol.h"

#include <array>
#include <cstddef>

namespace sample::agent {

/// The threads that exist already: usually the calling one alone.
struct ThreadList {
    std::array<int, control::kMaxPassedFds - 1> tids{};
    std::size_t count = 0;
};
[[nodiscard]] ThreadList list_threads() noexcept;

struct Arming {
    control::Armed armed;
    std::array<int, control::kMaxPassedFds> fds{};  ///< Perf events.
    std::size_t count = 0;
};

/// Makes what the best source of `welcome` that works needs, sigtrap first with and then without
/// the kernel's part, and the sampling thread if waits are to be observed. Uses system calls only.
[[nodiscard]] Arming arm(const control::Welcome& welcome, const ThreadList& threads,
                         capture::Area& area) noexcept;

/// The signal that samples come by.
[[nodiscard]] int signal_of(control::Source source) noexcept;

/// The events begin to expire, or (`on` false) cease to.
void switch_events(const Arming& arming, bool on) noexcept;

/// Closes this process's copies of the events.
void close_events(Arming& arming) noexcept;

/// The collector knows of this process: timers and the sampling thread begin, or (`wanted` false)
/// go.
void start_sources(bool wanted) noexcept;

/// Ends what start_sources() began, and the session of this process: timers go, but for those of
/// other threads that came later, and the sampling thread is waited for. Async-signal-safe.
void stop_sources(capture::Area& area) noexcept;

/// Whether there is a sampling thread, or will be when all who need to be without it have done.
[[nodiscard]] bool uses_sampling_thread() noexcept;

/// In a forked child: the parent's timers and threads do not exist.
void forget_sources() noexcept;

/// For good, and waits for its end. Async-signal-safe.
void end_sampling_thread() noexcept;

/// While it lives there is no sampling thread, so that of the program's threads nobody else exists.
/// The one that begins anew has what rights the calling thread has then. Async-signal-safe.
class WithoutSamplingThread {
public:
    explicit WithoutSamplingThread(bool wanted = true) noexcept;
    ~WithoutSamplingThread();
    WithoutSamplingThread(const WithoutSamplingThread&) = delete;
    WithoutSamplingThread& operator=(const WithoutSamplingThread&) = delete;

private:
    bool paused_;
};

/// Gives the calling thread an event or a timer of its own, where the source needs one.
void arm_this_thread() noexcept;
/// Its timer goes.
void disarm_this_thread() noexcept;

}  // namespace sample::agent
