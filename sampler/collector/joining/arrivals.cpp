#include "sampler/collector/joining/arrivals.h"

#include "core/kernel_clock.h"

#include <sys/eventfd.h>

#include <utility>

namespace sample::collector {

Arrivals::Arrivals() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

void Arrivals::add(Arrival arrival) {
    const bool wakes = !std::holds_alternative<Greeted>(arrival);
    {
        const std::lock_guard lock{mutex_};
        waiting_.push_back(std::move(arrival));
        ++added_;
    }
    if (wakes) {
        wake();
    }
}

void Arrivals::wake() {
    ::eventfd_write(event_.get(), 1);
}

std::vector<Arrival> Arrivals::take() {
    eventfd_t ignored = 0;
    ::eventfd_read(event_.get(), &ignored);
    const std::lock_guard lock{mutex_};
    taken_ = added_;
    return std::exchange(waiting_, {});
}

void Arrivals::done() {
    {
        const std::lock_guard lock{mutex_};
        done_ = taken_;
    }
    is_done_.notify_all();
}

bool Arrivals::wait_until_done(std::chrono::milliseconds most) {
    wake();
    std::unique_lock lock{mutex_};
    const std::uint64_t wanted = added_;
    return is_done_.wait_until(lock, KernelClock::now() + most, [&] { return done_ >= wanted; });
}

}  // namespace sample::collector
