// A program that gives the processor a state of its own while it works and while signals come, as
// emulators and loaders of foreign programs do.
//
//     processor_state WAY
//
// WAY: what the thread register (FS) is: fs-null, fs-odd, fs-unmapped, fs-far (the kernel's half),
// fs-alone (a block that points at itself, and below is nothing); or ac (misaligned access is
// checked), df (strings go downward), mxcsr (every exception of floating point comes), x87
// (likewise, and one waits), gs (that register leads nowhere).
//
// Stats: 0.2 s of work in state_work(); meanwhile a timer's signals come and two that it sends
// itself, each to a handler on another stack: `signals=2`. Status 77: the processor cannot.
// Source: arch_prctl(2); wrfsbase(2) of the processor's manual; getauxval(3).
#include "work.h"

#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

namespace {

volatile int timers = 0;
volatile int others = 0;

/// Without errno, which is where the thread register says.
[[gnu::always_inline]] inline long call(long number, long a = 0, long b = 0, long c = 0) {
    long result = number;
    asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

void on_timer(int /*signal*/) {
    timers = timers + 1;
}
void on_other(int /*signal*/) {
    others = others + 1;
}

char* map_behind_a_gap() {
    constexpr std::size_t kPage = 4096;
    auto* pages = static_cast<char*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages, kPage, PROT_NONE);
    return pages + kPage;
}

/// What FS is to be; 0 where nothing is to be changed.
std::uint64_t thread_register(std::string_view way) {
    char* const behind_a_gap = map_behind_a_gap();
    if (way == "fs-alone") {
        for (const int word : {0, 2}) {
            std::memcpy(behind_a_gap + word * 8, &behind_a_gap, sizeof behind_a_gap);
        }
        return reinterpret_cast<std::uint64_t>(behind_a_gap);
    }
    return way == "fs-odd"        ? 1
           : way == "fs-unmapped" ? reinterpret_cast<std::uint64_t>(behind_a_gap) - 2048
           : way == "fs-far"      ? 0xffff'8000'0000'0000U
                                  : 0;
}

[[gnu::always_inline]] inline void set_thread_register(std::uint64_t value, bool by_instruction) {
    if (by_instruction) {
        asm volatile("wrfsbase %0" : : "r"(value) : "memory");
    } else {
        call(SYS_arch_prctl, ARCH_SET_FS, static_cast<long>(value));
    }
}

constexpr std::uint64_t kAlignmentCheck = 0x40000;

[[gnu::always_inline]] inline void change_flag(std::uint64_t flag, bool is_set) {
    const std::uint64_t flags = __builtin_ia32_readeflags_u64();
    __builtin_ia32_writeeflags_u64(is_set ? flags | flag : flags & ~flag);
    asm volatile("" ::: "memory");
}

void trap_floating_point(std::string_view way) {
    if (way == "mxcsr") {
        const unsigned all = 0x3f;  // no exception masked
        asm volatile("ldmxcsr %0" : : "m"(all));
    } else {
        const unsigned short none_masked = 0x0340;
        asm volatile("fldz\n\tfld1\n\tfdivp" : : : "st");  // masked, and noted
        asm volatile("fldcw %0" : : "m"(none_masked));
    }
}
void calm_floating_point() {
    const unsigned usual = 0x1f80;
    asm volatile("fninit\n\tldmxcsr %0" : : "m"(usual));
}

}  // namespace

/// Nothing in it goes by the thread register or is misaligned.
TARGET_KEEP void state_work(long pid) {
    std::uint64_t state = 88172645463325252U;
    for (std::uint64_t unit = 0; unit < 400'000; ++unit) {
        state = targets::work_unit(state);
        if (unit == 100'000) {
            call(SYS_tgkill, pid, pid, SIGTRAP);
        } else if (unit == 200'000) {
            call(SYS_tgkill, pid, pid, SIGUSR1);
        }
    }
    targets::consume(state);
}

namespace {

/// As it calls nothing between the two, it needs no thread register.
[[gnu::noinline, gnu::optimize("no-stack-protector")]] void work_with(std::uint64_t value, long pid,
                                                                      bool by_instruction) {
    std::uint64_t own = 0;
    call(SYS_arch_prctl, ARCH_GET_FS, reinterpret_cast<long>(&own));
    set_thread_register(value, by_instruction);
    state_work(pid);
    set_thread_register(own, by_instruction);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view way = argc > 1 ? argv[1] : "fs-null";
    const bool has_instruction = (getauxval(AT_HWCAP2) & 2) != 0;  // HWCAP2_FSGSBASE
    if (way == "fs-far" && !has_instruction) {
        return 77;
    }
    static char memory[65536];
    const stack_t stack{memory, 0, sizeof memory};
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    action.sa_handler = on_timer;
    sigaction(SIGALRM, &action, nullptr);
    action.sa_handler = on_other;
    sigaction(SIGTRAP, &action, nullptr);
    sigaction(SIGUSR1, &action, nullptr);
    const itimerval often{{0, 10'000}, {0, 10'000}};
    setitimer(ITIMER_REAL, &often, nullptr);
    const long pid = getpid();
    if (way.starts_with("fs-")) {
        work_with(thread_register(way), pid, way == "fs-far");
    } else if (way == "ac") {
        change_flag(kAlignmentCheck, true);
        state_work(pid);
        change_flag(kAlignmentCheck, false);
    } else if (way == "df") {
        asm volatile("std");
        state_work(pid);
        asm volatile("cld");
    } else if (way == "gs") {
        call(SYS_arch_prctl, ARCH_SET_GS, reinterpret_cast<long>(map_behind_a_gap() - 8));
        state_work(pid);
    } else {
        trap_floating_point(way);
        state_work(pid);
        calm_floating_point();
    }
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    targets::tell("signals", static_cast<std::uint64_t>(others));
    targets::tell("timers", timers > 0 ? 1 : 0);
}
