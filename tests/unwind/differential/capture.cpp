// Events on a program that is about to begin; the contract is in the header.
#include "tests/unwind/differential/capture.h"

#include "sampler/attach/event_records.h"
#include "sampler/attach/event_ring.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <utility>

namespace sample::unwind::differential {

namespace {

// The largest multiple of 8 below 64 KiB; the kernel takes what does not fit a record off it.
constexpr std::uint32_t kLargestDump = 65528;
// A record may be written this much later than its time says.
constexpr std::uint64_t kSettleNs = 2'000'000;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// What the product asks for, but of a program that begins with its next exec.
attach::EventWishes wishes_for(std::uint64_t hz, std::size_t buffer_bytes) {
    attach::EventWishes wishes;
    wishes.period_ns = kNsPerSecond / hz;
    wishes.stack_bytes = kLargestDump;
    wishes.ring_bytes = buffer_bytes;
    wishes.with_children = true;
    wishes.with_count = false;
    return wishes;
}

perf_event_attr sampling_attributes(std::uint64_t hz, std::size_t buffer_bytes) {
    perf_event_attr attributes = attach::attributes_of(wishes_for(hz, buffer_bytes));
    attributes.wakeup_watermark = static_cast<std::uint32_t>(buffer_bytes / 4);
    attributes.mmap = 0;
    attributes.mmap2 = 0;
    attributes.comm = 0;
    attributes.comm_exec = 0;
    attributes.task = 0;
    attributes.disabled = 1;
    attributes.enable_on_exec = 1;
    return attributes;
}

perf_event_attr tracking_attributes(std::uint64_t hz, std::size_t buffer_bytes) {
    perf_event_attr attributes = attach::attributes_of(wishes_for(hz, buffer_bytes));
    attributes.config = PERF_COUNT_SW_DUMMY;
    attributes.sample_period = 0;
    attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    attributes.sample_regs_user = 0;
    attributes.sample_stack_user = 0;
    attributes.wakeup_watermark = static_cast<std::uint32_t>(buffer_bytes / 4);
    return attributes;
}

/// Hands what the product reads to a CaptureSink.
class Adapter final : public attach::EventSink {
public:
    explicit Adapter(CaptureSink& sink) : sink_{sink} {}

    void on_sample(const attach::StackSample& sample) override {
        StackSample out;
        out.pid = sample.pid;
        out.tid = sample.tid;
        out.registers = sample.registers;
        out.stack = sample.stack;
        out.full = sample.is_cut_off;
        sink_.on_sample(out);
    }
    void on_new_code(const attach::NewCode& code) override {
        sink_.on_mapping(code.pid, {code.start, code.size, code.file_offset, code.path});
    }
    void on_start(pid_t parent, pid_t pid, pid_t /*tid*/, std::uint64_t /*time_ns*/) override {
        if (parent != pid) {
            sink_.on_fork(parent, pid);
        }
    }
    void on_end(pid_t pid, pid_t tid, std::uint64_t /*time_ns*/) override {
        if (pid == tid) {
            sink_.on_exit(pid);
        }
    }
    void on_name(pid_t /*pid*/, pid_t /*tid*/, std::string_view /*name*/) override {}
    void on_exec(pid_t pid, std::string_view /*name*/, std::uint64_t /*time_ns*/) override {
        sink_.on_exec(pid);
    }
    void on_lost(std::uint64_t records) override { lost_ += records; }

    [[nodiscard]] std::uint64_t lost() const { return lost_; }

private:
    CaptureSink& sink_;
    std::uint64_t lost_ = 0;
};

}  // namespace

/// One event on one CPU, and the ring that it writes.
struct EventBuffer {
    static Result<std::unique_ptr<EventBuffer>> open(perf_event_attr attributes, pid_t pid, int cpu,
                                                     std::size_t bytes) {
        auto buffer = std::make_unique<EventBuffer>();
        buffer->event = Fd{static_cast<int>(
            syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC))};
        if (!buffer->event.is_open()) {
            return unexpected(
                Error::from_errno("cannot open a perf event (perf_event_paranoid, "
                                  "or a container that forbids perf_event_open)"));
        }
        SAMPLE_TRY(ring, attach::EventRing::map(buffer->event.get(), bytes));
        buffer->ring = std::move(ring);
        return buffer;
    }

    Fd event;
    std::unique_ptr<attach::EventRing> ring;  ///< Goes before the event.
};

Capture::Capture() noexcept = default;
Capture::Capture(Capture&&) noexcept = default;
Capture& Capture::operator=(Capture&&) noexcept = default;
Capture::~Capture() = default;

Result<Capture> Capture::open(pid_t pid, const CaptureOptions& options) {
    Capture capture;
    const std::size_t samples = options.buffer_mib << 20;
    const std::size_t tracking = options.tracking_buffer_mib << 20;
    const auto cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    for (int cpu = 0; cpu < cpus; ++cpu) {
        for (const auto& [attributes, bytes] :
             {std::pair{tracking_attributes(options.hz, tracking), tracking},
              std::pair{sampling_attributes(options.hz, samples), samples}}) {
            auto buffer = EventBuffer::open(attributes, pid, cpu, bytes);
            if (!buffer) {
                return unexpected(buffer.error());
            }
            capture.buffers_.push_back(std::move(*buffer));
        }
    }
    return capture;
}

void Capture::wait(int milliseconds) const {
    std::vector<pollfd> polled;
    for (const auto& buffer : buffers_) {
        polled.push_back(pollfd{buffer->event.get(), POLLIN, 0});
    }
    poll(polled.data(), polled.size(), milliseconds);
}

void Capture::drain(CaptureSink& sink) {
    // Read before the buffers' heads: whatever is older is behind one of them.
    hand_out(sink, now_ns() - kSettleNs);
}

void Capture::finish(CaptureSink& sink) {
    hand_out(sink, ~std::uint64_t{0});
}

void Capture::hand_out(CaptureSink& sink, std::uint64_t until) {
    Adapter adapter{sink};
    attach::EventWishes wishes;
    wishes.with_count = false;
    for (const auto& buffer : buffers_) {
        buffer->ring->refresh();
    }
    for (;;) {
        attach::EventRing* oldest = nullptr;
        std::uint64_t oldest_time = until;
        for (const auto& buffer : buffers_) {
            const auto record = buffer->ring->peek();
            if (!record.empty() && attach::time_of(record) < oldest_time) {
                oldest = buffer->ring.get();
                oldest_time = attach::time_of(record);
            }
        }
        if (oldest == nullptr) {
            break;
        }
        attach::decode(oldest->peek(), wishes, 0, adapter);
        oldest->pop();
    }
    lost_ += adapter.lost();
}

}  // namespace sample::unwind::differential
