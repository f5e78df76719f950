#include "sampler/source/event_spec.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace sample::source {
namespace {

EventSpec parsed(std::string_view text) {
    const Result<EventSpec> event = parse_event(text);
    EXPECT_TRUE(event) << text << ": " << (event ? "" : event.error().message());
    return event ? *event : EventSpec{};
}

void expect_refusal(std::string_view text, std::string_view why) {
    const Result<EventSpec> event = parse_event(text);
    ASSERT_FALSE(event) << text;
    EXPECT_NE(event.error().message().find(why), std::string::npos) << event.error().message();
}

TEST(EventSpec, is_time_unless_told_otherwise) {
    EXPECT_TRUE(EventSpec{}.is_default());
    EXPECT_TRUE(parsed("cpu-clock").is_default());
    EXPECT_TRUE(parsed("cpu-clock").is_clock);
    const EventSpec task = parsed("task-clock");
    EXPECT_FALSE(task.is_default());
    EXPECT_TRUE(task.is_clock);
    EXPECT_EQ(task.config, PERF_COUNT_SW_TASK_CLOCK);
    EXPECT_EQ(task.unit, "ns");
}

TEST(EventSpec, knows_the_kernels_events) {
    const EventSpec faults = parsed("page-faults");
    EXPECT_EQ(faults.type, PERF_TYPE_SOFTWARE);
    EXPECT_EQ(faults.config, PERF_COUNT_SW_PAGE_FAULTS);
    EXPECT_EQ(faults.period, 1U);
    EXPECT_EQ(faults.unit, "page-faults");
    EXPECT_FALSE(faults.is_clock);
    EXPECT_FALSE(faults.in_kernel);
    const EventSpec switches = parsed("cs");
    EXPECT_EQ(switches.name, "context-switches");
    EXPECT_EQ(switches.config, PERF_COUNT_SW_CONTEXT_SWITCHES);
    EXPECT_TRUE(switches.in_kernel);
}

TEST(EventSpec, knows_the_hardwares_events) {
    const EventSpec misses = parsed("cache-misses");
    EXPECT_EQ(misses.type, PERF_TYPE_HARDWARE);
    EXPECT_EQ(misses.config, PERF_COUNT_HW_CACHE_MISSES);
    EXPECT_GT(misses.period, 1000U);
    const EventSpec loads = parsed("dTLB-store-misses");
    EXPECT_EQ(loads.type, PERF_TYPE_HW_CACHE);
    EXPECT_EQ(loads.config, PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_WRITE << 8U |
                                PERF_COUNT_HW_CACHE_RESULT_MISS << 16U);
    const EventSpec raw = parsed("r01C2");
    EXPECT_EQ(raw.type, PERF_TYPE_RAW);
    EXPECT_EQ(raw.config, 0x1c2U);
    EXPECT_EQ(raw.name, "r01C2");
    EXPECT_EQ(raw.unit, "events");
}

TEST(EventSpec, takes_a_period) {
    EXPECT_EQ(parsed("page-faults:100").period, 100U);
    EXPECT_EQ(parsed("page-faults:2k").period, 2000U);
    EXPECT_EQ(parsed("cycles:3M").period, 3'000'000U);
    EXPECT_EQ(parsed("r1a8:7000").period, 7000U);
    expect_refusal("page-faults:0", "outside 1 to");
    expect_refusal("cycles:1000", "outside 50000 to");
    expect_refusal("page-faults:99999999999999999999", "outside 1 to");
    expect_refusal("page-faults:9999G", "outside 1 to");
    expect_refusal("task-clock:1000", "--freq");
}

TEST(EventSpec, refuses_what_it_does_not_know) {
    for (const char* text : {"", "cycle", "rXYZ", "r", "r11223344556677889", "L1-dcache", ":5",
                             "L1-dcache-bogus", "PAGE-FAULTS"}) {
        expect_refusal(text, "sample --event help");
    }
    EXPECT_NE(known_events().find("page-faults"), std::string::npos);
}

class Tracepoints : public testing::Test {
protected:
    Tracepoints() {
        std::string name = testing::TempDir() + "sample-tracefs-XXXXXX";
        folder_ = mkdtemp(name.data());
        std::filesystem::create_directories(folder_ + "/events/made_up/hit");
        std::ofstream{folder_ + "/events/made_up/hit/id"} << "4711\n";
        std::filesystem::create_directories(folder_ + "/events/made_up/bad");
        std::ofstream{folder_ + "/events/made_up/bad/id"} << "x\n";
    }
    ~Tracepoints() override { std::filesystem::remove_all(folder_); }

    std::string folder_;
};

TEST_F(Tracepoints, are_looked_up_in_tracefs) {
    const auto hit = parse_event("made_up:hit", folder_);
    ASSERT_TRUE(hit) << hit.error().message();
    EXPECT_EQ(hit->type, PERF_TYPE_TRACEPOINT);
    EXPECT_EQ(hit->config, 4711U);
    EXPECT_EQ(hit->period, 1U);
    EXPECT_EQ(hit->name, "made_up:hit");
    EXPECT_EQ(hit->unit, "events");
    EXPECT_TRUE(hit->in_kernel);
    EXPECT_EQ(parse_event("made_up:hit:10", folder_)->period, 10U);
}

TEST_F(Tracepoints, that_are_not_there_are_refused_with_what_to_do) {
    const auto message = [](const std::string& text, const std::string& folder) {
        const auto event = parse_event(text, folder);
        EXPECT_FALSE(event) << text;
        return event ? std::string{} : event.error().message();
    };
    EXPECT_NE(message("made_up:miss", folder_).find("lists the groups"), std::string::npos);
    EXPECT_NE(message("made_up:bad", folder_).find("lists the groups"), std::string::npos);
    EXPECT_NE(message("made_up:hit", folder_ + "/nowhere").find("mount -t tracefs"),
              std::string::npos);
    EXPECT_NE(message("made_up:../../x", folder_).find("is no tracepoint"), std::string::npos);
    EXPECT_NE(message(":hit", folder_).find("is no tracepoint"), std::string::npos);
}

TEST(EventCheck, refuses_events_of_the_kernel_where_only_user_code_is_seen) {
    const auto checked = check_event(parsed("context-switches"), control::Source::perf);
    ASSERT_FALSE(checked);
    EXPECT_NE(checked.error().message().find("sigtrap"), std::string::npos)
        << checked.error().message();
}

TEST(EventCheck, refuses_what_the_machine_does_not_count) {
    EventSpec event;
    event.name = "made-up";
    event.config = 99;  // no such software event
    event.is_clock = false;
    event.period = 1;
    const auto checked = check_event(event, control::Source::none);
    ASSERT_FALSE(checked);
    EXPECT_TRUE(checked.error().message().starts_with("--event made-up ")) << "says which";
}

}  // namespace
}  // namespace sample::source
