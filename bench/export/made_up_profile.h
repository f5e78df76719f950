// A profile as large as one wants, made of random numbers that are the same each time.
//
// It is shaped like that of a program with deep stacks: the path wanders down and up a tree, and
// each sample is taken near the last one, so that neighbours share most of their stacks.
#pragma once

#include "callgraph/profile.h"

#include <cstdint>

namespace sample::bench {

struct Size {
    std::uint32_t nodes = 1'000'000;
    std::uint64_t samples = 10'000'000;
    std::uint32_t functions = 20'000;
    std::uint32_t threads = 8;
};

/// Needs at least as many samples as nodes. Its nodes, functions and samples agree as in any
/// Profile.
[[nodiscard]] callgraph::Profile make_profile(const Size& size);

}  // namespace sample::bench
