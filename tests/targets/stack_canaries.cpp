// Work on stacks that have no room for a signal's frame, between words that must not change.
//
//     stack_canaries ucontext|assembly|thread BYTES SECONDS
//     stack_canaries reused|armed BYTES SECONDS
//
// ucontext, assembly: sixteen coroutines of BYTES of stack each, one beside the other, which take
//     turns; libc's contexts, or a switch written by hand. thread: the same as assembly, in a
//     thread of its own.
// reused: the alternate stack of BYTES serves other purposes while it is set. armed: it is used by
//     the program's own handler meanwhile, but lies between words that must not change.
//
// Stats: `broken=0`, no word was changed. All work is in coroutine_work(), or work_beside().
#include "switch_stacks.h"
#include "work.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <csignal>
#include <string_view>

namespace {

constexpr std::size_t kCoroutines = 16;
constexpr std::size_t kCanaryBytes = 8192;
constexpr std::uint64_t kCanary = 0xc0ffee0ddba11511U;

std::uint64_t end_ns = 0;
std::size_t stack_bytes = 0;
char* memory = nullptr;
std::array<void*, kCoroutines + 1> stack_pointers{};
std::array<ucontext_t, kCoroutines + 1> contexts{};
std::size_t current = 0;
std::uint64_t broken = 0;

void fill(char* at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 8) {
        std::memcpy(at + i, &kCanary, 8);
    }
}

void check(const char* at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 8) {
        broken += std::memcmp(at + i, &kCanary, 8) != 0 ? 1 : 0;
    }
}

char* canary(std::size_t index) {
    return memory + index * (kCanaryBytes + stack_bytes);
}
char* stack(std::size_t index) {
    return canary(index) + kCanaryBytes;
}

void check_all() {
    for (std::size_t i = 0; i <= kCoroutines; ++i) {
        check(canary(i), kCanaryBytes);
    }
}

}  // namespace

// Nothing is called: a coroutine's stack of 2 KiB is not touched but by its own two frames.
TARGET_KEEP void coroutine_work() {
    std::uint64_t state = 88172645463325252U;
    for (int unit = 0; unit < 200; ++unit) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

TARGET_KEEP void work_beside(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

static void body_by_hand() {
    for (;;) {
        coroutine_work();
        switch_stacks(&stack_pointers[current], stack_pointers[kCoroutines]);
    }
}

static void body_of_libc() {
    for (;;) {
        coroutine_work();
        swapcontext(&contexts[current], &contexts[kCoroutines]);
    }
}

static void* run_by_hand(void* /*unused*/) {
    for (std::size_t i = 0; i < kCoroutines; ++i) {
        // Six registers, then where the first switch returns to, then a return address of nowhere.
        auto* top = reinterpret_cast<void**>(stack(i) + stack_bytes) - 10;
        std::memset(top, 0, 10 * sizeof *top);
        top[6] = reinterpret_cast<void*>(body_by_hand);
        stack_pointers[i] = top;
    }
    while (targets::thread_cpu_ns() < end_ns) {
        for (current = 0; current < kCoroutines; ++current) {
            switch_stacks(&stack_pointers[kCoroutines], stack_pointers[current]);
        }
        check_all();
    }
    return nullptr;
}

static void run_libcs() {
    for (std::size_t i = 0; i < kCoroutines; ++i) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack = {stack(i), 0, stack_bytes};
        makecontext(&contexts[i], body_of_libc, 0);
    }
    while (targets::thread_cpu_ns() < end_ns) {
        for (current = 0; current < kCoroutines; ++current) {
            swapcontext(&contexts[kCoroutines], &contexts[current]);
        }
        check_all();
    }
}

static void on_user_signal(int /*signal*/) {}

static void work_with_alternate_stack(bool is_reused, std::uint64_t cpu_ns) {
    const stack_t alternate{stack(0), 0, stack_bytes};
    if (sigaltstack(&alternate, nullptr) != 0) {
        std::perror("sigaltstack");
        std::exit(1);
    }
    struct sigaction action {};
    action.sa_handler = on_user_signal;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    if (is_reused) {
        fill(stack(0), stack_bytes);
    }
    for (int i = 0; i < 20; ++i) {
        work_beside(cpu_ns / 20);
        if (is_reused) {
            check(stack(0), stack_bytes);
        } else {
            raise(SIGUSR1);
        }
        check_all();
    }
    stack_t now{};
    sigaltstack(nullptr, &now);
    targets::tell("same", now.ss_sp == alternate.ss_sp && now.ss_size == alternate.ss_size ? 1 : 0);
}

int main(int argc, char** argv) {
    if (argc != 4) {
        return targets::usage("ucontext|assembly|thread|reused|armed BYTES SECONDS");
    }
    const std::string_view kind = argv[1];
    stack_bytes = targets::number(argv[2]);
    const std::uint64_t cpu_ns = targets::seconds_to_ns(argv[3]);
    const std::size_t all = kCoroutines * (kCanaryBytes + stack_bytes) + kCanaryBytes;
    memory = static_cast<char*>(
        mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t i = 0; i <= kCoroutines; ++i) {
        fill(canary(i), kCanaryBytes);
    }
    end_ns = targets::thread_cpu_ns() + cpu_ns;
    if (kind == "ucontext") {
        run_libcs();
    } else if (kind == "assembly") {
        run_by_hand(nullptr);
    } else if (kind == "thread") {
        end_ns = cpu_ns;
        pthread_t thread{};
        pthread_create(&thread, nullptr, run_by_hand, nullptr);
        pthread_join(thread, nullptr);
    } else {
        work_with_alternate_stack(kind == "reused", cpu_ns);
    }
    targets::tell("broken", broken);
    std::exit(broken == 0 ? 0 : 1);
}
