// Domains and texts; threads; and pause, resume and detach, which are about what comes by ITT
// alone: sampling goes on, and so does what the program says otherwise.
#include "receivers/itt/functions.h"
#include "receivers/itt/handles.h"
#include "receivers/itt/state.h"
#include "receivers/shared/arena.h"
#include "receivers/shared/text.h"

#include <ctime>

namespace sample::itt {
namespace {

using receivers::Text;

template <class Letter>
Domain* domain_create(const Letter* name) noexcept {
    return domain(Text{name}.view());
}
template <class Letter>
StringHandle* string_handle_create(const Letter* text) noexcept {
    return string_handle(Text{text}.view());
}

template <class Letter>
void thread_set_name(const Letter* name) noexcept {
    if (is_on()) {
        agent().name_thread(Text{name}.c_str());
    }
}
/// Its length is said, too.
template <class Letter>
int thr_name_set(const Letter* name, int length) noexcept {
    if (is_on() && name != nullptr && length > 0) {
        agent().name_thread(Text{name, static_cast<std::size_t>(length)}.c_str());
    }
    return 0;
}
int thread_ignore() noexcept {
    if (receivers::ThreadState* const thread = receivers::thread_state(); thread != nullptr) {
        thread->is_ignored = true;
    }
    return 0;
}

void tell(const char* what) noexcept {
    if (SAMPLE_TRACE_IS_ON(::itt)) {
        receivers::bookmark(name_of(static_cast<const Domain*>(nullptr)), what);
    }
}

void pause() noexcept {
    if (!g_is_detached.load(std::memory_order_relaxed) && !g_is_paused.exchange(true)) {
        tell("ITT: pause");
    }
}
void resume() noexcept {
    if (!g_is_detached.load(std::memory_order_relaxed) && g_is_paused.exchange(false)) {
        tell("ITT: resume");
    }
}
/// For good.
void detach() noexcept {
    if (!g_is_detached.exchange(true) && !g_is_paused.exchange(true)) {
        tell("ITT: detach");
    }
}

const char* api_version() noexcept {
    return "sample";
}

/// A clock domain, a track, a caller, …: nothing is kept of them, but programs may look inside, and
/// libomp ends itself if a caller is null.
void* zeroes() noexcept {
    alignas(16) static char zero[128];
    return zero;
}

/// Programs look at the flags of its domain, which are off.
void* histogram_create() noexcept {
    static Domain off{};
    struct Histogram {
        const Domain* domain;
        void* rest[7];
    };
    static Histogram histogram{&off, {}};
    return &histogram;
}

}  // namespace

std::uint64_t get_timestamp() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

std::span<const Function> handle_functions() noexcept {
    static const Function functions[] = {
        entry("domain_create", domain_create<char>, domain_create<wchar_t>),
        entry("string_handle_create", string_handle_create<char>, string_handle_create<wchar_t>),
        entry("thread_set_name", thread_set_name<char>, thread_set_name<wchar_t>),
        entry("thr_name_set", thr_name_set<char>, thr_name_set<wchar_t>),
        entry("thread_ignore", thread_ignore),
        entry("thr_ignore", thread_ignore),
        entry("pause", pause),
        entry("pause_scoped", pause),
        entry("resume", resume),
        entry("resume_scoped", resume),
        entry("detach", detach),
        entry("get_timestamp", get_timestamp),
        entry("api_version", api_version),
        entry("clock_domain_create", zeroes),
        entry("track_group_create", zeroes),
        entry("track_create", zeroes),
        entry("stack_caller_create", zeroes),
        entry("heap_function_create", zeroes, zeroes),
        entry("histogram_create", histogram_create, histogram_create)};
    return functions;
}

}  // namespace sample::itt
