// How deep a name's parts may stand in each other, and how many there may be: a few kilobytes of
// hostile types can spell a name without end.
#pragma once

#include "symbolize/debug_names.h"

#include <cstddef>

namespace sample::symbolize {

/// One level of nesting while it lives.
class DebugNames::Level {
public:
    static constexpr std::size_t kLongestName = std::size_t{64} << 10;

    explicit Level(DebugNames& names) : names_{names} {
        ++names_.depth_;
        ++names_.steps_;
        if (names_.depth_ > kDeepest) {
            names_.steps_ = kMostSteps + 1;
        }
    }
    ~Level() { --names_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Level(Level&&) = delete;
    Level& operator=(Level&&) = delete;

    [[nodiscard]] bool is_inside() const { return !is_out_of_bounds(names_); }
    [[nodiscard]] static bool is_out_of_bounds(const DebugNames& names) {
        return names.steps_ > kMostSteps;
    }

private:
    static constexpr int kDeepest = 64;
    static constexpr int kMostSteps = 4096;

    DebugNames& names_;
};

}  // namespace sample::symbolize
