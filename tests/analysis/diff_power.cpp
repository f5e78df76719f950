// What `sample diff` finds, and what it finds though it is not there: in simulated pairs of
// recordings of a program of thirty functions, of which the heaviest becomes slower.
//
// Prints the share of pairs in which that function is called worse, by its number of samples, for
// durations and for shares; then the share of pairs of equal programs in which anything is called.
// Then the same of one and three recordings a side, of programs whose runs differ: by the machine's
// speed, and by each function's own.
#include "analysis/diff/diff.h"
#include "callgraph/transforms.h"
#include "simulated_program.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

namespace {

using sample::analysis::Compared;
using sample::analysis::Conditions;
using sample::analysis::Diff;
using sample::analysis::DiffOptions;
using sample::analysis::FunctionDiff;
using sample::analysis::Profile;
using sample::analysis::Run;
using sample::analysis::Verdict;

constexpr int kPairs = 1000;
constexpr double kPerCent = 100.0 / kPairs;

bool is_called(const Compared& compared) {
    return compared.verdict == Verdict::worse || compared.verdict == Verdict::better;
}

std::vector<Profile> recordings(std::mt19937& random, const Conditions& conditions, int count) {
    std::vector<Profile> result;
    result.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        result.push_back(sample::analysis::simulated_recording(random, conditions));
    }
    return result;
}

/// Per cent of comparisons of so many recordings a side of which `test` holds. With `reference`,
/// all is divided by that function.
template <class Test>
double share(const Conditions& before, const Conditions& after, const DiffOptions& options,
             const Test& test, int runs = 1, const std::string& reference = {}) {
    std::mt19937 random{2};
    int held = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
        const std::vector<Profile> profiles[] = {recordings(random, before, runs),
                                                 recordings(random, after, runs)};
        std::vector<Run> sides[2];
        std::deque<Profile> references;
        for (int side = 0; side < 2; ++side) {
            for (const Profile& profile : profiles[side]) {
                Run& run = sides[side].emplace_back(Run{&profile});
                if (!reference.empty()) {
                    run.reference = &references.emplace_back(focus(profile, reference));
                }
            }
        }
        held += test(sample::analysis::diff(sides[0], sides[1], options)) ? 1 : 0;
    }
    return kPerCent * held;
}

bool finds_it(const Diff& diff) {
    return std::any_of(diff.functions.begin(), diff.functions.end(), [](const FunctionDiff& each) {
        return each.name == "f0" && each.self.verdict == Verdict::worse;
    });
}

bool finds_anything(const Diff& diff) {
    return is_called(diff.whole) ||
           std::any_of(diff.functions.begin(), diff.functions.end(), [](const FunctionDiff& each) {
               return is_called(each.self) || is_called(each.total);
           });
}

void print_power(const DiffOptions& options) {
    constexpr double kShareOfFirst = 0.2;
    std::printf("%-10s", "samples");
    for (const int percent : {5, 10, 20, 30, 50, 100}) {
        std::printf(" %5d %%", percent);
    }
    for (const int samples : {30, 100, 300, 1000, 3000, 10'000, 30'000}) {
        std::printf("\n%-10d", samples);
        for (const int percent : {5, 10, 20, 30, 50, 100}) {
            const Conditions before{samples / kShareOfFirst, 1, 1};
            const Conditions after{before.samples, 1 + percent / 100.0, 1};
            std::printf(" %5.0f %%", share(before, after, options, finds_it));
        }
    }
    std::printf("\n\n");
}

/// One line: anything is called though nothing differs; f0 is called when it is 10 % slower.
void print_runs(int runs, double machine_spread, double own_spread, std::size_t functions) {
    constexpr double kSamples = 50'000;
    Conditions equal{kSamples, 1, 1, machine_spread, own_spread, functions};
    Conditions slower = equal;
    slower.factor = 1.1;
    DiffOptions shares;
    shares.normalize = true;
    std::printf("%-5d %7.0f %% %7.1f %% %9zu", runs, 100 * machine_spread, 100 * own_spread,
                functions);
    const struct {
        DiffOptions options;
        std::string reference;
    } hows[] = {{{}, ""}, {shares, ""}, {shares, "f1"}};
    for (const auto& [options, reference] : hows) {
        std::printf(" %7.1f %% %5.0f %%",
                    share(equal, equal, options, finds_anything, runs, reference),
                    share(equal, slower, options, finds_it, runs, reference));
    }
    std::printf("\n");
}

}  // namespace

int main() {
    DiffOptions shares;
    shares.normalize = true;
    std::printf("durations: the function is called worse, by its samples and by what it grew\n");
    print_power({});
    std::printf("shares: likewise\n");
    print_power(shares);
    std::printf("equal programs: anything is called, by all samples\n%-10s %10s %10s %12s\n",
                "samples", "durations", "shares", "heavy 12");
    for (const double samples : {50.0, 500.0, 5000.0, 50'000.0}) {
        const Conditions even{samples, 1, 1};
        const Conditions uneven{samples, 1, 12};
        std::printf(
            "%-10.0f %8.1f %% %8.1f %% %10.1f %%\n", samples, share(even, even, {}, finds_anything),
            share(even, even, shares, finds_anything), share(uneven, uneven, {}, finds_anything));
    }
    std::printf(
        "\nruns differ: called of equal programs, and found when 10 %% slower, of durations, of "
        "shares, and divided by a function\n%-5s %9s %9s %9s %17s %17s %17s\n",
        "runs", "machine", "own", "functions", "durations", "shares", "by f1");
    for (const double machine_spread : {0.0, 0.05, 0.2}) {
        for (const double own_spread : {0.0, 0.01, 0.03}) {
            print_runs(1, machine_spread, own_spread, 30);
            print_runs(3, machine_spread, own_spread, 30);
            print_runs(3, machine_spread, own_spread, 3);
        }
    }
    return 0;
}
