#include "receivers/unity/host/callbacks.h"

#include <ctime>

namespace sample::unity {
namespace {

/// Whoever waits for what it has removed: one at a time, as it flags the slots.
pthread_mutex_t g_removing = PTHREAD_MUTEX_INITIALIZER;

bool is_inside_callback() noexcept {
    const ThreadRecord* const self = ThreadRecord::current();
    return self == nullptr || self->is_in_callback();
}

std::int64_t now_ns() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Waits until `is_over` of each other thread was true once, at most a second in all. False: it was
/// not.
template <class IsOver>
bool wait_for_others(IsOver is_over) noexcept {
    const timespec pause{0, 100'000};
    const std::int64_t deadline = now_ns() + 1'000'000'000;
    const ThreadRecord* const self = ThreadRecord::current();
    ThreadRecord::make_seen();
    bool are_over = true;
    ThreadRecord::for_each([&](const ThreadRecord& each) {
        while (are_over && &each != self && !is_over(each)) {
            are_over = now_ns() < deadline;
            ::nanosleep(&pause, nullptr);
        }
    });
    return are_over;
}

}  // namespace

Removal::Removal() noexcept : is_inside_{is_inside_callback()} {
    if (!is_inside_) {
        ::pthread_mutex_lock(&g_removing);
    }
}

Removal::~Removal() {
    if (!is_inside_) {
        ::pthread_mutex_unlock(&g_removing);
    }
}

void Removal::wait() const noexcept {
    if (is_inside_ || count_ == 0) {
        return;
    }
    if (!wait_for_others([](const ThreadRecord& each) { return !each.is_in_what_is_left(); })) {
        complain(
            "a callback that was unregistered has not returned within a second: what belongs to it "
            "must not go before it has");
    }
}

bool have_callbacks_returned() noexcept {
    return !is_inside_callback() &&
           wait_for_others([](const ThreadRecord& each) { return !each.is_in_callback(); });
}

void forget_removals() noexcept {
    g_removing = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace sample::unity
