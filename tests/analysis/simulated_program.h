// A program that does not exist, recorded as often as one likes: its functions' shares of the time
// are known, and the numbers of their samples are Poisson's. Numbers are the same for one seed.
#pragma once

#include "callgraph/profile.h"
#include "diff_fixture.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sample::analysis {

using callgraph::SampleSeries;
using callgraph::Timeline;

inline constexpr std::uint64_t kPeriod = 1'000'000;

/// Gives `profile` these samples, each at its node and of its weight.
inline Profile with_timeline(Profile profile,
                             const std::vector<std::pair<NodeId, std::uint64_t>>& samples) {
    auto series = std::make_shared<SampleSeries>();
    Timeline timeline;
    for (const auto& [node, weight] : samples) {
        const auto place = static_cast<std::uint32_t>(timeline.nodes.size());
        timeline.nodes.push_back(node);
        series->append({0, place, weight, false});
    }
    timeline.threads.push_back({std::nullopt, series});
    profile.timeline = std::move(timeline);
    return profile;
}

/// How a recording is made.
struct Conditions {
    double samples = 1000;    ///< Expected, of the program as it was.
    double factor = 1;        ///< How many times as slow its heaviest function has become.
    std::uint64_t heavy = 1;  ///< One sample in twenty stands for so many periods.
    /// Standard deviations of logarithms, from run to run: how slow the machine is, and how slow
    /// each function is besides.
    double machine_spread = 0;
    double own_spread = 0;
    std::size_t functions = 30;
};

/// main calls f0, f1, ..., of which each takes 0.8 of what the one before takes; f0 has a fifth of
/// all.
inline Profile simulated_recording(std::mt19937& random, const Conditions& conditions) {
    constexpr double kShareOfFirst = 0.2;
    constexpr std::uint32_t kOneIsHeavy = 20;
    ProfileMaker maker;
    const FunctionId main = maker.function("main");
    std::vector<std::vector<std::uint64_t>> weights(conditions.functions);
    std::normal_distribution<double> normal;
    const double slowness = std::exp(conditions.machine_spread * normal(random));
    double expected = kShareOfFirst * conditions.samples;
    for (std::size_t i = 0; i < conditions.functions; ++i) {
        const double factor = (i == 0 ? conditions.factor : 1) * slowness *
                              std::exp(conditions.own_spread * normal(random));
        std::poisson_distribution<std::size_t> count{expected * factor};
        const std::size_t samples = count(random);
        std::uint64_t sum = samples * kPeriod;
        if (conditions.heavy != 1) {
            weights[i].resize(samples, kPeriod);
            for (std::uint64_t& weight : weights[i]) {
                weight *= random() % kOneIsHeavy == 0 ? conditions.heavy : 1;
            }
            sum = std::accumulate(weights[i].begin(), weights[i].end(), std::uint64_t{});
        }
        const FunctionId function = maker.function("f" + std::to_string(i));
        maker.add({main, function}, sum, samples);
        expected *= 1 - kShareOfFirst;
    }
    Profile profile = maker.make();
    if (conditions.heavy == 1) {
        return profile;
    }
    std::vector<std::pair<NodeId, std::uint64_t>> samples;
    for (std::uint32_t id = 0; id < profile.nodes.size(); ++id) {
        if (profile.nodes[id].self_samples != 0) {
            const std::string& name = profile.function(profile.nodes[id].function).name;
            for (const std::uint64_t weight : weights[std::stoul(name.substr(1))]) {
                samples.emplace_back(NodeId{id}, weight);
            }
        }
    }
    return with_timeline(std::move(profile), samples);
}

}  // namespace sample::analysis
