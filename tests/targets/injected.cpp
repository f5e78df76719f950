// Programs that the agent is brought into, and that look whether anything is otherwise for it. Each
// goes on until FILE is there, and exits with 0 if all was as it should be.
//
//     injected waits KIND FILE     its only thread waits over and over, each time for 20 ms, in
//                                  nanosleep, poll, select, epoll, condition, read or signal: no
//                                  wait may fail, or end early
//     injected sums FILE           one and the same sum again and again, with as many values in
//                                  registers as there are: it is always the same
//     injected handles FILE        has a handler of SIGURG, and says so
//     injected churns PLUGIN FILE  threads take, check and give back memory, make threads, load and
//                                  unload the library
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr long kWaitNs = 20'000'000;
constexpr int kWaitMs = 20;

bool is_over(const char* file) {
    return ::access(file, F_OK) == 0;
}

std::int64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

bool sleeps() {
    const timespec pause{0, kWaitNs};
    return ::nanosleep(&pause, nullptr) == 0;
}

bool polls() {
    return ::poll(nullptr, 0, kWaitMs) == 0;
}

bool selects() {
    timeval pause{0, kWaitNs / 1000};
    return ::select(0, nullptr, nullptr, nullptr, &pause) == 0;
}

bool waits_for_events() {
    static const int events = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    return ::epoll_wait(events, &event, 1, kWaitMs) == 0;
}

bool waits_for_a_condition() {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    timespec end{};
    ::clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += kWaitNs;
    if (end.tv_nsec >= 1'000'000'000) {
        end.tv_nsec -= 1'000'000'000;
        ++end.tv_sec;
    }
    ::pthread_mutex_lock(&mutex);
    const int result = ::pthread_cond_timedwait(&condition, &mutex, &end);
    ::pthread_mutex_unlock(&mutex);
    return result == ETIMEDOUT;
}

/// Of a pipe that a child process, which nobody looks at, writes to.
bool reads() {
    static const int reader = [] {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            std::exit(2);
        }
        if (::fork() == 0) {
            const timespec pause{0, kWaitNs + kWaitNs / 10};
            ::close(ends[0]);
            std::signal(SIGPIPE, SIG_DFL);
            for (;;) {
                ::nanosleep(&pause, nullptr);
                if (::write(ends[1], "x", 1) != 1) {
                    ::_exit(0);
                }
            }
        }
        ::close(ends[1]);
        return ends[0];
    }();
    char byte = 0;
    return ::read(reader, &byte, 1) == 1;
}

bool waits_for_a_signal() {
    sigset_t signals{};
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    const timespec pause{0, kWaitNs};
    return ::sigtimedwait(&signals, nullptr, &pause) < 0 && errno == EAGAIN;
}

int waits(const std::string& kind, const char* file) {
    struct Way {
        const char* name;
        bool (*wait)();
        bool is_as_long;
    };
    constexpr std::array<Way, 7> kWays{{{"nanosleep", sleeps, true},
                                        {"poll", polls, true},
                                        {"select", selects, true},
                                        {"epoll", waits_for_events, true},
                                        {"condition", waits_for_a_condition, false},
                                        {"read", reads, false},
                                        {"signal", waits_for_a_signal, true}}};
    for (const Way& way : kWays) {
        if (kind != way.name) {
            continue;
        }
        while (!is_over(file)) {
            const std::int64_t begin = now_ns();
            if (!way.wait()) {
                std::printf("%s failed: %s\n", way.name, std::strerror(errno));
                return 1;
            }
            if (way.is_as_long && now_ns() - begin < kWaitNs) {
                std::printf("%s ended after %lld ns\n", way.name,
                            static_cast<long long>(now_ns() - begin));
                return 1;
            }
        }
        return 0;
    }
    return 2;
}

/// As many values as fit, floating and not, that all depend on each other.
__attribute__((noinline)) double sum_up(std::uint64_t seed) {
    std::array<std::uint64_t, 8> numbers{};
    std::array<double, 12> values{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = seed * (2 * i + 1);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>(i) + 0.5;
    }
    for (int round = 0; round < 20'000; ++round) {
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            numbers[i] = numbers[i] * 6364136223846793005U + numbers[(i + 1) % numbers.size()];
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = values[i] * 0.999 + values[(i + 5) % values.size()] * 0.001 +
                        static_cast<double>(numbers[i % numbers.size()] >> 60U);
        }
    }
    double sum = 0;
    for (const double value : values) {
        sum += value;
    }
    return sum;
}

int sums(const char* file) {
    static volatile std::uint64_t seed = 7;  // so that each is summed up anew
    const double first = sum_up(seed);
    while (!is_over(file)) {
        if (const double next = sum_up(seed); next < first || next > first) {
            std::printf("%.17g is not %.17g\n", next, first);
            return 1;
        }
    }
    return 0;
}

int churns(const char* plugin, const char* file) {
    std::atomic<bool> ends = false;
    std::atomic<bool> is_right = true;
    const auto takes_memory = [&](std::uint8_t mark) {
        for (std::size_t size = 1; !ends.load(); size = size * 5 % 100'003) {
            std::vector<std::uint8_t*> blocks;
            for (std::size_t i = 0; i < 16; ++i) {
                blocks.push_back(static_cast<std::uint8_t*>(std::malloc(size + i)));
                std::memset(blocks.back(), mark, size + i);
            }
            for (std::size_t i = 0; i < blocks.size(); ++i) {
                if (blocks[i][0] != mark || blocks[i][size + i - 1] != mark) {
                    is_right.store(false);
                }
                std::free(blocks[i]);
            }
        }
    };
    std::vector<std::thread> threads;
    threads.emplace_back(takes_memory, std::uint8_t{0x11});
    threads.emplace_back(takes_memory, std::uint8_t{0x22});
    threads.emplace_back([&] {
        while (!ends.load()) {
            std::thread{[] {}}.join();
        }
    });
    threads.emplace_back([&] {
        while (!ends.load()) {
            void* const library = ::dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
            if (library == nullptr) {
                is_right.store(false);
                return;
            }
            ::dlclose(library);
        }
    });
    while (!is_over(file)) {
        void* const block = std::malloc(1000);
        std::free(block);
    }
    ends.store(true);
    for (std::thread& thread : threads) {
        thread.join();
    }
    return is_right.load() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "waits" && argc == 4) {
        return waits(argv[2], argv[3]);
    }
    if (mode == "sums" && argc == 3) {
        return sums(argv[2]);
    }
    if (mode == "handles" && argc == 3) {
        std::signal(SIGURG, [](int) {});
        std::puts("handles");
        std::fflush(stdout);
        return waits("nanosleep", argv[2]);
    }
    if (mode == "churns" && argc == 4) {
        return churns(argv[2], argv[3]);
    }
    return 2;
}
