// Threads whose names change.
//
//     thread_names
//
// Stats: the last names of its threads are `main-last` (by prctl, in the main thread, a second
// before it ends), `self-last` (pthread_setname_np), `prctl-last` (prctl), `other-last` (given by
// the main thread), and `short-last` ten times (threads of 1 ms that name themselves twice).
// Everybody works 50 ms under an earlier name first, but for the short ones.
#include "work.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace {

constexpr std::uint64_t kWorkNs = 50'000'000;

void name_self(const char* name) {
    pthread_setname_np(pthread_self(), name);
}

void name_by_prctl(const char* name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

void work_between(void (*give)(const char*), const char* first, const char* last) {
    give(first);
    targets::burn(kWorkNs);
    give(last);
    targets::burn(kWorkNs / 50);
}

}  // namespace

int main() {
    name_by_prctl("main-first");
    std::thread self{work_between, name_self, "self-first", "self-last"};
    std::thread by_prctl{work_between, name_by_prctl, "prctl-first", "prctl-last"};
    std::atomic<bool> is_named = false;
    std::thread other{[&] {
        targets::burn(kWorkNs);
        while (!is_named) {
            usleep(1000);
        }
    }};
    pthread_setname_np(other.native_handle(), "other-first");
    targets::burn(kWorkNs);
    pthread_setname_np(other.native_handle(), "other-last");
    is_named = true;
    self.join();
    by_prctl.join();
    other.join();
    for (int time = 0; time < 10; ++time) {
        std::thread{[] {
            name_self("short-first");
            targets::burn(500'000);
            name_self("short-last");
            targets::burn(500'000);
        }}.join();
    }
    name_by_prctl("main-last");
    usleep(1'200'000);
}
