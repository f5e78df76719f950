// Faults that the program handles, alternate stacks, and handlers that jump out.
#include "handlers.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>

namespace storm {
namespace {

volatile std::sig_atomic_t g_met = 0;
sigjmp_buf g_target;
char* g_page = nullptr;

void count(int /*signal*/) {
    g_met = g_met + 1;
}

void work_and_count(int /*signal*/) {
    targets::consume(work(5));
    g_met = g_met + 1;
}

void jump_out(int /*signal*/) {
    siglongjmp(g_target, 1);
}

void divide() {
    asm volatile("xorl %%ecx, %%ecx\n\tmovl $1, %%eax\n\tcltd\n\tidivl %%ecx"
                 :
                 :
                 : "eax", "ecx", "edx");
}

void fault_by(int signal) {
    switch (signal) {
        case SIGSEGV:
            *static_cast<volatile int*>(nullptr) = 1;
            break;
        case SIGFPE:
            divide();
            break;
        case SIGILL:
            asm volatile("ud2");
            break;
        case SIGTRAP:
            asm volatile("int3");
            break;
        default:
            g_page[0] = 1;
            break;
    }
}

/// A handler that jumps out of each fault, with the mask (sigsetjmp) or without.
std::uint64_t faults(std::uint64_t seed) {
    constexpr int kFaults[] = {SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGBUS};
    const int signal = Dice{seed}.one_of(kFaults);
    const int memory = memfd_create("storm", MFD_CLOEXEC);
    g_page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
    const Handler handler{signal, jump_out, seed % 2 == 0 ? SA_ONSTACK : 0};
    for (int time = 0; time < 20; ++time) {
        targets::consume(work(seed, 50));
        if (sigsetjmp(g_target, 1) == 0) {
            fault_by(signal);
            require(false, "no fault");
        }
    }
    munmap(g_page, 4096);
    close(memory);
    return static_cast<std::uint64_t>(signal);
}

void unprotect(int /*signal*/, siginfo_t* info, void* /*context*/) {
    auto* page = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(info->si_addr) &
                                         ~std::uintptr_t{4095});
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    g_met = g_met + 1;
}

/// A write barrier, as collectors of garbage have it: the handler repairs and returns.
std::uint64_t barriers(std::uint64_t seed) {
    constexpr std::size_t kPages = 16;
    const Handler handler{SIGSEGV, unprotect};
    auto* low = static_cast<char*>(
        mmap(nullptr, kPages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    g_met = 0;
    for (std::size_t page = 0; page < kPages; ++page) {
        targets::consume(work(seed, 20));
        low[page * 4096 + seed % 4096] = static_cast<char>(page);
    }
    require(g_met == static_cast<int>(kPages) && low[std::size_t{3} * 4096 + seed % 4096] == 3,
            "barriers");
    munmap(low, kPages * 4096);
    return seed % 107;
}

/// An alternate stack of `bytes`, a page below it that nobody may touch.
class AlternateStack {
public:
    explicit AlternateStack(std::size_t bytes)
        : bytes_{bytes},
          low_{static_cast<char*>(mmap(nullptr, kPage + bytes, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))} {
        require(low_ != MAP_FAILED && mprotect(low_, kPage, PROT_NONE) == 0, "mmap");
        stack_t stack{};
        stack.ss_sp = low_ + kPage;
        stack.ss_size = bytes;
        require(sigaltstack(&stack, &before_) == 0, "sigaltstack");
    }
    ~AlternateStack() {
        stack_t now{};
        require(
            sigaltstack(&before_, &now) == 0 && now.ss_sp == low_ + kPage && now.ss_size == bytes_,
            "another alternate stack than was set");
        munmap(low_, kPage + bytes_);
    }
    AlternateStack(const AlternateStack&) = delete;
    AlternateStack& operator=(const AlternateStack&) = delete;

    [[nodiscard]] char* memory() const { return low_ + kPage; }

private:
    static constexpr std::size_t kPage = 4096;
    std::size_t bytes_;
    char* low_;
    stack_t before_{};
};

std::uint64_t alternate_stacks(std::uint64_t seed) {
    const std::size_t least = std::max<std::size_t>(2048, getauxval(AT_MINSIGSTKSZ));
    const std::size_t sizes[] = {least + 1024, 8192, 16384, 65536};
    const AlternateStack stack{(Dice{seed}.one_of(sizes) + 15) / 16 * 16};
    const Handler handler{SIGUSR1, work_and_count, SA_ONSTACK};
    g_met = 0;
    for (int time = 0; time < 5; ++time) {
        targets::consume(work(seed));
        raise(SIGUSR1);
    }
    require(g_met == 5, "handlers on the alternate stack");
    return seed % 109;
}

/// The memory of an alternate stack that no handler of the program's uses is the program's: it
/// keeps what is written there.
std::uint64_t reused_alternate_stack(std::uint64_t seed) {
    constexpr std::size_t kBytes = std::size_t{32} * 1024;
    const AlternateStack stack{kBytes};
    for (int time = 0; time < 5; ++time) {
        for (std::size_t at = 0; at < kBytes; ++at) {
            stack.memory()[at] = static_cast<char>(mix(seed, at));
        }
        targets::consume(work(seed, 500));
        for (std::size_t at = 0; at < kBytes; ++at) {
            require(stack.memory()[at] == static_cast<char>(mix(seed, at)),
                    "the memory of an alternate stack changed");
        }
    }
    return seed % 113;
}

TARGET_KEEP std::uint64_t recurse_for_ever(std::uint64_t depth) {
    if (depth > std::uint64_t{1} << 40U) {
        return 0;
    }
    volatile char frame[512];
    frame[depth % sizeof frame] = static_cast<char>(depth);
    return recurse_for_ever(depth + 1) + static_cast<std::uint64_t>(frame[depth % sizeof frame]);
}

TARGET_KEEP void overflow_once() {
    if (sigsetjmp(g_target, 1) == 0) {
        targets::consume(recurse_for_ever(0));
    }
}

/// An endless recursion, caught on the alternate stack. In a child with a small stack.
std::uint64_t stack_overflow(std::uint64_t seed) {
    in_child(seed, [&] {
        constexpr rlim_t kBytes = rlim_t{256} * 1024;
        const rlimit small{kBytes, kBytes};
        setrlimit(RLIMIT_STACK, &small);
        const AlternateStack stack{std::size_t{32} * 1024};
        const Handler handler{SIGSEGV, jump_out, SA_ONSTACK};
        for (int time = 0; time < 3; ++time) {
            targets::consume(work(seed));
            overflow_once();
        }
    });
    return seed % 127;
}

/// A handler that returns does not keep abort from ending the process; one that jumps out does.
std::uint64_t aborts(std::uint64_t seed) {
    const pid_t child = start_child(seed, [&] {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        {
            const Handler jumps{SIGABRT, jump_out};
            if (sigsetjmp(g_target, 1) == 0) {
                std::abort();
            }
        }
        std::signal(SIGABRT, count);
        targets::consume(work(seed));
        std::abort();
    });
    require_signal(child, SIGABRT);
    return seed % 131;
}

constexpr Operation kOperations[] = {
    {"faults", faults, kAlone},
    {"barriers", barriers, kAlone},
    {"alternate_stacks", alternate_stacks, kAlone},
    {"reused_alternate_stack", reused_alternate_stack, kAnywhere},
    {"stack_overflow", stack_overflow, kAlone},
    {"aborts", aborts, kAlone},
};

}  // namespace

Operations fault_operations() {
    return kOperations;
}

}  // namespace storm
