#include "receivers/unity/host/registry_lock.h"

#include "receivers/unity/host/callbacks.h"
#include "receivers/unity/host/thread_record.h"

namespace sample::unity {
namespace {

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

void unlock_in_child() noexcept {
    ThreadRecord::forget_others();
    forget_removals();
    ::pthread_mutex_unlock(&g_mutex);
}

}  // namespace

RegistryLock::RegistryLock() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    ::pthread_mutex_lock(&g_mutex);
}

RegistryLock::~RegistryLock() {
    ::pthread_mutex_unlock(&g_mutex);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void watch_forks() noexcept {
    ::pthread_atfork([] { ::pthread_mutex_lock(&g_mutex); },
                     [] { ::pthread_mutex_unlock(&g_mutex); }, unlock_in_child);
}

}  // namespace sample::unity
