#include "sampler/collector/events/throttling.h"

#include "core/units.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

namespace sample::collector {
namespace {

constexpr const char* kLimit = "kernel.perf_event_max_sample_rate";
/// What Linux starts with.
constexpr const char* kUsualLimit = "100000";

std::optional<std::int64_t> read_limit(const std::string& folder) {
    std::ifstream file{folder + "/perf_event_max_sample_rate"};
    std::int64_t value = 0;
    return file >> value ? std::optional{value} : std::nullopt;
}

}  // namespace

EventTimes read_event(int fd) {
    std::array<std::uint64_t, 3> words{};
    if (::read(fd, words.data(), sizeof words) != sizeof words) {
        return {};
    }
    return {words[0], words[2]};
}

ThrottleWatch::ThrottleWatch(std::uint32_t due_hz, std::string folder)
    : least_hz_{due_hz},
      most_hz_{due_hz},
      folder_{std::move(folder)},
      first_limit_{read_limit(folder_)},
      lowest_limit_{first_limit_} {}

void ThrottleWatch::look() {
    if (const auto limit = read_limit(folder_)) {
        lowest_limit_ = std::min(lowest_limit_.value_or(*limit), *limit);
    }
}

void ThrottleWatch::change_frequency(std::uint32_t hz) {
    least_hz_ = std::min(least_hz_, hz);
    most_hz_ = std::max(most_hz_, hz);
}

void ThrottleWatch::add(const EventTimes& times, std::uint64_t samples) {
    if (times.running_ns == 0) {
        return;
    }
    // What is less than a period held no sample back: it is the start and the end of a program.
    const std::uint64_t stopped_ns = times.running_ns - std::min(times.counted, times.running_ns);
    const bool is_stopped = stopped_ns * most_hz_ >= kNsPerSecond;
    times_ += {is_stopped ? times.counted : times.running_ns, times.running_ns};
    samples_ += samples;
}

double ThrottleWatch::samples_a_second() const {
    return static_cast<double>(samples_) * 1e9 / static_cast<double>(times_.running_ns);
}

bool ThrottleWatch::is_throttled() const {
    // Starting and stopping at each switch of threads is not exact.
    constexpr double kCounts = 0.995;
    constexpr double kAsAsked = 0.98;
    if (static_cast<double>(times_.counted) < kCounts * static_cast<double>(times_.running_ns)) {
        return true;
    }
    return times_.running_ns != 0 && lowest_limit_.value_or(most_hz_ + 1) <= most_hz_ &&
           samples_a_second() < kAsAsked * least_hz_;
}

std::string ThrottleWatch::note(bool kernel_excluded) const {
    if (!is_throttled()) {
        return {};
    }
    std::string text = "the kernel throttled sampling to " +
                       std::to_string(std::llround(samples_a_second())) +
                       " samples a second of the " +
                       (least_hz_ == most_hz_ ? "" : std::to_string(least_hz_) + " to ") +
                       std::to_string(most_hz_) + " that were due";
    if (lowest_limit_) {
        text += std::string{": "} + kLimit;
        text += *lowest_limit_ == first_limit_
                    ? " is " + std::to_string(*lowest_limit_)
                    : " fell from " + std::to_string(first_limit_.value_or(0)) + " to " +
                          std::to_string(*lowest_limit_);
    }
    text += "; durations still add up, but stand on fewer samples";
    if (kernel_excluded) {
        text += ", and [kernel, caller unseen] has got time of the program itself";
    }
    return text + "; lower --freq, or sudo sysctl " + kLimit + "=" + kUsualLimit;
}

}  // namespace sample::collector
