// A program to which a tracer attaches while it runs, as a debugger does.
//
//     traced_later
//
// Stats: a child of the program's traces its parent and passes each signal on, until half a second
// has gone by without any: `quiet=1`; or twenty seconds at most: `quiet=0`. `stops=` is how many
// there were. The parent works all the time. Bare, nobody sends it a signal. Source: ptrace(2),
// PTRACE_SEIZE.
#include "work.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace {

constexpr std::uint64_t kQuietNs = 500'000'000;
constexpr std::uint64_t kMostNs = 20'000'000'000;

struct Shared {
    std::atomic<int> may_attach{0};
    std::atomic<int> done{0};
    std::atomic<int> quiet{0};
    std::atomic<std::uint64_t> stops{0};
};

void detach_from(pid_t parent) {
    ptrace(PTRACE_INTERRUPT, parent, nullptr, nullptr);
    for (;;) {
        int status = 0;
        if (waitpid(parent, &status, __WALL) < 0) {
            return;
        }
        const bool is_signal = WIFSTOPPED(status) && status >> 16 == 0;
        if (!is_signal) {
            ptrace(PTRACE_DETACH, parent, nullptr, nullptr);
            return;
        }
        ptrace(PTRACE_CONT, parent, nullptr, WSTOPSIG(status));
    }
}

void trace(pid_t parent, Shared& shared) {
    if (ptrace(PTRACE_SEIZE, parent, nullptr, nullptr) != 0) {
        std::perror("traced_later");
        shared.done.store(1);
        return;
    }
    const std::uint64_t start = targets::wall_ns();
    std::uint64_t last_stop = start;
    for (;;) {
        const std::uint64_t now = targets::wall_ns();
        if (now - last_stop > kQuietNs || now - start > kMostNs) {
            shared.quiet.store(now - last_stop > kQuietNs ? 1 : 0);
            break;
        }
        int status = 0;
        if (waitpid(parent, &status, WNOHANG | __WALL) != parent) {
            usleep(1000);
            continue;
        }
        if (WIFSTOPPED(status)) {
            last_stop = targets::wall_ns();
            shared.stops.fetch_add(1);
            ptrace(PTRACE_CONT, parent, nullptr, WSTOPSIG(status));
        }
    }
    detach_from(parent);
    shared.done.store(1);
}

}  // namespace

int main() {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return 1;
    }
    auto& shared = *new (memory) Shared{};
    const pid_t parent = getpid();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    const pid_t child = fork();
    if (child == 0) {
        while (shared.may_attach.load() == 0) {
            usleep(1000);
        }
        trace(parent, shared);
        _exit(0);
    }
    targets::burn(200'000'000);
    shared.may_attach.store(1);
    while (shared.done.load() == 0) {
        targets::burn(10'000'000);
    }
    waitpid(child, nullptr, 0);
    targets::tell("quiet", static_cast<std::uint64_t>(shared.quiet.load()));
    targets::tell("stops", shared.stops.load());
}
