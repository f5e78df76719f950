#include "analysis/live/record_queue.h"

#include "core/kernel_clock.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <variant>

namespace sample::analysis {
namespace {

std::uint64_t now_ns() {
    return read_kernel_clock_ns(CLOCK_MONOTONIC);
}

}  // namespace

void RecordBatch::add(const trace::Sample& sample) {
    trace::Sample key = sample;
    key.weight = 0;
    SampleSum& known = samples_[samples_.intern({key})];
    known.sum.time_ns = std::max(known.sum.time_ns, sample.time_ns);
    known.sum.weight += sample.weight;
    ++known.samples;
}

RecordQueue::RecordQueue(Fd waits) : waits_{std::move(waits)} {
    filling_.begin_ns = now_ns();
}

Result<std::unique_ptr<RecordQueue>> RecordQueue::create() {
    Fd waits{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)};
    if (!waits.is_open()) {
        return unexpected(Error::from_errno("cannot watch the session"));
    }
    return std::unique_ptr<RecordQueue>{new RecordQueue{std::move(waits)}};
}

void RecordQueue::record(const trace::Record& record) {
    if (std::holds_alternative<trace::ModuleLoad>(record) ||
        std::holds_alternative<trace::UnprofiledProgram>(record)) {
        return;
    }
    if (const auto* const module = std::get_if<trace::Module>(&record)) {
        if (auto reader = ActingAs::current()) {
            filling_.readers.emplace_back(module->id, std::move(reader));
        }
    }
    filling_.records.push_back(record);
}

Result<void> RecordQueue::flush(trace::FlushMode mode) {
    const std::uint64_t now = now_ns();
    if (filling_.is_empty()) {
        filling_.begin_ns = now;
        return {};
    }
    {
        const std::lock_guard lock{mutex_};
        if (mode == trace::FlushMode::worthwhile && waiting_.size() >= kMostWaiting) {
            return {};
        }
        filling_.end_ns = now;
        waiting_.push_back(std::move(filling_));
    }
    ::eventfd_write(waits_.get(), 1);
    filling_ = RecordBatch{};
    filling_.begin_ns = now;
    return {};
}

std::optional<RecordBatch> RecordQueue::take() {
    eventfd_t one = 0;
    ::eventfd_read(waits_.get(), &one);
    const std::lock_guard lock{mutex_};
    if (waiting_.empty()) {
        return std::nullopt;
    }
    RecordBatch batch = std::move(waiting_.front());
    waiting_.pop_front();
    return batch;
}

}  // namespace sample::analysis
