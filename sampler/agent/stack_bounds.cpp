#include "sampler/agent/stack_bounds.h"

#include "sampler/capture/capture.h"
#include "sampler/capture/raw_syscall.h"

#include <sys/resource.h>

#include <cstdint>

// The loader's note of where the kernel put the first stack word. Source: glibc, GLIBC_2.2.5.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void* __libc_stack_end;

namespace sample::agent {
namespace {

constexpr std::uint64_t kPage = 4096;
/// Below this much stack the kernel is asked page by page: without a limit, other mappings may be
/// there.
constexpr std::uint64_t kMostTrusted = 64U << 20U;

}  // namespace

void set_main_stack_bounds() noexcept {
    if (capture::raw_syscall(SYS_gettid) != capture::raw_syscall(SYS_getpid)) {
        return;
    }
    rlimit limit{};
    std::uint64_t bytes = kMostTrusted;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < bytes) {
        bytes = limit.rlim_cur;
    }
    // The words above (arguments, environment) are on the same pages or higher ones, all mapped.
    const std::uint64_t high =
        (reinterpret_cast<std::uint64_t>(__libc_stack_end) + kPage) & ~(kPage - 1);
    capture::set_stack_bounds(high - bytes, high);
}

}  // namespace sample::agent
