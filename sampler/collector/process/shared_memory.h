// Memory to share with the profiled processes.
#pragma once

#include "core/fd.h"

#include <cstdint>

namespace sample::collector {

/// A file in memory, of `bytes`, that can be sealed. The limit on the size of files (ulimit -f)
/// holds for it, too, and may be meant for the program or the recording: where we may, we raise it
/// for a moment. Not open, with errno set (EFBIG: the limit), if it can't be had. Thread-safe.
/// Source: setrlimit(2), RLIMIT_FSIZE; memfd_create(2).
[[nodiscard]] Fd make_shared_memory(const char* name, std::uint64_t bytes);

}  // namespace sample::collector
