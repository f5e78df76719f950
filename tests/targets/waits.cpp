// Threads that wait, each in its own way.
//
//     waits SECONDS [hidden]
//
// Stats: the threads in_cond, in_read, in_epoll, in_sleep, in_futex and in_raw each wait once, in
// waits_in_cond() and so on, about so long; `NAME_ns=` is how long, by the wall clock. in_raw is
// made by clone(2), and libc does not know it. The thread in_pause waits in waits_in_pause() until
// the process ends; `in_pause_ns=` is how long until then. The main thread waits for them. hidden:
// the process is nobody's, if it may become that, and may not be dumped, as a server that gives up
// root's rights.
#include "work.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kWaiters = 6;

/// What ends the waits.
struct Ends {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    bool over = false;
    std::array<int, 2> pipe{};
    int event = -1;
    std::uint64_t sleep_ns = 0;
    std::uint32_t word = 0;
    std::uint32_t raw_word = 0;
    std::array<std::atomic<std::uint64_t>, kWaiters> waited_ns{};
    std::atomic<std::uint64_t> paused_ns{0};  ///< Since when.
};

Ends g_ends;

long futex_wait(std::uint32_t& word) {
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0);
}
void futex_wake(std::uint32_t& word) {
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace

TARGET_KEEP void waits_in_cond() {
    pthread_mutex_lock(&g_ends.mutex);
    while (!g_ends.over) {
        pthread_cond_wait(&g_ends.cond, &g_ends.mutex);
    }
    pthread_mutex_unlock(&g_ends.mutex);
}

TARGET_KEEP void waits_in_read() {
    char byte = 0;
    targets::consume(static_cast<std::uint64_t>(read(g_ends.pipe[0], &byte, 1)));
}

TARGET_KEEP void waits_in_epoll() {
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll, EPOLL_CTL_ADD, g_ends.event, &event);
    targets::consume(static_cast<std::uint64_t>(epoll_wait(epoll, &event, 1, -1)));
    close(epoll);
}

TARGET_KEEP void waits_in_sleep() {
    const timespec pause{static_cast<time_t>(g_ends.sleep_ns / 1'000'000'000U),
                         static_cast<long>(g_ends.sleep_ns % 1'000'000'000U)};
    targets::consume(static_cast<std::uint64_t>(nanosleep(&pause, nullptr)));
}

TARGET_KEEP void waits_in_futex() {
    targets::consume(static_cast<std::uint64_t>(futex_wait(g_ends.word)));
}

TARGET_KEEP void waits_in_raw() {
    targets::consume(static_cast<std::uint64_t>(futex_wait(g_ends.raw_word)));
}

TARGET_KEEP void waits_in_pause() {
    targets::consume(static_cast<std::uint64_t>(pause()));
}

/// A thread's own begin and end.
static void live(const char* name, void (*wait)(), int index) {
    const std::uint64_t start = targets::wall_ns();
    pthread_setname_np(pthread_self(), name);
    wait();
    g_ends.waited_ns[static_cast<std::size_t>(index)].store(targets::wall_ns() - start);
}

/// The same without thread-local storage of its own.
static int live_raw(void* /*unused*/) {
    const std::uint64_t start = targets::wall_ns();
    waits_in_raw();
    g_ends.waited_ns[kWaiters - 1].store(targets::wall_ns() - start);
    return 0;
}

static int clone_raw() {
    constexpr std::size_t kStackBytes = std::size_t{64} << 10U;
    static std::vector<char> stack(kStackBytes);
    // The name is the maker's.
    prctl(PR_SET_NAME, "in_raw");
    const int flags =
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    const int tid = clone(live_raw, stack.data() + kStackBytes, flags, nullptr);
    prctl(PR_SET_NAME, "waits");
    return tid;
}

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        return targets::usage("SECONDS [hidden]");
    }
    constexpr uid_t kNobody = 65534;
    if (argc == 3 && ((getuid() == 0 && setuid(kNobody) != 0) || prctl(PR_SET_DUMPABLE, 0) != 0)) {
        return 1;
    }
    g_ends.sleep_ns = targets::seconds_to_ns(argv[1]);
    g_ends.event = eventfd(0, EFD_CLOEXEC);
    if (pipe2(g_ends.pipe.data(), O_CLOEXEC) != 0) {
        return 1;
    }
    std::thread{[] {
        g_ends.paused_ns.store(targets::wall_ns());
        pthread_setname_np(pthread_self(), "in_pause");
        waits_in_pause();
    }}.detach();
    constexpr std::array kNames{"in_cond", "in_read", "in_epoll", "in_sleep", "in_futex", "in_raw"};
    constexpr std::array kWays{waits_in_cond, waits_in_read, waits_in_epoll, waits_in_sleep,
                               waits_in_futex};
    std::vector<std::thread> threads;
    for (int index = 0; index + 1 < kWaiters; ++index) {
        const auto at = static_cast<std::size_t>(index);
        threads.emplace_back(live, kNames[at], kWays[at], index);
    }
    const int raw = clone_raw();
    threads[3].join();  // the one that sleeps
    pthread_mutex_lock(&g_ends.mutex);
    g_ends.over = true;
    pthread_cond_signal(&g_ends.cond);
    pthread_mutex_unlock(&g_ends.mutex);
    bool told = write(g_ends.pipe[1], "", 1) == 1;
    told = eventfd_write(g_ends.event, 1) == 0 && told;
    futex_wake(g_ends.word);
    futex_wake(g_ends.raw_word);
    for (std::thread& thread : threads) {
        if (thread.joinable()) {
            thread.join();
        }
    }
    while (syscall(SYS_tgkill, getpid(), raw, 0) == 0) {
        sched_yield();
    }
    for (std::size_t index = 0; index < kNames.size(); ++index) {
        targets::tell((std::string{kNames[index]} + "_ns").c_str(), g_ends.waited_ns[index].load());
    }
    targets::tell("in_pause_ns", targets::wall_ns() - g_ends.paused_ns.load());
    return told ? 0 : 1;
}
