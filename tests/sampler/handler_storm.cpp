// The handler under fire: 10 kHz on every thread while threads, libraries, processes, exceptions
// and memory come and go, in a program whose malloc, mutex and stdio abort when they are called
// inside the handler.
#include "sampler/capture/libraries.h"
#include "tests/sampler/area_fixture.h"
#include "tests/sampler/handler_guards.h"
#include "tests/sampler/own_process.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <thread>

namespace sample::capture {
namespace {

constexpr std::uint64_t kStormNs = 2'000'000'000;

std::atomic<std::uint64_t> handled{0};

void guarded_handler(int signal, siginfo_t* info, void* context) {
    {
        const InsideHandler guarded;
        on_signal(signal, info, context);
    }
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
    begin_unload(modules.renew(), Unloader::this_thread);
    ::dlclose(library);
    end_unload(was_read_in_unload() ? modules.renew() : nullptr);
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
    const std::uint64_t period_ns = affordable_period_ns();
    const SignalAction action{SIGTRAP, guarded_handler};
    const TrapEvent event{period_ns};
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

/// A stack made of pointers into itself, of code addresses and of noise, between two pages that
/// nobody can read.
class GarbageStack {
public:
    GarbageStack()
        : pages_{static_cast<std::byte*>(
              ::mmap(nullptr, kBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))} {
        ::mprotect(pages_ + kPage, kBytes, PROT_READ | PROT_WRITE);
    }
    GarbageStack(const GarbageStack&) = delete;
    GarbageStack& operator=(const GarbageStack&) = delete;
    ~GarbageStack() { ::munmap(pages_, kBytes + 2 * kPage); }

    [[nodiscard]] std::uint64_t low() const {
        return reinterpret_cast<std::uint64_t>(pages_ + kPage);
    }
    [[nodiscard]] std::uint64_t high() const { return low() + kBytes; }
    template <class Make>
    void fill(Make make) {
        for (std::uint64_t address = low(); address < high(); address += 8) {
            *reinterpret_cast<std::uint64_t*>(address) = make();
        }
    }

private:
    static constexpr std::size_t kPage = 4096;
    static constexpr std::size_t kBytes = 8 * kPage;
    std::byte* pages_;
};

TEST(HandlerStorm, takes_samples_whatever_the_registers_and_the_stack_are) {
    const collector::TestArea test;
    const OwnModules modules;
    attach(&test.area(), modules.table(), nullptr);
    GarbageStack garbage;
    std::mt19937_64 random{7};  // NOLINT(cert-msc51-cpp): the same garbage every time
    const auto loaded = unwind::loaded_modules();
    const auto some_code = [&] {
        const unwind::AddressRange code = loaded[random() % loaded.size()].code;
        return code.end > code.begin ? code.begin + random() % (code.end - code.begin) : 0;
    };
    const auto some_word = [&]() -> std::uint64_t {
        switch (random() % 8) {
            case 0:
                return 0;
            case 1:
                return random();
            case 2:
                return random() % (std::uint64_t{1} << 47);
            case 3:
                return garbage.low() - 64 + random() % 128;  // Around the edges.
            case 4:
                return garbage.high() - 64 + random() % 128;
            case 5:
                return garbage.low() + 8 * (random() % 4096);
            default:
                return some_code();
        }
    };
    collector::AreaReader reader{test.area()};
    std::size_t samples = 0;
    for (unsigned round = 0; round < 200; ++round) {
        const unsigned shape = round % 4;
        garbage.fill([&]() -> std::uint64_t {
            return shape == 0   ? garbage.low() + 8 * (random() % 4096)  // Cycles.
                   : shape == 1 ? some_code()
                                : some_word();
        });
        // Known, known in part, or unknown.
        if (round % 3 == 0) {
            set_stack_bounds(0, 0);
        } else {
            set_stack_bounds(garbage.low(), round % 3 == 1 ? garbage.high() : garbage.low() + 4096);
        }
        for (unsigned i = 0; i < 50; ++i) {
            ucontext_t context{};
            for (greg_t& value : context.uc_mcontext.gregs) {
                value = static_cast<greg_t>(some_word());
            }
            if (i % 2 == 0) {
                const std::uint64_t sp = garbage.low() + 8 * (random() % 4096);
                context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(sp);
                context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(some_code());
            }
            siginfo_t info = sample_info();
            const InsideHandler guarded;
            on_signal(SIGTRAP, &info, &context);
        }
        collector::KeepingSink sink;
        reader.drain(sink);
        samples += sink.samples.size();
    }
    detach_after_fork();
    set_stack_bounds(0, 0);
    EXPECT_EQ(samples, 200U * 50U);
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
}

ucontext_t g_main_context;
ucontext_t g_other_context;
std::atomic<bool> g_switching{false};
std::atomic<std::uint64_t> g_switches{0};

[[gnu::noinline]] void on_another_stack() {
    while (g_switching.load(std::memory_order_relaxed)) {
        g_switches.fetch_add(1, std::memory_order_relaxed);
        ::swapcontext(&g_other_context, &g_main_context);
    }
}

[[gnu::noinline]] void switch_stacks(std::uint64_t end_ns) {
    while (read_kernel_clock_ns(CLOCK_MONOTONIC) < end_ns) {
        for (int i = 0; i < 100; ++i) {
            ::swapcontext(&g_main_context, &g_other_context);
        }
    }
    g_switching = false;
    ::swapcontext(&g_main_context, &g_other_context);
}

TEST(HandlerStorm, keeps_two_stacks_apart_that_the_program_switches_between) {
    const collector::TestArea test;
    const OwnModules modules;
    attach(&test.area(), modules.table(), nullptr);
    tell_own_stack();
    std::vector<unsigned char> stack(std::size_t{64} * 1024);
    ::getcontext(&g_other_context);
    g_other_context.uc_stack.ss_sp = stack.data();
    g_other_context.uc_stack.ss_size = stack.size();
    g_other_context.uc_link = &g_main_context;
    ::makecontext(&g_other_context, on_another_stack, 0);
    collector::AreaReader reader{test.area()};
    const std::uint64_t period_ns = affordable_period_ns();
    const SignalAction action{SIGTRAP, guarded_handler};
    const TrapEvent event{period_ns};
    SAMPLE_NEEDS_EVENT(event);
    g_switching = true;
    event.on();
    switch_stacks(read_kernel_clock_ns(CLOCK_MONOTONIC) + kStormNs / 4);
    event.off();
    collector::KeepingSink sink;
    reader.drain(sink);
    detach_after_fork();
    std::size_t here = 0;
    std::size_t there = 0;
    for (const auto& sample : sink.samples) {
        const auto holds = [&](void (*function)()) {
            return std::any_of(sample.frames.begin(), sample.frames.end(), [&](std::uint64_t bits) {
                return modules.function_of(bits) == reinterpret_cast<std::uint64_t>(function);
            });
        };
        const bool on_own = holds(reinterpret_cast<void (*)()>(&switch_stacks));
        const bool on_other = holds(&on_another_stack);
        EXPECT_FALSE(on_own && on_other);
        here += on_own ? 1 : 0;
        there += on_other ? 1 : 0;
    }
    EXPECT_GT(g_switches.load(), 100U);
    EXPECT_GT(here, 10U);
    EXPECT_GT(there, 10U);
    EXPECT_EQ(reader.corrupt_chunks(), 0U);
}

/// The opposite: whatever is guarded does abort, or the storm proves nothing.
template <class Call>
void expect_refused(const char* name, Call call) {
    EXPECT_DEATH(
        {
            const InsideHandler guarded;
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
