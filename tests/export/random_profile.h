// Profiles made of random numbers, small and nasty: mutual recursion, inlined calls, functions that
// share their name, threads that share stacks, bookings, names that are no UTF-8.
#pragma once

#include "callgraph/profile.h"

#include <cstdint>

namespace sample::exports {

/// By lines and with a timeline; nodes, functions, threads and samples agree. The same for the same
/// seed.
[[nodiscard]] callgraph::Profile random_profile(std::uint32_t seed);

}  // namespace sample::exports
