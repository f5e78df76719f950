// What zones add up to, against a reference that looks at every zone and sample by itself.
#include "analysis/instrumentation/zones.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace sample::analysis {
namespace {

using callgraph::SampleSeries;
using trace::EdgeKind;
using trace::ZoneEdge;

constexpr std::uint64_t kStartNs = 1'000'000;

trace::ZoneSpec spec_of(std::uint32_t id, std::string name, std::string category = "") {
    trace::ZoneSpec spec;
    spec.id = trace::ZoneId{id};
    spec.name = std::move(name);
    spec.category = std::move(category);
    return spec;
}

ZoneEdge edge_at(std::uint64_t time, EdgeKind kind, std::uint32_t zone = 0,
                 std::uint32_t thread = 1, std::uint32_t depth = 0) {
    ZoneEdge edge;
    edge.thread = ThreadId{thread};
    edge.kind = kind;
    edge.time_ns = kStartNs + time;
    edge.zone = trace::ZoneId{zone};
    edge.depth = depth;
    return edge;
}

SamplesOf no_samples() {
    return [](ThreadId) { return std::shared_ptr<const SampleSeries>{}; };
}

const ZoneTotals& totals_of(const Zones& zones, const std::string& name) {
    static const ZoneTotals none;
    const auto& specs = zones.names().specs();
    for (std::size_t i = 0; i < zones.totals().size(); ++i) {
        if (specs[i].name == name) {
            return zones.totals()[i];
        }
    }
    ADD_FAILURE() << "no zone " << name;
    return none;
}

TEST(Zones, takes_what_runs_inside_from_self_time) {
    Zones zones{kStartNs, no_samples()};
    zones.define(spec_of(1, "frame"));
    zones.define(spec_of(2, "physics"));
    zones.add(edge_at(10, EdgeKind::begin, 1));
    zones.add(edge_at(20, EdgeKind::begin, 2));
    zones.add(edge_at(50, EdgeKind::end));
    zones.add(edge_at(100, EdgeKind::end));
    zones.finish(kStartNs + 200);
    EXPECT_EQ(totals_of(zones, "frame").total_ns, 90U);
    EXPECT_EQ(totals_of(zones, "frame").self_ns, 60U);
    EXPECT_EQ(totals_of(zones, "physics").total_ns, 30U);
    EXPECT_EQ(totals_of(zones, "physics").begun, 1U);
}

TEST(Zones, counts_recursion_once_and_every_zone) {
    Zones zones{kStartNs, no_samples()};
    zones.define(spec_of(1, "visit"));
    zones.add(edge_at(0, EdgeKind::begin, 1));
    zones.add(edge_at(10, EdgeKind::begin, 1));
    zones.add(edge_at(20, EdgeKind::end));
    zones.add(edge_at(100, EdgeKind::end));
    zones.finish(kStartNs + 100);
    const ZoneTotals& visit = totals_of(zones, "visit");
    EXPECT_EQ(visit.begun, 2U);
    EXPECT_EQ(visit.total_ns, 100U);
    EXPECT_EQ(visit.self_ns, 100U);
    EXPECT_EQ(visit.durations.sum_ns(), 110U);
}

TEST(Zones, joins_places_of_one_name_and_category) {
    Zones zones{kStartNs, no_samples()};
    zones.define(spec_of(1, "load", "io"));
    zones.define(spec_of(2, "load", "io"));
    zones.define(spec_of(3, "load", "net"));
    for (std::uint32_t id = 1; id <= 3; ++id) {
        zones.add(edge_at(std::uint64_t{id} * 10, EdgeKind::begin, id));
        zones.add(edge_at(std::uint64_t{id} * 10 + 5, EdgeKind::end));
    }
    zones.finish(kStartNs + 100);
    EXPECT_EQ(totals_of(zones, "load").begun, 2U);
    ASSERT_EQ(zones.totals().size(), 3U);
    EXPECT_EQ(zones.totals()[2].begun, 1U);
}

TEST(Zones, says_which_ends_and_beginnings_have_no_other_half) {
    Zones zones{kStartNs, no_samples()};
    zones.define(spec_of(1, "open"));
    zones.add(edge_at(5, EdgeKind::end));
    zones.add(edge_at(10, EdgeKind::begin, 1));
    zones.add(edge_at(20, EdgeKind::begin, 7));  // never defined
    zones.finish(kStartNs + 110);
    EXPECT_EQ(zones.ends_without_begin(), 1U);
    EXPECT_EQ(totals_of(zones, "open").open, 1U);
    EXPECT_EQ(totals_of(zones, "open").total_ns, 100U);
    EXPECT_EQ(totals_of(zones, "open").durations.count(), 0U);
    EXPECT_EQ(totals_of(zones, "[zone without a name]").open, 1U);
}

TEST(Zones, counts_a_coroutine_only_while_it_runs) {
    Zones zones{kStartNs, no_samples()};
    zones.define(spec_of(1, "task"));
    zones.define(spec_of(2, "read"));
    zones.define(spec_of(3, "scheduler"));
    zones.add(edge_at(0, EdgeKind::begin, 3));
    zones.add(edge_at(10, EdgeKind::begin, 1));
    zones.add(edge_at(20, EdgeKind::begin, 2));
    zones.add(edge_at(50, EdgeKind::suspend, 1, 1, 2));
    zones.add(edge_at(70, EdgeKind::end));
    zones.add(edge_at(100, EdgeKind::resume, 1, 2, 2));
    zones.add(edge_at(105, EdgeKind::end, 0, 2));
    zones.add(edge_at(130, EdgeKind::end, 0, 2));
    zones.finish(kStartNs + 200);
    const ZoneTotals& task = totals_of(zones, "task");
    EXPECT_EQ(task.begun, 1U);
    EXPECT_EQ(task.total_ns, 70U);
    EXPECT_EQ(task.self_ns, 35U);
    EXPECT_EQ(task.durations.max_ns(), 70U);
    EXPECT_EQ(totals_of(zones, "read").durations.max_ns(), 35U);
    EXPECT_EQ(totals_of(zones, "scheduler").total_ns, 70U);
    EXPECT_EQ(totals_of(zones, "scheduler").self_ns, 30U);
}

TEST(Zones, says_which_coroutines_never_went_on) {
    Zones zones{kStartNs, no_samples()};
    zones.define(spec_of(1, "task"));
    zones.add(edge_at(0, EdgeKind::begin, 1));
    zones.add(edge_at(10, EdgeKind::suspend, 1, 1, 1));
    zones.finish(kStartNs + 200);
    EXPECT_EQ(totals_of(zones, "task").open, 1U);
    EXPECT_EQ(totals_of(zones, "task").total_ns, 10U);
}

TEST(Zones, counts_only_zones_that_begin_inside) {
    Zones zones{kStartNs, no_samples(),
                [](std::uint64_t time) { return time >= kStartNs + 15 && time < kStartNs + 40; }};
    zones.define(spec_of(1, "outer"));
    zones.define(spec_of(2, "inner"));
    zones.add(edge_at(10, EdgeKind::begin, 1));
    zones.add(edge_at(20, EdgeKind::begin, 2));
    zones.add(edge_at(50, EdgeKind::end));
    zones.add(edge_at(60, EdgeKind::begin, 2));
    zones.add(edge_at(70, EdgeKind::end));
    zones.add(edge_at(80, EdgeKind::end));
    zones.finish(kStartNs + 200);
    EXPECT_EQ(totals_of(zones, "inner").begun, 1U);
    EXPECT_EQ(totals_of(zones, "inner").total_ns, 30U);
    EXPECT_EQ(totals_of(zones, "outer").begun, 0U);
    EXPECT_EQ(totals_of(zones, "outer").total_ns, 0U);
}

/// What one thread did, made at random, and what every zone and sample of it is by itself.
struct RandomThread {
    struct Whole {
        std::uint32_t name = 0;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::size_t parent = SIZE_MAX;
        bool has_end = false;
    };
    std::vector<ZoneEdge> edges;
    std::vector<Whole> zones;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> samples;  ///< Time and weight.
    std::uint64_t end = 0;
    std::uint64_t ends_without_begin = 0;

    RandomThread(std::mt19937_64& random, std::uint32_t thread, std::uint32_t names) {
        std::vector<std::size_t> open;
        std::uint64_t now = 0;
        for (int step = 0; step < 400; ++step) {
            now += random() % 3 == 0 ? 0 : random() % 1000;
            if (random() % 5 < 2 || (open.size() < 6 && random() % 4 == 0)) {
                const auto name = static_cast<std::uint32_t>(1 + random() % names);
                edges.push_back(edge_at(now, EdgeKind::begin, name, thread));
                zones.push_back({name, now, 0, open.empty() ? SIZE_MAX : open.back()});
                open.push_back(zones.size() - 1);
            } else {
                edges.push_back(edge_at(now, EdgeKind::end, 0, thread));
                if (open.empty()) {
                    ++ends_without_begin;
                    continue;
                }
                zones[open.back()].end = now;
                zones[open.back()].has_end = true;
                open.pop_back();
            }
        }
        end = now + 500;
        for (const std::size_t index : open) {
            zones[index].end = end;
        }
        for (std::uint64_t time = 0; time < end; time += random() % 300) {
            samples.emplace_back(time, 1 + random() % 1000);
        }
    }

    [[nodiscard]] bool has_ancestor_named(std::size_t zone, std::uint32_t name) const {
        for (zone = zones[zone].parent; zone != SIZE_MAX; zone = zones[zone].parent) {
            if (zones[zone].name == name) {
                return true;
            }
        }
        return false;
    }
};

struct Expected {
    std::uint64_t begun = 0, open = 0, total = 0, self = 0, sampled = 0, sampled_self = 0;
    std::vector<std::uint64_t> durations;
};

TEST(Zones, agrees_with_a_look_at_each_zone_and_sample) {
    constexpr std::uint32_t kNames = 5;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        std::mt19937_64 random{seed};
        std::vector<RandomThread> threads;
        std::uint64_t end = 0;
        std::uint64_t without_begin = 0;
        for (std::uint32_t thread = 1; thread <= 3; ++thread) {
            threads.emplace_back(random, thread, kNames);
            end = std::max(end, threads.back().end);
            without_begin += threads.back().ends_without_begin;
        }
        std::map<std::uint32_t, Expected> expected;
        std::map<std::uint32_t, std::shared_ptr<SampleSeries>> series;
        for (std::uint32_t id = 1; id <= threads.size(); ++id) {
            RandomThread& thread = threads[id - 1];
            for (std::size_t i = 0; i < thread.zones.size(); ++i) {
                auto& zone = thread.zones[i];
                zone.end = zone.has_end ? zone.end : end;
                Expected& of = expected[zone.name];
                ++of.begun;
                of.open += zone.has_end ? 0 : 1;
                if (zone.has_end) {
                    of.durations.push_back(zone.end - zone.begin);
                }
                of.total += thread.has_ancestor_named(i, zone.name) ? 0 : zone.end - zone.begin;
                of.self += zone.end - zone.begin;
                if (zone.parent != SIZE_MAX) {
                    expected[thread.zones[zone.parent].name].self -= zone.end - zone.begin;
                }
            }
            series[id] = std::make_shared<SampleSeries>();
            for (const auto& [time, weight] : thread.samples) {
                series[id]->append({static_cast<std::int64_t>(time), 0, weight, false});
                std::vector<bool> is_in(kNames + 1);
                std::uint32_t innermost = 0;
                for (const auto& zone : thread.zones) {
                    if (zone.begin <= time && time < zone.end) {
                        is_in[zone.name] = true;
                        innermost = zone.name;  // they are in the order of their beginnings
                    }
                }
                for (std::uint32_t name = 1; name <= kNames; ++name) {
                    expected[name].sampled += is_in[name] ? weight : 0;
                }
                if (innermost != 0) {
                    expected[innermost].sampled_self += weight;
                }
            }
        }
        Zones zones{kStartNs,
                    [&](ThreadId id) { return id.is_none() ? nullptr : series[id.value]; }};
        for (std::uint32_t name = 1; name <= kNames; ++name) {
            zones.define(spec_of(name, std::to_string(name)));
        }
        // Thread by thread for some seeds, mixed for others.
        std::vector<std::size_t> next(threads.size());
        for (std::size_t left = 1200; left > 0; --left) {
            std::size_t thread = seed % 2 == 0 ? (1200 - left) / 400 : random() % 3;
            while (next[thread] == threads[thread].edges.size()) {
                thread = (thread + 1) % 3;
            }
            zones.add(threads[thread].edges[next[thread]++]);
        }
        zones.finish(kStartNs + end);
        EXPECT_EQ(zones.ends_without_begin(), without_begin);
        for (auto& [name, of] : expected) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", zone " + std::to_string(name));
            const ZoneTotals& totals = totals_of(zones, std::to_string(name));
            EXPECT_EQ(totals.begun, of.begun);
            EXPECT_EQ(totals.open, of.open);
            EXPECT_EQ(totals.total_ns, of.total);
            EXPECT_EQ(totals.self_ns, of.self);
            EXPECT_EQ(totals.sampled, of.sampled);
            EXPECT_EQ(totals.sampled_self, of.sampled_self);
            ASSERT_EQ(totals.durations.count(), of.durations.size());
            std::sort(of.durations.begin(), of.durations.end());
            if (!of.durations.empty()) {
                EXPECT_EQ(totals.durations.min_ns(), of.durations.front());
                EXPECT_EQ(totals.durations.max_ns(), of.durations.back());
            }
        }
    }
}

TEST(DurationHistogram, is_wrong_by_less_than_a_hundredth) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random{seed};
        std::lognormal_distribution<double> lengths{8.0 + static_cast<double>(seed), 3.0};
        std::vector<std::uint64_t> values;
        DurationHistogram histogram;
        for (int i = 0; i < 2000; ++i) {
            const auto value = static_cast<std::uint64_t>(std::min(lengths(random), 1e18));
            values.push_back(value);
            histogram.add(value);
        }
        std::sort(values.begin(), values.end());
        for (const double share : {0.0, 0.01, 0.5, 0.95, 0.99, 1.0}) {
            const auto rank = static_cast<std::size_t>(
                std::max(1.0, std::ceil(share * static_cast<double>(values.size()))));
            const auto exact = static_cast<double>(values[rank - 1]);
            EXPECT_NEAR(static_cast<double>(histogram.quantile(share)), exact, exact * 0.0079 + 0.5)
                << "seed " << seed << ", share " << share;
        }
    }
}

TEST(DurationHistogram, holds_any_number) {
    DurationHistogram histogram;
    for (const std::uint64_t value : {UINT64_MAX, std::uint64_t{0}, std::uint64_t{63},
                                      std::uint64_t{64}, std::uint64_t{1} << 40}) {
        histogram.add(value);
    }
    EXPECT_EQ(histogram.min_ns(), 0U);
    EXPECT_EQ(histogram.max_ns(), UINT64_MAX);
    EXPECT_EQ(histogram.quantile(0.5), 64U);
    std::uint64_t count = 0;
    std::uint64_t before = 0;
    for (const DurationHistogram::Bucket& bucket : histogram.buckets()) {
        EXPECT_GE(bucket.from_ns, before);
        EXPECT_GT(bucket.to_ns, bucket.from_ns);
        before = bucket.to_ns;
        count += bucket.count;
    }
    EXPECT_EQ(count, 5U);
}

}  // namespace
}  // namespace sample::analysis
