// libsample-itt.so: what programs say by Intel's ITT interface, as what they say by sample/trace.h.
//
// INTEL_LIBITTNOTIFY64 names it. Each static part (the program's, libtbb's, libomp's, …) loads it
// with its first call and hands over its table of functions, which we fill. Without the agent, or
// while `--trace` does not name the channel `itt`, the table stays empty: the static part says
// nothing to anybody.
//
// It is never unloaded (-z nodelete): programs hold pointers to its functions and handles.
#include "receivers/itt/abi.h"
#include "receivers/itt/functions.h"
#include "receivers/itt/state.h"

#include <cstring>

namespace sample::itt {
namespace {

constexpr char kPrefix[] = "__itt_";
constexpr std::size_t kPrefixBytes = sizeof kPrefix - 1;

/// For all whose result is nothing, a number or a pointer: 0.
std::uintptr_t nothing() noexcept {
    return 0;
}

/// Null: it is another one's.
void* function_if(const Function& known, const char* name) noexcept {
    const std::size_t size = std::strlen(known.name);
    if (std::strncmp(known.name, name, size) != 0) {
        return nullptr;
    }
    const char* const form = name + size;
    if (*form == '\0' || (known.wide != nullptr && std::strcmp(form, "A") == 0)) {
        return known.function;
    }
    return std::strcmp(form, "W") == 0 ? known.wide : nullptr;
}

void* function_of(const char* name) noexcept {
    for (const auto group : {task_functions(), handle_functions(), figure_functions(),
                             word_functions(), sync_functions()}) {
        for (const Function& each : group) {
            if (void* const found = function_if(each, name); found != nullptr) {
                return found;
            }
        }
    }
    return reinterpret_cast<void*>(nothing);
}

void fill(const ApiEntry& entry, bool is_used) noexcept {
    if (entry.function == nullptr) {
        return;
    }
    const bool is_known = std::strncmp(entry.name, kPrefix, kPrefixBytes) == 0;
    void* const function =
        is_used && is_known ? function_of(entry.name + kPrefixBytes) : entry.none;
    __atomic_store_n(entry.function, function, __ATOMIC_RELEASE);
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): ITT's names.

/// Fills the table of `global`, one static part's, which holds its lock meanwhile.
extern "C" __attribute__((visibility("default"))) void __itt_api_init(Global* global,
                                                                      int /*groups*/) {
    if (global == nullptr || std::memcmp(global->magic, kMagic, sizeof kMagic) != 0 ||
        global->api_list == nullptr) {
        return;
    }
    const bool is_used = SAMPLE_TRACE_IS_ON(::itt);
    for (const ApiEntry* entry = global->api_list; entry->name != nullptr; ++entry) {
        fill(*entry, is_used);
    }
    // Those that it has made before it knew us.
    for (Domain* domain = global->domain_list; domain != nullptr; domain = domain->next) {
        domain->flags = is_used ? 1 : 0;
    }
}

/// The static part goes. What its threads have open, they may still end by another one.
extern "C" __attribute__((visibility("default"))) void __itt_api_fini(Global* /*global*/) {}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

}  // namespace sample::itt
