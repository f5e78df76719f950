#include "trace/memory_writer.h"

#include <algorithm>
#include <array>
#include <limits>

namespace sample::trace {
namespace {

constexpr std::uint64_t kMarkerPeriodNs = 100'000;
/// A reader keeps so many that wait for their order, and more: SerialOrder::kMaxEvents.
constexpr std::size_t kMostUnclosed = 1U << 14U;

}  // namespace

void MemoryWriter::begin() {
    if (has_begun_) {
        return;
    }
    has_begun_ = true;
    streams_.events.packets().prefer_speed();
    const std::array specs{kSpec<MemoryInitEvent>,         kSpec<MemoryMarkerEvent>,
                           kSpec<MemoryAllocEvent>,        kSpec<MemoryFreeEvent>,
                           kSpec<MemoryReallocAllocEvent>, kSpec<MemoryReallocFreeEvent>,
                           kSpec<MemoryHeapSpecEvent>,     kSpec<MemoryTagSpecEvent>,
                           kSpec<MemoryScopeEvent>,        kSpec<CallstackSpecEvent>};
    streams_.events.declare(specs);
    streams_.events.add(MemoryInitEvent{});
    streams_.events.add(MemoryHeapSpecEvent{0, 0, MemoryHeapSpecEvent::kRoot, "malloc"});
}

void MemoryWriter::define(const HeapSpec& spec) {
    begin();
    ++heaps_;
    const std::uint16_t flags = spec.parent.is_none() ? MemoryHeapSpecEvent::kRoot : 0;
    streams_.events.add(MemoryHeapSpecEvent{spec.id.value, spec.parent.value, flags, spec.name});
}

void MemoryWriter::define(const MemoryTagSpec& spec) {
    begin();
    ++tags_;
    streams_.events.add(MemoryTagSpecEvent{static_cast<std::int32_t>(spec.id.value),
                                           static_cast<std::int32_t>(spec.parent.value),
                                           spec.name});
}

void MemoryWriter::define(const CallStack& stack) {
    begin();
    CallstackSpecEvent event{stack.id, {}};
    const auto bytes = std::as_bytes(std::span{stack.frames});
    std::transform(bytes.begin(), bytes.end(), std::back_inserter(event.frames),
                   [](std::byte byte) { return static_cast<std::uint8_t>(byte); });
    streams_.events.add(event);
}

/// How events of a thread that have a serial number begin, and what follows.
template <class Event>
void MemoryWriter::append_ordered(const Event& event) {
    wire::append(scratch_, std::uint64_t{kSpec<Event>.uid} << 1 | 1, 2);
    wire::append(scratch_, streams_.next_serial++, wire::kSerialBytes);
    std::apply(
        [&](const auto&... field) {
            (wire::append(scratch_, static_cast<std::uint64_t>(event.*field.member),
                          sizeof(event.*field.member)),
             ...);
        },
        kType<Event>.fields);
}

void MemoryWriter::close_scope(ThreadId thread) {
    if (thread.value <= open_scopes_.size() && !open_scopes_[thread.value - 1].is_none()) {
        open_scopes_[thread.value - 1] = {};
        scratch_.clear();
        wire::append(scratch_, std::uint64_t{wire::kLeaveScopeUid} << 1, 1);
        streams_.events.add_to_thread(streams_.stream_of(thread), scratch_);
    }
}

void MemoryWriter::write(const MemoryEvent& event) {
    const bool is_given_out = gives_out(event.kind);
    if (event.thread.value > open_scopes_.size()) {
        open_scopes_.resize(event.thread.value);
    }
    streams_.close_batch(event.thread);
    MemoryTagId& open = open_scopes_[event.thread.value - 1];
    if (is_given_out && open != event.tag) {
        close_scope(event.thread);
    }
    scratch_.clear();
    if (event.time_ns >= marked_ns_ + kMarkerPeriodNs) {
        marked_ns_ = event.time_ns;
        append_ordered(MemoryMarkerEvent{event.time_ns});
    }
    if (is_given_out && open != event.tag) {
        open = event.tag;
        wire::append(scratch_, std::uint64_t{wire::kEnterScopeUid} << 1, 1);
        append_ordered(MemoryScopeEvent{static_cast<std::int32_t>(event.tag.value)});
    }
    const auto heap = static_cast<std::uint8_t>(event.heap.value);
    if (is_given_out) {
        constexpr std::uint64_t kMostBytes =
            (std::uint64_t{1} << (32U + kMemorySizeShift)) - 1;  // what an event can say
        const std::uint64_t bytes = std::min(event.bytes, kMostBytes);
        constexpr unsigned kLower = (1U << kMemorySizeShift) - 1;
        const MemoryAllocEvent alloc{
            event.address, event.call_stack, static_cast<std::uint32_t>(bytes >> kMemorySizeShift),
            static_cast<std::uint8_t>((unsigned{event.alignment_log2} << kMemorySizeShift) |
                                      (static_cast<unsigned>(bytes) & kLower)),
            heap};
        if (event.kind == MemoryKind::alloc) {
            append_ordered(alloc);
        } else {
            append_ordered(MemoryReallocAllocEvent{alloc});
        }
    } else if (event.kind == MemoryKind::free) {
        append_ordered(MemoryFreeEvent{event.address, heap});
    } else {
        append_ordered(MemoryReallocFreeEvent{{event.address, heap}});
    }
    streams_.events.add_to_thread(streams_.stream_of(event.thread), scratch_);
    if (++unclosed_ >= kMostUnclosed) {
        unclosed_ = 0;
        streams_.events.close_all();
    }
}

void MemoryWriter::release(FlushMode mode) {
    const std::uint64_t up_to =
        mode == FlushMode::everything ? std::numeric_limits<std::uint64_t>::max() : watermark_ns_;
    watermark_ns_ = highest_ns_;
    if (held_.empty()) {
        return;
    }
    begin();
    const auto stays =
        std::stable_partition(held_.begin(), held_.end(),
                              [up_to](const MemoryEvent& event) { return event.time_ns <= up_to; });
    const auto is_before = [](const MemoryEvent& left, const MemoryEvent& right) {
        return left.time_ns < right.time_ns;
    };
    if (!std::is_sorted(held_.begin(), stays, is_before)) {
        std::stable_sort(held_.begin(), stays, is_before);
    }
    std::for_each(held_.begin(), stays, [this](const MemoryEvent& event) { write(event); });
    held_.erase(held_.begin(), stays);
}

}  // namespace sample::trace
