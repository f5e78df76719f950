// Whether two recordings can be compared, and whether one is worse than a gate allows.
#include "cli/diff_report.h"
#include "cli/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace sample::cli {
namespace {

using callgraph::Truth;

std::string number(double value) {
    std::array<char, 32> buffer{};
    const int size = std::snprintf(buffer.data(), buffer.size(), "%.4g", value);
    return {buffer.data(), static_cast<std::size_t>(size)};
}

class Warnings {
public:
    explicit Warnings(const DiffReport& report) : report_{report} {}

    std::vector<std::string> make() && {
        const callgraph::Profile& before = report_.before.profile;
        const callgraph::Profile& after = report_.after.profile;
        const Truth& a = before.truth;
        const Truth& b = after.truth;
        differ("clock", a.clock, b.clock, "one counts waiting and the other does not");
        differ("source", a.source, b.source, "sources see different parts of the kernel's time");
        differ("frequency", hertz(a), hertz(b), "the slower one misses more of what is short");
        differ("period", period(a), period(b), "the longer one misses more of what is rare");
        if (before.event != after.event) {
            lines_.push_back("A and B sampled different events (" + event(before) + ", " +
                             event(after) + "): they do not count the same thing");
        }
        if (before.scale != after.scale && !report_.options.choice.average_s) {
            lines_.push_back("durations are multiplied by " + number(before.scale) + " in A, by " +
                             number(after.scale) + " in B: use --average for both, or --normalize");
        }
        add_own("A", a);
        add_own("B", b);
        return std::move(lines_);
    }

private:
    static std::string event(const callgraph::Profile& profile) {
        return profile.event.empty() ? "the clock" : printable(profile.event);
    }
    static std::string hertz(const Truth& truth) {
        return truth.requested_hz == 0 ? "" : grouped(truth.requested_hz) + " Hz";
    }
    static std::string period(const Truth& truth) {
        return truth.period == 0 ? "" : grouped(truth.period);
    }

    /// Says so if both are known and differ.
    void differ(const char* what, const std::string& a, const std::string& b, const char* why) {
        if (a != b && !a.empty() && !b.empty()) {
            lines_.push_back("A and B differ in the " + std::string{what} + " (" + printable(a) +
                             ", " + printable(b) + "): " + why);
        }
    }

    void add_own(const std::string& side, const Truth& truth) {
        constexpr std::uint64_t kPart = 100;
        if (!truth.whole) {
            lines_.push_back(side + " is cut off: what ran at its end is missing");
        }
        if (truth.lost > truth.samples / kPart) {
            lines_.push_back(side + " lost " + counted(truth.lost, "sample") + " of " +
                             grouped(truth.lost + truth.samples) +
                             ": their time is at other places");
        }
        if (truth.incomplete_stacks > truth.samples / kPart) {
            lines_.push_back(side + " has " + counted(truth.incomplete_stacks, "incomplete stack") +
                             ": totals of callers lack their time");
        }
    }

    const DiffReport& report_;
    std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> comparability_warnings(const DiffReport& report) {
    return Warnings{report}.make();
}

std::vector<GateFailure> gate_failures(const callgraph::Diff& diff, double percent) {
    constexpr double kHundred = 100;
    std::vector<GateFailure> failures;
    const double whole = diff.value_before(diff.whole);
    const auto check = [&](const callgraph::Compared& compared, std::optional<std::size_t> index) {
        if (compared.verdict == callgraph::Verdict::worse &&
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

}  // namespace sample::cli
