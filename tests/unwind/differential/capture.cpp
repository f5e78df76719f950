// perf_event_open, its ring buffers and its records; the contract is in the header.
#include "tests/unwind/differential/capture.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

namespace sample::unwind::differential {

namespace {

// The largest multiple of 8 below 64 KiB; the kernel takes what does not fit a record off it.
constexpr std::uint32_t kLargestDump = 65528;
// Bits of uapi/asm/perf_regs.h: ax bx cx dx si di bp sp ip are 0–8, r8–r15 are 16–23.
constexpr std::uint64_t kRegisterBits = 0xff01ff;
// DWARF numbers of these bits, ascending.
constexpr std::array<std::uint8_t, Registers::kCount> kDwarfOrder{0, 3, 2,  1,  4,  5,  6,  7, 16,
                                                                  8, 9, 10, 11, 12, 13, 14, 15};
// A record may be written this much later than its time says.
constexpr std::uint64_t kSettleNs = 2'000'000;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
           static_cast<std::uint64_t>(now.tv_nsec);
}

perf_event_attr common_attributes(std::size_t buffer_bytes) {
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    attributes.sample_id_all = 1;
    attributes.inherit = 1;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    attributes.watermark = 1;
    attributes.wakeup_watermark = static_cast<std::uint32_t>(buffer_bytes / 4);
    return attributes;
}

perf_event_attr sampling_attributes(std::uint64_t hz, std::size_t buffer_bytes) {
    perf_event_attr attributes = common_attributes(buffer_bytes);
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = kNsPerSecond / hz;
    attributes.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attributes.sample_regs_user = kRegisterBits;
    attributes.sample_stack_user = kLargestDump;
    attributes.disabled = 1;
    attributes.enable_on_exec = 1;
    return attributes;
}

perf_event_attr tracking_attributes(std::size_t buffer_bytes) {
    perf_event_attr attributes = common_attributes(buffer_bytes);
    attributes.config = PERF_COUNT_SW_DUMMY;
    attributes.mmap = 1;
    attributes.comm = 1;
    attributes.comm_exec = 1;
    attributes.task = 1;
    return attributes;
}

/// Takes values off the front of a record's body.
class Fields {
public:
    explicit Fields(std::span<const std::byte> bytes) noexcept : bytes_{bytes} {}

    template <class Value>
    Value take() noexcept {
        Value value{};
        if (bytes_.size() >= sizeof(Value)) {
            std::memcpy(&value, bytes_.data(), sizeof(Value));
            bytes_ = bytes_.subspan(sizeof(Value));
        } else {
            bytes_ = {};
        }
        return value;
    }
    [[nodiscard]] std::span<const std::byte> rest() const noexcept { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

std::uint32_t type_of(std::span<const std::byte> record) {
    return Fields{record}.take<perf_event_header>().type;
}

/// A sample's time follows its thread; all other records end in pid, tid and time.
std::uint64_t time_of(std::span<const std::byte> record) {
    return type_of(record) == PERF_RECORD_SAMPLE
               ? Fields{record.subspan(sizeof(perf_event_header) + 8)}.take<std::uint64_t>()
               : Fields{record.last(8)}.take<std::uint64_t>();
}

StackSample decode_sample(Fields fields) {
    StackSample sample;
    sample.pid = static_cast<pid_t>(fields.take<std::uint32_t>());
    sample.tid = static_cast<pid_t>(fields.take<std::uint32_t>());
    static_cast<void>(fields.take<std::uint64_t>());
    if (fields.take<std::uint64_t>() != PERF_SAMPLE_REGS_ABI_NONE) {
        for (const std::uint8_t reg : kDwarfOrder) {
            sample.registers.value[reg] = fields.take<std::uint64_t>();
        }
    }
    const auto room = fields.take<std::uint64_t>();
    if (room != 0 && room + 8 <= fields.rest().size()) {
        const auto dumped = Fields{fields.rest().subspan(room)}.take<std::uint64_t>();
        if (dumped <= room) {
            sample.stack = fields.rest().first(dumped);
            sample.full = dumped == room;
        }
    }
    return sample;
}

}  // namespace

/// One event on one CPU, and the ring buffer that it writes.
class EventBuffer {
public:
    static Result<std::unique_ptr<EventBuffer>> open(perf_event_attr attributes, pid_t pid, int cpu,
                                                     std::size_t bytes) {
        Fd fd{static_cast<int>(
            syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC))};
        if (!fd.is_open()) {
            return unexpected(
                Error::from_errno("cannot open a perf event (perf_event_paranoid, "
                                  "or a container that forbids perf_event_open)"));
        }
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        void* base = mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
        if (base == MAP_FAILED) {
            return unexpected(Error::from_errno("cannot map a perf buffer (perf_event_mlock_kb)"));
        }
        return std::unique_ptr<EventBuffer>{
            new EventBuffer{std::move(fd), {static_cast<std::byte*>(base), page + bytes}, page}};
    }

    EventBuffer(const EventBuffer&) = delete;
    EventBuffer& operator=(const EventBuffer&) = delete;
    ~EventBuffer() { munmap(mapping_.data(), mapping_.size()); }

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// Sees what was written until now. Pairs with the kernel's store of data_head.
    void refresh() noexcept { head_ = __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE); }
    /// The next record, or an empty span; valid until pop().
    std::span<const std::byte> peek() {
        if (current_.empty() && tail_ != head_) {
            const auto header =
                Fields{bytes_at(tail_, sizeof(perf_event_header))}.take<perf_event_header>();
            current_ = bytes_at(tail_, header.size);
        }
        return current_;
    }
    /// Gives the record's room back to the kernel, which may then overwrite it.
    void pop() noexcept {
        tail_ += current_.size();
        current_ = {};
        __atomic_store_n(&page().data_tail, tail_, __ATOMIC_RELEASE);
    }

private:
    EventBuffer(Fd fd, std::span<std::byte> mapping, std::size_t page_bytes)
        : fd_{std::move(fd)}, mapping_{mapping}, data_{mapping.subspan(page_bytes)} {}

    [[nodiscard]] perf_event_mmap_page& page() const noexcept {
        return *reinterpret_cast<perf_event_mmap_page*>(mapping_.data());
    }
    std::span<const std::byte> bytes_at(std::uint64_t position, std::size_t size) {
        const std::size_t offset = position & (data_.size() - 1);
        if (offset + size <= data_.size()) {
            return data_.subspan(offset, size);
        }
        const std::size_t first = data_.size() - offset;
        std::memcpy(joined_.data(), &data_[offset], first);
        std::memcpy(&joined_[first], data_.data(), size - first);
        return std::span{joined_}.first(size);
    }

    Fd fd_;
    std::span<std::byte> mapping_;
    std::span<std::byte> data_;
    std::array<std::byte, std::size_t{1} << 16> joined_{};
    std::span<const std::byte> current_;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
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
             {std::pair{tracking_attributes(tracking), tracking},
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
        polled.push_back(pollfd{buffer->fd(), POLLIN, 0});
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
    for (const auto& buffer : buffers_) {
        buffer->refresh();
    }
    for (;;) {
        EventBuffer* oldest = nullptr;
        std::uint64_t oldest_time = until;
        for (const auto& buffer : buffers_) {
            const auto record = buffer->peek();
            if (!record.empty() && time_of(record) < oldest_time) {
                oldest = buffer.get();
                oldest_time = time_of(record);
            }
        }
        if (oldest == nullptr) {
            return;
        }
        decode(oldest->peek(), sink);
        oldest->pop();
    }
}

void Capture::decode(std::span<const std::byte> record, CaptureSink& sink) {
    Fields fields{record};
    const auto header = fields.take<perf_event_header>();
    if (header.type == PERF_RECORD_SAMPLE) {
        sink.on_sample(decode_sample(fields));
        return;
    }
    if (header.type == PERF_RECORD_LOST) {
        static_cast<void>(fields.take<std::uint64_t>());
        lost_ += fields.take<std::uint64_t>();
        return;
    }
    const auto pid = static_cast<pid_t>(fields.take<std::uint32_t>());
    const auto second = static_cast<pid_t>(fields.take<std::uint32_t>());
    if (header.type == PERF_RECORD_MMAP) {
        CodeMapping mapping;
        mapping.address = fields.take<std::uint64_t>();
        mapping.size = fields.take<std::uint64_t>();
        mapping.file_offset = fields.take<std::uint64_t>();
        mapping.path = reinterpret_cast<const char*>(fields.rest().data());
        sink.on_mapping(pid, mapping);
    } else if (header.type == PERF_RECORD_FORK && pid != second) {
        sink.on_fork(second, pid);
    } else if (header.type == PERF_RECORD_COMM && (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
        sink.on_exec(pid);
    } else if (header.type == PERF_RECORD_EXIT &&
               pid == static_cast<pid_t>(fields.take<std::uint32_t>())) {
        sink.on_exit(pid);
    }
}

}  // namespace sample::unwind::differential
