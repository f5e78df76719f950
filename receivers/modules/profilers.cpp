#include "receivers/modules/profilers.h"

#include <ctime>

namespace sample::modules {

namespace detail {
constinit std::array<Profiler, kMostProfilers> g_profilers{};
constinit std::atomic<std::int32_t> g_contention_wanted{0};
}  // namespace detail

namespace {

constexpr std::uint32_t kMostHz = 10'000;
constexpr std::uint32_t kModeWall = 2;
/// How often close_all() looks, a millisecond apart.
constexpr int kMostLooks = 1000;

constinit std::atomic<std::uint32_t> g_claimed{0};  ///< Entries that are being written, too.
constinit std::atomic<std::uint32_t> g_installed{0};
constinit std::atomic<const Profiler*> g_owner{nullptr};
constinit std::atomic<bool> g_is_closed{false};
constinit std::atomic<bool> g_tells_allocations{false};
constinit std::atomic<bool> g_tells_contention{false};
constinit std::atomic<bool> g_tells_exceptions{false};
constinit std::array<std::atomic<std::int32_t>, kEvents> g_wanted{};  ///< Callbacks of each event.
constinit std::atomic<std::int32_t> g_inside{0};                      ///< Callbacks under way.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit is not seen by clang-tidy 14.
constinit thread_local bool t_is_inside = false;
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): as above.
constinit thread_local const sample_module_name* t_module = nullptr;  ///< Whose callback it is in.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): as above.
constinit thread_local Event t_event{};

bool is_of_contention(Event event) noexcept {
    return event == Event::contention || event == Event::contention_failed ||
           event == Event::contention_acquired;
}

bool is_enabled(Event event) noexcept {
    switch (event) {
        case Event::allocated:
        case Event::freed:
        case Event::reallocated:
            return g_tells_allocations.load(std::memory_order_relaxed);
        case Event::contention:
        case Event::contention_failed:
        case Event::contention_acquired:
            return g_tells_contention.load(std::memory_order_relaxed);
        case Event::exception_thrown:
        case Event::exception_caught:
            return g_tells_exceptions.load(std::memory_order_relaxed);
        default:
            return true;
    }
}

}  // namespace

namespace detail {

Telling::Telling(Event event) noexcept : is_sample_{event == Event::sample_hit}, may_{false} {
    if (!is_sample_ && t_is_inside) {
        return;
    }
    // Sequentially consistent with close_all(): either it sees this one, or this sees it.
    g_inside.fetch_add(1, std::memory_order_seq_cst);
    may_ = !g_is_closed.load(std::memory_order_seq_cst);
    if (!may_) {
        g_inside.fetch_sub(1, std::memory_order_release);
    } else if (!is_sample_) {
        t_is_inside = true;
    }
}

Telling::~Telling() {
    if (may_) {
        t_is_inside = is_sample_ && t_is_inside;
        g_inside.fetch_sub(1, std::memory_order_release);
    }
}

InCallback::InCallback(const Profiler& profiler, Event event) noexcept
    : module_before_{t_module}, event_before_{t_event} {
    t_event = event;
    t_module = &profiler.name;
    agent()->note_callback(t_module, static_cast<std::uint32_t>(t_event));
}

InCallback::~InCallback() {
    t_event = event_before_;
    t_module = module_before_;
    agent()->note_callback(t_module, static_cast<std::uint32_t>(t_event));
}

std::size_t installed() noexcept {
    return g_installed.load(std::memory_order_acquire);
}

}  // namespace detail

Profiler* install(void* user, const sample_module_name& name) noexcept {
    const std::uint32_t index = g_claimed.fetch_add(1, std::memory_order_relaxed);
    if (index >= kMostProfilers) {
        g_claimed.store(kMostProfilers, std::memory_order_relaxed);
        return nullptr;
    }
    Profiler& profiler = detail::g_profilers[index];
    profiler.user = user;
    profiler.name = name;
    // Another thread may have the entry before and be slower: both are there then, empty at worst.
    std::uint32_t known = g_installed.load(std::memory_order_relaxed);
    while (known < index + 1 &&
           !g_installed.compare_exchange_weak(known, index + 1, std::memory_order_release,
                                              std::memory_order_relaxed)) {
    }
    return &profiler;
}

void set_callback(Profiler* profiler, std::uint32_t event, AnyCallback callback) noexcept {
    if (profiler == nullptr || event >= kEvents) {
        return;
    }
    const AnyCallback before =
        profiler->callbacks[event].exchange(callback, std::memory_order_acq_rel);
    const std::int32_t change = (callback != nullptr ? 1 : 0) - (before != nullptr ? 1 : 0);
    if (change != 0) {
        g_wanted[event].fetch_add(change, std::memory_order_relaxed);
        if (is_of_contention(Event{event})) {
            detail::g_contention_wanted.fetch_add(change, std::memory_order_relaxed);
        }
    }
}

bool enable_sampling(Profiler* profiler) noexcept {
    if (profiler == nullptr || agent()->is_sampled() == 0) {
        return false;
    }
    const Profiler* nobody = nullptr;
    g_owner.compare_exchange_strong(nobody, profiler, std::memory_order_acq_rel);
    profiler->is_sampling_enabled.store(true, std::memory_order_release);
    return true;
}

bool set_sample_mode(const Profiler* profiler, std::uint32_t mode,
                     std::uint32_t frequency_hz) noexcept {
    const bool owns = profiler != nullptr && g_owner.load(std::memory_order_acquire) == profiler;
    const bool is_sound =
        mode == 0 || (mode <= kModeWall && frequency_hz >= 1 && frequency_hz <= kMostHz);
    return owns && is_sound && agent()->set_sampling(mode, frequency_hz) != 0;
}

bool get_sample_mode(const Profiler* profiler, std::uint32_t& mode,
                     std::uint32_t& frequency_hz) noexcept {
    mode = agent()->sampling(&frequency_hz);
    return profiler != nullptr && g_owner.load(std::memory_order_acquire) == profiler;
}

void enable_allocations() noexcept {
    g_tells_allocations.store(true, std::memory_order_relaxed);
}

void enable_contention() noexcept {
    g_tells_contention.store(true, std::memory_order_relaxed);
}

void enable_exceptions() noexcept {
    g_tells_exceptions.store(true, std::memory_order_relaxed);
}

void forget_other_threads() noexcept {
    g_inside.store(t_is_inside ? 1 : 0, std::memory_order_relaxed);
}

bool close_all() noexcept {
    g_is_closed.store(true, std::memory_order_seq_cst);
    const std::int32_t own = t_is_inside ? 1 : 0;  // A callback that exits.
    constexpr timespec kMillisecond{0, 1'000'000};
    for (int look = 0; look < kMostLooks && g_inside.load(std::memory_order_seq_cst) > own;
         ++look) {
        ::nanosleep(&kMillisecond, nullptr);
    }
    return g_inside.load(std::memory_order_seq_cst) <= own;
}

void clean_up() noexcept {
    const std::size_t count = detail::installed();
    for (std::size_t i = 0; i < count; ++i) {
        Profiler& profiler = detail::g_profilers[i];
        const AnyCallback callback =
            profiler.callbacks[SAMPLE_MODULE_CLEANUP].exchange(nullptr, std::memory_order_acq_rel);
        if (callback != nullptr) {
            const detail::InCallback in{profiler, Event::cleanup};
            reinterpret_cast<void (*)(void*)>(callback)(profiler.user);
        }
    }
}

bool is_wanted(Event event) noexcept {
    return g_wanted[static_cast<std::size_t>(event)].load(std::memory_order_relaxed) != 0 &&
           is_enabled(event);
}

}  // namespace sample::modules
