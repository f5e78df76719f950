// A program that raises events of its own, which custom_event.cpp reads. They are recorded while
// their channels are on:
//
//     sample record --trace itv,bbc,boni --freq off -o rainbow.utrace -- raises_events
//     custom_event rainbow.utrace
#include "sample/trace.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

// clang-format off
SAMPLE_TRACE_EVENT_BEGIN(RainbowLogger, ZippyEvent)
    SAMPLE_TRACE_EVENT_FIELD(std::uint32_t, Field0)
    SAMPLE_TRACE_EVENT_FIELD(float, Field1)
    SAMPLE_TRACE_EVENT_FIELD(std::int64_t[], Field2)
    SAMPLE_TRACE_EVENT_FIELD(sample::trace::WideString, Field3)
SAMPLE_TRACE_EVENT_END()

SAMPLE_TRACE_EVENT_BEGIN(BoniLogger, BarkEvent, Important | NoSync)
    SAMPLE_TRACE_EVENT_FIELD(sample::trace::WideString, WoofString)
    SAMPLE_TRACE_EVENT_FIELD(std::int64_t[], DratField)
SAMPLE_TRACE_EVENT_END()
// clang-format on

SAMPLE_TRACE_CHANNEL_DEFINE(itv);
SAMPLE_TRACE_CHANNEL_DEFINE(bbc);
SAMPLE_TRACE_CHANNEL_DEFINE(boni);

namespace {

/// An Important event states how much its texts and arrays have.
void bark(const std::u16string& woof, const std::vector<std::int64_t>& drat) {
    SAMPLE_TRACE_EVENT(BoniLogger, BarkEvent, boni,
                       woof.size() * sizeof(char16_t) + drat.size() * sizeof(std::int64_t))
        << BarkEvent.WoofString(woof.data(), woof.size())
        << BarkEvent.DratField(drat.data(), drat.size());
}

/// Every second number, waiting for the other thread to raise those between.
void take_turns(std::atomic<std::uint32_t>& turn, std::uint32_t mine, std::uint32_t last) {
    for (; mine <= last; mine += 2) {
        while (turn.load() != mine) {
            std::this_thread::yield();
        }
        SAMPLE_TRACE_EVENT(RainbowLogger, ZippyEvent, itv | bbc)
            << ZippyEvent.Field3(L"turn") << ZippyEvent.Field0(mine);
        turn.store(mine + 1);
    }
}

}  // namespace

int main() {
    SAMPLE_TRACE_THREAD_NAME("main");
    bark(u"Woof", {INT64_MIN, -1, INT64_MAX});

    const std::vector<std::int64_t> values{5, -6, 7'000'000'000};
    SAMPLE_TRACE_EVENT(RainbowLogger, ZippyEvent, itv | bbc)
        << ZippyEvent.Field0(4'000'000'000U) << ZippyEvent.Field1(0.25F)
        << ZippyEvent.Field2(values.data(), values.size())
        << ZippyEvent.Field3(L"zip \U0001f308", 5);
    {
        SAMPLE_TRACE_EVENT_TIMED_SCOPE(RainbowLogger, ZippyEvent, itv)
            << ZippyEvent.Field1(1.5F) << ZippyEvent.Field3(std::u16string{u"scope"});
    }

    std::atomic<std::uint32_t> turn{1};
    std::thread other{[&turn] {
        SAMPLE_TRACE_THREAD_NAME("other");
        take_turns(turn, 2, 6);
    }};
    take_turns(turn, 1, 6);
    other.join();
    return 0;
}
