// A tally for people, and for the script that makes one table of many.
#pragma once

#include "tests/unwind/differential/comparison.h"

#include <cstdint>
#include <cstdio>
#include <string>

namespace sample::unwind::differential {

struct RunFigures {
    std::string command;
    std::uint64_t lost = 0;
    std::size_t examples = 0;  ///< Of stacks, for each class of difference.
};

/// Of the walks that the copies of the stacks suffice for.
[[nodiscard]] double root_percent(const Tally& tally);

/// The shares, each class of difference by module and function, and where our walks stopped.
void print_report(const Tally& tally, const RunFigures& figures, std::FILE* out);

/// The same as one JSON object.
void write_json(const Tally& tally, const RunFigures& figures, std::FILE* out);

}  // namespace sample::unwind::differential
