// pthread_mutex_lock and its kin.
//
// While nobody wants to know of contention, each of them is two loads and three jumps. Else a lock
// is tried first, which is what the function itself does where the lock is free; if that fails as
// another thread has it, it is told, waited for by the function itself, and told how that ended.
// What a try answers besides (EOWNERDEAD, EAGAIN) is what the function would have answered.
//
// A wait for a condition is a wait. It may be cancelled: nothing here is left in a state then.
// Source: pthread_mutex_lock(3p), pthread_rwlock_rdlock(3p), pthread_cond_timedwait(3p).
#include "receivers/modules/locks.h"

#include "receivers/modules/next.h"
#include "receivers/modules/profilers.h"
#include "sample/profiler_module_abi.h"

#include <pthread.h>

#include <cerrno>

namespace sample::modules {
namespace {

constexpr const char* kCondVersion = "GLIBC_2.3.2";  // What is there besides is LinuxThreads'.

using Mutex = pthread_mutex_t;
using Rwlock = pthread_rwlock_t;
using Cond = pthread_cond_t;

constinit Next<int(Mutex*)> g_mutex_lock{"pthread_mutex_lock"};
constinit Next<int(Mutex*)> g_mutex_trylock{"pthread_mutex_trylock"};
constinit Next<int(Mutex*, const timespec*)> g_mutex_timedlock{"pthread_mutex_timedlock"};
constinit Next<int(Mutex*, clockid_t, const timespec*)> g_mutex_clocklock{
    "pthread_mutex_clocklock"};
constinit Next<int(Rwlock*)> g_rdlock{"pthread_rwlock_rdlock"};
constinit Next<int(Rwlock*)> g_tryrdlock{"pthread_rwlock_tryrdlock"};
constinit Next<int(Rwlock*, const timespec*)> g_timedrdlock{"pthread_rwlock_timedrdlock"};
constinit Next<int(Rwlock*, clockid_t, const timespec*)> g_clockrdlock{
    "pthread_rwlock_clockrdlock"};
constinit Next<int(Rwlock*)> g_wrlock{"pthread_rwlock_wrlock"};
constinit Next<int(Rwlock*)> g_trywrlock{"pthread_rwlock_trywrlock"};
constinit Next<int(Rwlock*, const timespec*)> g_timedwrlock{"pthread_rwlock_timedwrlock"};
constinit Next<int(Rwlock*, clockid_t, const timespec*)> g_clockwrlock{
    "pthread_rwlock_clockwrlock"};
constinit Next<int(Cond*, Mutex*)> g_cond_wait{"pthread_cond_wait", kCondVersion};
constinit Next<int(Cond*, Mutex*, const timespec*)> g_cond_timedwait{"pthread_cond_timedwait",
                                                                     kCondVersion};
constinit Next<int(Cond*, Mutex*, clockid_t, const timespec*)> g_cond_clockwait{
    "pthread_cond_clockwait"};

template <class... Functions>
void find_all(Next<Functions>&... nexts) noexcept {
    (static_cast<void>(nexts.get()), ...);
}

/// sample_profiler_monitor
enum class Monitor : unsigned { mutex = 1, read = 2, write = 3, condition = 4 };

/// Waits as `wait()` does, and tells of it.
template <class Wait>
[[gnu::noinline]] int tell_wait(const void* object, Monitor kind, Wait wait) {
    tell(Event::contention, object, kind);
    const int result = wait();
    if (result == 0 || result == EOWNERDEAD) {
        tell(Event::contention_acquired, object, kind);
    } else {
        tell(Event::contention_failed, object, kind, result);
    }
    return result;
}

/// Takes a lock as `wait()` does; `attempt` tries to.
template <class Lock, class Wait>
[[gnu::noinline]] int take(Lock* lock, Monitor kind, Next<int(Lock*)>& attempt, Wait wait) {
    const int tried = attempt.get()(lock);
    return tried != EBUSY ? tried : tell_wait(lock, kind, wait);
}

}  // namespace

}  // namespace sample::modules

namespace modules = sample::modules;
using modules::Monitor;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved.

SAMPLE_STANDS_BEFORE int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    auto* const real = modules::g_mutex_lock.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(mutex);
    }
    return modules::take(mutex, Monitor::mutex, modules::g_mutex_trylock,
                         [=] { return real(mutex); });
}

SAMPLE_STANDS_BEFORE int pthread_mutex_timedlock(pthread_mutex_t* mutex,
                                                 const timespec* until) noexcept {
    auto* const real = modules::g_mutex_timedlock.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(mutex, until);
    }
    return modules::take(mutex, Monitor::mutex, modules::g_mutex_trylock,
                         [=] { return real(mutex, until); });
}

SAMPLE_STANDS_BEFORE int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                                 const timespec* until) noexcept {
    auto* const real = modules::g_mutex_clocklock.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(mutex, clock, until);
    }
    return modules::take(mutex, Monitor::mutex, modules::g_mutex_trylock,
                         [=] { return real(mutex, clock, until); });
}

SAMPLE_STANDS_BEFORE int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
    auto* const real = modules::g_rdlock.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(lock);
    }
    return modules::take(lock, Monitor::read, modules::g_tryrdlock, [=] { return real(lock); });
}

SAMPLE_STANDS_BEFORE int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock,
                                                    const timespec* until) noexcept {
    auto* const real = modules::g_timedrdlock.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(lock, until);
    }
    return modules::take(lock, Monitor::read, modules::g_tryrdlock,
                         [=] { return real(lock, until); });
}

SAMPLE_STANDS_BEFORE int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                                    const timespec* until) noexcept {
    auto* const real = modules::g_clockrdlock.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(lock, clock, until);
    }
    return modules::take(lock, Monitor::read, modules::g_tryrdlock,
                         [=] { return real(lock, clock, until); });
}

SAMPLE_STANDS_BEFORE int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
    auto* const real = modules::g_wrlock.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(lock);
    }
    return modules::take(lock, Monitor::write, modules::g_trywrlock, [=] { return real(lock); });
}

SAMPLE_STANDS_BEFORE int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock,
                                                    const timespec* until) noexcept {
    auto* const real = modules::g_timedwrlock.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(lock, until);
    }
    return modules::take(lock, Monitor::write, modules::g_trywrlock,
                         [=] { return real(lock, until); });
}

SAMPLE_STANDS_BEFORE int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                                    const timespec* until) noexcept {
    auto* const real = modules::g_clockwrlock.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(lock, clock, until);
    }
    return modules::take(lock, Monitor::write, modules::g_trywrlock,
                         [=] { return real(lock, clock, until); });
}

SAMPLE_STANDS_BEFORE int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    auto* const real = modules::g_cond_wait.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(condition, mutex);
    }
    return modules::tell_wait(condition, Monitor::condition,
                              [=] { return real(condition, mutex); });
}

SAMPLE_STANDS_BEFORE int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                const timespec* until) {
    auto* const real = modules::g_cond_timedwait.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(condition, mutex, until);
    }
    return modules::tell_wait(condition, Monitor::condition,
                              [=] { return real(condition, mutex, until); });
}

SAMPLE_STANDS_BEFORE int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                clockid_t clock, const timespec* until) {
    auto* const real = modules::g_cond_clockwait.get();
    if (!modules::is_contention_wanted()) [[likely]] {
        return real(condition, mutex, clock, until);
    }
    return modules::tell_wait(condition, Monitor::condition,
                              [=] { return real(condition, mutex, clock, until); });
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)

// By this name it is ours, whatever the program finds by the other one.
extern "C" [[gnu::alias("pthread_mutex_lock"), gnu::visibility("hidden"), gnu::nonnull]] int
sample_modules_mutex_lock(pthread_mutex_t* mutex) noexcept;

namespace sample::modules {

void find_lock_functions() noexcept {
    find_all(g_mutex_lock, g_mutex_trylock, g_mutex_timedlock, g_mutex_clocklock, g_rdlock,
             g_tryrdlock, g_timedrdlock, g_clockrdlock, g_wrlock, g_trywrlock, g_timedwrlock,
             g_clockwrlock, g_cond_wait, g_cond_timedwait, g_cond_clockwait);
}

bool sees_locks() noexcept {
    return is_first("pthread_mutex_lock", reinterpret_cast<void*>(&sample_modules_mutex_lock));
}

}  // namespace sample::modules
