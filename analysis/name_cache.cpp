#include "analysis/name_cache.h"

#include "core/option_values.h"

#include <cstdlib>

namespace sample::analysis {

std::unique_ptr<symbolize::SymbolCache> user_cache(bool use_cache) {
    const char* variable = std::getenv("SAMPLE_CACHE");  // NOLINT(concurrency-mt-unsafe): no setenv
    if (variable != nullptr && *variable != '\0') {
        const auto wanted = parse_switch(variable);
        use_cache = use_cache && !(wanted.ok() && !wanted.value);
    }
    if (!use_cache) {
        return nullptr;
    }
    auto cache = std::make_unique<symbolize::SymbolCache>(symbolize::SymbolCache::default_folder());
    return cache->is_usable() ? std::move(cache) : nullptr;
}

}  // namespace sample::analysis
