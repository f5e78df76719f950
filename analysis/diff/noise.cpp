#include "analysis/diff/noise.h"

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace sample::analysis {

namespace {

namespace policies = boost::math::policies;
using policies::error_policy_type;

/// Never throws; double precision is enough by far.
using Policy = policies::policy<policies::domain_error<error_policy_type::ignore_error>,
                                policies::pole_error<error_policy_type::ignore_error>,
                                policies::overflow_error<error_policy_type::ignore_error>,
                                policies::evaluation_error<error_policy_type::ignore_error>,
                                policies::promote_double<false>>;

// One end at a time: most callers want only one, and each takes a numerical inversion.

double low_end(const Estimate& estimate, double error) {
    const double x = estimate.count;
    if (!(x > 0)) {
        return estimate.fixed;
    }
    const double of = estimate.of;
    const double low = of > 0
                           ? of * boost::math::ibeta_inv(std::min(x, of), std::max(of - x, 0.0) + 1,
                                                         error / 2, Policy{})
                           : boost::math::gamma_p_inv(x, error / 2, Policy{});
    return estimate.fixed + low * estimate.unit;
}

double high_end(const Estimate& estimate, double error) {
    const double x = std::max(estimate.count, 0.0);
    const double of = estimate.of;
    if (of > 0 && x >= of) {
        return estimate.fixed + of * estimate.unit;
    }
    const double high = of > 0 ? of * boost::math::ibetac_inv(x + 1, of - x, error / 2, Policy{})
                               : boost::math::gamma_q_inv(x + 1, error / 2, Policy{});
    return estimate.fixed + high * estimate.unit;
}

/// How far either end is from the middle, `spread` having been estimated.
double half_interval(const Spread& spread, double error) {
    if (!(spread.freedom > 0)) {
        return 0;
    }
    const boost::math::students_t_distribution<double, Policy> student{spread.freedom};
    return std::sqrt(spread.variance) * quantile(complement(student, error / 2));
}

double low_end(const Difference& difference, double error) {
    const double before = difference.before.value();
    const double after = difference.after.value();
    return after - before -
           std::max({std::hypot(after - low_end(difference.after, error),
                                high_end(difference.before, error) - before),
                     half_interval(difference.pooled, error), difference.least});
}

double high_end(const Difference& difference, double error) {
    Difference mirrored = difference;
    std::swap(mirrored.before, mirrored.after);
    return -low_end(mirrored, error);
}

/// Costs half of what both ends do.
bool excludes_zero(const Difference& difference, double error) {
    return difference.after.value() > difference.before.value() ? low_end(difference, error) > 0
                                                                : high_end(difference, error) < 0;
}

double variance(const Estimate& estimate) {
    const double part = estimate.of > 0 ? std::min(estimate.count / estimate.of, 1.0) : 0;
    return estimate.count * estimate.unit * estimate.unit * (1 - part);
}

double sampling_variance(const Difference& difference) {
    return variance(difference.before) + variance(difference.after);
}

/// Newton's method as in Smyth's appendix.
double inverse_trigamma(double value) {
    constexpr int kMostSteps = 50;
    constexpr double kPrecision = 1e-8;
    double x = 0.5 + 1 / value;
    for (int i = 0; i < kMostSteps; ++i) {
        const double trigamma = boost::math::trigamma(x, Policy{});
        const double step =
            trigamma * (1 - trigamma / value) / boost::math::polygamma(2, x, Policy{});
        x += step;
        if (-step / x < kPrecision) {
            break;
        }
    }
    return x;
}

/// The expected logarithm of a variance that is 1, estimated with so many degrees of freedom.
double expected_log(double freedom) {
    return boost::math::digamma(freedom / 2, Policy{}) - std::log(freedom / 2);
}

/// `relative`: the variance between runs, of values that are 1.
double expected_variance(const Difference& difference, double relative) {
    const double before = difference.before.value();
    const double after = difference.after.value();
    return sampling_variance(difference) + relative * (before * before + after * after);
}

/// The logarithm of how much more a difference varied than expected; 0 on average.
double excess(const Difference& difference, double relative) {
    return std::log(difference.spread.variance / expected_variance(difference, relative)) -
           expected_log(difference.spread.freedom);
}

double mean_excess(std::span<const Difference* const> differences, double relative) {
    return std::accumulate(differences.begin(), differences.end(), 0.0,
                           [relative](double sum, const Difference* each) {
                               return sum + excess(*each, relative);
                           }) /
           static_cast<double>(differences.size());
}

/// Which they vary by on average besides their sampling; 0 if that explains all.
double relative_variance(std::span<const Difference* const> differences) {
    constexpr int kSteps = 50;
    double low = 1e-12;
    double high = 1;
    if (mean_excess(differences, low) <= 0) {
        return 0;
    }
    for (int i = 0; i < kSteps; ++i) {
        const double middle = std::sqrt(low * high);
        (mean_excess(differences, middle) > 0 ? low : high) = middle;
    }
    return high;
}

std::vector<const Difference*> that_tell_of_spread(std::span<const Difference> differences) {
    constexpr double kEnoughSamples = 50;  // Fewer are far from normally distributed.
    std::vector<const Difference*> telling;
    double last_variance = 0;
    for (const Difference& each : differences) {
        // Self and total of a function that calls nothing are one figure, not two.
        const double variance = each.spread.variance;
        const bool is_another = std::exchange(last_variance, variance) != variance;
        if (is_another && each.spread.freedom > 0 && variance > 0 && sampling_variance(each) > 0 &&
            each.before.count + each.after.count >= kEnoughSamples) {
            telling.push_back(&each);
        }
    }
    return telling;
}

}  // namespace

Spread spread_of_difference(const Spread& before, const Spread& after) {
    const double sum = before.variance + after.variance;
    if (!(sum > 0)) {
        return {0, before.freedom + after.freedom};
    }
    return {sum, sum * sum /
                     (before.variance * before.variance / before.freedom +
                      after.variance * after.variance / after.freedom)};
}

UsualSpread usual_spread(std::span<const Difference> differences) {
    const std::vector<const Difference*> telling = that_tell_of_spread(differences);
    if (telling.size() < 2) {
        return {};
    }
    UsualSpread usual;
    double by_chance = 0;
    for (const Difference* each : telling) {
        usual.most_freedom += each->spread.freedom;
        by_chance += boost::math::trigamma(each->spread.freedom / 2, Policy{});
    }
    usual.relative = relative_variance(telling);
    const auto size = static_cast<double>(telling.size());
    const double mean = mean_excess(telling, usual.relative);
    const double squares = std::accumulate(
        telling.begin(), telling.end(), 0.0, [&](double sum, const Difference* each) {
            const double distance = excess(*each, usual.relative) - mean;
            return sum + distance * distance;
        });
    const double beyond_chance = squares / (size - 1) - by_chance / size;
    usual.freedom = beyond_chance > 0 ? 2 * inverse_trigamma(beyond_chance)
                                      : std::numeric_limits<double>::infinity();
    usual.ratio = std::exp(mean + (beyond_chance > 0 ? expected_log(usual.freedom) : 0));
    return usual;
}

void moderate(Difference& difference, const UsualSpread& usual, double error) {
    const Spread& own = difference.spread;
    if (!(own.freedom > 0)) {
        return;
    }
    difference.least = half_interval(own, error);
    difference.pooled = own;
    // What has no noise of sampling (the whole's share of itself) has no usual spread either.
    if (sampling_variance(difference) > 0) {
        const double weight_of_own = own.freedom / (usual.freedom + own.freedom);
        const double variance =
            (1 - weight_of_own) * usual.ratio * expected_variance(difference, usual.relative) +
            weight_of_own * own.variance;
        difference.pooled = {variance, std::min(usual.freedom + own.freedom,
                                                std::max(usual.most_freedom, own.freedom))};
    }
}

Interval interval_of_count(double count, double error) {
    const Estimate estimate{count, 1, 0, 0};
    return {low_end(estimate, error), high_end(estimate, error)};
}

Interval interval_of_share(double count, double of, double error) {
    const Estimate estimate{count, 1 / of, 0, of};
    return {low_end(estimate, error), high_end(estimate, error)};
}

Interval interval_of(const Difference& difference, double error) {
    return {low_end(difference, error), high_end(difference, error)};
}

bool can_tell(const Difference& difference, double error) {
    const Estimate& before = difference.before;
    const Estimate& after = difference.after;
    if (before.fixed != after.fixed) {
        return true;
    }
    // If nothing differs, each sample is one of `before` with the probability that its unit's
    // share of both leaves; at the utmost all samples are of the side that is the less probable.
    const double units = before.unit + after.unit;
    const double least = std::min(before.unit, after.unit) / units;
    return least > 0 &&
           std::log(2) + (before.count + after.count) * std::log(least) <= std::log(error);
}

Called call(std::span<const Difference> differences, double error) {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < differences.size(); ++i) {
        if (can_tell(differences[i], error)) {
            left.push_back(i);
        }
    }
    // The greatest number of differences that are all called at its own share of the error: each
    // step can but lose some, and the first that loses none has found it.
    Level level{error, left.size()};
    std::size_t called = left.size();
    while (true) {
        std::erase_if(left,
                      [&](std::size_t i) { return !excludes_zero(differences[i], level.error); });
        if (left.size() == called || level.judged == 0) {
            return {level, std::move(left)};
        }
        called = std::max<std::size_t>(left.size(), 1);
        const double error_of_called =
            error * static_cast<double>(called) / static_cast<double>(level.judged);
        if (error_of_called == level.error) {
            return {level, std::move(left)};
        }
        level.error = error_of_called;
    }
}

}  // namespace sample::analysis
