#include "sampler/agent/wrap/next_definition.h"

#include <dlfcn.h>

// The section's bounds, by the linker.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" [[gnu::visibility("hidden")]] sample::agent::NextSymbol __start_sample_next[];
extern "C" [[gnu::visibility("hidden")]] sample::agent::NextSymbol __stop_sample_next[];
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace sample::agent {

static_assert(sizeof(NextDefinition<void()>) == sizeof(NextSymbol));

void* NextSymbol::find() noexcept {
    void* function = ::dlsym(RTLD_NEXT, name_);
    function_.store(function, std::memory_order_relaxed);
    return function;
}

void find_next_definitions() noexcept {
    for (NextSymbol* next = __start_sample_next; next != __stop_sample_next; ++next) {
        static_cast<void>(next->find());
    }
}

}  // namespace sample::agent
