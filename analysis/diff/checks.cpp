// Whether two profiles can be compared, and whether one is worse than a gate allows.
#include "analysis/diff/diff.h"
#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace sample::analysis {
namespace {

using callgraph::Stats;

class Warnings {
public:
    std::vector<std::string> make(const callgraph::Profile& before, const callgraph::Profile& after,
                                  bool scales_are_chosen) && {
        const Stats& a = before.stats;
        const Stats& b = after.stats;
        differ("clock", a.clock, b.clock, "one counts waiting and the other does not");
        differ("source", a.source, b.source, "sources see different parts of the kernel's time");
        differ("frequency", hertz(a), hertz(b), "the slower one misses more of what is short");
        differ("period", period(a), period(b), "the longer one misses more of what is rare");
        if (before.event != after.event) {
            lines_.push_back(fmt::format(
                "A and B sampled different events ({}, {}): they do not count the same thing",
                event(before), event(after)));
        }
        if (before.scale != after.scale && !scales_are_chosen) {
            lines_.push_back(fmt::format(
                "durations are multiplied by {:.4g} in A, by {:.4g} in B: use --average for both, "
                "or --normalize",
                before.scale, after.scale));
        }
        add_own("A", a);
        add_own("B", b);
        return std::move(lines_);
    }

private:
    static std::string event(const callgraph::Profile& profile) {
        return profile.event.empty() ? "the clock" : printable(profile.event);
    }
    static std::string hertz(const Stats& stats) {
        return stats.requested_hz == 0 ? "" : grouped(stats.requested_hz) + " Hz";
    }
    static std::string period(const Stats& stats) {
        return stats.period == 0 ? "" : grouped(stats.period);
    }

    /// Says so if both are known and differ.
    void differ(const char* what, const std::string& a, const std::string& b, const char* why) {
        if (a != b && !a.empty() && !b.empty()) {
            lines_.push_back(fmt::format("A and B differ in the {} ({}, {}): {}", what,
                                         printable(a), printable(b), why));
        }
    }

    void add_own(const std::string& side, const Stats& stats) {
        constexpr std::uint64_t kPart = 100;
        if (!stats.whole) {
            lines_.push_back(side + " is cut off: what ran at its end is missing");
        }
        if (stats.lost > stats.samples / kPart) {
            lines_.push_back(side + " lost " + counted(stats.lost, "sample") + " of " +
                             grouped(stats.lost + stats.samples) +
                             ": their time is at other places");
        }
        if (stats.incomplete_stacks > stats.samples / kPart) {
            lines_.push_back(side + " has " + counted(stats.incomplete_stacks, "incomplete stack") +
                             ": totals of callers lack their time");
        }
    }

    std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> comparability_warnings(const callgraph::Profile& before,
                                                const callgraph::Profile& after,
                                                bool scales_are_chosen) {
    return Warnings{}.make(before, after, scales_are_chosen);
}

std::vector<GateFailure> gate_failures(const Diff& diff, double percent) {
    constexpr double kHundred = 100;
    std::vector<GateFailure> failures;
    const double whole = diff.value_before(diff.whole);
    const auto check = [&](const Compared& compared, std::optional<std::size_t> index) {
        if (compared.verdict == Verdict::worse &&
            compared.interval->low > percent / kHundred * whole) {
            failures.push_back({index, compared.interval->low / whole});
        }
    };
    check(diff.whole, std::nullopt);
    for (std::size_t i = 0; i < diff.functions.size(); ++i) {
        if (!diff.functions[i].is_new()) {
            check(diff.functions[i].total, i);
        }
    }
    std::stable_sort(failures.begin(), failures.end(),
                     [](const GateFailure& a, const GateFailure& b) { return a.least > b.least; });
    return failures;
}

}  // namespace sample::analysis
