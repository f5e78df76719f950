// Memory to share with the profiled processes: a mapping of one process's area in this process,
// shared with the gatekeeper's thread.
#pragma once

#include "core/fd.h"
#include "core/result.h"
#include "sampler/capture/area.h"
#include "sampler/capture/definition_store.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace sample::collector {

/// A file in memory, of `bytes`, that can be sealed. The limit on the size of files (ulimit -f)
/// holds for it, too, and may be meant for the program or the recording: where we may, we raise it
/// for a moment. Not open, with errno set (EFBIG: the limit), if it can't be had. Thread-safe.
/// Source: setrlimit(2), RLIMIT_FSIZE; memfd_create(2).
[[nodiscard]] Fd make_shared_memory(const char* name, std::uint64_t bytes);

/// What a process's mappings call its area, behind "memfd:".
inline constexpr const char* kAreaName = "sample";

class AreaMapping {
public:
    /// A new, sealed memfd with an area in it. `max_depth` is the area's.
    /// `channels`: that are on, separated by commas; empty: nobody asks what the program says.
    static Result<std::shared_ptr<AreaMapping>> create(std::uint64_t period_ns, double ticks_per_ns,
                                                       bool is_root, std::uint32_t max_depth,
                                                       const std::string& channels = {});
    AreaMapping(Fd fd, capture::AreaStart& start, std::size_t chunk_groups,
                capture::DefinitionStore* definitions)
        : fd_{std::move(fd)}, area_{start, chunk_groups}, definitions_{definitions} {}
    AreaMapping(const AreaMapping&) = delete;
    AreaMapping& operator=(const AreaMapping&) = delete;
    ~AreaMapping();

    [[nodiscard]] capture::Area& area() { return area_; }
    /// Null: nobody asks.
    [[nodiscard]] capture::DefinitionStore* definitions() const { return definitions_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Memory behind it, in this process or the target.
    [[nodiscard]] std::uint64_t resident_bytes() const;

private:
    Fd fd_;
    capture::Area area_;
    capture::DefinitionStore* definitions_;
};

/// The area's samples stand for another period from now on.
void set_period(capture::AreaHeader& header, std::uint64_t period_ns, double ticks_per_ns);

/// An area made before it is asked for: a process that joins waits in front of its main(). Made
/// again in the session's idle time. Not thread-safe.
class SpareArea {
public:
    SpareArea(std::uint64_t period_ns, std::uint32_t max_depth, std::string channels = {})
        : period_ns_{period_ns}, max_depth_{max_depth}, channels_{std::move(channels)} {}

    /// Makes the spare, if there is none, and touches the pages that every process writes first.
    void prepare(double ticks_per_ns);

    /// The spare, or a new one.
    [[nodiscard]] Result<std::shared_ptr<AreaMapping>> take(double ticks_per_ns, bool is_root);

private:
    std::uint64_t period_ns_;
    std::uint32_t max_depth_;
    std::string channels_;
    std::shared_ptr<AreaMapping> spare_;
};

}  // namespace sample::collector
