// The handler under fire: 10 kHz on every thread while threads, libraries, processes, exceptions
// and memory come and go, in a program whose malloc, mutex and stdio abort when they are called
// inside the handler. They are defined here, so that every caller in the process meets them.
#include "tests/sampler/area_fixture.h"
#include "tests/sampler/own_process.h"

#include <dlfcn.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace {

constinit thread_local volatile bool t_inside_handler = false;

void refuse_inside_handler(const char* name) noexcept {
    if (t_inside_handler) {
        t_inside_handler = false;
        (void)!::write(2, name, std::strlen(name));
        (void)!::write(2, " inside the handler\n", 20);
        std::abort();
    }
}

template <class Function>
Function* next_definition(const char* name) noexcept {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// glibc's own names for what it has under malloc's.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's are reserved words
void* malloc(std::size_t size) noexcept {
    refuse_inside_handler("malloc");
    return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
    refuse_inside_handler("calloc");
    return __libc_calloc(count, size);
}
void* realloc(void* pointer, std::size_t size) noexcept {
    refuse_inside_handler("realloc");
    return __libc_realloc(pointer, size);
}
void free(void* pointer) noexcept {
    refuse_inside_handler("free");
    __libc_free(pointer);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    refuse_inside_handler("pthread_mutex_lock");
    static auto* const next = next_definition<int(pthread_mutex_t*)>("pthread_mutex_lock");
    return next(mutex);
}
std::size_t fwrite(const void* bytes, std::size_t size, std::size_t count, std::FILE* file) {
    refuse_inside_handler("fwrite");
    static auto* const next =
        next_definition<std::size_t(const void*, std::size_t, std::size_t, std::FILE*)>("fwrite");
    return next(bytes, size, count, file);
}
int vfprintf(std::FILE* file, const char* format, std::va_list arguments) {
    refuse_inside_handler("vfprintf");
    static auto* const next =
        next_definition<int(std::FILE*, const char*, std::va_list)>("vfprintf");
    return next(file, format, arguments);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
}

namespace sample::capture {
namespace {

constexpr std::uint64_t kPeriodNs = 100'000;
constexpr std::uint64_t kStormNs = 2'000'000'000;

std::atomic<std::uint64_t> handled{0};

void guarded_handler(int signal, siginfo_t* info, void* context) {
    t_inside_handler = true;
    on_signal(signal, info, context);
    t_inside_handler = false;
    handled.fetch_add(1, std::memory_order_relaxed);
}

void print_to(std::FILE* file, const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    (void)std::vfprintf(file, format, arguments);
    va_end(arguments);
}

[[gnu::noinline]] int recurse(int depth) {
    volatile int here = depth;
    return depth == 0 ? 0 : recurse(depth - 1) + here;
}

[[gnu::noinline]] void throw_from(int depth) {
    if (depth == 0) {
        throw std::runtime_error{"storm"};
    }
    throw_from(depth - 1);
    throw std::logic_error{"not reached"};
}

int compare(const void* a, const void* b) {
    const int left = *static_cast<const int*>(a);
    const int right = *static_cast<const int*>(b);
    return static_cast<int>(left > right) - static_cast<int>(left < right);
}

/// Allocates, sorts, recurses, prints, locks and throws.
void one_round(unsigned seed) {
    std::vector<void*> blocks;
    for (unsigned i = 0; i < 200; ++i) {
        blocks.push_back(std::malloc(1 + (seed * 31 + i * 7919) % 20'000));
        blocks.push_back(std::calloc(i + 1, 16));
        blocks.back() = std::realloc(blocks.back(), std::size_t{64} * (i + 1));
    }
    for (void* block : blocks) {
        std::free(block);
    }
    std::vector<int> numbers(5'000);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<int>((i * 7919 + seed) % 10'007);
    }
    std::qsort(numbers.data(), numbers.size(), sizeof(int), compare);
    EXPECT_GT(recurse(3'000), 0);
    for (int i = 0; i < 20; ++i) {
        try {
            throw_from(10);
        } catch (const std::runtime_error&) {
            continue;
        }
    }
    if (std::FILE* file = std::fopen("/dev/null", "we")) {
        print_to(file, "%u %d\n", seed, numbers[0]);
        (void)std::fwrite(numbers.data(), sizeof(int), numbers.size(), file);
        (void)std::fclose(file);
    }
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    ::pthread_mutex_lock(&mutex);
    ::pthread_mutex_unlock(&mutex);
}

/// Brings a library that the program does not have, runs code of it, and takes it away as the agent
/// does.
void load_and_unload(OwnModules& modules) {
    void* library = ::dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    using Crc = unsigned long(unsigned long, const unsigned char*, unsigned);
    if (auto* crc = reinterpret_cast<Crc*>(::dlsym(library, "crc32"))) {
        const std::vector<unsigned char> bytes(400'000, 'x');
        EXPECT_NE(crc(0, bytes.data(), static_cast<unsigned>(bytes.size())), 0U);
    }
    begin_unload(modules.renew());
    ::dlclose(library);
    end_unload();
}

void fork_and_exit() {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(HandlerStorm, calls_nothing_that_it_must_not) {
    const collector::TestArea test;
    OwnModules modules;
    attach(&test.area(), modules.table(), nullptr);
    tell_own_stack();
    collector::AreaReader reader{test.area()};
    const SignalAction action{SIGTRAP, guarded_handler};
    const TrapEvent event{kPeriodNs};
    SAMPLE_NEEDS_EVENT(event);
    event.on();
    std::size_t samples = 0;
    std::size_t ends = 0;
    std::size_t plugins = 0;
    std::size_t threads = 0;
    const std::uint64_t end = read_kernel_clock_ns(CLOCK_MONOTONIC) + kStormNs;
    for (unsigned round = 0; read_kernel_clock_ns(CLOCK_MONOTONIC) < end; ++round) {
        std::vector<std::thread> crowd;
        for (unsigned i = 0; i < 4; ++i, ++threads) {
            crowd.emplace_back([seed = round * 4 + i] {
                // Every other thread's stack is unknown, and read with the kernel's leave.
                if (seed % 2 == 0) {
                    tell_own_stack();
                }
                one_round(seed);
                end_thread();
            });
        }
        load_and_unload(modules);
        fork_and_exit();
        for (std::thread& thread : crowd) {
            thread.join();
        }
        collector::KeepingSink sink;
        reader.drain(sink);
        samples += sink.samples.size();
        ends += sink.ends.size();
        plugins += sink.modules.size();
    }
    event.off();
    detach_after_fork();
    EXPECT_GT(samples, 100U);
    EXPECT_GE(handled.load(), samples);
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
    EXPECT_EQ(ends, threads);
    EXPECT_GT(plugins, 0U) << "a library that came by dlopen was seen";
    EXPECT_EQ(reader.used_slots().size(), 1U) << "the main thread's";
}

/// The opposite: whatever is guarded does abort, or the storm proves nothing.
template <class Call>
void expect_refused(const char* name, Call call) {
    EXPECT_DEATH(
        {
            t_inside_handler = true;
            call();
        },
        std::string{name} + " inside the handler");
}

TEST(HandlerStormDeathTest, guards_abort_inside_the_handler) {
    static void* volatile block = nullptr;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    expect_refused("malloc", [] { block = std::malloc(8); });
    expect_refused("malloc", [] { block = new int; });
    expect_refused("calloc", [] { block = std::calloc(8, 8); });
    expect_refused("realloc", [] { block = std::realloc(block, 8); });
    expect_refused("free", [] { std::free(block); });
    expect_refused("pthread_mutex_lock", [] { ::pthread_mutex_lock(&mutex); });
    expect_refused("fwrite", [] { (void)std::fwrite("x", 1, 1, stderr); });
    expect_refused("vfprintf", [] { print_to(stderr, "%d", 1); });
}

}  // namespace
}  // namespace sample::capture
