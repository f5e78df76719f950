// Calls that move data move all of it: no sample cuts one short.
#include "each_source.h"

namespace sample::e2e {
namespace {

using Transfers = EachSource;

TEST_P(Transfers, are_not_cut_short_by_samples) {
    for (const char* way : {"write", "writev", "pwritev2", "send", "read", "read_chk", "pread",
                            "pread_chk", "preadv2", "getrandom"}) {
        SCOPED_TRACE(way);
        // Reads of zeros take least time.
        const std::string rounds =
            std::string{way}.find("read") != std::string::npos ? "400" : "100";
        const Outcome outcome = record_by_source({target("transfers"), way, rounds});
        EXPECT_EQ(outcome.out, "short 0 of " + rounds + "\n") << outcome.err;
        const Recording seen = recorded();
        EXPECT_NEAR(seen.roots_us() / seen.stat("process_cpu_us"), 1, 0.03);
        if (std::string{GetParam()} != "perf") {  // which sees no caller of the kernel's
            EXPECT_GT(seen.total_us("move_once"), 0);
            EXPECT_LT(seen.self_us("move_once"), 0.5 * seen.total_us("move_once"));
        }
    }
}

// Not `timer`, whose signals the kernel sends whatever the thread does (docs/sources.md).
INSTANTIATE_TEST_SUITE_P(, Transfers, testing::Values("sigtrap", "perf", "thread"), source_of);

}  // namespace
}  // namespace sample::e2e
