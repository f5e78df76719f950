// An area made before it is asked for: a process that joins waits in front of its main().
//
// Made again in the session's idle time. Not thread-safe.
#pragma once

#include "sampler/collector/process/profiled_process.h"

#include <cstdint>
#include <memory>

namespace sample::collector {

class SpareArea {
public:
    SpareArea(std::uint64_t period_ns, std::uint32_t max_depth)
        : period_ns_{period_ns}, max_depth_{max_depth} {}

    /// Makes the spare, if there is none, and touches the pages that every process writes first.
    void prepare(double ticks_per_ns);

    /// The spare, or a new one.
    [[nodiscard]] Result<std::shared_ptr<AreaMapping>> take(double ticks_per_ns, bool is_root);

private:
    std::uint64_t period_ns_;
    std::uint32_t max_depth_;
    std::shared_ptr<AreaMapping> spare_;
};

}  // namespace sample::collector
