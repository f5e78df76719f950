#include "sampler/attach/event_watch.h"

#include "sampler/collector/process/proc_files.h"
#include "sampler/source/event_spec.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>

namespace sample::attach {
namespace {

/// A ring has room for the samples of so long, as this process may have to wait for a processor.
constexpr std::uint64_t kRingNs = 100'000'000;
/// And to look at processes that come, in recordings of them all.
constexpr std::uint64_t kMachineRingNs = 1'000'000'000;
/// Of switches there may be as many as of samples at this period.
constexpr std::uint64_t kSwitchPeriodNs = 100'000;
/// Of a stack that is left, where all processes are watched, whose stacks nobody adapts to.
constexpr std::uint32_t kMachineSwitchBytes = 8192;
constexpr std::size_t kLeastRing = std::size_t{64} << 10U;
constexpr std::size_t kMostOfRings = std::size_t{256} << 20U;
/// So many of the largest samples have room in a ring.
constexpr std::size_t kSamplesInRing = 16;

int online_cpus() {
    return static_cast<int>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

std::size_t wanted_ring_bytes(std::uint64_t period_ns, std::uint64_t ring_ns) {
    const std::size_t most = kMostOfRings / static_cast<std::size_t>(online_cpus());
    const std::size_t wanted =
        ring_ns / std::max<std::uint64_t>(period_ns, 1) * std::size_t{EventWatch::kMostStackBytes};
    return std::bit_floor(
        std::clamp(wanted, std::size_t{1} << 20U, std::max(most, std::size_t{1} << 20U)));
}

std::uint32_t stack_bytes_for(std::size_t ring_bytes) {
    return static_cast<std::uint32_t>(
        std::min<std::size_t>(EventWatch::kMostStackBytes, ring_bytes / kSamplesInRing));
}

/// Source: perf_event_open(2); the ids in records of wakings are those of the outermost one.
bool is_in_outermost_pid_namespace() {
    constexpr ino_t kOutermost = 0xeffffffc;  // Linux include/linux/proc_ns.h, PROC_PID_INIT_INO
    struct stat own {};
    return ::stat("/proc/self/ns/pid", &own) == 0 && own.st_ino == kOutermost;
}

int open_event(perf_event_attr attributes, pid_t tid, int cpu) {
    return static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

EventWatch::EventWatch(std::uint64_t period_ns, Watching whom, collector::KernelFrames kernel,
                       bool with_switches)
    : kernel_{kernel} {
    wishes_.with_kernel_frames = kernel != collector::KernelFrames::off;
    wishes_.period_ns = period_ns;
    wishes_.with_children = whom != Watching::threads;
    wishes_.of_machine = whom == Watching::machine;
    // The count of a CPU's event says nothing of single threads.
    wishes_.with_count = !wishes_.of_machine;
    wishes_.with_switches = with_switches;
    wishes_.ring_bytes =
        wanted_ring_bytes(with_switches ? std::min(period_ns, kSwitchPeriodNs) : period_ns,
                          wishes_.of_machine ? kMachineRingNs : kRingNs);
    wishes_.stack_bytes = stack_bytes_for(wishes_.ring_bytes);
}

Fd EventWatch::open(pid_t tid, int cpu) {
    return Fd{open_event(attributes_of(wishes_), tid, cpu)};
}

Result<void> EventWatch::watch_switches(pid_t tid, const Cpu& cpu) {
    perf_event_attr attributes = switch_attributes_of(wishes_);
    if (wishes_.of_machine) {
        attributes.sample_stack_user = std::min(attributes.sample_stack_user, kMachineSwitchBytes);
    }
    Fd event{open_event(attributes, tid, cpu.number)};
    if (!event.is_open()) {
        return errno == ESRCH
                   ? Result<void>{}
                   : unexpected(Error::from_errno("cannot watch the switches of a thread"));
    }
    SAMPLE_CHECK(rings_[cpu.ring]->share(event.get()));
    switch_events_.push_back(std::move(event));
    return {};
}

std::string EventWatch::watch_wakings() {
    const auto waking = source::parse_event("sched:sched_waking:1");
    if (!waking) {
        return waking.error().message();
    }
    if (!is_in_outermost_pid_namespace()) {
        return "in a pid namespace the kernel's ids of threads are others than ours";
    }
    for (const Cpu& cpu : cpus_) {
        Fd event{
            open_event(waking_attributes_of(wishes_, waking->config), kEveryThread, cpu.number)};
        const Result<void> shared = event.is_open()
                                        ? rings_[cpu.ring]->share(event.get())
                                        : unexpected(Error::from_errno("cannot watch wakings"));
        if (!shared) {
            waking_events_.clear();  // of some wakers less would be known than of others
            return shared.error().message();
        }
        waking_events_.push_back(std::move(event));
    }
    return {};
}

Result<void> EventWatch::check_rights() const {
    if (wishes_.exclude_kernel && kernel_ == collector::KernelFrames::on) {
        return unexpected(
            ErrorCode::permission,
            "the kernel's frames are not yours to see: sudo sysctl "
            "kernel.perf_event_paranoid=1, run sample as root, or leave --kernel on out");
    }
    if (wishes_.exclude_kernel && wishes_.with_switches) {
        return unexpected(
            ErrorCode::permission,
            "--off-cpu needs the kernel's records of switches with their stacks, which are not "
            "yours to see: sudo sysctl kernel.perf_event_paranoid=1, or run sample as root; or "
            "start the program with sample record --clock wall, which needs no rights");
    }
    return {};
}

Result<void> EventWatch::begin(pid_t tid) {
    const int cpu = tid == kEveryThread ? 0 : -1;
    bool is_open = open(tid, cpu).is_open();
    if (!is_open && (errno == EACCES || errno == EPERM)) {
        wishes_.exclude_kernel = true;
        wishes_.with_kernel_frames = false;
        is_open = open(tid, cpu).is_open();
    }
    if (!is_open && errno == EINVAL) {
        wishes_.with_count = false;  // before Linux 6.12
        is_open = open(tid, cpu).is_open();
    }
    if (!is_open && (errno == EINVAL || errno == E2BIG) && !wishes_.with_children) {
        wishes_.with_children = true;  // before Linux 5.13; nobody takes what forked processes do
        is_open = open(tid, cpu).is_open();
    }
    if (!is_open) {
        return unexpected(Error::from_errno("cannot watch a thread"));
    }
    SAMPLE_CHECK(check_rights());
    for (;;) {
        Result<void> made = make_rings(tid);
        if (made && wishes_.with_switches) {
            why_no_wakings_ = watch_wakings();
        }
        if (made || made.error().errno_value != EPERM || wishes_.ring_bytes <= kLeastRing) {
            return made;
        }
        rings_.clear();
        events_.clear();
        switch_events_.clear();
        cpus_.clear();
        wishes_.ring_bytes /= 2;
        wishes_.stack_bytes = stack_bytes_for(wishes_.ring_bytes);
    }
}

Result<void> EventWatch::make_rings(pid_t tid) {
    const auto configured = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF));
    for (int cpu = 0; cpu < configured; ++cpu) {
        Fd event = open(tid, cpu);
        if (!event.is_open() && errno == ENODEV) {
            continue;  // it is off
        }
        if (!event.is_open()) {
            return unexpected(Error::from_errno("cannot watch a thread"));
        }
        SAMPLE_TRY(ring, EventRing::map(event.get(), wishes_.ring_bytes));
        cpus_.push_back({cpu, rings_.size()});
        rings_.push_back(std::move(ring));
        events_.push_back(std::move(event));
        if (wishes_.with_switches) {
            SAMPLE_CHECK(watch_switches(tid, cpus_.back()));
        }
    }
    return {};
}

Result<void> EventWatch::watch(pid_t tid) {
    known_.insert(tid);
    if (rings_.empty()) {
        return begin(tid);
    }
    for (const Cpu& cpu : cpus_) {
        SAMPLE_CHECK(watch_on(cpu, tid));
    }
    return {};
}

Result<void> EventWatch::watch_on(const Cpu& cpu, pid_t tid) {
    Fd event = open(tid, cpu.number);
    if (!event.is_open()) {
        const bool has_ended_or_is_off = errno == ESRCH || errno == ENODEV;
        return has_ended_or_is_off ? Result<void>{}
                                   : unexpected(Error::from_errno("cannot watch a thread"));
    }
    SAMPLE_CHECK(rings_[cpu.ring]->share(event.get()));
    events_.push_back(std::move(event));
    return wishes_.with_switches ? watch_switches(tid, cpu) : Result<void>{};
}

void EventWatch::stop() {
    switch_events_.clear();
    for (const Fd& event : events_) {
        // With those that it was handed on to.
        static_cast<void>(::ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0));
    }
    // Those that own the rings stay, as the rings do.
    for (std::size_t i = rings_.size(); i < events_.size(); ++i) {
        past_ += collector::read_event(events_[i].get());
    }
    events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(rings_.size()), events_.end());
}

void EventWatch::begin_anew(std::uint32_t stack_bytes) {
    known_.clear();
    wishes_.stack_bytes = stack_bytes;
}

void EventWatch::drain(EventSink& sink, std::uint64_t until) {
    for (const auto& ring : rings_) {
        ring->refresh();
    }
    for (;;) {
        std::size_t oldest = rings_.size();
        std::uint64_t oldest_ns = until;
        for (std::size_t ring = 0; ring < rings_.size(); ++ring) {
            const auto record = rings_[ring]->peek();
            if (!record.empty() && time_of(record) < oldest_ns) {
                oldest = ring;
                oldest_ns = time_of(record);
            }
        }
        if (oldest == rings_.size()) {
            return;
        }
        decode(rings_[oldest]->peek(), wishes_, oldest, sink);
        rings_[oldest]->pop();
    }
}

int EventWatch::drain_ms() const {
    constexpr std::uint64_t kNsPerMs = 1'000'000;
    constexpr std::uint64_t kLeastMs = 20;
    constexpr std::uint64_t kMostMs = 100;
    constexpr int kSwitchDrainMs = 5;
    // Not many stacks may be cut off before longer copies are asked for; and files of processes
    // that come and go are soon gone.
    constexpr std::uint64_t kSamples = 64;
    const std::uint64_t most_ms =
        wishes_.with_children
            ? kLeastMs
            : std::clamp(kSamples * wishes_.period_ns / kNsPerMs, kLeastMs, kMostMs);
    if (wishes_.with_switches) {
        return kSwitchDrainMs;
    }
    const std::uint64_t samples = wishes_.ring_bytes / wishes_.stack_bytes;
    return static_cast<int>(
        std::clamp(samples * wishes_.period_ns / 4 / kNsPerMs, std::uint64_t{1}, most_ms));
}

collector::EventTimes EventWatch::times() const {
    collector::EventTimes sum = past_;
    for (const Fd& event : events_) {
        sum += collector::read_event(event.get());
    }
    return sum;
}

}  // namespace sample::attach
