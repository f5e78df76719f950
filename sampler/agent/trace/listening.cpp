#include "sampler/agent/trace/listening.h"

#include "sampler/agent/process_state.h"
#include "sampler/capture/raw_syscall.h"
#include "sampler/instrument/lane_writer.h"
#include "sampler/source/futex_lock.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace sample::agent {
namespace {

/// One of the listener's functions, or null. Stored and loaded with release and acquire: what the
/// listener had made before it listened is there when it is told.
template <class... Arguments>
using Told = std::atomic<void (*)(Arguments...)>;

struct Listener {
    Told<std::uint32_t, const sample_trace_value*, std::size_t> begin_zone;
    Told<> end_zone;
    Told<std::uint32_t, std::uint32_t> suspend;
    Told<std::uint32_t, std::uint32_t> resume;
    Told<std::uint32_t, std::uint64_t> count;
    Told<std::uint32_t, std::uint32_t> frame;
    Told<std::uint64_t, std::uint32_t> flow;
    Told<const char*> name_thread;
    Told<const char*> group_thread;
    Told<const sample_trace_allocation*> memory_alloc;
};

constinit Listener g_listener{};
constinit bool g_is_writable = false;  // In forked children, too: their pages are copies.

template <class... Arguments>
void tell(const Told<Arguments...>& function, Arguments... arguments) noexcept {
    if (const auto told = function.load(std::memory_order_acquire); told != nullptr) {
        told(arguments...);
    }
}

// What the table leads to while it is listened to. The listener's time is outside of the zone. The
// frequent ones call what their direct entries lead to, not through these.

void tell_begin_zone(std::uint32_t zone) noexcept {
    tell<std::uint32_t, const sample_trace_value*, std::size_t>(g_listener.begin_zone, zone,
                                                                nullptr, 0);
    instrument::begin_zone(zone);
}
void tell_begin_noted_zone(std::uint32_t zone, const sample_trace_value* values,
                           std::size_t count) noexcept {
    tell(g_listener.begin_zone, zone, values, count);
    direct_functions().begin_noted_zone(zone, values, count);
}
void tell_end_zone() noexcept {
    instrument::end_zone();
    tell(g_listener.end_zone);
}
std::uint32_t tell_suspend(std::uint32_t coroutine, std::uint32_t depth) noexcept {
    const std::uint32_t going = direct_functions().suspend(coroutine, depth);
    tell(g_listener.suspend, coroutine, depth);
    return going;
}
void tell_resume(std::uint32_t coroutine, std::uint32_t depth) noexcept {
    tell(g_listener.resume, coroutine, depth);
    direct_functions().resume(coroutine, depth);
}
void tell_count(std::uint32_t counter, std::uint64_t bits) noexcept {
    tell(g_listener.count, counter, bits);
    instrument::count(counter, bits);
}
void tell_frame(std::uint32_t kind, std::uint32_t is_begin) noexcept {
    if (is_begin != 0) {
        tell(g_listener.frame, kind, is_begin);
    }
    direct_functions().frame(kind, is_begin);
    if (is_begin == 0) {
        tell(g_listener.frame, kind, is_begin);
    }
}
void tell_flow(std::uint64_t number, std::uint32_t step) noexcept {
    tell(g_listener.flow, number, step);
    direct_functions().flow(number, step);
}
void tell_name_thread(const char* name) noexcept {
    tell(g_listener.name_thread, name);
    direct_functions().name_thread(name);
}
void tell_group_thread(const char* group) noexcept {
    tell(g_listener.group_thread, group);
    direct_functions().group_thread(group);
}
void tell_memory_alloc(const sample_trace_allocation* allocation) noexcept {
    tell(g_listener.memory_alloc, allocation);
    direct_functions().memory_alloc(allocation);
}

/// A switch of one entry: others call through it meanwhile.
template <class Function>
void lead(Function& entry, std::type_identity_t<Function> direct,
          std::type_identity_t<Function> telling, bool is_told) noexcept {
    __atomic_store_n(&entry, is_told ? telling : direct, __ATOMIC_RELEASE);
}

void lead_beginnings(const sample_trace_listener& to) noexcept {
    sample_trace_functions& table = sample_agent_trace_functions.functions;
    const sample_trace_functions& direct = direct_functions();
    lead(table.begin_zone, direct.begin_zone, tell_begin_zone, to.begin_zone != nullptr);
    lead(table.begin_noted_zone, direct.begin_noted_zone, tell_begin_noted_zone,
         to.begin_zone != nullptr);
    lead(table.resume, direct.resume, tell_resume, to.resume != nullptr);
}

void lead_all(const sample_trace_listener& to) noexcept {
    sample_trace_functions& table = sample_agent_trace_functions.functions;
    const sample_trace_functions& direct = direct_functions();
    if (to.begin_zone == nullptr) {
        lead_beginnings(to);
    }
    lead(table.end_zone, direct.end_zone, tell_end_zone, to.end_zone != nullptr);
    lead(table.suspend, direct.suspend, tell_suspend, to.suspend != nullptr);
    lead(table.count, direct.count, tell_count, to.count != nullptr);
    lead(table.frame, direct.frame, tell_frame, to.frame != nullptr);
    lead(table.flow, direct.flow, tell_flow, to.flow != nullptr);
    lead(table.name_thread, direct.name_thread, tell_name_thread, to.name_thread != nullptr);
    lead(table.group_thread, direct.group_thread, tell_group_thread, to.group_thread != nullptr);
    lead(table.memory_alloc, direct.memory_alloc, tell_memory_alloc, to.memory_alloc != nullptr);
    if (to.begin_zone != nullptr) {
        lead_beginnings(to);
    }
}

void take_over(const sample_trace_listener& from) noexcept {
    constexpr auto kOrder = std::memory_order_release;
    g_listener.end_zone.store(from.end_zone, kOrder);
    g_listener.suspend.store(from.suspend, kOrder);
    g_listener.begin_zone.store(from.begin_zone, kOrder);
    g_listener.resume.store(from.resume, kOrder);
    g_listener.count.store(from.count, kOrder);
    g_listener.frame.store(from.frame, kOrder);
    g_listener.flow.store(from.flow, kOrder);
    g_listener.name_thread.store(from.name_thread, kOrder);
    g_listener.group_thread.store(from.group_thread, kOrder);
    g_listener.memory_alloc.store(from.memory_alloc, kOrder);
}

}  // namespace

bool listen(const sample_trace_listener* listener) noexcept {
    const sample_trace_listener wanted = listener != nullptr ? *listener : sample_trace_listener{};
    const source::Locked locked{process_state().listen_lock};
    if (!g_is_writable &&
        capture::raw_syscall(SYS_mprotect, capture::as_argument(&sample_agent_trace_functions),
                             kTablePageBytes, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    g_is_writable = true;
    take_over(wanted);
    lead_all(wanted);
    return true;
}

}  // namespace sample::agent
