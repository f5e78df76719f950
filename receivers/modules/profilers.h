// The profilers that modules have installed: their callbacks, what is enabled, and who owns the
// sampling.
//
// A profiler is one entry of a fixed table and never goes. A callback is an atomic word: it is
// replaced in one step, by any thread, also in signal handlers. How many are set for an event is
// counted, so that what nobody wants to know costs one load.
//
// Everything but install() is async-signal-safe and thread-safe, without a lock.
#pragma once

#include "receivers/modules/agent.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace sample::modules {

enum class Event : std::uint32_t {
    cleanup = SAMPLE_MODULE_CLEANUP,
    sample_hit = SAMPLE_MODULE_SAMPLE_HIT,
    allocated = SAMPLE_MODULE_ALLOCATED,
    freed = SAMPLE_MODULE_FREED,
    reallocated = SAMPLE_MODULE_REALLOCATED,
    thread_started = SAMPLE_MODULE_THREAD_STARTED,
    thread_stopped = SAMPLE_MODULE_THREAD_STOPPED,
    thread_name = SAMPLE_MODULE_THREAD_NAME,
    library_loaded = SAMPLE_MODULE_LIBRARY_LOADED,
    library_unloaded = SAMPLE_MODULE_LIBRARY_UNLOADED,
    forked = SAMPLE_MODULE_FORKED,
    exec = SAMPLE_MODULE_EXEC,
    session_started = SAMPLE_MODULE_SESSION_STARTED,
    session_ended = SAMPLE_MODULE_SESSION_ENDED,
    contention = SAMPLE_MODULE_CONTENTION,
    contention_failed = SAMPLE_MODULE_CONTENTION_FAILED,
    contention_acquired = SAMPLE_MODULE_CONTENTION_ACQUIRED,
    exception_thrown = SAMPLE_MODULE_EXCEPTION_THROWN,
    exception_caught = SAMPLE_MODULE_EXCEPTION_CAUGHT,
    code_made = SAMPLE_MODULE_CODE_MADE,
};
inline constexpr std::size_t kEvents = SAMPLE_MODULE_CODE_MADE + 1;
inline constexpr std::size_t kMostProfilers = 32;

using AnyCallback = void (*)();

}  // namespace sample::modules

// NOLINTNEXTLINE(readability-identifier-naming): of the public header.
struct sample_profiler_installed {
    void* user = nullptr;
    sample_module_name name{};
    std::atomic<bool> is_sampling_enabled{false};
    std::array<std::atomic<sample::modules::AnyCallback>, sample::modules::kEvents> callbacks{};
};

namespace sample::modules {

using Profiler = sample_profiler_installed;

/// `name`: of the module that it is for. Null: kMostProfilers are installed.
[[nodiscard]] Profiler* install(void* user, const sample_module_name& name) noexcept;
/// `profiler`: null is none.
void set_callback(Profiler* profiler, std::uint32_t event, AnyCallback callback) noexcept;

// As the functions of include/sample/profiler_module.h.
[[nodiscard]] bool enable_sampling(Profiler* profiler) noexcept;
[[nodiscard]] bool set_sample_mode(const Profiler* profiler, std::uint32_t mode,
                                   std::uint32_t frequency_hz) noexcept;
[[nodiscard]] bool get_sample_mode(const Profiler* profiler, std::uint32_t& mode,
                                   std::uint32_t& frequency_hz) noexcept;

/// Events of that kind are told from now on. The others are always.
void enable_allocations() noexcept;
void enable_contention() noexcept;
void enable_exceptions() noexcept;

/// In a forked child, whose only thread is the calling one.
void forget_other_threads() noexcept;

/// Nobody is told anything from now on. Returns when no callback is under way, or, false, after a
/// second in which one was. Not async-signal-safe.
[[nodiscard]] bool close_all() noexcept;
/// The cleanup callbacks, once. Not async-signal-safe.
void clean_up() noexcept;

/// Whether somebody is to be told.
[[nodiscard]] bool is_wanted(Event event) noexcept;
namespace detail {
// NOLINTBEGIN(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
extern constinit std::array<Profiler, kMostProfilers> g_profilers;
/// Callbacks for locks and conditions.
extern constinit std::atomic<std::int32_t> g_contention_wanted;
// NOLINTEND(bugprone-dynamic-static-initializers)

/// A thread that is inside a callback. While it is, it is told of nothing but samples.
class Telling {
public:
    explicit Telling(Event event) noexcept;
    ~Telling();
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;
    [[nodiscard]] bool may() const noexcept { return may_; }

private:
    bool is_sample_;
    bool may_;
};

/// A callback that the calling thread is in, as the agent is told, so that `sample` can name who
/// ends the program there. A sample's may come in between.
class InCallback {
public:
    InCallback(const Profiler& profiler, Event event) noexcept;
    ~InCallback();
    InCallback(const InCallback&) = delete;
    InCallback& operator=(const InCallback&) = delete;

private:
    const sample_module_name* module_before_;
    Event event_before_;
};

[[nodiscard]] std::size_t installed() noexcept;
}  // namespace detail

/// Whether somebody may be to be told of locks and conditions.
[[nodiscard]] inline bool is_contention_wanted() noexcept {
    return detail::g_contention_wanted.load(std::memory_order_relaxed) != 0;
}

/// Calls the callbacks of the event, with what `arguments` say behind the profiler's own pointer.
/// errno is as before.
template <class... Arguments>
void tell(Event event, Arguments... arguments) noexcept {
    if (!is_wanted(event)) [[likely]] {
        return;
    }
    const KeptErrno kept;
    const detail::Telling telling{event};
    if (!telling.may()) {
        return;
    }
    const std::size_t count = detail::installed();
    for (std::size_t i = 0; i < count; ++i) {
        Profiler& profiler = detail::g_profilers[i];
        // Acquire pairs with the release in set_callback(): what the callback needs is there.
        const AnyCallback callback =
            profiler.callbacks[static_cast<std::size_t>(event)].load(std::memory_order_acquire);
        const bool is_asleep = event == Event::sample_hit &&
                               !profiler.is_sampling_enabled.load(std::memory_order_relaxed);
        if (callback != nullptr && !is_asleep) {
            const detail::InCallback in{profiler, event};
            reinterpret_cast<void (*)(void*, Arguments...)>(callback)(profiler.user, arguments...);
        }
    }
}

}  // namespace sample::modules
