// Where handlers of the program run, what they are told, and what sigaltstack(2) answers: printed
// in numbers that do not depend on where things lie.
//
//     signal_places MODE [trap|urg]
//
//   answers     what sigaltstack returns and tells, off the stack and on it, valid and not
//   places      where a handler's frame begins, with and without SA_ONSTACK, an alternate stack,
//               a handler below it; what it is told
//   registers   general, vector and control registers survive a handler; one that the handler
//               changes in its frame is changed
//   masks       the mask of a handler, with sa_mask, SA_NODEFER, SA_RESETHAND, and in calls that
//   wait
//               under a mask of their own, where two signals come at once
//   actions     what sigaction and its kin read back
//   burst       ten signals at once, each with a handler on the alternate stack
//   inside      sigaltstack inside a handler, and after it
//   autodisarm  SS_AUTODISARM
//   jump        leaves handlers on the alternate stack by siglongjmp
//   left        a handler leaves sigsuspend by siglongjmp; then another one, which interrupts a
//               read, has the thread's own mask
//   child       a forked child and a vfork child set stacks and handlers
//   threads     a thousand threads with alternate stacks and handlers of their own
//   none        threads that work on 2 KiB between words that must not change, where there is no
//               memory for more
//   overflow    an endless recursion; the handler runs on the alternate stack, and exits with 3
//   overflow-bare     the same without an alternate stack: SIGSEGV
//   overflow-inside   handlers inside of handlers, until the alternate stack has no room: SIGSEGV
//
// The handlers are of SIGUSR1, or of SIGTRAP or SIGURG (which `masks` and `autodisarm` are not
// for). Stats: all of it is as without a profiler.
#include "work.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kStackBytes = std::size_t{64} * 1024;
constexpr auto kAutodisarm = static_cast<int>(1U << 31U);

int used_signal = SIGUSR1;
alignas(4096) std::array<char, kStackBytes> alternate;
alignas(4096) std::array<char, kStackBytes> second;
alignas(4096) std::array<char, 4 * kStackBytes> usual;
sigjmp_buf target;
int depth = 0;

using Action = void (*)(int, siginfo_t*, void*);

void handle(int signal, Action run, int flags, std::initializer_list<int> masked = {}) {
    struct sigaction action {};
    action.sa_sigaction = run;
    action.sa_flags = flags;
    for (const int other : masked) {
        sigaddset(&action.sa_mask, other);
    }
    if (sigaction(signal, &action, nullptr) != 0) {
        std::perror("sigaction");
    }
}

int set_stack(void* at, std::size_t bytes, int flags = 0) {
    const stack_t stack{at, flags, bytes};
    return sigaltstack(&stack, nullptr) == 0 ? 0 : errno;
}

const char* name_of(const void* address) {
    const auto* at = static_cast<const char*>(address);
    if (at >= alternate.data() && at <= alternate.data() + alternate.size()) {
        return "alternate";
    }
    if (at >= second.data() && at <= second.data() + second.size()) {
        return "second";
    }
    if (at >= usual.data() && at <= usual.data() + usual.size()) {
        return "usual";
    }
    return at == nullptr ? "none" : "elsewhere";
}

/// How far below its stack's end.
long below_end(const void* address) {
    const auto* at = static_cast<const char*>(address);
    const std::string_view name = name_of(at);
    const char* end = name == "alternate" ? alternate.data() + alternate.size()
                      : name == "second"  ? second.data() + second.size()
                                          : usual.data() + usual.size();
    return name == "elsewhere" || name == "none" ? -1 : end - at;
}

void show_stack(const char* when) {
    stack_t now{};
    const int result = sigaltstack(nullptr, &now);
    std::printf("%s: %d %s %zu flags %x\n", when, result, name_of(now.ss_sp), now.ss_size,
                static_cast<unsigned>(now.ss_flags));
}

void show_set(const char* when, void* at, std::size_t bytes, int flags) {
    stack_t old{};
    const stack_t wanted{at, flags, bytes};
    errno = 0;
    const int result = sigaltstack(&wanted, &old);
    std::printf("%s: %d errno %d, was %s %zu flags %x\n", when, result, errno, name_of(old.ss_sp),
                old.ss_size, static_cast<unsigned>(old.ss_flags));
}

/// `run` on the stack `usual`, whose addresses do not depend on the environment.
void on_usual_stack(void (*run)()) {
    static ucontext_t back;
    static ucontext_t there;
    getcontext(&there);
    there.uc_stack = {usual.data(), 0, usual.size()};
    there.uc_link = &back;
    makecontext(&there, run, 0);
    swapcontext(&back, &there);
}

void show_mask(const char* when) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    std::printf("%s:", when);
    for (int signal = 1; signal <= 64; ++signal) {
        if (sigismember(&now, signal) == 1) {
            std::printf(" %d", signal);
        }
    }
    std::printf("\n");
}

// -- answers

void ask_on_stack(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
    show_stack("inside");
    show_set("set inside", second.data(), second.size(), 0);
    show_set("disable inside", nullptr, 0, SS_DISABLE);
    show_set("invalid inside", second.data(), second.size(), 77);
}

void answers() {
    show_stack("first");
    show_set("too small", alternate.data(), 2047, 0);
    show_set("least", alternate.data(), 2048, 0);
    show_set("bad flags", alternate.data(), alternate.size(), 77);
    show_set("onstack", alternate.data(), alternate.size(), SS_ONSTACK);
    show_set("again", alternate.data(), alternate.size(), 0);
    show_set("disabled with a size", alternate.data(), alternate.size(), SS_DISABLE);
    show_stack("now");
    show_set("null", nullptr, alternate.size(), 0);
    show_set("autodisarm", alternate.data(), alternate.size(), kAutodisarm);
    show_set("autodisarm and disable", alternate.data(), alternate.size(),
             kAutodisarm | SS_DISABLE);
    show_stack("now");
    show_set("set", alternate.data(), alternate.size(), 0);
    auto* nowhere = reinterpret_cast<stack_t*>(8);
    errno = 0;
    std::printf("from nowhere: %d", sigaltstack(nowhere, nullptr));
    std::printf(" %d\n", errno);
    std::printf("to nowhere: %d", sigaltstack(nullptr, nowhere));
    std::printf(" %d\n", errno);
    // One object for both, as many programs have it.
    stack_t both{second.data(), 0, second.size()};
    stack_t* volatile same = &both;
    std::printf("both: %d", sigaltstack(&both, same));
    std::printf(" %s %zu\n", name_of(both.ss_sp), both.ss_size);
    show_set("back", alternate.data(), alternate.size(), 0);
    handle(used_signal, ask_on_stack, SA_ONSTACK | SA_SIGINFO);
    raise(used_signal);
    // More of them than anybody keeps.
    for (std::size_t i = 0; i < 300; ++i) {
        if (set_stack(alternate.data(), 8192 + 16 * i) != 0) {
            std::printf("failed at %zu\n", i);
        }
        stack_t now{};
        sigaltstack(nullptr, &now);
        if (now.ss_size != 8192 + 16 * i) {
            std::printf("%zu is %zu\n", i, now.ss_size);
        }
    }
}

// -- places

void show_place(int signal, siginfo_t* info, void* context) {
    const auto* words = static_cast<ucontext_t*>(context);
    const auto* interrupted = reinterpret_cast<const char*>(words->uc_mcontext.gregs[REG_RSP]);
    const auto* fpu = reinterpret_cast<const char*>(words->uc_mcontext.fpregs);
    const auto* frame = static_cast<const char*>(context);
    std::printf("  %d: context on %s, %ld below its end; state %ld above it; interrupted on %s\n",
                signal, name_of(context), below_end(context), static_cast<long>(fpu - frame),
                name_of(interrupted));
    const auto* stack_pointer = static_cast<const char*>(__builtin_frame_address(0));
    std::printf("  handler on %s, aligned %d, near its frame %d\n", name_of(stack_pointer),
                reinterpret_cast<std::uintptr_t>(stack_pointer) % 16 == 0 ? 1 : 0,
                frame - stack_pointer > 0 && frame - stack_pointer < 1024 ? 1 : 0);
    if (info != nullptr) {
        std::printf("  number %d code %d value %d info %ld above the context\n", info->si_signo,
                    info->si_code, info->si_code == SI_QUEUE ? info->si_value.sival_int : -1,
                    static_cast<long>(reinterpret_cast<const char*>(info) - frame));
    }
    show_stack("  inside");
    if (depth > 0) {
        --depth;
        sigqueue(getpid(), SIGUSR2, {.sival_int = depth});
    }
}

void send_and_show() {
    depth = 0;
    sigqueue(getpid(), used_signal, {.sival_int = 77});
    raise(used_signal);
    // Below a handler of the profiler's own signal lie two words of its return.
    depth = used_signal == SIGUSR1 ? 2 : 0;
    raise(used_signal);
}

void places() {
    for (const bool is_set : {false, true}) {
        for (const int flags : {SA_SIGINFO, SA_SIGINFO | SA_ONSTACK}) {
            for (const int inner : {SA_SIGINFO, SA_SIGINFO | SA_ONSTACK}) {
                std::printf("set %d, flags %x, inner %x\n", is_set ? 1 : 0,
                            static_cast<unsigned>(flags), static_cast<unsigned>(inner));
                set_stack(alternate.data(), alternate.size(), is_set ? 0 : SS_DISABLE);
                handle(used_signal, show_place, flags);
                handle(SIGUSR2, show_place, inner | static_cast<int>(SA_NODEFER));
                on_usual_stack(send_and_show);
            }
        }
    }
}

// -- registers

void change_registers(int /*signal*/, siginfo_t* /*info*/, void* context) {
    auto* words = static_cast<ucontext_t*>(context);
    words->uc_mcontext.fpregs->_xmm[3].element[0] = 0x12345678;
    words->uc_mcontext.gregs[REG_R12] = 12;
    asm volatile(
        "vpxor %%ymm0, %%ymm0, %%ymm0\n\tvmovaps %%ymm0, %%ymm1\n\tvmovaps %%ymm0, %%ymm2\n\t"
        "vmovaps %%ymm0, %%ymm3\n\tvmovaps %%ymm0, %%ymm15\n\tfldpi\n\tfstp %%st(0)"
        :
        :
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm15");
    const unsigned control = 0x1f80;
    asm volatile("ldmxcsr %0" : : "m"(control));
}

void registers() {
    if (!__builtin_cpu_supports("avx2")) {
        std::printf("no avx2\n");
        return;
    }
    set_stack(alternate.data(), alternate.size());
    handle(used_signal, change_registers, SA_SIGINFO | SA_ONSTACK);
    struct alignas(64) Words {
        std::array<std::uint32_t, 16> in{};
        std::array<std::uint32_t, 16> out{};
        std::array<std::uint32_t, 8> third{};
        std::array<std::uint64_t, 6> kept{};
        unsigned control = 0x7f80;  // round towards zero
        unsigned control_out = 0;
    };
    static Words words;
    const bool has_zmm = __builtin_cpu_supports("avx512f") != 0;
    std::uint64_t good = 0;
    for (std::uint32_t round = 0; round < 200; ++round) {
        for (std::uint32_t i = 0; i < 16; ++i) {
            words.in[i] = round * 1000 + i;
        }
        words.out.fill(0);
        // tgkill(getpid(), gettid(), signal) with all registers in use.
        const long process = getpid();
        const long tid = gettid();
        register long thread asm("r8") = tid;
        long number = SYS_tgkill;
        if (has_zmm) {
            asm volatile("vmovdqu64 %0, %%zmm31" : : "m"(words.in));
        }
        asm volatile(
            "ldmxcsr %[control]\n\t"
            "vmovdqu %[in], %%ymm15\n\t"
            "vmovdqu %[in], %%ymm3\n\t"
            "movq $11, %%rbx\n\tmovq $22, %%r12\n\tmovq $33, %%r13\n\tmovq $44, %%r14\n\t"
            "movq $55, %%r15\n\t"
            "movq %%r8, %%rsi\n\t"
            "syscall\n\t"
            "vmovdqu %%ymm15, %[out]\n\t"
            "vmovdqu %%ymm3, %[third]\n\t"
            "movq %%rbx, %[kept]\n\tmovq %%r12, 8+%[kept]\n\tmovq %%r13, 16+%[kept]\n\t"
            "movq %%r14, 24+%[kept]\n\tmovq %%r15, 32+%[kept]\n\t"
            "stmxcsr %[control_out]"
            : [out] "=m"(words.out), [third] "=m"(words.third), [kept] "=m"(words.kept),
              [control_out] "=m"(words.control_out), "+a"(number)
            : [in] "m"(words.in), [control] "m"(words.control), "D"(process), "d"(used_signal),
              "r"(thread)
            : "rcx", "r11", "rsi", "rbx", "r12", "r13", "r14", "r15", "xmm3", "xmm15", "memory");
        const bool is_same = std::memcmp(words.in.data(), words.out.data(), 32) == 0 &&
                             words.third[0] == 0x12345678 && words.third[1] == words.in[1] &&
                             words.third[7] == words.in[7];
        if (has_zmm) {
            asm volatile("vmovdqu64 %%zmm31, %0" : "=m"(words.out));
        } else {
            words.out = words.in;
        }
        good += is_same && words.out == words.in && words.control_out == 0x7f80 &&
                        words.kept == std::array<std::uint64_t, 6>{11, 12, 33, 44, 55, 0}
                    ? 1
                    : 0;
    }
    targets::tell("good", good);
}

// -- masks

int handled = 0;

void show_inside(int signal, siginfo_t* /*info*/, void* /*context*/) {
    ++handled;
    std::printf("  in %d", signal);
    show_mask("");
}

void masks() {
    set_stack(alternate.data(), alternate.size());
    for (const int flags : {0, SA_NODEFER, static_cast<int>(SA_RESETHAND)}) {
        handle(used_signal, show_inside, SA_ONSTACK | SA_SIGINFO | flags, {SIGHUP, SIGWINCH});
        raise(used_signal);
        show_mask("after");
        struct sigaction now {};
        sigaction(used_signal, nullptr, &now);
        std::printf("flags %x default %d masks %d %d\n", static_cast<unsigned>(now.sa_flags),
                    now.sa_handler == SIG_DFL ? 1 : 0, sigismember(&now.sa_mask, SIGHUP),
                    sigismember(&now.sa_mask, SIGUSR2));
    }
    handle(used_signal, show_inside, SA_ONSTACK | SA_SIGINFO);
    handle(SIGUSR2, show_inside, SA_ONSTACK | SA_SIGINFO);
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, used_signal);
    sigaddset(&both, SIGUSR2);
    sigaddset(&both, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &both, nullptr);
    sigset_t only_hup;
    sigemptyset(&only_hup);
    sigaddset(&only_hup, SIGHUP);
    for (int i = 0; i < 3; ++i) {
        raise(used_signal);
        raise(SIGUSR2);
        // A wait may end for another reason than these two.
        const int before = handled;
        int result = 0;
        do {
            errno = 0;
            result = i == 0   ? sigsuspend(&only_hup)
                     : i == 1 ? ppoll(nullptr, 0, nullptr, &only_hup)
                              : pselect(0, nullptr, nullptr, nullptr, nullptr, &only_hup);
        } while (handled == before && errno == EINTR);
        std::printf("waited: %d %d\n", result, errno);
        show_mask("after");
    }
}

// -- actions

void show_action(const char* when, const struct sigaction& action) {
    const bool is_place = action.sa_sigaction == show_place;
    const bool is_inside = action.sa_sigaction == show_inside;
    std::printf("%s: %s flags %x hup %d own %d\n", when,
                is_place                       ? "place"
                : is_inside                    ? "inside"
                : action.sa_handler == SIG_DFL ? "default"
                : action.sa_handler == SIG_IGN ? "ignore"
                                               : "another",
                static_cast<unsigned>(action.sa_flags), sigismember(&action.sa_mask, SIGHUP),
                sigismember(&action.sa_mask, used_signal));
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // siginterrupt
void actions() {
    struct sigaction old {};
    handle(used_signal, show_place, SA_ONSTACK | SA_SIGINFO | SA_RESTART, {SIGHUP});
    sigaction(used_signal, nullptr, &old);
    show_action("set", old);
    struct sigaction next {};
    next.sa_sigaction = show_inside;
    next.sa_flags = SA_SIGINFO;
    sigaction(used_signal, &next, &old);
    show_action("replaced", old);
    handle(used_signal, show_place, SA_ONSTACK | SA_SIGINFO, {SIGHUP, used_signal});
    sigaction(used_signal, &next, &old);
    show_action("with itself", old);
    handle(used_signal, show_place, SA_ONSTACK | SA_SIGINFO, {SIGHUP});
    struct sigaction placed {};
    placed.sa_sigaction = show_place;
    std::printf("signal: %d\n", signal(used_signal, SIG_IGN) == placed.sa_handler ? 1 : 0);
    handle(used_signal, show_place, SA_ONSTACK | SA_SIGINFO, {SIGHUP});
    siginterrupt(used_signal, 1);
    sigaction(used_signal, nullptr, &old);
    show_action("interrupts", old);
    siginterrupt(used_signal, 0);
    sigaction(used_signal, nullptr, &old);
    show_action("restarts", old);
    errno = 0;
    std::printf("kill: %d", sigaction(SIGKILL, &next, nullptr));
    std::printf(" %d\n", errno);
    next.sa_flags |= SA_ONSTACK;
    std::printf("kill: %d", sigaction(SIGKILL, &next, nullptr));
    std::printf(" %d\n", errno);
    std::printf("none: %d\n", sigaction(65, &next, &old));
    set_stack(alternate.data(), alternate.size());
    raise(used_signal);
}

#pragma GCC diagnostic pop

// -- burst

std::array<int, 65> seen{};

void count_on_stack(int signal, siginfo_t* info, void* context) {
    const bool is_right =
        info->si_signo == signal && name_of(context) == std::string_view{"second"};
    seen[static_cast<std::size_t>(signal)] += is_right ? 1 : 1000;
}

void burst() {
    static std::array<char, std::size_t{2} * 1024 * 1024> large;
    const stack_t stack{large.data(), 0, large.size()};
    sigaltstack(&stack, nullptr);
    set_stack(second.data(), second.size());
    sigset_t all;
    sigemptyset(&all);
    for (int signal = 40; signal < 50; ++signal) {
        handle(signal, count_on_stack, SA_SIGINFO | SA_ONSTACK);
        sigaddset(&all, signal);
    }
    for (int round = 0; round < 100; ++round) {
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        for (int signal = 40; signal < 50; ++signal) {
            raise(signal);
        }
        pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
    }
    for (int signal = 40; signal < 50; ++signal) {
        std::printf("%d: %d\n", signal, seen[static_cast<std::size_t>(signal)]);
    }
}

// -- inside

void set_inside(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
    show_set("set inside", second.data(), second.size(), 0);
    show_stack("inside");
}

void inside() {
    set_stack(alternate.data(), alternate.size());
    for (const int flags : {SA_SIGINFO, SA_SIGINFO | SA_ONSTACK}) {
        handle(used_signal, set_inside, flags);
        raise(used_signal);
        show_stack("after");  // the kernel restores what was set at the handler's entry
    }
    set_stack(nullptr, 0, SS_DISABLE);
    raise(used_signal);
    show_stack("after");
    targets::burn(5'000'000);
    show_stack("later");
}

// -- autodisarm

void look_disarmed(int signal, siginfo_t* info, void* context) {
    show_place(signal, info, context);
    if (depth-- > 0) {
        // Entered afresh: on the stack that this handler runs on, as that is not in force.
        show_set("set inside", second.data(), second.size(), kAutodisarm);
        raise(SIGUSR2);
        show_stack("after the inner one");
    }
}

void autodisarm_here() {
    handle(used_signal, look_disarmed, SA_SIGINFO | SA_ONSTACK);
    handle(SIGUSR2, look_disarmed, SA_SIGINFO | SA_ONSTACK);
    for (int i = 0; i < 2; ++i) {
        set_stack(alternate.data(), alternate.size(), kAutodisarm);
        depth = 0;
        raise(used_signal);
        show_stack("after");
    }
    targets::burn(5'000'000);
    depth = 1;
    raise(used_signal);
    show_stack("after");
    // A handler that does not ask for the stack disarms it as well.
    handle(SIGUSR2, look_disarmed, SA_SIGINFO);
    set_stack(alternate.data(), alternate.size(), kAutodisarm);
    depth = 0;
    raise(SIGUSR2);
    show_stack("after one on the usual stack");
}

// -- jump

void leave(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
    siglongjmp(target, 1);
}

[[gnu::noinline]] bool is_left_by_jump() {
    if (sigsetjmp(target, 1) != 0) {
        return true;
    }
    raise(used_signal);
    return false;
}

void jump() {
    for (const int flags : {0, kAutodisarm}) {
        std::uint64_t jumps = 0;
        for (int i = 0; i < 2000; ++i) {
            set_stack(alternate.data(), alternate.size(), flags);
            handle(used_signal, leave, SA_SIGINFO | SA_ONSTACK);
            jumps += is_left_by_jump() ? 1 : 0;
        }
        targets::tell("jumps", jumps);
        show_stack("after");
        show_mask("after");
    }
}

// -- left

int hup_and_alarm = -1;

void keep_mask(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    hup_and_alarm = sigismember(&now, SIGHUP) + 2 * sigismember(&now, SIGALRM);
}

void left() {
    set_stack(alternate.data(), alternate.size());
    handle(SIGUSR2, leave, SA_SIGINFO);
    handle(SIGALRM, keep_mask, SA_SIGINFO | SA_ONSTACK);
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) {
        std::perror("pipe");
    }
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGUSR2);
    sigaddset(&both, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &both, nullptr);
    raise(SIGUSR2);
    if (sigsetjmp(target, 1) == 0) {
        sigset_t none;
        sigemptyset(&none);
        for (;;) {
            sigsuspend(&none);
        }
    }
    const itimerval often{{0, 20'000}, {0, 20'000}};
    setitimer(ITIMER_REAL, &often, nullptr);
    ssize_t result = 0;
    do {
        char byte = 0;
        errno = 0;
        result = read(ends[0], &byte, 1);
    } while (hup_and_alarm < 0 && errno == EINTR);
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    std::printf("read: %zd %d, masks %d\n", result, errno == EINTR ? 1 : 0, hup_and_alarm);
    show_mask("after");
}

// -- child

void in_child(const char* who) {
    show_stack(who);
    show_set("set", second.data(), second.size(), 0);
    handle(used_signal, show_place, SA_SIGINFO | SA_ONSTACK);
    raise(used_signal);
    show_stack("end");
    std::fflush(stdout);
}

void child() {
    set_stack(alternate.data(), alternate.size());
    handle(used_signal, set_inside, SA_SIGINFO | SA_ONSTACK);
    std::fflush(stdout);
    const pid_t forked = fork();
    if (forked == 0) {
        in_child("child");
        targets::burn(5'000'000);
        in_child("child");
        _exit(0);
    }
    waitpid(forked, nullptr, 0);
    if (const pid_t sharing = vfork(); sharing == 0) {
        signal(used_signal, SIG_IGN);
        const stack_t none{nullptr, SS_DISABLE, 0};
        sigaltstack(&none, nullptr);
        _exit(0);
    } else {
        waitpid(sharing, nullptr, 0);
    }
    show_stack("parent");
    raise(used_signal);
    show_stack("after");
}

// -- threads

thread_local char* own_stack = nullptr;
thread_local int own_signals = 0;
std::uint64_t good_threads = 0;

void on_own_stack(int /*signal*/, siginfo_t* /*info*/, void* context) {
    const auto* at = static_cast<const char*>(context);
    own_signals += at > own_stack && at < own_stack + 16384 ? 1 : 1000;
}

void* use_own_stack(void* /*unused*/) {
    stack_t before{};
    sigaltstack(nullptr, &before);
    std::vector<char> memory(16384);
    own_stack = memory.data();
    set_stack(own_stack, 16384);
    for (int i = 0; i < 5; ++i) {
        pthread_kill(pthread_self(), used_signal);
        targets::burn(20'000);
    }
    stack_t now{};
    sigaltstack(nullptr, &now);
    set_stack(nullptr, 0, SS_DISABLE);
    const bool is_good = own_signals == 5 && (before.ss_flags & SS_DISABLE) != 0 &&
                         now.ss_sp == own_stack && now.ss_size == 16384;
    return is_good ? own_stack : nullptr;
}

void threads() {
    handle(used_signal, on_own_stack, SA_SIGINFO | SA_ONSTACK);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{64} * 1024);
    for (const std::size_t at_once : {1000, 1, 1000}) {
        std::vector<pthread_t> all(at_once);
        for (pthread_t& thread : all) {
            if (pthread_create(&thread, &attributes, use_own_stack, nullptr) != 0) {
                std::printf("pthread_create failed\n");
                return;
            }
        }
        for (const pthread_t thread : all) {
            void* result = nullptr;
            pthread_join(thread, &result);
            good_threads += result != nullptr ? 1 : 0;
        }
        targets::tell("good", good_threads);
    }
}

// -- none

TARGET_KEEP void work_on_small_stack() {
    std::uint64_t state = 88172645463325252U;
    for (int unit = 0; unit < 6000; ++unit) {
        state = targets::work_unit(state);
    }
    targets::consume(state);
}

/// On 2 KiB above words that must not change.
bool leaves_neighbours_alone() {
    constexpr std::size_t kWordsBytes = 8192;
    constexpr std::size_t kSmallBytes = 2048;
    alignas(64) std::array<char, kWordsBytes + kSmallBytes> memory;
    memory.fill('w');
    ucontext_t back;
    ucontext_t there;
    getcontext(&there);
    there.uc_stack = {memory.data() + kWordsBytes, 0, kSmallBytes};
    there.uc_link = &back;
    makecontext(&there, work_on_small_stack, 0);
    swapcontext(&back, &there);
    return std::all_of(memory.begin(), memory.begin() + kWordsBytes,
                       [](char word) { return word == 'w'; });
}

void* work_and_wait(void* barrier) {
    const bool is_whole = leaves_neighbours_alone();
    pthread_barrier_wait(static_cast<pthread_barrier_t*>(barrier));
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    const bool is_clean = is_whole && leaves_neighbours_alone() &&
                          sigismember(&mask, SIGTRAP) == 0 && sigismember(&mask, SIGURG) == 0;
    return is_clean ? barrier : nullptr;
}

void none() {
    constexpr unsigned kThreads = 40;
    static std::array<pthread_t, kThreads> all;
    static pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, kThreads);
    // Stacks of the program's own: libc has to map nothing.
    constexpr std::size_t kBytes = std::size_t{128} * 1024;
    auto* memory = static_cast<char*>(mmap(nullptr, kThreads * kBytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::free(std::malloc(100'000));
    const rlimit little{1, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &little);
    unsigned started = 0;
    for (unsigned i = 0; i < kThreads; ++i) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, memory + i * kBytes, kBytes);
        started += pthread_create(&all[i], &attributes, work_and_wait, &barrier) == 0 ? 1 : 0;
    }
    unsigned clean = 0;
    for (const pthread_t thread : all) {
        void* result = nullptr;
        pthread_join(thread, &result);
        clean += result != nullptr ? 1 : 0;
    }
    std::printf("started %u clean %u\n", started, clean);
}

// -- overflow

void exit_from_stack(int /*signal*/, siginfo_t* /*info*/, void* context) {
    std::printf("on %s\n", name_of(context));
    std::fflush(stdout);
    _exit(3);
}

void again_and_again(int signal, siginfo_t* /*info*/, void* /*context*/) {
    raise(signal);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
TARGET_KEEP int recurse(int level) {
    std::array<volatile char, 32768> room;  // few frames: they are walked on the way
    room[static_cast<std::size_t>(level) % room.size()] = 1;
    return recurse(level + 1) + room[0];
}
#pragma GCC diagnostic pop

void overflow(std::string_view mode) {
    if (mode == "overflow-inside") {
        set_stack(alternate.data(), alternate.size());
        handle(used_signal, again_and_again,
               SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_NODEFER));
        raise(used_signal);
        return;
    }
    if (mode == "overflow") {
        set_stack(alternate.data(), alternate.size());
    }
    handle(SIGSEGV, exit_from_stack, SA_SIGINFO | SA_ONSTACK);
    recurse(0);
}

void run(std::string_view mode) {
    if (mode == "answers") {
        answers();
    } else if (mode == "places") {
        places();
    } else if (mode == "registers") {
        registers();
    } else if (mode == "masks") {
        masks();
    } else if (mode == "actions") {
        actions();
    } else if (mode == "burst") {
        burst();
    } else if (mode == "inside") {
        inside();
    } else if (mode == "autodisarm") {
        on_usual_stack(autodisarm_here);
    } else if (mode == "jump") {
        jump();
    } else if (mode == "left") {
        left();
    } else if (mode == "child") {
        on_usual_stack(child);
    } else if (mode == "threads") {
        threads();
    } else if (mode == "none") {
        none();
    } else {
        overflow(mode);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        return targets::usage("MODE [trap|urg]");
    }
    if (argc > 2) {
        used_signal = std::strcmp(argv[2], "trap") == 0 ? SIGTRAP : SIGURG;
    }
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
    targets::burn(10'000'000);
    run(argv[1]);
    std::printf("end\n");
    return 0;
}
