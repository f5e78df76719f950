#include "sampler/collector/events/gatekeeper.h"

#include "sampler/collector/process/area_mapping.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <new>
#include <utility>

namespace sample::collector {
namespace {

constexpr std::size_t kPageBytes = 4096;

void futex_wake(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void Gatekeeper::switch_events(const Entry& entry, unsigned long request) {
    for (const Event& event : entry.events) {
        ::ioctl(event.fd.get(), request, 0);
    }
}

void Gatekeeper::open_or_shut(Entry& entry, bool open) {
    // First: a process that joins enables its events itself, and looks at this behind that.
    entry.mapping->area().header.gate_shut.store(open ? 0 : 1);
    switch_events(entry, open ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
    entry.open = open;
}

EventTimes Gatekeeper::read_events(const Entry& entry) {
    EventTimes times = entry.ended;
    for (const Event& event : entry.events) {
        times += read_event(event.fd.get());
    }
    return times;
}

Result<std::unique_ptr<Gatekeeper>> Gatekeeper::start(std::function<void()> on_finish,
                                                      std::function<void()> on_request) {
    Fd fd = make_shared_memory("sample-session", kPageBytes);
    if (!fd.is_open()) {
        return unexpected(Error::from_errno("cannot make the session's page"));
    }
    void* address = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (address == MAP_FAILED) {
        return unexpected(Error::from_errno("cannot map the session's page"));
    }
    ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    auto* page = new (address) capture::SessionPage{};
    return std::unique_ptr<Gatekeeper>{
        new Gatekeeper{std::move(fd), page, std::move(on_finish), std::move(on_request)}};
}

Gatekeeper::Gatekeeper(Fd page_fd, capture::SessionPage* page, std::function<void()> on_finish,
                       std::function<void()> on_request)
    : page_fd_{std::move(page_fd)},
      page_{page},
      on_finish_{std::move(on_finish)},
      on_request_{std::move(on_request)},
      thread_{[this] { run(); }} {}

Gatekeeper::~Gatekeeper() {
    stopping_.store(true);
    wake();
    thread_.join();
    ::munmap(page_, kPageBytes);
}

void Gatekeeper::wake() {
    page_->doorbell.fetch_add(1, std::memory_order_release);
    futex_wake(page_->doorbell);
}

void Gatekeeper::run() {
    for (;;) {
        // Read before the look around: a ring in between makes the wait return at once.
        const std::uint32_t seen = page_->doorbell.load(std::memory_order_acquire);
        if (stopping_.load()) {
            return;
        }
        const std::uint32_t pings = page_->pings.load(std::memory_order_acquire);
        if (pings != page_->pongs.load(std::memory_order_relaxed)) {
            page_->pongs.store(pings, std::memory_order_release);
            futex_wake(page_->pongs);
        }
        {
            const std::lock_guard lock{mutex_};
            for (Entry& entry : entries_) {
                answer(entry);
            }
        }
        ::syscall(SYS_futex, &page_->doorbell, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
}

void Gatekeeper::switch_if_needed(Entry& entry) const {
    const capture::AreaHeader& header = entry.mapping->area().header;
    const bool open =
        samples_ && !entry.held && header.gate_closers.load(std::memory_order_acquire) == 0;
    if (open != entry.open) {
        open_or_shut(entry, open);
        entry.one_shots.clear();
    }
}

void Gatekeeper::answer(Entry& entry) {
    capture::AreaHeader& header = entry.mapping->area().header;
    const std::uint32_t request = header.gate_requests.load(std::memory_order_acquire);
    if (request != header.gate_acks.load(std::memory_order_relaxed)) {
        switch_if_needed(entry);
        header.gate_acks.store(request, std::memory_order_release);
        futex_wake(header.gate_acks);
    }
    if (on_request_ &&
        control::unpack(header.control_request.load(std::memory_order_acquire)).serial !=
            header.control_ack.load(std::memory_order_relaxed)) {
        on_request_();
    }
    if (entry.who.may_finish && header.finish_request.load(std::memory_order_acquire) == 1) {
        header.finish_request.store(2, std::memory_order_relaxed);
        on_finish_();
    }
}

bool Gatekeeper::clear_stalled() {
    return page_->stalled.exchange(0, std::memory_order_relaxed) != 0;
}

void Gatekeeper::add(const Who& who, std::shared_ptr<AreaMapping> mapping, std::vector<Fd> events) {
    Entry entry;
    entry.who = who;
    entry.mapping = std::move(mapping);
    for (Fd& event : events) {
        entry.events.push_back({std::move(event), 0});
    }
    const std::lock_guard lock{mutex_};
    open_or_shut(entry, samples_);
    entries_.push_back(std::move(entry));
    // It may have asked before it was known here.
    answer(entries_.back());
}

void Gatekeeper::add_event(pid_t pid, Fd event, pid_t tid) {
    const std::lock_guard lock{mutex_};
    Entry* latest = find_latest(pid);
    if (latest == nullptr) {
        return;
    }
    // It may be of an earlier moment than the area's period.
    std::uint64_t period = latest->mapping->area().header.period_ns.load();
    ::ioctl(event.get(), PERF_EVENT_IOC_PERIOD, &period);
    if (latest->open) {
        ::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0);
    }
    latest->events.push_back({std::move(event), tid});
}

Gatekeeper::Entry* Gatekeeper::find(const AreaMapping& image) {
    const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
        return each.mapping.get() == &image;
    });
    return entry == entries_.end() ? nullptr : &*entry;
}

Gatekeeper::Entry* Gatekeeper::find_latest(pid_t pid) {
    const auto entry = std::find_if(entries_.rbegin(), entries_.rend(),
                                    [pid](const Entry& each) { return each.who.pid == pid; });
    return entry == entries_.rend() ? nullptr : &*entry;
}

void Gatekeeper::replace(const AreaMapping& image, std::vector<Fd> events,
                         const std::function<void()>& between) {
    const std::lock_guard lock{mutex_};
    Entry* entry = find(image);
    if (entry == nullptr) {
        return;
    }
    switch_events(*entry, PERF_EVENT_IOC_DISABLE);
    entry->ended = read_events(*entry);
    entry->events.clear();
    for (Fd& event : events) {
        entry->events.push_back({std::move(event), 0});
    }
    if (between) {
        between();
    }
    if (entry->open) {
        switch_events(*entry, PERF_EVENT_IOC_ENABLE);
    }
}

void Gatekeeper::change_period(const AreaMapping& image, std::uint64_t period,
                               const std::function<void()>& between) {
    const std::lock_guard lock{mutex_};
    Entry* entry = find(image);
    if (entry == nullptr) {
        return;
    }
    switch_events(*entry, PERF_EVENT_IOC_DISABLE);
    between();
    for (const Event& event : entry->events) {
        ::ioctl(event.fd.get(), PERF_EVENT_IOC_PERIOD, &period);
    }
    if (entry->open) {
        switch_events(*entry, PERF_EVENT_IOC_ENABLE);
    }
}

void Gatekeeper::set_sampling(bool is_on) {
    const std::lock_guard lock{mutex_};
    samples_ = is_on;
    for (Entry& entry : entries_) {
        switch_if_needed(entry);
    }
}

std::vector<Gatekeeper::Request> Gatekeeper::take_requests() {
    const std::lock_guard lock{mutex_};
    std::vector<Request> requests;
    for (const Entry& entry : entries_) {
        const capture::AreaHeader& header = entry.mapping->area().header;
        // Acquire pairs with the release in agent/session/control_request.cpp.
        const control::ControlWord word =
            control::unpack(header.control_request.load(std::memory_order_acquire));
        if (word.serial != header.control_ack.load(std::memory_order_relaxed)) {
            requests.push_back({entry.mapping, word});
        }
    }
    return requests;
}

void Gatekeeper::acknowledge(const Request& request) {
    std::atomic<std::uint32_t>& ack = request.from->area().header.control_ack;
    ack.store(request.word.serial, std::memory_order_release);
    futex_wake(ack);
}

bool Gatekeeper::add_one_shot(const AreaMapping& image, pid_t tid, Fd event) {
    const std::lock_guard lock{mutex_};
    Entry* entry = find(image);
    if (entry == nullptr || !entry->open || !event.is_open()) {
        return false;
    }
    ::ioctl(event.get(), PERF_EVENT_IOC_REFRESH, 1);
    entry->one_shots.insert_or_assign(tid, std::move(event));
    return true;
}

void Gatekeeper::remove_one_shot(const AreaMapping& image, pid_t tid) {
    const std::lock_guard lock{mutex_};
    if (Entry* entry = find(image)) {
        entry->one_shots.erase(tid);
    }
}

std::optional<std::uint64_t> Gatekeeper::one_shot_count(const AreaMapping& image, pid_t tid) {
    const std::lock_guard lock{mutex_};
    const Entry* entry = find(image);
    if (entry == nullptr || !entry->one_shots.contains(tid)) {
        return std::nullopt;
    }
    return read_event(entry->one_shots.at(tid).get()).counted;
}

void Gatekeeper::close_ended_events() {
    const std::lock_guard lock{mutex_};
    for (Entry& entry : entries_) {
        std::erase_if(entry.events, [&entry](const Event& event) {
            const bool ended = event.tid != 0 &&
                               ::syscall(SYS_tgkill, entry.who.pid, event.tid, 0) != 0 &&
                               errno == ESRCH;
            if (ended) {
                entry.ended += read_event(event.fd.get());
            }
            return ended;
        });
    }
}

bool Gatekeeper::hold(const AreaMapping& image, bool held) {
    const std::lock_guard lock{mutex_};
    for (Entry& entry : entries_) {
        if (entry.mapping.get() != &image || entry.held == held) {
            continue;
        }
        if (!held && entry.awaited_tracer) {
            // Whoever releases has looked before the call ended; the next look knows of its tracer.
            if (entry.awaited_tracer->area().header.tracing_calls.load() == 0 ||
                find(*entry.awaited_tracer) == nullptr) {
                entry.awaited_tracer.reset();
            }
            return false;
        }
        entry.held = held;
        if (!held) {
            entry.mapping->area().header.traced.store(0);
        }
        switch_if_needed(entry);
        return true;
    }
    return false;
}

void Gatekeeper::hold_for_tracer(pid_t pid, pid_t tracer) {
    const std::lock_guard lock{mutex_};
    Entry* entry = find_latest(pid);
    const Entry* by = find_latest(tracer);
    if (entry == nullptr || by == nullptr) {
        return;
    }
    entry->awaited_tracer = by->mapping;
    entry->held = true;
    entry->mapping->area().header.traced.store(1);
    switch_if_needed(*entry);
}

EventTimes Gatekeeper::read(const AreaMapping& image) {
    const std::lock_guard lock{mutex_};
    const Entry* entry = find(image);
    return entry != nullptr ? read_events(*entry) : EventTimes{};
}

EventTimes Gatekeeper::remove(const AreaMapping& image) {
    EventTimes times;
    const std::lock_guard lock{mutex_};
    entries_.remove_if([&](const Entry& entry) {
        const bool is_it = entry.mapping.get() == &image;
        if (is_it) {
            switch_events(entry, PERF_EVENT_IOC_DISABLE);
            times += read_events(entry);
        }
        return is_it;
    });
    return times;
}

void Gatekeeper::remove_all() {
    const std::lock_guard lock{mutex_};
    for (const Entry& entry : entries_) {
        switch_events(entry, PERF_EVENT_IOC_DISABLE);
    }
    entries_.clear();
}

}  // namespace sample::collector
