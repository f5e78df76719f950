// Stacks that are no thread's, small ones, deep ones, and ways to leave many frames at once.
#include "storm.h"
#include "tests/targets/switch_stacks.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <csetjmp>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace storm {
namespace {

constexpr std::size_t kCoroutines = 4;

/// A coroutine that works in slices. It calls nothing but work() and the switch: on a small stack
/// there is no room for libc, nor for the loader that looks a function of libc's up.
struct Coroutine {
    void* stack = nullptr;  ///< Where it goes on.
    void* caller = nullptr;
    std::uint64_t sum = 0;
    bool done = false;
};

thread_local Coroutine* t_running = nullptr;

[[noreturn]] void run_coroutine() {
    Coroutine& self = *t_running;
    for (int slice = 0; slice < 8; ++slice) {
        self.sum = work(self.sum, 150);
        switch_stacks(&self.stack, self.caller);
    }
    self.done = true;
    switch_stacks(&self.stack, self.caller);
    __builtin_trap();
}

void prepare(Coroutine& coroutine, char* top) {
    auto** slot = reinterpret_cast<void**>(top) - 1;
    *slot = nullptr;  // where run_coroutine would return to: nowhere
    *--slot = reinterpret_cast<void*>(run_coroutine);
    coroutine.stack = slot - 6;  // six registers
}

char canary(std::uint64_t seed, std::size_t at) {
    return static_cast<char>(mix(seed, at));
}

/// Coroutines on neighbouring stacks of `bytes`, a canary of the same size below each. Whatever
/// comes on top of a coroutine's frames has the stack's rest, and nothing more.
std::uint64_t coroutines_of(std::uint64_t seed, std::size_t bytes) {
    std::vector<char> memory(2 * kCoroutines * bytes + 16);
    char* low = memory.data() + (16 - reinterpret_cast<std::uintptr_t>(memory.data()) % 16);
    const auto is_canary = [&](std::size_t at) { return at / bytes % 2 == 0; };
    for (std::size_t at = 0; at < 2 * kCoroutines * bytes; ++at) {
        low[at] = is_canary(at) ? canary(seed, at) : '\0';
    }
    std::array<Coroutine, kCoroutines> all;
    for (std::size_t number = 0; number < kCoroutines; ++number) {
        all[number].sum = mix(seed, number);
        prepare(all[number], low + (2 * number + 2) * bytes);
    }
    for (std::size_t turn = 0; !all[kCoroutines - 1].done; ++turn) {
        t_running = &all[turn % kCoroutines];
        switch_stacks(&t_running->caller, t_running->stack);
    }
    for (std::size_t at = 0; at < 2 * kCoroutines * bytes; ++at) {
        require(!is_canary(at) || low[at] == canary(seed, at),
                "the memory below a small stack changed");
    }
    std::uint64_t sum = 0;
    for (const Coroutine& coroutine : all) {
        sum = mix(sum, coroutine.sum);
    }
    return sum;
}

std::uint64_t coroutines_1k(std::uint64_t seed) {
    return coroutines_of(seed, 1024);
}

std::uint64_t coroutines_2k(std::uint64_t seed) {
    return coroutines_of(seed, 2048);
}

std::uint64_t coroutines_4k(std::uint64_t seed) {
    return coroutines_of(seed, 4096);
}

std::uint64_t coroutines_16k(std::uint64_t seed) {
    return coroutines_of(seed, std::size_t{16} * 1024);
}

struct Contexts {
    ucontext_t main{};
    std::array<ucontext_t, 3> each{};
    std::array<std::uint64_t, 3> sums{};
};

thread_local Contexts* t_contexts = nullptr;

void run_context(int number) {
    const auto self = static_cast<std::size_t>(number);
    for (int slice = 0; slice < 10; ++slice) {
        t_contexts->sums[self] = work(t_contexts->sums[self], 100);
        swapcontext(&t_contexts->each[self], &t_contexts->each[(self + 1) % 3]);
    }
}

/// libc's coroutines, each of which hands on to the next one; the first that ends goes back.
std::uint64_t contexts(std::uint64_t seed) {
    Contexts all;
    t_contexts = &all;
    std::vector<std::vector<char>> stacks(3, std::vector<char>(std::size_t{16} * 1024));
    for (std::size_t number = 0; number < 3; ++number) {
        all.sums[number] = mix(seed, number);
        getcontext(&all.each[number]);
        all.each[number].uc_stack.ss_sp = stacks[number].data();
        all.each[number].uc_stack.ss_size = stacks[number].size();
        all.each[number].uc_link = &all.main;
        makecontext(&all.each[number], reinterpret_cast<void (*)()>(run_context), 1,
                    static_cast<int>(number));
    }
    swapcontext(&all.main, &all.each[0]);
    return mix(mix(all.sums[0], all.sums[1]), all.sums[2]);
}

/// A coroutine's stack whose memory is used for something else once it is over.
std::uint64_t reused_stack(std::uint64_t seed) {
    std::vector<char> memory(std::size_t{8} * 1024);
    std::uint64_t sum = 0;
    for (int time = 0; time < 4; ++time) {
        Coroutine one;
        one.sum = mix(seed, static_cast<std::uint64_t>(time));
        prepare(one, memory.data() + memory.size() -
                         reinterpret_cast<std::uintptr_t>(memory.data()) % 16);
        while (!one.done) {
            t_running = &one;
            switch_stacks(&one.caller, one.stack);
        }
        for (std::size_t at = 0; at < memory.size(); ++at) {
            memory[at] = canary(seed, at);
        }
        sum = mix(sum, work(one.sum, 300));
        for (std::size_t at = 0; at < memory.size(); ++at) {
            require(memory[at] == canary(seed, at), "a stack that was is written to");
        }
    }
    return sum;
}

TARGET_KEEP std::uint64_t descend(std::uint64_t seed, unsigned depth) {
    if (depth == 0) {
        return work(seed, 1000);
    }
    return mix(descend(seed, depth - 1), depth);
}

std::uint64_t deep_stack(std::uint64_t seed) {
    return descend(seed, 1000 + static_cast<unsigned>(seed % 20'000));
}

struct Counts {
    int* count;
    explicit Counts(int* counted) : count{counted} {}
    ~Counts() { ++*count; }
    Counts(const Counts&) = delete;
    Counts& operator=(const Counts&) = delete;
};

TARGET_KEEP void throw_from(int depth, std::uint64_t seed, int* left) {
    const Counts counts{left};
    if (depth == 0) {
        targets::consume(work(seed, 20));
        throw std::runtime_error{"a storm"};
    }
    throw_from(depth - 1, seed, left);
}

std::uint64_t exceptions(std::uint64_t seed) {
    int left = 0;
    std::exception_ptr kept;
    for (int time = 0; time < 20; ++time) {
        try {
            try {
                throw_from(static_cast<int>(seed % 30), seed, &left);
            } catch (const std::logic_error&) {
                require(false, "another exception");
            }
        } catch (...) {
            kept = std::current_exception();
        }
    }
    try {
        std::rethrow_exception(kept);
    } catch (const std::exception& error) {
        require(left == 20 * (static_cast<int>(seed % 30) + 1), "frames that were not left");
        return mix(seed, std::string{error.what()}.size());
    }
}

/// Nobody catches: std::terminate, and what it says.
std::uint64_t uncaught(std::uint64_t seed) {
    const pid_t child = start_child(seed, [&] {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        close(STDERR_FILENO);
        // NOLINTNEXTLINE(bugprone-exception-escape): the subject
        []() noexcept {
            int left = 0;
            throw_from(5, 3, &left);
        }();
    });
    require_signal(child, SIGABRT);
    return seed % 101;
}

thread_local jmp_buf t_plain;
thread_local sigjmp_buf t_with_mask;

TARGET_KEEP void jump_from(unsigned depth, std::uint64_t seed) {
    if (depth != 0) {
        jump_from(depth - 1, seed);
    }
    targets::consume(work(seed, 20));
    if (seed % 2 == 0) {
        longjmp(t_plain, 5);
    }
    siglongjmp(t_with_mask, 5);
}

TARGET_KEEP void jump_once(std::uint64_t seed) {
    const int jumped = seed % 2 == 0 ? setjmp(t_plain) : sigsetjmp(t_with_mask, 1);
    if (jumped == 0) {
        jump_from(static_cast<unsigned>(seed % 50), seed);
    }
    require(jumped == 5, "what a jump brings");
}

std::uint64_t jumps(std::uint64_t seed) {
    for (int time = 0; time < 50; ++time) {
        jump_once(seed);
    }
    return work(seed);
}

/// A stack of a size that only the call knows.
TARGET_KEEP std::uint64_t use_array_of(std::uint64_t seed, std::size_t bytes) {
    auto* array = static_cast<volatile char*>(__builtin_alloca(bytes));
    array[0] = static_cast<char>(seed);
    array[bytes - 1] = static_cast<char>(seed >> 8U);
    const std::uint64_t sum = work(seed);
    return sum + static_cast<unsigned char>(array[0]) +
           static_cast<unsigned char>(array[bytes - 1]);
}

std::uint64_t computed_frames(std::uint64_t seed) {
    return use_array_of(seed, 16 + seed % 500'000);
}

constexpr Operation kOperations[] = {
    {"coroutines_1k", coroutines_1k, kAnywhere},
    {"coroutines_2k", coroutines_2k, kAnywhere},
    {"coroutines_4k", coroutines_4k, kAnywhere},
    {"coroutines_16k", coroutines_16k, kAnywhere},
    {"contexts", contexts, kAnywhere},
    {"reused_stack", reused_stack, kAnywhere},
    {"deep_stack", deep_stack, kAnywhere},
    {"exceptions", exceptions, kAnywhere},
    {"uncaught", uncaught, kAnywhere},
    {"jumps", jumps, kAnywhere},
    {"computed_frames", computed_frames, kAnywhere},
};

}  // namespace

Operations stack_operations() {
    return kOperations;
}

}  // namespace storm
