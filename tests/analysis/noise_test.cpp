// Intervals against values computed with exact fractions, and what the rules promise against
// enumeration and simulation.
#include "analysis/diff/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace sample::analysis {
namespace {

constexpr double kError = 0.05;

/// Counts of samples that stand for one unit each.
Difference counts(double before, double after) {
    return {{before, 1, 0, 0}, {after, 1, 0, 0}};
}

TEST(Noise, intervals_of_counts_are_exact) {
    struct Known {
        double count, error, low, high;
    };
    // Printed by exact_intervals.py.
    constexpr Known kKnown[] = {
        {0, 0.05, 0.000000000, 3.688879454},      {0, 0.0001, 0.000000000, 9.903487553},
        {1, 0.05, 0.025317808, 5.571643391},      {1, 0.0001, 0.000050001, 12.506671285},
        {3, 0.05, 0.618672123, 8.767273070},      {3, 0.0001, 0.068090621, 16.750860099},
        {5, 0.05, 1.623486390, 11.668332079},     {5, 0.0001, 0.383023360, 20.473811900},
        {20, 0.05, 12.216519585, 30.888377903},   {20, 0.0001, 7.062098133, 43.692706783},
        {100, 0.05, 81.363991251, 121.626793792}, {100, 0.0001, 65.708223932, 144.890724605},
    };
    for (const Known& known : kKnown) {
        const Interval interval = interval_of_count(known.count, known.error);
        EXPECT_NEAR(interval.low, known.low, 1e-8) << known.count << " at " << known.error;
        EXPECT_NEAR(interval.high, known.high, 1e-8) << known.count << " at " << known.error;
    }
}

TEST(Noise, intervals_of_shares_are_exact) {
    struct Known {
        double count, of, error, low, high;
    };
    // Printed by exact_intervals.py.
    constexpr Known kKnown[] = {
        {0, 10, 0.05, 0.000000000, 0.308497108},  {0, 10, 0.0001, 0.000000000, 0.628552876},
        {3, 10, 0.05, 0.066739511, 0.652452850},  {3, 10, 0.0001, 0.007568766, 0.870938549},
        {10, 10, 0.05, 0.691502892, 1.000000000}, {10, 10, 0.0001, 0.371447124, 1.000000000},
        {1, 40, 0.05, 0.000632745, 0.131585858},  {1, 40, 0.0001, 0.000001250, 0.271491275},
        {39, 40, 0.05, 0.868414142, 0.999367255}, {39, 40, 0.0001, 0.728508725, 0.999998750},
    };
    for (const Known& known : kKnown) {
        const Interval interval = interval_of_share(known.count, known.of, known.error);
        EXPECT_NEAR(interval.low, known.low, 1e-8) << known.count << " of " << known.of;
        EXPECT_NEAR(interval.high, known.high, 1e-8) << known.count << " of " << known.of;
    }
}

TEST(Noise, a_few_samples_more_are_no_difference) {
    EXPECT_FALSE(interval_of(counts(3, 5), kError).excludes_zero());
    EXPECT_FALSE(interval_of(counts(0, 5), kError).excludes_zero());
    EXPECT_FALSE(interval_of(counts(5, 14), kError).excludes_zero());
    EXPECT_TRUE(interval_of(counts(0, 6), kError).excludes_zero());
    EXPECT_TRUE(interval_of(counts(5, 15), kError).excludes_zero());
    EXPECT_TRUE(interval_of(counts(10'000, 10'300), kError).excludes_zero());
}

TEST(Noise, ends_of_a_difference_are_made_of_both_intervals) {
    // MOVER by hand, from the ends that exact_intervals.py prints for 20 and 100.
    const Interval interval = interval_of(counts(20, 100), kError);
    EXPECT_NEAR(interval.low, 80 - std::hypot(100 - 81.363991251, 30.888377903 - 20), 1e-7);
    EXPECT_NEAR(interval.high, 80 + std::hypot(121.626793792 - 100, 20 - 12.216519585), 1e-7);
    const Interval mirrored = interval_of(counts(100, 20), kError);
    EXPECT_DOUBLE_EQ(mirrored.low, -interval.high);
    EXPECT_DOUBLE_EQ(mirrored.high, -interval.low);
}

TEST(Noise, what_a_clock_measured_has_none) {
    const Interval interval = interval_of({{0, 1, 7, 0}, {0, 1, 12, 0}}, kError);
    EXPECT_NEAR(interval.low, 5 - 3.688879454, 1e-8);
    EXPECT_NEAR(interval.high, 5 + 3.688879454, 1e-8);
    const Difference sampled_alike{{400, 2, 1000, 0}, {400, 2, 1010, 0}};
    const Interval shifted = interval_of(sampled_alike, kError);
    EXPECT_NEAR((shifted.low + shifted.high) / 2, 10, 1e-9);
}

TEST(Noise, fewer_and_heavier_samples_tell_less) {
    const Interval light = interval_of({{1000, 1, 0, 0}, {1000, 1, 0, 0}}, kError);
    const Interval heavy = interval_of({{100, 10, 0, 0}, {100, 10, 0, 0}}, kError);
    EXPECT_GT(heavy.high, 3 * light.high);
}

TEST(Noise, a_share_of_nearly_all_is_nearly_certain) {
    const Difference shares{{9'990, 1e-4, 0, 10'000}, {9'990, 1e-4, 0, 10'000}};
    const Difference as_counts{{9'990, 1e-4, 0, 0}, {9'990, 1e-4, 0, 0}};
    EXPECT_LT(interval_of(shares, kError).high, 0.1 * interval_of(as_counts, kError).high);
}

/// The probability that two counts with the same mean are called different.
double probability_of_a_false_call(double mean, double ratio, double error) {
    const auto probabilities = [](double of_mean) {
        std::vector<double> result(static_cast<std::size_t>(of_mean + 10 * std::sqrt(of_mean)) +
                                   20);
        for (std::size_t i = 0; i < result.size(); ++i) {
            const auto count = static_cast<double>(i);
            result[i] = std::exp(count * std::log(of_mean) - of_mean - std::lgamma(count + 1));
        }
        return result;
    };
    constexpr double kNegligible = 1e-9;
    const std::vector<double> before = probabilities(mean / ratio);
    const std::vector<double> after = probabilities(mean);
    double called = 0;
    for (std::size_t a = 0; a < before.size(); ++a) {
        for (std::size_t b = 0; b < after.size(); ++b) {
            const double both = before[a] * after[b];
            if (both > kNegligible && interval_of({{static_cast<double>(a), ratio, 0, 0},
                                                   {static_cast<double>(b), 1, 0, 0}},
                                                  error)
                                          .excludes_zero()) {
                called += both;
            }
        }
    }
    return called;
}

TEST(Noise, equal_means_are_called_different_no_more_often_than_stated) {
    for (const double error : {0.05, 0.001}) {
        for (const double mean : {0.5, 2.0, 5.0, 12.0, 30.0}) {
            EXPECT_LE(probability_of_a_false_call(mean, 1, error), error) << mean;
            EXPECT_LE(probability_of_a_false_call(mean, 4, error), error) << mean;
        }
    }
    EXPECT_GT(probability_of_a_false_call(30, 1, 0.05), 0.03) << "far too wide to be of use";
}

/// The error at which a difference is only just called.
double p_value(const Difference& difference) {
    double low = 1e-15;
    double high = 1;
    for (int i = 0; i < 60; ++i) {
        const double middle = std::sqrt(low * high);
        (interval_of(difference, middle).excludes_zero() ? high : low) = middle;
    }
    return high;
}

TEST(Noise, many_differences_are_judged_by_benjamini_and_hochberg) {
    std::mt19937 random{1};
    for (int round = 0; round < 30; ++round) {
        std::vector<Difference> differences;
        const auto size = std::uniform_int_distribution<std::size_t>{1, 12}(random);
        for (std::size_t i = 0; i < size; ++i) {
            std::poisson_distribution<int> before{100.0};
            std::poisson_distribution<int> after{i % 2 == 0 ? 100.0 : 145.0};
            differences.push_back(counts(before(random), after(random)));
        }
        // As it is written in the paper: the greatest k whose k-th smallest p is at most k q / m.
        std::vector<double> p(size);
        std::transform(differences.begin(), differences.end(), p.begin(), p_value);
        std::sort(p.begin(), p.end());
        std::size_t called = 0;
        for (std::size_t k = 1; k <= p.size(); ++k) {
            if (p[k - 1] <= kError * static_cast<double>(k) / static_cast<double>(p.size())) {
                called = k;
            }
        }
        const Called by_us = call(differences, kError);
        const Level& level = by_us.level;
        EXPECT_EQ(level.judged, size);
        EXPECT_EQ(by_us.indices.size(), called);
        EXPECT_EQ(std::count_if(differences.begin(), differences.end(),
                                [&](const Difference& each) {
                                    return interval_of(each, level.error).excludes_zero();
                                }),
                  static_cast<std::ptrdiff_t>(called));
        EXPECT_DOUBLE_EQ(level.error, kError *
                                          static_cast<double>(std::max<std::size_t>(called, 1)) /
                                          static_cast<double>(size));
    }
}

TEST(Noise, what_can_tell_nothing_costs_the_others_nothing) {
    EXPECT_FALSE(can_tell(counts(2, 3), kError));
    EXPECT_FALSE(can_tell(counts(0, 5), kError));
    EXPECT_TRUE(can_tell(counts(0, 6), kError));
    EXPECT_TRUE(can_tell({{0, 1, 0, 0}, {1, 1, 3, 0}}, kError)) << "clocks differ";
    std::vector<Difference> differences(1000, counts(1, 2));
    differences.push_back(counts(100, 160));
    const Level level = call(differences, kError).level;
    EXPECT_EQ(level.judged, 1U);
    EXPECT_DOUBLE_EQ(level.error, kError);
}

TEST(NoiseBetweenRuns, degrees_of_freedom_are_welchs) {
    // By hand: (4 + 1)^2 / (4^2 / 2 + 1^2 / 4).
    const Spread unequal = spread_of_difference({4, 2}, {1, 4});
    EXPECT_DOUBLE_EQ(unequal.variance, 5);
    EXPECT_DOUBLE_EQ(unequal.freedom, 25 / 8.25);
    EXPECT_DOUBLE_EQ(spread_of_difference({0, 2}, {0, 2}).freedom, 4) << "all runs alike";
    EXPECT_EQ(spread_of_difference({}, {}).freedom, 0);
}

/// With a spread of `times` what sampling makes, as four degrees of freedom tell.
Difference with_spread(double count, double times) {
    Difference difference = counts(count, count);
    difference.spread = {times * 2 * count, 4};
    return difference;
}

TEST(NoiseBetweenRuns, few_functions_are_judged_by_students_t) {
    Difference alone = with_spread(10'000, 100);
    moderate(alone, usual_spread(std::vector{alone}), kError);
    // From a table of Student's t with 4 degrees of freedom: 2.776445 at 5 %, 8.610302 at 0.1 %.
    const double deviation = 10 * std::sqrt(20'000);
    EXPECT_NEAR(interval_of(alone, kError).high, 2.776445 * deviation, 1e-3);
    EXPECT_NEAR(interval_of(alone, 0.001).low, -8.610302 * deviation, 1e-3);
}

TEST(NoiseBetweenRuns, runs_that_are_alike_do_not_hide_the_noise_of_sampling) {
    const Difference plain = counts(1000, 1000);
    Difference alike = with_spread(1000, 0.01);
    moderate(alike, usual_spread(std::vector{alike}), kError);
    EXPECT_GE(interval_of(alike, kError).high, interval_of(plain, kError).high);
}

TEST(NoiseBetweenRuns, without_several_runs_nothing_is_added) {
    Difference pair = counts(1000, 1100);
    moderate(pair, usual_spread(std::vector{pair, pair}), kError);
    EXPECT_DOUBLE_EQ(interval_of(pair, 0.01).high, interval_of(counts(1000, 1100), 0.01).high);
}

TEST(NoiseBetweenRuns, many_functions_tell_what_is_usual) {
    // Variances that are estimated with four degrees of freedom, all of the same truth: twenty-five
    // times what sampling makes of 1000 samples, so a relative variance of 24 / 1000.
    std::mt19937 random{1};
    std::chi_squared_distribution<double> estimated{4};
    std::vector<Difference> differences;
    differences.reserve(4000);
    for (int i = 0; i < 4000; ++i) {
        differences.push_back(with_spread(1000, 25 * estimated(random) / 4));
    }
    const UsualSpread usual = usual_spread(differences);
    EXPECT_NEAR(usual.relative, 0.024, 0.001);
    EXPECT_NEAR(usual.ratio, 1, 0.01);
    EXPECT_GT(usual.freedom, 50) << "they differ by chance alone";
    // One function's own estimate counts for little then, and sampling for little of the rest.
    Difference one = with_spread(1000, 2);
    moderate(one, usual, kError);
    EXPECT_NEAR(std::sqrt(one.pooled.variance / (2 * 25 * 1000)), 1, 0.1);
    // Where truths differ by much, it counts for most.
    std::lognormal_distribution<double> truth{0, 2};
    for (Difference& each : differences) {
        each.spread.variance *= truth(random);
    }
    EXPECT_LT(usual_spread(differences).freedom, 3);
}

TEST(Noise, nothing_to_judge_is_no_trouble) {
    const Level level = call({}, kError).level;
    EXPECT_EQ(level.judged, 0U);
    EXPECT_DOUBLE_EQ(level.error, kError);
}

}  // namespace
}  // namespace sample::analysis
