// A collector that does not answer: the program goes on, and waits for it once.
//
// No test measures a tenth of a second here: where each of a hundred waited for itself, they would
// take minutes.
#include "session.h"

#include <string>

namespace sample::e2e {
namespace {

class StoppedCollector : public Session, public testing::WithParamInterface<const char*> {
protected:
    static constexpr double kMostMs = 30'000;
};

TEST_P(StoppedCollector, is_waited_for_once) {
    const std::string source = GetParam() == std::string{"thread"} ? "perf" : "auto";
    const Outcome outcome =
        sample({"--quiet", "--freq", "1k", "--source", source, "-o", recording(), "--",
                target("stops_collector"), GetParam(), "100"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_EQ(told(outcome.out, "failures"), 0);
    EXPECT_LT(told(outcome.out, "stopped_ms"), kMostMs) << outcome.out;
    EXPECT_EQ(outcome.err, "");
    const Recording seen{recording()};
    EXPECT_TRUE(seen.flag("whole"));
    const Outcome report = sample({"report", recording()});
    EXPECT_NE(report.out.find("while `sample` did not answer"), std::string::npos) << report.out;
    if (GetParam() != std::string{"self"}) {
        EXPECT_EQ(seen.stat("processes"), 2) << "the child that began after it went on";
    }
}

INSTANTIATE_TEST_SUITE_P(Ways, StoppedCollector,
                         testing::Values("fork", "exec", "vfork", "spawn", "system", "self",
                                         "thread"),
                         [](const auto& way) { return std::string{way.param}; });

}  // namespace
}  // namespace sample::e2e
