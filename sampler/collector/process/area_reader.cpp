#include "sampler/collector/process/area_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace sample::collector {
namespace {

using capture::Chunk;
using capture::kMaxDepth;
using capture::RecordHead;
using capture::RecordKind;

template <class Record>
bool copy_record(std::span<const std::uint64_t> words, Record& out) {
    if (words.size_bytes() < sizeof(Record)) {
        return false;
    }
    std::memcpy(static_cast<void*>(&out), words.data(), sizeof out);
    return true;
}

template <class Visit>
void for_each_used(const capture::Bitmap& free_bits, Visit visit) {
    for (std::uint32_t word = 0; word < free_bits.size(); ++word) {
        std::uint64_t used = ~free_bits[word].load(std::memory_order_acquire);
        while (used != 0) {
            visit(word * 64 + static_cast<std::uint32_t>(__builtin_ctzll(used)));
            used &= used - 1;
        }
    }
}

}  // namespace

void AreaReader::drain(RecordSink& sink) {
    struct Ready {
        std::uint32_t slot;
        std::uint32_t sequence;
        std::uint32_t index;
        Chunk* chunk;
    };
    std::vector<Ready> ready;
    for_each_used(area_.header.free_chunks, [&](std::uint32_t index) {
        Chunk* const chunk = area_.reach_chunk(index);
        if (chunk != nullptr &&
            (chunk->committed.load(std::memory_order_acquire) > cursors_[index].offset ||
             chunk->full.load(std::memory_order_relaxed) != 0)) {
            ready.push_back({chunk->slot, chunk->sequence, index, chunk});
        }
    });
    // What was seen of a thread comes before what it says itself, which may be its end.
    const std::uint32_t observer = area_.header.observer_slot_plus_one.load() - 1;
    // One thread's records in the order in which it wrote them. By plain comparison: 500 TB come
    // before a sequence wraps around, while an order by distance is none for numbers that somebody
    // made up.
    std::sort(ready.begin(), ready.end(), [observer](const Ready& a, const Ready& b) {
        if ((a.slot == observer) != (b.slot == observer)) {
            return a.slot == observer;
        }
        return a.slot != b.slot ? a.slot < b.slot : a.sequence < b.sequence;
    });
    for (const Ready& chunk : ready) {
        drain_chunk(chunk.index, *chunk.chunk, sink);
    }
    for (const std::uint32_t slot : std::exchange(ended_slots_, {})) {
        free_slot(slot);
    }
}

void AreaReader::drain_chunk(std::uint32_t index, Chunk& chunk, RecordSink& sink) {
    Cursor& cursor = cursors_[index];
    // Full before committed: then the owner writes no more, and what is committed is all.
    const bool full = chunk.full.load(std::memory_order_acquire) != 0;
    const std::uint32_t committed =
        std::min<std::uint32_t>(chunk.committed.load(std::memory_order_acquire), Chunk::kDataBytes);
    const std::uint32_t slot = chunk.slot;
    bool sound = slot < capture::kMaxThreads && committed % 8 == 0;
    while (sound && cursor.offset < committed) {
        const auto* words =
            reinterpret_cast<const std::uint64_t*>(chunk.data.data() + cursor.offset);
        RecordHead head;
        std::memcpy(static_cast<void*>(&head), words, sizeof head);
        const std::uint32_t bytes = std::uint32_t{head.size_words} * 8;
        if (bytes == 0 || bytes > committed - cursor.offset) {
            sound = false;
            break;
        }
        sound = take_record(slot, {words, head.size_words}, sink);
        cursor.offset += bytes;
    }
    if (!sound) {
        // What else is committed to this chunk starts nowhere that is known.
        ++corrupt_chunks_;
        cursor.offset = Chunk::kDataBytes;
        forget_stack(slot);
    }
    if (full) {
        cursors_.erase(index);
        chunk.committed.store(0, std::memory_order_relaxed);
        chunk.full.store(0, std::memory_order_relaxed);
        capture::return_bit(area_.header.free_chunks, index);
    }
}

bool AreaReader::take_record(std::uint32_t slot, std::span<const std::uint64_t> words,
                             RecordSink& sink) {
    RecordHead head;
    std::memcpy(static_cast<void*>(&head), words.data(), sizeof head);
    switch (head.kind) {
        case RecordKind::sample:
            return take_sample(slot, words, sink);
        case RecordKind::thread_start:
        case RecordKind::thread_end: {
            capture::ThreadRecord record;
            if (!copy_record(words, record)) {
                return false;
            }
            record.name.back() = '\0';
            if (head.kind == RecordKind::thread_start) {
                forget_stack(slot);
                sink.on_thread_start(slot, record);
            } else {
                sink.on_thread_end(slot, record);
                ended_slots_.push_back(slot);
            }
            return true;
        }
        case RecordKind::module: {
            capture::ModuleRecord record;
            if (!copy_record(words, record) || record.head.a > words.size_bytes() - sizeof record ||
                record.head.b > record.build_id.size()) {
                return false;
            }
            const std::string path(reinterpret_cast<const char*>(words.data()) + sizeof record,
                                   record.head.a);
            sink.on_module(slot, record, path.c_str());
            return true;
        }
        case RecordKind::unload:
            sink.on_unload(slot);
            return true;
        case RecordKind::wait:
            return take_wait(slot, words, sink);
        default:
            return false;
    }
}

bool AreaReader::take_wait(std::uint32_t slot, std::span<const std::uint64_t> words,
                           RecordSink& sink) {
    DrainedWait wait;
    if (!copy_record(words, wait.record)) {
        return false;
    }
    const auto fresh = words.subspan(sizeof wait.record / 8);
    if (wait.record.head.a != fresh.size() || fresh.size() > kMaxDepth) {
        return false;
    }
    const std::vector<std::uint64_t> root_first{fresh.rbegin(), fresh.rend()};
    wait.frames = root_first;
    sink.on_wait(slot, wait);
    return true;
}

bool AreaReader::take_sample(std::uint32_t slot, std::span<const std::uint64_t> words,
                             RecordSink& sink) {
    capture::SampleRecord record;
    if (!copy_record(words, record)) {
        return false;
    }
    std::vector<std::uint64_t>& stack = stacks_[slot];
    const auto fresh = words.subspan(sizeof record / 8);
    if (record.head.a != fresh.size() || record.head.b > stack.size() ||
        std::size_t{record.head.a} + record.head.b > kMaxDepth) {
        return false;
    }
    frames_ += record.head.b + fresh.size() - stack.size();
    if (frames_ > kMostFrames) {
        // The others' next samples lack their beginning until a chunk starts anew.
        std::erase_if(stacks_, [slot](const auto& other) { return other.first != slot; });
        frames_ = record.head.b + fresh.size();
        sink.on_stacks_dropped();
    }
    stack.resize(record.head.b);
    stack.insert(stack.end(), fresh.rbegin(), fresh.rend());
    sink.on_sample(slot, {record.ticks, record.weight_ns, record.unseen_ns, record.stop,
                          record.head.b, stack});
    return true;
}

void AreaReader::forget_stack(std::uint32_t slot) {
    if (const auto at = stacks_.find(slot); at != stacks_.end()) {
        frames_ -= at->second.size();
        stacks_.erase(at);
    }
}

void AreaReader::free_killed(std::uint32_t index) {
    // A thread that ends by itself leaves its chunk full; a killed one leaves it half written.
    const std::uint32_t number = area_.slots[index].chunk.load(std::memory_order_relaxed);
    Chunk* const chunk = area_.chunk(number);
    if (chunk != nullptr && chunk->slot == index) {
        const std::uint64_t free_bits = area_.header.free_chunks[number / 64].load();
        if (((free_bits >> (number % 64)) & 1) == 0) {
            cursors_.erase(number);
            chunk->committed.store(0, std::memory_order_relaxed);
            chunk->full.store(0, std::memory_order_relaxed);
            capture::return_bit(area_.header.free_chunks, number);
        }
    }
    free_slot(index);
}

void AreaReader::free_slot(std::uint32_t index) {
    capture::ThreadSlot& slot = area_.slots[index];
    fold(slot, ended_);
    slot.chunk.store(capture::kNoIndex, std::memory_order_relaxed);
    slot.tid.store(0, std::memory_order_relaxed);
    slot.samples.store(0, std::memory_order_relaxed);
    slot.lost.store(0, std::memory_order_relaxed);
    slot.handler_ticks.store(0, std::memory_order_relaxed);
    for (auto& count : slot.handler_histogram) {
        count.store(0, std::memory_order_relaxed);
    }
    forget_stack(index);
    capture::return_bit(area_.header.free_slots, index);
}

std::vector<AreaReader::UsedSlot> AreaReader::used_slots() const {
    std::vector<UsedSlot> used;
    for_each_used(area_.header.free_slots, [&](std::uint32_t index) {
        if (const std::uint32_t tid = area_.slots[index].tid.load(); tid != 0) {
            used.push_back({index, tid});
        }
    });
    return used;
}

void AreaReader::fold(const capture::ThreadSlot& slot, HandlerTotals& totals) const {
    totals.samples += slot.samples.load(std::memory_order_relaxed);
    totals.lost += slot.lost.load(std::memory_order_relaxed);
    totals.ticks += slot.handler_ticks.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < totals.histogram.size(); ++i) {
        totals.histogram[i] += slot.handler_histogram[i].load(std::memory_order_relaxed);
    }
}

HandlerTotals AreaReader::totals() const {
    HandlerTotals totals = ended_;
    for_each_used(area_.header.free_slots,
                  [&](std::uint32_t index) { fold(area_.slots[index], totals); });
    totals.lost += area_.header.lost_no_slot.load() + area_.header.lost_reentry.load();
    return totals;
}

}  // namespace sample::collector
