// Tests of what every sampling source must do: each runs once for each of them.
#pragma once

#include "session.h"

#include <string>

namespace sample::e2e {

class EachSource : public Session, public testing::WithParamInterface<const char*> {
protected:
    /// `sample --source SOURCE --freq FREQUENCY -o FILE -- COMMAND`, FILE being recording().
    [[nodiscard]] Outcome record_by_source(const Words& command,
                                           const char* frequency = "10k") const {
        Words arguments = {"--quiet", "--freq", frequency,   "--source", GetParam(),
                           "--force", "-o",     recording(), "--"};
        arguments.insert(arguments.end(), command.begin(), command.end());
        Outcome outcome = sample(arguments);
        EXPECT_TRUE(exists(recording())) << outcome.err;
        return outcome;
    }

    /// The command prints, says and ends the same bare and under this source; returns what it did.
    Outcome expect_same(const Words& command) const {
        const Outcome bare = run_here(command);
        const Outcome sampled = record_by_source(command);
        EXPECT_EQ(sampled.out, bare.out);
        EXPECT_EQ(sampled.err, bare.err);
        EXPECT_EQ(sampled.exit_code, bare.exit_code);
        EXPECT_EQ(sampled.signal, bare.signal);
        return sampled;
    }

    /// As recorded(), but cheaper.
    void expect_sampled() const {
        const Outcome stats = sample({"report", "--view", "stats", "--json", recording()});
        const auto seen = nlohmann::json::parse(stats.out, nullptr, false);
        ASSERT_TRUE(seen.is_object()) << stats.err;
        EXPECT_EQ(seen.value("source", ""), GetParam());
        EXPECT_GT(seen.value("samples", 0), 0);
    }

    [[nodiscard]] Recording recorded() const {
        Recording seen{recording()};
        EXPECT_EQ(seen.text_stat("source"), GetParam());
        EXPECT_GT(seen.stat("samples"), 0);
        return seen;
    }
};

inline std::string source_of(const testing::TestParamInfo<const char*>& info) {
    return info.param;
}

}  // namespace sample::e2e

/// Every source that can be asked for. Of a suite that derives from EachSource.
#define SAMPLE_FOR_EACH_SOURCE(suite)                                                        \
    INSTANTIATE_TEST_SUITE_P(, suite, testing::Values("sigtrap", "perf", "thread", "timer"), \
                             source_of)
