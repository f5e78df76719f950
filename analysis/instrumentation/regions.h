// The regions of a program: stretches of time that may overlap, and end on another thread than
// they began on.
#pragma once

#include "analysis/instrumentation/duration_histogram.h"
#include "trace/instrumentation.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sample::analysis {

/// Of all regions of one name.
struct RegionTotals {
    std::string name;
    std::string category;
    std::uint64_t begun = 0;
    std::uint64_t open = 0;       ///< Of those, never ended.
    DurationHistogram durations;  ///< Of those that ended.
};

class Regions {
public:
    struct Region {
        std::uint32_t name = 0;  ///< Index into names().
        ThreadId thread;         ///< That it began on.
        std::uint64_t begin_ns = 0;
        std::optional<std::uint64_t> end_ns;  ///< None: it never ended.
    };

    void add(const trace::RegionBegin& begin);
    void add(const trace::RegionEnd& end);
    /// Behind the last one: each, by its beginning. Beginnings and ends come together by their
    /// times, as threads come in any order.
    [[nodiscard]] std::vector<Region> all() const;
    /// Without figures.
    [[nodiscard]] const std::vector<RegionTotals>& names() const noexcept { return names_; }
    /// Of all(), those that `is_wanted` says (empty: every one), by name.
    [[nodiscard]] std::vector<RegionTotals> totals(
        const std::function<bool(const Region& region)>& is_wanted = {}) const;

private:
    struct Edge {
        std::uint64_t time_ns = 0;
        std::uint64_t region = 0;  ///< 0: of a name.
        std::uint32_t name = 0;    ///< Index into names_.
        ThreadId thread;
        bool is_begin = false;
    };

    std::uint32_t name_of(const std::string& name);

    std::map<std::string, std::uint32_t> index_of_;
    std::vector<RegionTotals> names_;
    std::vector<Edge> edges_;
};

}  // namespace sample::analysis
