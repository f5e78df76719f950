#include "export/formats.h"
#include "threads_profile.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace sample::exports {
namespace {

struct Limit {
    const char* name = "";
    Result<void> (*write)(const callgraph::Profile& profile, const Sink& sink) = nullptr;
    std::uint64_t most = 0;
    bool is_time = true;
};

class LargestTotal : public testing::TestWithParam<Limit> {};

TEST_P(LargestTotal, is_written_and_one_more_is_an_error) {
    callgraph::Profile profile = threads_profile();
    if (!GetParam().is_time) {
        profile.event = profile.metric.unit = "page-faults";
    }
    std::string text;
    profile.nodes[0].total = GetParam().most;
    EXPECT_TRUE(GetParam().write(profile, to_string_sink(text)).has_value());
    ++profile.nodes[0].total;
    const Result<void> refused = GetParam().write(profile, to_string_sink(text));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

constexpr std::uint64_t kAxis = (std::uint64_t{1} << 61U) - 1;
constexpr std::uint64_t kSigned = (std::uint64_t{1} << 63U) - 1;

INSTANTIATE_TEST_SUITE_P(
    EachFormat, LargestTotal,
    testing::Values(Limit{"speedscope", write_speedscope, kAxis},
                    Limit{"perf_script", write_perf_script, kAxis},
                    Limit{"chrome", write_chrome_trace, kAxis},
                    Limit{"chrome_events", write_chrome_trace, kAxis / 1000, false},
                    Limit{"firefox", write_firefox, kSigned}, Limit{"pprof", write_pprof, kSigned}),
    [](const auto& limit) { return std::string{limit.param.name}; });

}  // namespace
}  // namespace sample::exports
