// Stacks to walk: a callback runs below a chain of distinct functions.
#pragma once

#include "unwind/walk/walk.h"

#include <cstddef>

namespace sample::unwind::bench {

/// What runs at the bottom; `data` is handed through.
using Leaf = void (*)(void* data);

/// Calls `leaf` below `depth` frames, without frame pointers, of 64 functions in turn, of which
/// some save rbp, and of sizes as real ones have.
void run_below(int depth, Leaf leaf, void* data);

/// The same with frame pointers in each function.
void run_below_with_frame_pointers(int depth, Leaf leaf, void* data);

}  // namespace sample::unwind::bench
