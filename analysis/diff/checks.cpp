// Whether two profiles can be compared, and whether one is worse than a gate allows.
#include "analysis/diff/diff.h"
#include "core/text.h"
#include "core/units.h"

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
    std::vector<std::string> make(Profiles before, Profiles after, bool scales_are_chosen) && {
        add_side('A', before);
        add_side('B', after);
        for (std::size_t i = 1; i < profiles_.size(); ++i) {
            compare(profiles_[0], profiles_[i], scales_are_chosen);
        }
        for (const Named& each : profiles_) {
            add_own(each.name, each.profile->stats);
        }
        return std::move(lines_);
    }

private:
    struct Named {
        std::string name;
        const callgraph::Profile* profile;
    };

    void add_side(char side, Profiles profiles) {
        for (std::size_t i = 0; i < profiles.size(); ++i) {
            profiles_.push_back({run_name(side, i, profiles.size()), profiles[i]});
        }
    }

    void compare(const Named& one, const Named& other, bool scales_are_chosen) {
        names_ = one.name + " and " + other.name;
        const callgraph::Profile& before = *one.profile;
        const callgraph::Profile& after = *other.profile;
        const Stats& a = before.stats;
        const Stats& b = after.stats;
        differ("clock", a.clock, b.clock, "one counts waiting and the other does not");
        differ("source", a.source, b.source, "sources see different parts of the kernel's time");
        differ("frequency", hertz(a), hertz(b), "the slower one misses more of what is short");
        differ("period", period(a), period(b), "the longer one misses more of what is rare");
        if (before.event != after.event) {
            lines_.push_back(fmt::format(
                "{} sampled different events ({}, {}): they do not count the same thing", names_,
                event(before), event(after)));
        }
        if (before.is_net != after.is_net) {
            lines_.push_back(fmt::format(
                "what sampling took is in the durations of {}, not in those of {}",
                before.is_net ? other.name : one.name, before.is_net ? one.name : other.name));
        }
        if (before.scale != after.scale && !scales_are_chosen) {
            lines_.push_back(
                fmt::format("durations are multiplied by {:.4g} in {}, by {:.4g} in {}: use "
                            "--average for both, or --normalize",
                            before.scale, one.name, after.scale, other.name));
        }
    }

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
            lines_.push_back(fmt::format("{} differ in the {} ({}, {}): {}", names_, what,
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
                             ": their time was counted with the next sample of the thread");
        }
        if (stats.incomplete_stacks > stats.samples / kPart) {
            lines_.push_back(side + " has " + counted(stats.incomplete_stacks, "incomplete stack") +
                             ": the totals of their callers are too small");
        }
    }

    std::vector<Named> profiles_;
    std::string names_;  ///< Of the two that are being compared.
    std::vector<std::string> lines_;
};

}  // namespace

std::string run_name(char side, std::size_t index, std::size_t runs) {
    return runs == 1 ? std::string{side} : side + std::to_string(index + 1);
}

std::vector<std::string> comparability_warnings(Profiles before, Profiles after,
                                                bool scales_are_chosen) {
    return Warnings{}.make(before, after, scales_are_chosen);
}

std::vector<GateFailure> gate_failures(const Diff& diff, double percent) {
    std::vector<GateFailure> failures;
    const double whole = diff.whole.before.value;
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
