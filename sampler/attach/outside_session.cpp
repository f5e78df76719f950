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
             options_.kernel, options_.off_cpu},
      throttling_{static_cast<std::uint32_t>(kNsPerSecond / expiry_period(options_))} {
    around_.max_depth = options_.max_stack;
    around_.sampling.period_ns = expiry_period(options_);
    around_.sees_switches = options_.off_cpu;
}

void OutsideSession::on_lost(std::uint64_t records) {
    lost_ += records;
    recorder_.sink().lost(records);
    if (options_.off_cpu) {
        around_.watched_since_ns.reset();
        lost_waits_ += lose_switches();
        wakers_.clear();
    }
}

void OutsideSession::on_waking(const Waking& waking) {
    if (recorder_.has_begun() && (is_of_machine() || watch_.knows(waking.woken))) {
        wakers_[waking.woken] = around_.wakers.frame_of(waking.waker);
    }
}

std::optional<ModuleId> OutsideSession::take_waker(const Switch& change) {
    const auto waker = wakers_.extract(change.tid);
    return waker.empty() ? std::nullopt : std::optional{waker.mapped()};
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
            around_.wakers.look_again();
        }
        drain(collector::monotonic_ns() - kSettleNs);
        housekeeping(is_second);
        around_.images.forget_unused();
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
            " samples, or records of threads and switches, were lost, as sample did not get to "
            "read them in time: a lower --freq makes fewer; the samples' time is in " +
            (is_of_machine() ? "no figure" : "[not sampled]"));
    }
    if (lost_waits_ != 0) {
        add(std::to_string(lost_waits_) +
            " waits are in no figure, as records of their beginnings or ends may be among those "
            "that were lost");
    }
    if (options_.off_cpu && !watch_.why_no_wakings().empty()) {
        add("who woke the threads that slept is not recorded: " + watch_.why_no_wakings());
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
