#include "sampler/attach/outside_session.h"

#include "core/mapped_reading.h"
#include "sampler/collector/own_limits.h"
#include "sampler/collector/process/proc_files.h"

#include <poll.h>

#include <utility>

namespace sample::attach {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
// A record may be written this much later than its time says.
constexpr std::uint64_t kSettleNs = 2'000'000;

// More than the round period, as less would be more samples than were asked for, and near no simple
// ratio to what programs work in step with: docs/attach.md.
std::uint64_t expiry_period(const collector::SessionOptions& options) {
    constexpr std::uint64_t kMoreOfThousand = 59;
    return options.period() + options.period() * kMoreOfThousand / 1000;
}

}  // namespace

OutsideSession::OutsideSession(collector::SessionOptions options,
                               std::unique_ptr<trace::RecordSink> sink, Watching whom)
    : options_{std::move(options)},
      sink_{std::move(sink)},
      recorder_{*sink_, options_.start_now()},
      around_{recorder_},
      whom_{whom},
      watch_{expiry_period(options_),
             whom == Watching::threads && options_.children ? Watching::families : whom,
             options_.kernel},
      throttling_{static_cast<std::uint32_t>(kNsPerSecond / expiry_period(options_))} {
    around_.max_depth = options_.max_stack;
    around_.sampling.period_ns = expiry_period(options_);
}

void OutsideSession::drain(std::uint64_t until) {
    // Files may be cut off while their tables are read.
    const MappedReading reading;
    watch_.drain(*this, until);
}

bool OutsideSession::wait() const {
    std::vector<pollfd> fds{{options_.stop_fd, POLLIN, 0}};
    for (const int fd : wakers()) {
        fds.push_back({fd, POLLIN, 0});
    }
    ::poll(fds.data(), fds.size(), watch_.drain_ms());
    return fds[0].revents != 0;
}

OutsideOutcome OutsideSession::run() {
    const std::uint64_t start = collector::monotonic_ns();
    const auto limit = options_.time ? static_cast<std::uint64_t>(options_.time->count()) : kMost;
    std::uint64_t last_second = kMost;
    while (!over_ && !have_all_ended()) {
        const std::uint64_t spent = collector::monotonic_ns() - start;
        if (spent >= limit) {
            break;
        }
        const bool is_second = spent / kNsPerSecond != last_second;
        last_second = spent / kNsPerSecond;
        if (is_second && options_.time && options_.on_second) {
            options_.on_second(std::chrono::nanoseconds{limit - spent});
        }
        if (is_second) {
            throttling_.look();
        }
        drain(collector::monotonic_ns() - kSettleNs);
        housekeeping(is_second);
        recorder_.flush(trace::FlushMode::worthwhile);
        over_ = over_ || recorder_.failure().has_value() || wait();
    }
    return finish();
}

OutsideOutcome OutsideSession::finish() {
    OutsideOutcome outcome;
    drain(kMost);
    outcome.have_all_ended = have_all_ended();
    const collector::EventTimes times = watch_.times();
    // The machine's events go on while nobody runs, which gives no samples.
    throttling_.add(times, is_of_machine() ? times.counted / period_ns() : samples_);
    end_all();
    outcome.samples = samples_;
    const std::uint64_t end = recorder_.not_before_start(collector::monotonic_ns());
    if (const auto finished = recorder_.finish({end, !outcome.have_all_ended, note(), 0});
        !finished) {
        outcome.failure = finished.error();
    }
    return outcome;
}

std::string OutsideSession::note() {
    std::string lines;
    const auto add = [&lines](const std::string& line) {
        lines += (lines.empty() || line.empty() ? "" : "\n") + line;
    };
    throttling_.look();
    add(throttling_.note(watch_.excludes_kernel()));
    if (lost_ != 0) {
        add(std::to_string(lost_) +
            " samples were lost, as sample did not get to read them in time: a lower --freq makes "
            "fewer; their time is in " +
            (is_of_machine() ? "no figure" : "[not sampled]"));
    }
    if (watch_.excludes_kernel()) {
        add("time inside the kernel is measured, but not sampled, as kernel.perf_event_paranoid "
            "demands of you: sudo sysctl kernel.perf_event_paranoid=1, or run sample as root");
    }
    for (const std::string& line : own_notes()) {
        add(line);
    }
    for (const std::string& line : recorder_.notes()) {
        add(line);
    }
    return lines;
}

}  // namespace sample::attach
