// What a comparison says of profiles that were made for it, and how often it is wrong.
#include "analysis/diff/diff.h"

#include "callgraph/transforms.h"
#include "diff_fixture.h"
#include "simulated_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace sample::analysis {
namespace {

const FunctionDiff& named(const Diff& diff, std::string_view name) {
    const auto found = std::find_if(diff.functions.begin(), diff.functions.end(),
                                    [&](const FunctionDiff& each) { return each.name == name; });
    EXPECT_NE(found, diff.functions.end()) << name;
    return *found;
}

/// main, which calls `work` for so many samples and `rest` for a thousand.
Profile work_and_rest(std::uint64_t samples, const std::string& work = "work") {
    ProfileMaker maker;
    const FunctionId main = maker.function("main");
    const FunctionId worker = maker.function(work);
    maker.add({main, worker}, samples * kPeriod, samples);
    maker.add({main, maker.function("rest")}, 1000 * kPeriod, 1000);
    return maker.make();
}

TEST(Diff, more_than_noise_is_worse_or_better) {
    const Diff slower = diff_of(work_and_rest(1000), work_and_rest(1300), {});
    EXPECT_TRUE(slower.is_judged);
    EXPECT_EQ(named(slower, "work").self.verdict, Verdict::worse);
    EXPECT_EQ(named(slower, "work").total.verdict, Verdict::worse);
    EXPECT_EQ(named(slower, "main").total.verdict, Verdict::worse);
    EXPECT_EQ(named(slower, "rest").self.verdict, Verdict::within_noise);
    EXPECT_EQ(named(slower, "main").self.verdict, Verdict::within_noise) << "nothing on both sides";
    EXPECT_EQ(slower.whole.verdict, Verdict::worse);
    EXPECT_DOUBLE_EQ(slower.whole.difference(), 300.0 * kPeriod);
    const Diff faster = diff_of(work_and_rest(1300), work_and_rest(1000), {});
    EXPECT_EQ(named(faster, "work").self.verdict, Verdict::better);
    EXPECT_LT(named(faster, "work").self.interval->high, 0);
}

TEST(Diff, three_against_five_samples_are_noise) {
    const Diff diff_of_few = diff_of(work_and_rest(3), work_and_rest(5), {});
    EXPECT_EQ(named(diff_of_few, "work").self.verdict, Verdict::within_noise);
}

TEST(Diff, shares_do_not_grow_with_the_whole) {
    DiffOptions options;
    options.normalize = true;
    ProfileMaker twice;
    const FunctionId main = twice.function("main");
    twice.add({main, twice.function("work")}, 2000 * kPeriod, 2000);
    twice.add({main, twice.function("rest")}, 2000 * kPeriod, 2000);
    const Diff same = diff_of(work_and_rest(1000), twice.make(), options);
    EXPECT_EQ(named(same, "work").self.verdict, Verdict::within_noise);
    EXPECT_DOUBLE_EQ(named(same, "work").self.after.value, 0.5);
    EXPECT_EQ(same.whole.verdict, Verdict::not_judged);
    const Diff other = diff_of(work_and_rest(1000), work_and_rest(1500), options);
    EXPECT_EQ(named(other, "work").self.verdict, Verdict::worse);
    EXPECT_EQ(named(other, "rest").self.verdict, Verdict::better);
    EXPECT_EQ(named(other, "main").total.verdict, Verdict::within_noise) << "all of both";
}

TEST(Diff, recursion_counts_once) {
    const auto recursive = [](std::uint64_t samples) {
        ProfileMaker maker;
        const FunctionId f = maker.function("f");
        return maker.add({f, f, f}, samples * kPeriod, samples).add({f}, kPeriod, 1).make();
    };
    const Diff both = diff_of(recursive(10), recursive(20), {});
    EXPECT_EQ(named(both, "f").total.before.weight, 11 * kPeriod);
    EXPECT_EQ(named(both, "f").total.after.weight, 21 * kPeriod);
    EXPECT_EQ(named(both, "f").total.after.samples, 21U);
    EXPECT_EQ(named(both, "f").self.after.weight, 21 * kPeriod);
}

TEST(Diff, functions_that_are_one_are_counted_once) {
    ProfileMaker before;
    const FunctionId unknown = before.function("f");
    before.add({unknown}, 10 * kPeriod, 10);
    ProfileMaker after;
    const FunctionId one = after.function("f", "/a/x.c");
    const FunctionId other = after.function("f", "/b/y.c");
    after.add({one, other}, 4 * kPeriod, 4).add({other}, 6 * kPeriod, 6);
    const Diff merged = diff_of(before.make(), after.make(), {});
    ASSERT_EQ(merged.functions.size(), 1U);
    EXPECT_EQ(merged.functions[0].total.after.weight, 10 * kPeriod);
    EXPECT_EQ(merged.functions[0].total.after.samples, 10U);
}

TEST(Diff, new_and_gone_functions_say_so) {
    const Diff renamed = diff_of(work_and_rest(50), work_and_rest(50, "other_work"), {});
    EXPECT_TRUE(named(renamed, "work").is_gone());
    EXPECT_EQ(named(renamed, "work").self.verdict, Verdict::better);
    EXPECT_TRUE(named(renamed, "other_work").is_new());
    EXPECT_EQ(named(renamed, "other_work").self.verdict, Verdict::worse);
    EXPECT_FALSE(named(renamed, "rest").is_new() || named(renamed, "rest").is_gone());
}

TEST(Diff, what_a_clock_measured_is_not_called_worse) {
    const auto with_booking = [](std::uint64_t ns) {
        ProfileMaker maker;
        maker.add({maker.function("main")}, 100 * kPeriod, 100);
        return maker.add({maker.function("[before sampling]")}, ns, 0).make();
    };
    const Diff booked = diff_of(with_booking(1000), with_booking(900 * kPeriod), {});
    EXPECT_EQ(named(booked, "[before sampling]").self.verdict, Verdict::by_clock);
    // The whole did grow, and that by much more than its samples' noise.
    EXPECT_EQ(booked.whole.verdict, Verdict::worse);
    EXPECT_GT(booked.whole.interval->low, 800.0 * kPeriod);
}

TEST(Diff, without_numbers_of_samples_nothing_is_judged) {
    ProfileMaker maker;
    maker.add({maker.function("main")}, 100 * kPeriod, 0);
    const Diff unknown = diff_of(maker.make(), work_and_rest(10), {});
    EXPECT_FALSE(unknown.is_judged);
    EXPECT_EQ(named(unknown, "main").total.verdict, Verdict::not_judged);
    EXPECT_FALSE(named(unknown, "main").total.interval.has_value());
    EXPECT_EQ(named(unknown, "main").total.before.weight, 100 * kPeriod);
}

TEST(Diff, empty_profiles_are_no_trouble) {
    DiffOptions options;
    options.paths = options.normalize = true;
    EXPECT_FALSE(diff_of(Profile{}, Profile{}, options).is_judged);
    EXPECT_FALSE(diff_of(Profile{}, work_and_rest(10), options).is_judged);
    EXPECT_FALSE(diff_of(ProfileMaker{}.make(), ProfileMaker{}.make(), {}).is_judged);
}

TEST(Diff, only_what_is_searched_is_judged) {
    DiffOptions options;
    options.search = "rest";
    options.paths = true;
    const Diff searched = diff_of(work_and_rest(1000), work_and_rest(1300), options);
    EXPECT_TRUE(named(searched, "rest").is_chosen);
    EXPECT_FALSE(named(searched, "work").is_chosen);
    EXPECT_EQ(named(searched, "work").self.verdict, Verdict::not_judged);
    EXPECT_EQ(searched.functions_level.judged, 3U) << "self and total of rest, and the whole";
    EXPECT_EQ(std::count_if(searched.nodes.begin(), searched.nodes.end(),
                            [](const NodeDiff& node) { return node.is_chosen; }),
              1);
}

TEST(Diff, scales_apply_to_either_side) {
    DiffOptions options;
    const Profile before = work_and_rest(100);
    const Profile after = work_and_rest(200);
    const Diff scaled = diff(std::vector<analysis::Run>{{&before, 10}},
                             std::vector<analysis::Run>{{&after, 5}}, options);
    EXPECT_EQ(named(scaled, "work").self.before.weight, 1000 * kPeriod);
    EXPECT_EQ(named(scaled, "work").self.after.weight, 1000 * kPeriod);
    // A hundred samples say what a hundred samples say.
    const double half = named(scaled, "work").self.interval->high;
    EXPECT_GT(half, 150.0 * kPeriod);
}

TEST(Diff, paths_are_told_apart_below_their_categories) {
    const auto two_paths = [](std::uint64_t left, std::uint64_t right, const std::string& pid) {
        ProfileMaker maker;
        const FunctionId f = maker.function("f");
        maker.add({maker.function("left"), f}, left * kPeriod, left, "app (" + pid + ")");
        maker.add({maker.function("right"), f}, right * kPeriod, right, "app (" + pid + ")");
        return maker.make();
    };
    DiffOptions options;
    options.paths = true;
    const Diff both = diff_of(two_paths(500, 500, "17"), two_paths(500, 800, "4711"), options);
    std::vector<std::string> worse;
    for (const NodeDiff& node : both.nodes) {
        if (node.self.verdict == Verdict::worse) {
            worse.push_back(both.functions[*both.nodes[node.parent].function].name + "/" +
                            both.functions[*node.function].name);
        }
    }
    EXPECT_EQ(worse, (std::vector<std::string>{"right/f"}));
    EXPECT_EQ(both.nodes[1].category, "app (4711)");
    EXPECT_EQ(both.nodes[1].total.before.weight, 1000 * kPeriod)
        << "one category, whatever its pid";
    EXPECT_EQ(both.nodes[0].total.after.weight, 1300 * kPeriod);
    EXPECT_EQ(both.nodes.size(), 6U);
    // Whoever wants no intervals but those of the worse and the better gets the same ones.
    options.path_intervals = false;
    const Diff fewer = diff_of(two_paths(500, 500, "17"), two_paths(500, 800, "4711"), options);
    EXPECT_EQ(fewer.nodes_level.error, both.nodes_level.error);
    for (std::size_t i = 1; i < both.nodes.size(); ++i) {
        const Compared& full = both.nodes[i].total;
        const Compared& some = fewer.nodes[i].total;
        EXPECT_EQ(some.verdict, full.verdict) << i;
        ASSERT_TRUE(full.interval.has_value()) << i;
        EXPECT_EQ(some.interval.has_value(), some.verdict == Verdict::worse) << i;
        EXPECT_EQ(some.interval.value_or(*full.interval).low, full.interval->low) << i;
    }
}

TEST(Diff, samples_of_unequal_weight_tell_less) {
    const auto with = [](std::uint64_t heavy) {
        ProfileMaker maker;
        const std::uint64_t all = 90 + 10 * heavy;
        Profile profile = maker.add({maker.function("f")}, all * kPeriod, 100).make();
        std::vector<std::pair<NodeId, std::uint64_t>> samples(90, {NodeId{2}, kPeriod});
        samples.resize(100, {NodeId{2}, heavy * kPeriod});
        return with_timeline(std::move(profile), samples);
    };
    const Profile even = with(1);
    const Profile uneven = with(31);
    const Diff of_even = diff_of(even, even, {});
    const Diff of_uneven = diff_of(uneven, uneven, {});
    const double sum_even = static_cast<double>(named(of_even, "f").self.before.weight);
    const double sum_uneven = static_cast<double>(named(of_uneven, "f").self.before.weight);
    EXPECT_DOUBLE_EQ(named(of_uneven, "f").self.before.squares,
                     (90.0 + 10 * 31 * 31) * kPeriod * kPeriod);
    EXPECT_GT(named(of_uneven, "f").self.interval->high / sum_uneven,
              2 * named(of_even, "f").self.interval->high / sum_even);
}

bool calls_anything(const Diff& diff) {
    const auto is_called = [](const Compared& each) {
        return each.verdict == Verdict::worse || each.verdict == Verdict::better;
    };
    return is_called(diff.whole) ||
           std::any_of(diff.functions.begin(), diff.functions.end(), [&](const FunctionDiff& each) {
               return is_called(each.self) || is_called(each.total);
           });
}

/// In how many of a hundred pairs of equal programs anything is called.
double false_calls_percent(const Conditions& conditions, const DiffOptions& options = {}) {
    constexpr int kPairs = 400;
    std::mt19937 random{42};
    int called = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
        const Profile before = simulated_recording(random, conditions);
        const Profile after = simulated_recording(random, conditions);
        called += calls_anything(diff_of(before, after, options)) ? 1 : 0;
    }
    return 100.0 * called / kPairs;
}

TEST(DiffOfEqualPrograms, calls_something_no_more_often_than_stated) {
    DiffOptions options;
    for (const double samples : {40.0, 300.0, 3000.0}) {
        EXPECT_LE(false_calls_percent({samples}, options), 5) << samples;
    }
    options.error = 0.3;
    const double often = false_calls_percent({1000}, options);
    EXPECT_LE(often, 30);
    EXPECT_GT(often, 10) << "far too careful to be of use";
}

TEST(DiffOfEqualPrograms, calls_no_share_more_often_than_stated) {
    DiffOptions options;
    options.normalize = true;
    for (const double samples : {40.0, 300.0, 3000.0}) {
        EXPECT_LE(false_calls_percent({samples}, options), 5) << samples;
    }
}

TEST(DiffOfEqualPrograms, uneven_samples_are_allowed_for) {
    EXPECT_LE(false_calls_percent({600, 1, 12}), 5);
    DiffOptions options;
    options.normalize = true;
    EXPECT_LE(false_calls_percent({600, 1, 12}, options), 5);
}

TEST(DiffOfEqualPrograms, paths_are_judged_as_carefully) {
    constexpr int kPairs = 300;
    std::mt19937 random{7};
    DiffOptions options;
    options.paths = true;
    int called = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
        const Diff equal =
            diff_of(simulated_recording(random, {}), simulated_recording(random, {}), options);
        called += std::any_of(equal.nodes.begin(), equal.nodes.end(), [](const NodeDiff& each) {
            return each.self.verdict == Verdict::worse || each.self.verdict == Verdict::better ||
                   each.total.verdict == Verdict::worse || each.total.verdict == Verdict::better;
        });
    }
    EXPECT_LE(called, kPairs * 5 / 100);
}

std::vector<Profile> recordings(std::mt19937& random, const Conditions& conditions,
                                std::size_t count = 3) {
    std::vector<Profile> profiles;
    for (std::size_t i = 0; i < count; ++i) {
        profiles.push_back(simulated_recording(random, conditions));
    }
    return profiles;
}

TEST(DiffOfSeveralRuns, means_are_compared) {
    const std::vector<Profile> before{work_and_rest(900), work_and_rest(1100)};
    const std::vector<Profile> after{work_and_rest(2900), work_and_rest(3100)};
    const Diff several = diff(runs_of(before), runs_of(after), {});
    EXPECT_EQ(named(several, "work").self.before.weight, 1000 * kPeriod);
    EXPECT_EQ(named(several, "work").self.before.samples, 2000U);
    EXPECT_DOUBLE_EQ(named(several, "work").self.difference(), 2000.0 * kPeriod);
    EXPECT_EQ(named(several, "work").self.verdict, Verdict::worse);
    EXPECT_EQ(named(several, "rest").self.verdict, Verdict::within_noise);
}

TEST(DiffOfSeveralRuns, what_differs_between_runs_is_not_called) {
    const std::vector<Profile> before{work_and_rest(900), work_and_rest(1300)};
    const std::vector<Profile> after{work_and_rest(1100), work_and_rest(1700)};
    EXPECT_EQ(named(diff_of(before[0], after[1]), "work").self.verdict, Verdict::worse);
    const Diff several = diff(runs_of(before), runs_of(after), {});
    EXPECT_EQ(named(several, "work").self.verdict, Verdict::within_noise);
    EXPECT_LT(named(several, "work").self.interval->low, -200.0 * kPeriod);
}

TEST(DiffOfSeveralRuns, paths_agree_with_functions) {
    std::mt19937 random{5};
    const std::vector<Profile> before = recordings(random, {3000});
    const std::vector<Profile> after = recordings(random, {3000, 1.5});
    DiffOptions options;
    options.paths = true;
    const Diff both = diff(runs_of(before), runs_of(after), options);
    for (const NodeDiff& node : both.nodes) {
        if (node.function) {
            const Compared& function = both.functions[*node.function].total;
            EXPECT_EQ(node.total.before.weight, function.before.weight);
            EXPECT_DOUBLE_EQ(node.total.after.run_squares, function.after.run_squares);
        }
    }
    EXPECT_EQ(both.nodes[0].total.after.weight, both.whole.after.weight);
}

TEST(DiffOfSeveralRuns, a_reference_function_cancels_the_machines_speed) {
    const auto at_speed = [](std::uint64_t tenths, std::uint64_t work) {
        ProfileMaker maker;
        const FunctionId main = maker.function("main");
        const FunctionId reference = maker.function("reference");
        // Recursion counts once; and not all of it is the reference's own time.
        maker.add({main, reference, reference}, 600 * tenths * kPeriod, 600 * tenths);
        maker.add({main, reference, maker.function("work")}, work * tenths * kPeriod,
                  work * tenths);
        return maker.make();
    };
    const std::vector<Profile> before{at_speed(10, 400), at_speed(14, 400)};
    const std::vector<Profile> after{at_speed(20, 400), at_speed(11, 400)};
    std::vector<Profile> references;
    for (const std::vector<Profile>& side : {before, after}) {
        for (const Profile& profile : side) {
            references.push_back(callgraph::focus(profile, "reference"));
        }
    }
    const std::vector<analysis::Run> a{{&before[0], 1, &references[0]},
                                       {&before[1], 1, &references[1]}};
    const std::vector<analysis::Run> b{{&after[0], 1, &references[2]},
                                       {&after[1], 1, &references[3]}};
    DiffOptions options;
    options.normalize = true;
    const Diff divided = diff(a, b, options);
    EXPECT_DOUBLE_EQ(named(divided, "work").self.before.value, 0.4);
    EXPECT_NEAR(named(divided, "work").self.difference(), 0, 1e-12);
    EXPECT_NEAR(named(divided, "reference").total.before.value, 1, 1e-12);
    EXPECT_LT(named(divided, "work").self.interval->high, 0.1) << "durations differ by half";
    EXPECT_GT(diff(a, b, {}).whole.interval->high, 0.5 * diff(a, b, {}).whole.before.value);
    EXPECT_EQ(divided.whole.verdict, Verdict::within_noise) << "judged: it is no constant";
}

TEST(DiffOfSeveralRuns, the_noise_of_the_reference_counts) {
    // Of the reference's 100 samples comes more noise than of the others' 10,000.
    const auto run = [](std::uint64_t work) {
        ProfileMaker maker;
        maker.add({maker.function("reference")}, 100 * kPeriod, 100);
        return maker.add({maker.function("work")}, work * kPeriod, work).make();
    };
    const Profile before = run(10'000);
    const Profile after = run(11'000);
    const Profile reference = callgraph::focus(before, "reference");
    DiffOptions options;
    options.normalize = true;
    const Diff divided = diff(std::vector<analysis::Run>{{&before, 1, &reference}},
                              std::vector<analysis::Run>{{&after, 1, &reference}}, options);
    EXPECT_EQ(named(divided, "work").self.verdict, Verdict::within_noise);
    EXPECT_EQ(named(diff_of(before, after), "work").self.verdict, Verdict::worse);
}

TEST(DiffOfSeveralRuns, equal_programs_on_a_drifting_machine_are_not_called) {
    constexpr int kRounds = 200;
    std::mt19937 random{11};
    const Conditions drifting{20'000, 1, 1, 0.1, 0.01};
    DiffOptions shares;
    shares.normalize = true;
    int pairs = 0;
    int durations = 0;
    int normalized = 0;
    for (int round = 0; round < kRounds; ++round) {
        const std::vector<Profile> before = recordings(random, drifting);
        const std::vector<Profile> after = recordings(random, drifting);
        pairs += calls_anything(diff_of(before[0], after[0])) ? 1 : 0;
        durations += calls_anything(diff(runs_of(before), runs_of(after), {})) ? 1 : 0;
        normalized += calls_anything(diff(runs_of(before), runs_of(after), shares)) ? 1 : 0;
    }
    EXPECT_LE(durations, kRounds * 5 / 100);
    EXPECT_LE(normalized, kRounds * 5 / 100);
    EXPECT_GT(pairs, kRounds / 2) << "or the above would prove nothing";
}

TEST(DiffOfSeveralRuns, ten_per_cent_are_found_on_a_drifting_machine_by_shares) {
    constexpr int kRounds = 50;
    std::mt19937 random{13};
    const Conditions drifting{50'000, 1, 1, 0.1, 0.005};
    Conditions slower = drifting;
    slower.factor = 1.1;
    DiffOptions shares;
    shares.normalize = true;
    int found = 0;
    for (int round = 0; round < kRounds; ++round) {
        const std::vector<Profile> before = recordings(random, drifting);
        const std::vector<Profile> after = recordings(random, slower);
        const Diff several = diff(runs_of(before), runs_of(after), shares);
        found += named(several, "f0").self.verdict == Verdict::worse ? 1 : 0;
    }
    EXPECT_GE(found, kRounds * 8 / 10);
}

TEST(DiffOfSlowerPrograms, ten_per_cent_are_found_given_the_samples) {
    constexpr int kPairs = 100;
    std::mt19937 random{3};
    constexpr double kSamples = 50'000;  // The slower function has 10,000 of them.
    int found = 0;
    int others = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
        const Diff slower = diff_of(simulated_recording(random, {kSamples}),
                                    simulated_recording(random, {kSamples, 1.1}), {});
        found += named(slower, "f0").self.verdict == Verdict::worse ? 1 : 0;
        others += std::any_of(slower.functions.begin(), slower.functions.end(),
                              [](const FunctionDiff& each) {
                                  return each.name != "f0" && each.name != "main" &&
                                         (each.self.verdict == Verdict::worse ||
                                          each.self.verdict == Verdict::better);
                              })
                      ? 1
                      : 0;
    }
    EXPECT_GE(found, 98);
    EXPECT_LE(others, 15);
}

}  // namespace
}  // namespace sample::analysis
