#include "cli/enough_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include <cstddef>

namespace sample::cli {
namespace {

constexpr std::size_t kStackBytes = std::size_t{8} << 20;
constexpr std::size_t kGuardBytes = 4096;

/// makecontext(3) hands nothing but numbers on.
const std::function<void()>* g_body = nullptr;
ucontext_t g_outside;
ucontext_t g_inside;

void run_body() {
    (*g_body)();
}

bool is_limit_enough() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kStackBytes;
}

void give_threads_enough() {
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) == 0) {
        ::pthread_attr_setstacksize(&attributes, kStackBytes);
        ::pthread_setattr_default_np(&attributes);
        ::pthread_attr_destroy(&attributes);
    }
}

}  // namespace

void on_enough_stack(const std::function<void()>& body) {
    if (is_limit_enough()) {
        body();
        return;
    }
    give_threads_enough();
    void* const stack = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || ::mprotect(stack, kGuardBytes, PROT_NONE) != 0 ||
        ::getcontext(&g_inside) != 0) {
        body();
        return;
    }
    g_body = &body;
    g_inside.uc_stack.ss_sp = stack;
    g_inside.uc_stack.ss_size = kStackBytes;
    g_inside.uc_link = &g_outside;
    ::makecontext(&g_inside, run_body, 0);
    ::swapcontext(&g_outside, &g_inside);
}

}  // namespace sample::cli
