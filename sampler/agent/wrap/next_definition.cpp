#include "sampler/agent/wrap/next_definition.h"

#include <dlfcn.h>

// The section's bounds, by the linker.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" [[gnu::visibility("hidden")]] sample::agent::NextSymbol __start_sample_next[];
extern "C" [[gnu::visibility("hidden")]] sample::agent::NextSymbol __stop_sample_next[];
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace sample::agent {

static_assert(sizeof(NextDefinition<void()>) == sizeof(NextSymbol));

void* find_next(const char* name) noexcept {
    // Through a pointer: dlsym goes by who calls it, and of a call by the linkage table that is the
    // loader where an auditor looks at returns; there it crashes. Source: rtld-audit(7),
    // la_pltexit.
    void* (*const volatile look_up)(void*, const char*) = ::dlsym;
    return look_up(RTLD_NEXT, name);
}

void* NextSymbol::find() noexcept {
    void* function = find_next(name_);
    function_.store(function, std::memory_order_relaxed);
    return function;
}

void find_next_definitions() noexcept {
    for (NextSymbol* next = __start_sample_next; next != __stop_sample_next; ++next) {
        static_cast<void>(next->find());
    }
}

}  // namespace sample::agent
