// The one lock of the host: what is registered, and what there is to be told of. Nobody calls a
// plug-in while holding it, and what threads say takes it only for what is new.
//
// Held with all signals blocked, so that a handler of the program does not wait for its own thread;
// and, likewise, over fork(2), so that it is free in the child.
#pragma once

#include <pthread.h>

#include <csignal>

namespace sample::unity {

class RegistryLock {
public:
    RegistryLock() noexcept;
    ~RegistryLock();
    RegistryLock(const RegistryLock&) = delete;
    RegistryLock& operator=(const RegistryLock&) = delete;
    RegistryLock(RegistryLock&&) = delete;
    RegistryLock& operator=(RegistryLock&&) = delete;

private:
    sigset_t before_;
};

/// Once, before the program has threads.
void watch_forks() noexcept;

}  // namespace sample::unity
