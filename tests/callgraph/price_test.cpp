// What samples cost, and durations without it: arithmetic on a recording made by hand.
#include "tests/callgraph/recording_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sample::callgraph {
namespace {

constexpr std::uint64_t kWeight = 100'000;

/// Of one thread: 90 samples in hot() and 10 in cold(), and a booking.
class Price : public ::testing::Test {
protected:
    Price() {
        maker.recording.keep_times();
        thread_ = maker.main_thread();
        hot_ = maker.stack({"main", "hot"});
        cold_ = maker.stack({"main", "cold"});
        for (int i = 0; i < 100; ++i) {
            maker.sample(thread_, i % 10 == 0 ? cold_ : hot_, kWeight);
        }
        maker.book(thread_, maker.frame({}, "-", maker.pseudo(trace::kNotSampled)), 50'000);
    }
    /// Where a sample costs so much.
    void end(std::uint64_t cost_ns, const std::string& other_source = "",
             std::uint64_t other_ns = 0) {
        trace::SessionEnd session;
        session.end_ns = 2'000'001'000;
        session.sample_cost_ns = cost_ns;
        session.sample_cost_low_ns = cost_ns - cost_ns / 10;
        session.sample_cost_high_ns = cost_ns + cost_ns / 10;
        session.other_source = other_source;
        session.other_cost_ns = other_ns;
        maker.recording.record(session);
    }
    [[nodiscard]] std::string notes() const {
        std::string all;
        for (const std::string& note : maker.profile().stats.notes) {
            all += note + "\n";
        }
        return all;
    }
    [[nodiscard]] std::uint64_t self_of(const std::string& name) const {
        const Profile profile = maker.profile();
        const auto found = std::find_if(profile.functions.begin(), profile.functions.end(),
                                        [&](const Function& one) { return one.name == name; });
        return found == profile.functions.end() ? 0 : found->self;
    }

    RecordingMaker maker;

private:
    ThreadId thread_;
    NodeId hot_;
    NodeId cold_;
};

TEST_F(Price, is_told_with_both_sums) {
    end(40'000);
    const Stats stats = maker.profile().stats;
    EXPECT_EQ(stats.sample_cost_ns, 40'000.0);
    EXPECT_EQ(stats.sample_cost_low_ns, 36'000.0);
    EXPECT_EQ(stats.sample_cost_high_ns, 44'000.0);
    EXPECT_EQ(stats.gross, 10'050'000U);
    EXPECT_EQ(stats.net, 10'050'000U - 100 * 40'000);
    EXPECT_FALSE(maker.profile().is_net);
}

TEST_F(Price, is_not_known_of_a_recording_that_does_not_say_it) {
    end(0);
    const Stats stats = maker.profile().stats;
    EXPECT_FALSE(stats.sample_cost_ns);
    EXPECT_FALSE(stats.net);
}

TEST_F(Price, is_taken_out_where_the_samples_fell) {
    end(41'000);
    maker.recording.take_out_sampling(41'000);
    EXPECT_EQ(self_of("hot"), 90 * (kWeight - 41'000));
    EXPECT_EQ(self_of("cold"), 10 * (kWeight - 41'000));
    const Profile profile = maker.profile();
    EXPECT_TRUE(profile.is_net);
    EXPECT_EQ(profile.stats.gross, 10'050'000U) << "the kernel's sum is still told";
    EXPECT_EQ(profile.stats.net, profile.nodes.front().total);
    EXPECT_EQ(profile.stats.booked, 50'000U) << "no sample fell there";
    EXPECT_EQ(profile.stats.samples, 100U);
}

TEST_F(Price, is_part_of_the_time_that_samples_were_taken_of) {
    end(40'000);
    const Profile before = maker.profile();
    maker.recording.take_out_sampling(40'000);
    const Profile net = maker.profile();
    EXPECT_EQ(net.stats.achieved_hz, before.stats.achieved_hz);
    EXPECT_EQ(net.processes[0].cpu_ns, 10'050'000U) << "what the kernel would have counted";
}

TEST_F(Price, leaves_nothing_below_zero) {
    end(401'000);
    maker.recording.take_out_sampling(401'000);
    EXPECT_EQ(self_of("hot"), 0U);
    EXPECT_EQ(maker.profile().stats.net, 50'000U);
}

TEST_F(Price, is_taken_out_of_the_samples_along_time_as_well) {
    end(40'000);
    maker.recording.take_out_sampling(33'333.3);
    std::vector<std::uint64_t> sums(maker.recording.weights().size());
    TimedWeight sample;
    for (auto reader = maker.recording.samples_of(ThreadId{1})->read(); reader.next(sample);) {
        sums[sample.place] += sample.weight;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const StackWeight& weight = maker.recording.weights()[i];
        EXPECT_EQ(sums[i], weight.sampled + weight.booked) << i;
    }
}

TEST_F(Price, above_a_twentieth_is_said_with_what_costs_less) {
    end(41'000, "thread", 15'000);
    EXPECT_EQ(notes(),
              "sampling took about 41 % of this time: 41 us a sample on this machine; --freq 1k "
              "would take 4 %; --source thread 15 %\n");
}

TEST_F(Price, that_leaves_little_says_how_much_that_hangs_on_it) {
    end(60'000);
    maker.recording.take_out_sampling(60'000);
    EXPECT_EQ(notes(),
              "sampling took about 60 % of this time: 60 us a sample on this machine; --freq 500 "
              "would take 3 %; if that is 10 % wrong, net durations are 15 % wrong\n");
}

TEST_F(Price, below_a_twentieth_is_not_said) {
    end(3'000);
    EXPECT_EQ(notes(), "");
}

}  // namespace
}  // namespace sample::callgraph
