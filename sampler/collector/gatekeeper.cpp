#include "sampler/collector/gatekeeper.h"

#include "sampler/collector/profiled_process.h"

#include <linux/futex.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <new>
#include <utility>

namespace sample::collector {
namespace {

constexpr std::size_t kPageBytes = 4096;

void futex_wake(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void switch_events(const std::vector<Fd>& events, unsigned long request) {
    for (const Fd& event : events) {
        ::ioctl(event.get(), request, 0);
    }
}

EventTimes read_events(const std::vector<Fd>& events) {
    EventTimes times;
    for (const Fd& event : events) {
        times += read_event(event.get());
    }
    return times;
}

}  // namespace

Result<std::unique_ptr<Gatekeeper>> Gatekeeper::start(std::function<void()> on_finish) {
    Fd fd{::memfd_create("sample-session", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (!fd.is_open() || ::ftruncate(fd.get(), kPageBytes) != 0) {
        return unexpected(Error::from_errno("cannot make the session's page"));
    }
    void* address = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (address == MAP_FAILED) {
        return unexpected(Error::from_errno("cannot map the session's page"));
    }
    auto* page = new (address) capture::SessionPage{};
    return std::unique_ptr<Gatekeeper>{new Gatekeeper{std::move(fd), page, std::move(on_finish)}};
}

Gatekeeper::Gatekeeper(Fd page_fd, capture::SessionPage* page, std::function<void()> on_finish)
    : page_fd_{std::move(page_fd)}, page_{page}, on_finish_{std::move(on_finish)}, thread_{[this] {
          run();
      }} {}

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
        {
            const std::lock_guard lock{mutex_};
            for (Entry& entry : entries_) {
                answer(entry);
            }
        }
        ::syscall(SYS_futex, &page_->doorbell, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
}

void Gatekeeper::switch_if_needed(Entry& entry) {
    const capture::AreaHeader& header = entry.mapping->area().header;
    const bool open = !entry.held && header.gate_closers.load(std::memory_order_acquire) == 0;
    if (open != entry.open) {
        switch_events(entry.events, open ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
        entry.open = open;
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
    if (header.finish_request.load(std::memory_order_acquire) == 1) {
        header.finish_request.store(2, std::memory_order_relaxed);
        on_finish_();
    }
}

void Gatekeeper::add(pid_t pid, std::shared_ptr<AreaMapping> mapping, std::vector<Fd> events) {
    switch_events(events, PERF_EVENT_IOC_ENABLE);
    const std::lock_guard lock{mutex_};
    entries_.push_back({pid, std::move(mapping), std::move(events), true, false, {}});
    // It may have asked before it was known here.
    answer(entries_.back());
}

void Gatekeeper::add_event(pid_t pid, Fd event) {
    const std::lock_guard lock{mutex_};
    for (Entry& entry : entries_) {
        if (entry.pid == pid) {
            if (entry.open) {
                ::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0);
            }
            entry.events.push_back(std::move(event));
            return;
        }
    }
}

void Gatekeeper::close_ended_events() {
    const std::lock_guard lock{mutex_};
    for (Entry& entry : entries_) {
        std::vector<pollfd> states;
        states.reserve(entry.events.size());
        for (const Fd& event : entry.events) {
            states.push_back({event.get(), 0, 0});
        }
        if (::poll(states.data(), states.size(), 0) <= 0) {
            continue;
        }
        // The kernel hangs an event up when its thread, and all that inherited it, have ended.
        std::size_t kept = 0;
        for (std::size_t i = 0; i < entry.events.size(); ++i) {
            if ((states[i].revents & POLLHUP) != 0) {
                entry.ended += read_event(entry.events[i].get());
            } else {
                std::swap(entry.events[kept++], entry.events[i]);
            }
        }
        entry.events.resize(kept);
    }
}

bool Gatekeeper::hold(pid_t pid, bool held) {
    const std::lock_guard lock{mutex_};
    for (Entry& entry : entries_) {
        if (entry.pid == pid && entry.held != held) {
            entry.held = held;
            switch_if_needed(entry);
            return true;
        }
    }
    return false;
}

EventTimes Gatekeeper::remove(pid_t pid) {
    EventTimes times;
    const std::lock_guard lock{mutex_};
    entries_.remove_if([pid, &times](const Entry& entry) {
        if (entry.pid == pid) {
            switch_events(entry.events, PERF_EVENT_IOC_DISABLE);
            times += read_events(entry.events);
            times += entry.ended;
        }
        return entry.pid == pid;
    });
    return times;
}

void Gatekeeper::remove_all() {
    const std::lock_guard lock{mutex_};
    for (const Entry& entry : entries_) {
        switch_events(entry.events, PERF_EVENT_IOC_DISABLE);
    }
    entries_.clear();
}

}  // namespace sample::collector
