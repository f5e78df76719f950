// A thread of the test program that the handler samples, without the agent.
#pragma once

#include "sampler/capture/capture.h"
#include "sampler/collector/process/tick_clock.h"
#include "tests/sampler/area_fixture.h"
#include "tests/sampler/own_process.h"

#include <gtest/gtest.h>
#include <ucontext.h>

#include <csignal>
#include <cstdint>

namespace sample::capture {

using collector::kPeriodNs;
inline constexpr std::uint64_t kNoSampleIsLong = ~std::uint64_t{0};

/// Signals that are no samples are counted.
class HandlerFixture : public ::testing::Test {
protected:
    static inline int foreign_signals = 0;

    void SetUp() override {
        foreign_signals = 0;
        attach(&test.area(), modules.table(), [](int, siginfo_t*, void*) { ++foreign_signals; });
        tell_own_stack();
        header().gap_ticks = gap_ticks_of(kPeriodNs);
        test.area().header.period_ticks = kNoSampleIsLong;
    }
    void TearDown() override { detach_after_fork(); }

    static std::uint64_t gap_ticks_of(std::uint64_t period_ns) {
        return static_cast<std::uint64_t>(1.5 * static_cast<double>(period_ns) *
                                          collector::TickClock{}.ticks_per_ns());
    }

    /// As if the event had expired here.
    [[gnu::noinline]] void take_one(siginfo_t info = sample_info()) const {
        ucontext_t context;
        ::getcontext(&context);
        on_signal(info.si_signo, &info, &context);
    }
    [[nodiscard]] AreaHeader& header() const { return test.area().header; }

    collector::TestArea test;
    OwnModules modules;
};

}  // namespace sample::capture
