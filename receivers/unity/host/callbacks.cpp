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

bool is_anybody_left(const ThreadRecord* self) noexcept {
    bool found = false;
    ThreadRecord::for_each([&](const ThreadRecord& each) {
        found = found || (&each != self && each.is_in_what_is_left());
    });
    return found;
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
    constexpr int kTries = 10'000;
    const timespec pause{0, 100'000};
    if (is_inside_ || count_ == 0) {
        return;
    }
    const ThreadRecord* const self = ThreadRecord::current();
    ThreadRecord::make_seen();
    for (int tried = 0; tried < kTries; ++tried) {
        if (!is_anybody_left(self)) {
            return;
        }
        ::nanosleep(&pause, nullptr);
    }
    complain(
        "a callback that was unregistered has not returned within a second: what belongs to it "
        "must not go before it has");
}

void forget_removals() noexcept {
    g_removing = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace sample::unity
