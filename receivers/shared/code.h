// Addresses of code in words.
#pragma once

#include "receivers/shared/text.h"

namespace sample::receivers {

/// The name of the exported function that begins there, or "file+0x123". Asks the loader, which
/// takes a lock: once an address.
[[nodiscard]] Text words_of_code(const void* code) noexcept;

}  // namespace sample::receivers
