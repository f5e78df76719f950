// A thread with a small alternate signal stack, above a page that must not be touched.
//
//     altstack around|inside BYTES SECONDS
//
// around: the thread works on its usual stack; a profiler's handler with SA_ONSTACK runs on the
//         alternate one.
// inside: the thread works in a handler of its own that runs on the alternate stack, so that a
//         profiler's handler comes on top of it there.
//
// Stats: an overrun hits the guard page and is a SIGSEGV. In the end the alternate stack reads back
// as it was set: `same=1`.
#include "work.h"

#include <sys/mman.h>

#include <csignal>

namespace {

constexpr std::size_t kPage = 4096;
std::uint64_t work_ns = 0;

}  // namespace

TARGET_KEEP void work_on_altstack(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

TARGET_KEEP void work_on_usual_stack(std::uint64_t cpu_ns) {
    targets::burn(cpu_ns);
}

static void on_user_signal(int /*signal*/) {
    work_on_altstack(work_ns);
}

int main(int argc, char** argv) {
    if (argc != 4) {
        return targets::usage("around|inside BYTES SECONDS");
    }
    const std::size_t stack_bytes = targets::number(argv[2]);
    work_ns = targets::seconds_to_ns(argv[3]);
    auto* low = static_cast<char*>(mmap(nullptr, kPage + stack_bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(low, kPage, PROT_NONE);
    stack_t stack{};
    stack.ss_sp = low + kPage;
    stack.ss_size = stack_bytes;
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_handler = on_user_signal;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    if (std::strcmp(argv[1], "inside") == 0) {
        raise(SIGUSR1);
    } else {
        work_on_usual_stack(work_ns);
    }
    stack_t now{};
    sigaltstack(nullptr, &now);
    targets::tell("same", now.ss_sp == stack.ss_sp && now.ss_size == stack.ss_size ? 1 : 0);
}
