#include "sampler/agent/real.h"

#include <dlfcn.h>

// The section's bounds, by the linker.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" [[gnu::visibility("hidden")]] sample::agent::RealFunction __start_sample_reals[];
extern "C" [[gnu::visibility("hidden")]] sample::agent::RealFunction __stop_sample_reals[];
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace sample::agent {

static_assert(sizeof(Real<void()>) == sizeof(RealFunction));

void* RealFunction::find() noexcept {
    void* function = ::dlsym(RTLD_NEXT, name_);
    function_.store(function, std::memory_order_relaxed);
    return function;
}

void find_real_functions() noexcept {
    for (RealFunction* real = __start_sample_reals; real != __stop_sample_reals; ++real) {
        static_cast<void>(real->find());
    }
}

}  // namespace sample::agent
