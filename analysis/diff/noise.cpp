#include "analysis/diff/noise.h"

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include <algorithm>
#include <cmath>
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

double low_end(const Difference& difference, double error) {
    const double before = difference.before.value();
    const double after = difference.after.value();
    return after - before -
           std::hypot(after - low_end(difference.after, error),
                      high_end(difference.before, error) - before);
}

double high_end(const Difference& difference, double error) {
    return -low_end(Difference{difference.after, difference.before}, error);
}

/// Costs half of what both ends do.
bool excludes_zero(const Difference& difference, double error) {
    return difference.after.value() > difference.before.value() ? low_end(difference, error) > 0
                                                                : high_end(difference, error) < 0;
}

}  // namespace

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
