// Makes as many thread-specific keys as libc has, by pthread_key_create and by tss_create, while
// threads begin and end, and says how many there were and how often their destructors ran.
#include <pthread.h>
#include <threads.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

std::atomic<int> g_destroyed{0};
std::vector<pthread_key_t> g_keys;

void destroy(void* /*value*/) {
    ++g_destroyed;
}

/// How many are made; none is left.
template <class Make>
int make_all(Make make) {
    g_keys.clear();
    for (pthread_key_t key = 0; make(&key);) {
        g_keys.push_back(key);
    }
    return static_cast<int>(g_keys.size());
}

/// How many of them are in a thread what nobody has set there.
int count_foreign_values() {
    int found = 0;
    for (const pthread_key_t key : g_keys) {
        found += pthread_getspecific(key) == nullptr ? 0 : 1;
    }
    return found;
}

void set_all() {
    for (const pthread_key_t key : g_keys) {
        pthread_setspecific(key, &g_keys);
    }
}

}  // namespace

int main() {
    std::atomic<bool> goes_on{true};
    std::atomic<bool> begun{false};
    std::thread older{[&] {
        begun = true;
        while (goes_on) {
        }
        std::printf("foreign values in an older thread: %d\n", count_foreign_values());
        set_all();
    }};
    std::thread short_ones{[&] {
        while (goes_on) {
            std::thread{[] {}}.join();
        }
    }};
    while (!begun) {
    }
    const int by_pthread =
        make_all([](pthread_key_t* key) { return pthread_key_create(key, destroy) == 0; });
    for (const pthread_key_t key : g_keys) {
        pthread_key_delete(key);
    }
    const int by_tss =
        make_all([](pthread_key_t* key) { return tss_create(key, destroy) == thrd_success; });
    goes_on = false;
    older.join();
    short_ones.join();
    std::thread{[] {
        std::printf("foreign values in a new one: %d\n", count_foreign_values());
        set_all();
    }}.join();
    std::printf("keys: %d and %d, destroyed: %d\n", by_pthread, by_tss, g_destroyed.load());
    return 0;
}
