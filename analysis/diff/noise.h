// How much of a difference between two recordings may be chance: intervals, and which differences
// among many are surely none.
//
// What samples tell is a count of them. Taken at a fixed period they vary less than independent
// ones would, so a count is taken to be Poisson's, a share of a known number of samples binomial's:
// the worst that sampling does. Intervals of one count are the exact ones (Garwood; Clopper and
// Pearson), which hold for 0 samples, too; that of a difference is made of both ends' distances
// (MOVER). Samples of unequal weight count as fewer equal ones: (sum of w)^2 / (sum of w^2), which
// has the variance of the sum. What a clock measured has no noise.
//
// Runs of one program differ by more than that. Where each side has several, an interval also holds
// the spread between them, twice:
//   * As estimated of this difference and of all others together (Smyth): a few runs say little of
//     one function's spread, and much of that of thousands.
//   * At the error of a single comparison as estimated of this difference alone, with Student's t
//     (Welch): a machine that was slow during one run was so for all functions at once, of which
//     having thousands tells no more than having one.
//
// Many differences are judged at once: by Benjamini and Hochberg's rule the intervals are widened
// until, of those that are then called different, the stated share at most is so by chance; where
// nothing differs, a single one is called with no more than that probability. Differences of so few
// samples that no outcome could ever be called are no part of the comparison (Tarone).
//
// Sources: F. Garwood, Biometrika 28 (1936); C. Clopper and E. Pearson, Biometrika 26 (1934);
// G. Zou and A. Donner, Statistics in Medicine 27 (2008); B. Welch, Biometrika 34 (1947); G. Smyth,
// Statistical Applications in Genetics and Molecular Biology 3 (2004); Y. Benjamini and Y.
// Hochberg, JRSS B 57 (1995); Y. Benjamini and D. Yekutieli, JASA 100 (2005), the intervals of what
// was selected; R. Tarone, Biometrics 46 (1990).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sample::analysis {

/// One amount as it was measured: fixed + count * unit.
struct Estimate {
    double count = 0;  ///< Samples of equal weight that tell as much as those that were taken.
    double unit = 0;   ///< What one of them stands for; positive also where there is none.
    double fixed = 0;  ///< What a clock measured.
    double of = 0;     ///< Such samples of the whole that this is a share of; 0: no share.

    [[nodiscard]] double value() const noexcept { return fixed + count * unit; }
};

struct Interval {
    double low = 0;
    double high = 0;

    [[nodiscard]] bool excludes_zero() const noexcept { return low > 0 || high < 0; }
};

/// How far a difference of means over runs varies, as far as so many degrees of freedom tell.
struct Spread {
    double variance = 0;
    double freedom = 0;  ///< 0: nothing is known of it, nor is it allowed for.
};

struct Difference {
    Estimate before;
    Estimate after;
    Spread spread = {};  ///< As its own runs tell.
    Spread pooled = {};  ///< As those of all differences tell; moderate() says.
    double least = 0;    ///< Of half its interval; likewise.
};

/// Where the mean of a count lies, but for `error`, half of it at either end. 0 < error < 1.
[[nodiscard]] Interval interval_of_count(double count, double error);
/// The same of a share: the mean of `count` of `of`.
[[nodiscard]] Interval interval_of_share(double count, double of, double error);
/// Where after - before lies, but for `error`.
[[nodiscard]] Interval interval_of(const Difference& difference, double error);

/// The spread of a difference of two means, from each one's.
[[nodiscard]] Spread spread_of_difference(const Spread& before, const Spread& after);

/// What many differences tell of their spread: each is expected to have the variance of its
/// sampling, and a relative one that is the same for all.
struct UsualSpread {
    double relative = 0;      ///< That variance.
    double ratio = 1;         ///< Of a variance to the expected one.
    double freedom = 0;       ///< Infinite, if they vary no more than chance makes them.
    double most_freedom = 0;  ///< With which any spread can be known: that of all together.
};

[[nodiscard]] UsualSpread usual_spread(std::span<const Difference> differences);
/// Makes the interval of `difference` hold the spread between runs. `error`: of the family.
void moderate(Difference& difference, const UsualSpread& usual, double error);

/// False if so few samples cannot tell a difference at `error`, however they are distributed.
[[nodiscard]] bool can_tell(const Difference& difference, double error);

struct Level {
    double error = 0;        ///< A difference is called if its interval at this error excludes 0.
    std::size_t judged = 0;  ///< How many differences it makes up for.
};

struct Called {
    Level level;
    std::vector<std::size_t> indices;  ///< Of the differences that are called; ascending.
};

/// Those that are called at the level which keeps the share of false ones among them to `error`.
[[nodiscard]] Called call(std::span<const Difference> differences, double error);

}  // namespace sample::analysis
