// Threads that come and go, wait for one another's locks, and throw: for a second. Before that it
// closes the library that its first argument names, as often as it may be open; if there is a
// second one, it has opened that itself, and called the module's init function of that name.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

std::mutex g_mutex;
std::atomic<unsigned long> g_caught{0};

void work() {
    for (int i = 0; i < 200; ++i) {
        {
            const std::lock_guard lock{g_mutex};
            for (volatile int spin = 0; spin < 2000;) {
                spin = spin + 1;
            }
        }
        try {
            throw std::runtime_error{"storm"};
        } catch (const std::exception&) {
            g_caught.fetch_add(1);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) {
        void* const library = ::dlopen(argv[1], argc > 2 ? RTLD_NOW : RTLD_NOW | RTLD_NOLOAD);
        if (library == nullptr) {
            return 3;
        }
        if (argc > 2) {
            reinterpret_cast<void (*)(const char*)>(::dlsym(library, argv[2]))("");
        }
        for (int i = 0; i < 10; ++i) {
            ::dlclose(library);
        }
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    while (std::chrono::steady_clock::now() < end) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back(work);
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    return g_caught == 0 ? 2 : 0;
}
