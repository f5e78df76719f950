#include "receivers/unity/host/thread_record.h"

#include "receivers/unity/host/permanent.h"
#include "receivers/unity/host/slot.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace sample::unity {
namespace {

constinit pthread_key_t g_key = 0;
/// Stands for a fence, which the thread sanitizer does not know.
constinit std::atomic<std::uint32_t> g_fence{0};

long membarrier(int command) noexcept {
    return ::syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

constinit thread_local ThreadRecord* ThreadRecord::t_record = nullptr;
constinit std::atomic<ThreadRecord*> ThreadRecord::g_first{nullptr};
constinit std::atomic<bool> ThreadRecord::g_is_made_seen{false};

void begin_thread_records() noexcept {
    ::pthread_key_create(&g_key, ThreadRecord::give_back);
#ifndef __SANITIZE_THREAD__
    ThreadRecord::g_is_made_seen.store(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0);
#endif
}

ThreadRecord* ThreadRecord::claim() noexcept {
    for (ThreadRecord* each = g_first.load(std::memory_order_acquire); each != nullptr;
         each = each->next_) {
        if (!each->is_used_.load(std::memory_order_relaxed) &&
            !each->is_used_.exchange(true, std::memory_order_acquire)) {
            return each;
        }
    }
    auto* const made = keep<ThreadRecord>();
    if (made != nullptr) {
        made->next_ = g_first.load(std::memory_order_relaxed);
        while (!g_first.compare_exchange_weak(made->next_, made, std::memory_order_acq_rel)) {
        }
    }
    return made;
}

[[gnu::cold]] ThreadRecord* ThreadRecord::begin_thread() noexcept {
    ThreadRecord* const mine = claim();
    if (mine == nullptr) {
        return nullptr;
    }
    if (t_record != nullptr) {  // A signal handler came between.
        mine->is_used_.store(false, std::memory_order_release);
        return t_record;
    }
    t_record = mine;
    ::pthread_setspecific(g_key, mine);
    return mine;
}

void ThreadRecord::give_back(void* record) noexcept {
    t_record = nullptr;
    static_cast<ThreadRecord*>(record)->leave();
}

void ThreadRecord::leave() noexcept {
    depth_ = 0;
    of_plugins_ = 0;
    for (Place& each : running_) {
        each.store(nullptr, std::memory_order_relaxed);
    }
    recorded = 0;
    name = nullptr;
    group = nullptr;
    is_used_.store(false, std::memory_order_release);
}

void ThreadRecord::forget_others() noexcept {
    for_each([](ThreadRecord& each) {
        if (&each != t_record) {
            each.leave();
        }
    });
}

ThreadRecord::Place* ThreadRecord::free_place() noexcept {
    auto* const found = std::find_if(running_.begin(), running_.end(), [](const Place& each) {
        return each.load(std::memory_order_relaxed) == nullptr;
    });
    return found != running_.end() ? found : nullptr;
}

EndedZone ThreadRecord::remove(std::uint32_t at) noexcept {
    const EndedZone removed{open_[at].marker, open_[at].clock};
    std::copy(open_.begin() + at + 1, open_.begin() + depth_, open_.begin() + at);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    --depth_;
    return removed;
}

EndedZone ThreadRecord::find_program() noexcept {
    if (depth_ > kMostOpen) {  // The plug-ins were not told of it.
        --depth_;
        return {};
    }
    for (std::uint32_t at = depth_; at-- > 0;) {
        if (open_[at].is_program) {
            return remove(at);
        }
    }
    return {};
}

EndedZone ThreadRecord::find_plugin(const Marker* marker) noexcept {
    if (depth_ > kMostOpen) {
        --depth_;
        return {};
    }
    for (std::uint32_t at = depth_; at-- > 0;) {
        if (!open_[at].is_program && open_[at].marker == marker) {
            --of_plugins_;
            return remove(at);
        }
    }
    return {};
}

void ThreadRecord::forget_program() noexcept {
    const std::uint32_t last = std::min<std::uint32_t>(depth_, kMostOpen);
    auto* const end = std::remove_if(open_.begin(), open_.begin() + last,
                                     [](const OpenZone& each) { return each.is_program; });
    depth_ = static_cast<std::uint32_t>(end - open_.begin());
}

bool ThreadRecord::is_in_what_is_left() const noexcept {
    return std::any_of(running_.begin(), running_.end(), [](const auto& each) {
        const AnySlot* const slot = each.load(std::memory_order_acquire);
        return slot != nullptr && slot->is_left();
    });
}

void ThreadRecord::make_seen() noexcept {
    if (g_is_made_seen.load(std::memory_order_relaxed) &&
        membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
        // Somebody has taken the call away: from now on threads do it themselves, and those that
        // have not yet heard of it have by then.
        g_is_made_seen.store(false, std::memory_order_seq_cst);
        const timespec while_they_run{0, 10'000'000};
        ::nanosleep(&while_they_run, nullptr);
    }
    g_fence.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace sample::unity
