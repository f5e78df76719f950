#include "sampler/collector/events/throttling.h"

#include "core/fd.h"
#include "sampler/source/perf_event.h"

#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <ctime>
#include <filesystem>
#include <fstream>

namespace sample::collector {
namespace {

/// A folder with the one setting in it.
class Throttling : public testing::Test {
protected:
    Throttling() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "throttlingXXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~Throttling() override { std::filesystem::remove_all(folder_); }

    void set_limit(int value) const {
        std::ofstream{folder_ / "perf_event_max_sample_rate"} << value << "\n";
    }
    [[nodiscard]] ThrottleWatch watch(std::uint32_t hz) const {
        return ThrottleWatch{hz, folder_.string()};
    }

private:
    std::filesystem::path folder_;
};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST_F(Throttling, is_silent_while_events_count_all_the_time) {
    set_limit(100'000);
    ThrottleWatch watching = watch(10'000);
    watching.add({4 * kSecond, 4 * kSecond}, 40'000);
    watching.add({kSecond + 100'000, kSecond}, 500);  // long system calls
    EXPECT_EQ(watching.note(false), "");
}

TEST_F(Throttling, is_silent_about_programs_that_are_over_before_their_first_sample) {
    set_limit(100'000);
    ThrottleWatch watching = watch(10'000);
    for (int i = 0; i < 1'000; ++i) {
        watching.add({60'000, 150'000}, 0);  // a sample each 100,000 ns
    }
    EXPECT_EQ(watching.note(false), "");
    watching.add({kSecond, 2 * kSecond}, 10'000);
    EXPECT_NE(watching.note(false), "");
}

TEST_F(Throttling, is_silent_about_a_low_setting_that_held_nothing_back) {
    set_limit(500);
    ThrottleWatch watching = watch(500);
    watching.add({4 * kSecond, 4 * kSecond}, 1'990);
    EXPECT_EQ(watching.note(false), "");
}

TEST_F(Throttling, is_silent_where_no_event_was_used) {
    set_limit(500);
    ThrottleWatch watching = watch(10'000);
    EXPECT_EQ(watching.note(false), "");
    watching.add({}, 5'000);
    EXPECT_EQ(watching.note(false), "");
}

TEST_F(Throttling, says_what_came_of_the_rate_and_what_to_do) {
    set_limit(2'000);
    ThrottleWatch watching = watch(10'000);
    watching.add({kSecond / 2, 2 * kSecond}, 4'500);
    watching.add({kSecond / 2, 2 * kSecond}, 4'500);
    const std::string note = watching.note(false);
    EXPECT_TRUE(
        contains(note, "throttled sampling to 2250 samples a second of the 10000 that were due"))
        << note;
    EXPECT_TRUE(contains(note, "kernel.perf_event_max_sample_rate is 2000;")) << note;
    EXPECT_TRUE(contains(note, "sudo sysctl kernel.perf_event_max_sample_rate=100000")) << note;
    EXPECT_FALSE(contains(note, "caller unseen")) << note;
    EXPECT_TRUE(contains(watching.note(true), "[kernel, caller unseen]"));
}

TEST_F(Throttling, is_seen_in_the_samples_where_the_count_does_not_show_it) {
    set_limit(2'000);
    ThrottleWatch watching = watch(10'000);
    watching.add({2 * kSecond, 2 * kSecond}, 4'500);
    EXPECT_TRUE(contains(watching.note(false), "2250 samples")) << watching.note(false);
}

TEST_F(Throttling, is_seen_in_the_count_where_the_setting_does_not_show_it) {
    set_limit(100'000);
    ThrottleWatch watching = watch(10'000);
    watching.add({kSecond, 2 * kSecond}, 10'000);
    EXPECT_TRUE(contains(watching.note(false), "5000 samples")) << watching.note(false);
}

TEST_F(Throttling, says_that_the_limit_fell_also_if_it_rose_again) {
    set_limit(100'000);
    ThrottleWatch watching = watch(10'000);
    set_limit(3'000);
    watching.look();
    set_limit(50'000);
    watching.look();
    watching.add({kSecond, kSecond}, 9'000);
    const std::string note = watching.note(false);
    EXPECT_TRUE(contains(note, "to 9000 samples a second")) << note;
    EXPECT_TRUE(contains(note, "fell from 100000 to 3000;")) << note;
}

TEST_F(Throttling, is_silent_about_a_frequency_that_was_lowered_as_asked) {
    set_limit(5'000);
    ThrottleWatch watching = watch(10'000);
    watching.change_frequency(1'000);
    watching.add({10 * kSecond, 10 * kSecond}, 12'000);
    EXPECT_EQ(watching.note(false), "");
}

TEST_F(Throttling, tells_all_that_was_due) {
    set_limit(2'000);
    ThrottleWatch watching = watch(1'000);
    watching.change_frequency(10'000);
    watching.add({kSecond, 2 * kSecond}, 4'000);
    EXPECT_TRUE(contains(watching.note(false),
                         "to 2000 samples a second of the 1000 to 10000 that were due"))
        << watching.note(false);
}

TEST_F(Throttling, needs_no_settings) {
    ThrottleWatch watching = watch(10'000);
    watching.look();
    watching.add({kSecond, 2 * kSecond}, 10'000);
    EXPECT_TRUE(contains(watching.note(false), "10000 that were due; durations"))
        << watching.note(false);
}

TEST(ReadEvent, finds_nothing_where_there_is_no_event) {
    const Fd file{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(read_event(file.get()).running_ns, 0U);
    EXPECT_EQ(read_event(-1).running_ns, 0U);
}

TEST(ReadEvent, a_clock_that_is_not_throttled_counts_all_its_time) {
    source::PerfRequest request;
    request.period = 10'000'000'000;  // it never expires here
    request.exclude_kernel = true;
    const Fd event{source::open_event(request, 0)};
    if (!event.is_open()) {
        GTEST_SKIP() << "no perf event can be opened here";
    }
    ASSERT_EQ(::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0), 0);
    const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 20;
    while (std::clock() < end) {
    }
    ASSERT_EQ(::ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0), 0);
    const EventTimes times = read_event(event.get());
    EXPECT_GE(times.running_ns, 40'000'000U);
    EXPECT_GE(times.counted, times.running_ns - times.running_ns / 200);
}

}  // namespace
}  // namespace sample::collector
