// pthread_create and thrd_create: the new thread tells capture its stack, gets an event of its own
// where the source wants one, and books its rest when it ends, which a thread-specific key of ours
// tells it. pthread_key_create and tss_create: the program may have that one, too. timer_create: a
// timer's function (SIGEV_THREAD), which libc calls in a thread of its own with all signals
// blocked, begins as such a thread's.
//
// Threads that come another way (raw clone, and the other helpers that libc makes for itself) are
// sampled too, by an inherited event; their stacks are read with the kernel's leave, page by page,
// and their rest is booked when the process ends. Start arguments pass through a fixed pool: the
// program's heap is not touched. Threads that exist before the process joins came through here as
// well.
#include "sampler/agent/hosting/hosting.h"
#include "sampler/agent/processes/spare_stack.h"
#include "sampler/agent/session/arming.h"
#include "sampler/agent/session/session_client.h"
#include "sampler/agent/signals/alternate_stack.h"
#include "sampler/agent/signals/signals.h"
#include "sampler/agent/wrap/next_definition.h"
#include "sampler/capture/capture.h"
#include "sampler/instrument/lane_writer.h"

#include <pthread.h>
#include <threads.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <tuple>
#include <utility>

namespace sample::agent {
namespace {

using Start = void* (*)(void*);

SAMPLE_NEXT(g_pthread_create, "pthread_create",
            int(pthread_t*, const pthread_attr_t*, Start, void*));
SAMPLE_NEXT(g_thrd_create, "thrd_create", int(thrd_t*, thrd_start_t, void*));
SAMPLE_NEXT(g_pthread_key_create, "pthread_key_create", int(pthread_key_t*, void (*)(void*)));
SAMPLE_NEXT(g_tss_create, "tss_create", int(tss_t*, tss_dtor_t));

SAMPLE_NEXT(g_timer_create, "timer_create", int(clockid_t, sigevent*, timer_t*));

/// What the new thread is to do. One of the two starts is set.
struct ThreadStart {
    Start start = nullptr;
    thrd_start_t c11_start = nullptr;
    void* argument = nullptr;
    std::size_t stack_bytes = 0;
    bool blocks_own_signal = false;
    bool unblock = false;  ///< The thread begins with our signal blocked.
    std::uint32_t memory_tag = 0;
};

template <std::size_t... kWords>
constexpr capture::Bitmap all_set(std::index_sequence<kWords...> /*words*/) noexcept {
    return {(static_cast<void>(kWords), ~std::uint64_t{0})...};
}

/// What a timer calls. Nobody knows when the last thread of a timer that is gone has begun, so
/// entries stay for ever: timers that call the same share one.
struct TimerCall {
    enum class State : int { free, being_made, made };

    std::atomic<State> state{State::free};
    void (*function)(sigval) = nullptr;
    sigval value{};
    std::size_t stack_bytes = 0;
};

/// What further timers call is not sampled.
constexpr std::size_t kMostTimerCalls = 1024;
constinit std::array<TimerCall, kMostTimerCalls> g_timer_calls{};

/// As many as threads can be sampled at once; taken from the lowest on, so that few pages are
/// touched. An entry is in use until its thread runs.
constinit std::array<ThreadStart, capture::kMaxThreads> g_starts{};
constinit capture::Bitmap g_free_starts =
    all_set(std::make_index_sequence<std::tuple_size_v<capture::Bitmap>>{});
/// Whether threads have a value of g_end_key, whose destructor is told of their ends.
enum class EndKey : int { none, being_made, made, given_up };
constinit std::atomic<EndKey> g_end_key_state{EndKey::none};
pthread_key_t g_end_key;

ThreadStart* claim_start() noexcept {
    const std::uint32_t index = capture::claim_bit(g_free_starts);
    return index == capture::kNoIndex ? nullptr : &(g_starts[index] = {});
}

/// The thread has read it all.
void free_start(const ThreadStart* entry) noexcept {
    capture::return_bit(g_free_starts, static_cast<std::uint32_t>(entry - g_starts.data()));
}

/// Of the calling thread. The key may be given up, and be one of the program's, at any moment: what
/// was set too late is taken back before the program runs in this thread.
void set_end_value(const void* value) noexcept {
    if (g_end_key_state.load(std::memory_order_acquire) != EndKey::made) {
        return;
    }
    pthread_setspecific(g_end_key, value);
    if (g_end_key_state.load() != EndKey::made) {
        pthread_setspecific(g_end_key, nullptr);
    }
}

/// The program wants a key, and there is none left: it gets ours. From now on threads' rests are
/// booked when the process ends. Whether there was one to give.
bool give_up_end_key() noexcept {
    EndKey made = EndKey::made;
    return g_end_key_state.compare_exchange_strong(made, EndKey::given_up) &&
           pthread_key_delete(g_end_key) == 0;
}

/// Destructors of the program's keys may work, too, and ours was made first: its first call comes
/// before theirs, and asks for a second one. Source: pthread_key_create(3).
void on_thread_end(void* first) {
    static constexpr char kAgain = 0;
    if (first != &kAgain) {
        set_end_value(&kAgain);
        return;
    }
    tell_thread_stopped();
    const bool is_sampled = own_signal() != 0;
    if (is_sampled) {
        disarm_this_thread();
    }
    instrument::leave_lane();
    capture::end_thread();
    free_spare_stack_of_children();
    if (is_sampled) {
        // Later destructors run on without an alternate stack of ours.
        leave_unsampled();
        give_alternate_stack_back();
    }
}

/// In the new thread.
void begin(const ThreadStart& start) noexcept {
    static_cast<void>(instrument::set_memory_tag(start.memory_tag));
    // glibc keeps its descriptor, of less than a page, at the top of every thread's stack, also of
    // one the program brought: another one may end where this begins.
    constexpr std::uint64_t kDescriptorBytes = 4096;
    const auto high = static_cast<std::uint64_t>(pthread_self());
    capture::set_stack_bounds(high + kDescriptorBytes - start.stack_bytes, high);
    set_program_blocks_own_signal(start.blocks_own_signal);
    if (gives_alternate_stacks() && !take_alternate_stack()) {
        leave_unsampled();
    } else if (start.unblock) {
        unblock_own_signal();
    }
    set_end_value(&g_end_key);
    begin_thread();
    tell_thread_started();
}

/// Returns a copy of the thread's start; the pool's entry is free again.
ThreadStart begin(ThreadStart* entry) noexcept {
    const ThreadStart start = *entry;
    free_start(entry);
    begin(start);
    return start;
}

void* run_thread(void* entry) {
    const ThreadStart start = begin(static_cast<ThreadStart*>(entry));
    return start.start(start.argument);
}

int run_c11_thread(void* entry) {
    const ThreadStart start = begin(static_cast<ThreadStart*>(entry));
    return start.c11_start(start.argument);
}

void run_timer_call(sigval value) {
    const auto& call = *static_cast<const TimerCall*>(value.sival_ptr);
    ThreadStart start;
    start.stack_bytes = call.stack_bytes;
    start.unblock = start.blocks_own_signal = is_own_signal_blocked();
    begin(start);
    call.function(call.value);
}

/// The entry of such a call; null: there is no room for it.
TimerCall* keep_timer_call(void (*function)(sigval), sigval value,
                           std::size_t stack_bytes) noexcept {
    for (TimerCall& call : g_timer_calls) {
        auto state = call.state.load(std::memory_order_acquire);
        if (state == TimerCall::State::free &&
            call.state.compare_exchange_strong(state, TimerCall::State::being_made)) {
            call.function = function;
            call.value = value;
            call.stack_bytes = stack_bytes;
            call.state.store(TimerCall::State::made, std::memory_order_release);
            return &call;
        }
        if (state == TimerCall::State::made && call.function == function &&
            call.value.sival_ptr == value.sival_ptr && call.stack_bytes == stack_bytes) {
            return &call;
        }
    }
    return nullptr;
}

ThreadStart* prepare_start(void* argument) noexcept {
    set_up_threads();
    publish_session();
    ThreadStart* entry = claim_start();
    if (entry != nullptr) {
        entry->argument = argument;
        // libc blocks it where it calls programs back, and the new thread inherits that.
        entry->unblock = is_own_signal_blocked();
        entry->blocks_own_signal =
            program_blocks_own_signal() || (entry->unblock && !is_left_unsampled());
        entry->memory_tag = instrument::memory_tag();
    }
    return entry;
}

/// Of a thread that is made without attributes now.
std::size_t default_stack_bytes() noexcept {
    pthread_attr_t attributes;
    std::size_t bytes = 0;
    if (pthread_attr_init(&attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &bytes);
        pthread_attr_destroy(&attributes);
    }
    return bytes;
}

std::size_t stack_bytes_of(const pthread_attr_t* attributes) noexcept {
    std::size_t bytes = 0;
    if (attributes == nullptr) {
        return default_stack_bytes();
    }
    pthread_attr_getstacksize(attributes, &bytes);
    return bytes;
}

/// What the thread's attributes say of its mask.
void apply_attributes(ThreadStart& entry, const pthread_attr_t& attributes) noexcept {
    sigset_t mask;
    if (own_signal() != 0 && pthread_attr_getsigmask_np(&attributes, &mask) == 0) {
        entry.blocks_own_signal = sigismember(&mask, own_signal()) == 1;
        entry.unblock = entry.blocks_own_signal;
    }
}

}  // namespace

void set_up_threads() noexcept {
    EndKey none = EndKey::none;
    if (g_end_key_state.load(std::memory_order_relaxed) != EndKey::none ||
        !g_end_key_state.compare_exchange_strong(none, EndKey::being_made)) {
        return;
    }
    if (g_pthread_key_create.get()(&g_end_key, on_thread_end) == 0) {
        g_end_key_state.store(EndKey::made, std::memory_order_release);
    }
}

}  // namespace sample::agent

namespace agent = sample::agent;

extern "C" {

SAMPLE_WRAPPER int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                  void* (*start)(void*), void* argument) noexcept {
    auto* real = agent::g_pthread_create.get();
    agent::ThreadStart* entry = agent::prepare_start(argument);
    if (entry == nullptr) {
        return real(thread, attributes, start, argument);
    }
    entry->start = start;
    entry->stack_bytes = agent::stack_bytes_of(attributes);
    if (attributes != nullptr) {
        agent::apply_attributes(*entry, *attributes);
    }
    const int result = real(thread, attributes, agent::run_thread, entry);
    if (result != 0) {
        agent::free_start(entry);
    }
    return result;
}

SAMPLE_WRAPPER int thrd_create(thrd_t* thread, thrd_start_t start, void* argument) {
    auto* real = agent::g_thrd_create.get();
    agent::ThreadStart* entry = agent::prepare_start(argument);
    if (entry == nullptr) {
        return real(thread, start, argument);
    }
    entry->c11_start = start;
    entry->stack_bytes = agent::default_stack_bytes();
    const int result = real(thread, agent::run_c11_thread, entry);
    if (result != thrd_success) {
        agent::free_start(entry);
    }
    return result;
}

SAMPLE_WRAPPER int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
    auto* real = agent::g_timer_create.get();
    if (event == nullptr || event->sigev_notify != SIGEV_THREAD) {
        return real(clock, event, timer);
    }
    agent::set_up_threads();
    agent::publish_session();
    sigevent passed = *event;
    agent::TimerCall* const call =
        agent::keep_timer_call(event->sigev_notify_function, event->sigev_value,
                               agent::stack_bytes_of(event->sigev_notify_attributes));
    if (call != nullptr) {
        passed.sigev_notify_function = agent::run_timer_call;
        passed.sigev_value.sival_ptr = call;
    }
    return real(clock, &passed, timer);
}

// The program may have all keys that libc has. Source: pthread_key_create(3), tss_create(3).
SAMPLE_WRAPPER int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) noexcept {
    auto* real = agent::g_pthread_key_create.get();
    const int result = real(key, destructor);
    return result == EAGAIN && agent::give_up_end_key() ? real(key, destructor) : result;
}

SAMPLE_WRAPPER int tss_create(tss_t* key, tss_dtor_t destructor) {
    auto* real = agent::g_tss_create.get();
    const int result = real(key, destructor);
    return result != thrd_success && agent::give_up_end_key() ? real(key, destructor) : result;
}

}  // extern "C"
