// What `sample diff` finds, and what it finds though it is not there: in simulated pairs of
// recordings of a program of thirty functions, of which the heaviest becomes slower.
//
// Prints the share of pairs in which that function is called worse, by its number of samples, for
// durations and for shares; then the share of pairs of equal programs in which anything is called.
#include "analysis/diff/diff.h"
#include "simulated_program.h"

#include <algorithm>
#include <cstdio>

namespace {

using sample::analysis::Compared;
using sample::analysis::Conditions;
using sample::analysis::Diff;
using sample::analysis::DiffOptions;
using sample::analysis::FunctionDiff;
using sample::analysis::Verdict;

constexpr int kPairs = 1000;
constexpr double kPerCent = 100.0 / kPairs;

bool is_called(const Compared& compared) {
    return compared.verdict == Verdict::worse || compared.verdict == Verdict::better;
}

/// Per cent of pairs of which `test` holds.
template <class Test>
double share(const Conditions& before, const Conditions& after, const DiffOptions& options,
             const Test& test) {
    std::mt19937 random{2};
    int held = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
        const auto first = sample::analysis::simulated_recording(random, before);
        const auto second = sample::analysis::simulated_recording(random, after);
        held += test(sample::analysis::diff(first, second, options)) ? 1 : 0;
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
    return 0;
}
