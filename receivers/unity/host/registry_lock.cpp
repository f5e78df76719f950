#include "receivers/unity/host/registry_lock.h"

#include "receivers/unity/host/callbacks.h"
#include "receivers/unity/host/thread_record.h"

namespace sample::unity {
namespace {

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
/// Of the thread that forks. Under the lock.
sigset_t g_before_fork{};

/// Returns which signals were blocked before.
sigset_t lock_registry() noexcept {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    ::pthread_mutex_lock(&g_mutex);
    return before;
}

/// `before`: by value, as the next one who forks writes the other.
void unlock_registry(sigset_t before) noexcept {
    ::pthread_mutex_unlock(&g_mutex);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void lock_before_fork() noexcept {
    g_before_fork = lock_registry();
}
void unlock_in_parent() noexcept {
    unlock_registry(g_before_fork);
}
void unlock_in_child() noexcept {
    ThreadRecord::forget_others();
    forget_removals();
    unlock_registry(g_before_fork);
}

}  // namespace

RegistryLock::RegistryLock() noexcept : before_{lock_registry()} {}

RegistryLock::~RegistryLock() {
    unlock_registry(before_);
}

void watch_forks() noexcept {
    ::pthread_atfork(lock_before_fork, unlock_in_parent, unlock_in_child);
}

}  // namespace sample::unity
