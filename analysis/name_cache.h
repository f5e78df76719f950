// The user's cache of names: where it is, and whether it is wanted.
#pragma once

#include "symbolize/cache/symbol_cache.h"

#include <memory>

namespace sample::analysis {

/// nullptr if it is not wanted: neither by the option, `use_cache`, nor by SAMPLE_CACHE, which off,
/// 0, no and false turn off; or if it can't be used.
[[nodiscard]] std::unique_ptr<symbolize::SymbolCache> user_cache(bool use_cache);

}  // namespace sample::analysis
