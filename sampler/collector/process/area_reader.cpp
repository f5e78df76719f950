#include "sampler/collector/process/area_reader.h"

#include "sampler/capture/lane_records.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <unordered_set>
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

/// A word that a thread says, as it is now. Pairs with the release store that commits it.
std::uint64_t said_word(const Chunk& chunk, std::size_t offset) {
    return offset + 8 > Chunk::kDataBytes
               ? 0
               : __atomic_load_n(reinterpret_cast<const std::uint64_t*>(chunk.data.data() + offset),
                                 __ATOMIC_ACQUIRE);
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

void AreaReader::drain(AreaSink& sink) {
    std::vector<Ready> ready;
    // The program's threads are looked for after their observer, and their samples' lane comes
    // last, for a thread's start is written there before anything else, and so are the modules that
    // the process starts with: all that was found has them.
    const std::uint32_t observer = area_.header.observer_slot_plus_one.load() - 1;
    const auto is_last = [observer](const Ready& chunk) {
        return chunk.lane == capture::kSampleLane && chunk.slot != observer;
    };
    find_ready([&](const Ready& chunk) { return !is_last(chunk); }, ready);
    find_ready(is_last, ready);
    drain_in_order(ready, sink);
    if (!ended_threads_.empty()) {
        // They may have written by other lanes after these were looked for, and before their end.
        std::unordered_set<std::uint32_t> ended;
        for (const Ended& thread : ended_threads_) {
            ended.insert(thread.writer.slot);
        }
        ready.clear();
        find_ready(
            [&](const Ready& chunk) {
                return chunk.lane != capture::kSampleLane && ended.contains(chunk.slot);
            },
            ready);
        drain_in_order(ready, sink);
        give_back_said_by(ended);
    }
    take_losses(sink);
    for (const Ended& thread : std::exchange(ended_threads_, {})) {
        sink.on_thread_end(thread.writer, thread.record);
        free_slot(thread.writer.slot);
    }
}

template <class Wanted>
void AreaReader::find_ready(Wanted wanted, std::vector<Ready>& ready) {
    for_each_used(area_.header.free_chunks, [&](std::uint32_t index) {
        Chunk* const chunk = area_.reach_chunk(index);
        if (chunk == nullptr) {
            return;
        }
        const auto cursor = cursors_.find(index);
        const std::uint32_t offset = cursor == cursors_.end() ? 0 : cursor->second.offset;
        // Before it says whose it is: that was written before anything else.
        const bool is_full = chunk->full.load(std::memory_order_acquire) != 0;
        const bool has_samples = chunk->committed.load(std::memory_order_acquire) > offset;
        const bool has_said = said_word(*chunk, offset) != 0;
        const Ready found{chunk->slot, chunk->lane, chunk->sequence, index, chunk};
        if ((is_full || (found.lane == capture::kInstrumentLane ? has_said : has_samples)) &&
            wanted(found)) {
            ready.push_back(found);
        }
    });
}

void AreaReader::drain_in_order(std::vector<Ready>& ready, AreaSink& sink) {
    // What was seen of a thread comes after what it says itself, which may be the code that it was
    // seen in; its end comes after all.
    const std::uint32_t observer = area_.header.observer_slot_plus_one.load() - 1;
    const auto place = [observer](const Ready& chunk) {
        // The numbers of one lane's chunks as they are: 500 TB come before they wrap around, while
        // an order by distance is none for numbers that somebody made up.
        return std::tuple{chunk.slot == observer, chunk.slot, chunk.lane, chunk.sequence};
    };
    std::sort(ready.begin(), ready.end(),
              [&](const Ready& a, const Ready& b) { return place(a) < place(b); });
    for (const Ready& chunk : ready) {
        if (chunk.lane == capture::kInstrumentLane) {
            drain_said(chunk, sink);
        } else {
            drain_chunk(chunk, sink);
        }
    }
}

void AreaReader::give_back(std::uint32_t index, Chunk& chunk, std::size_t used_bytes) {
    cursors_.erase(index);
    std::memset(chunk.data.data(), 0, used_bytes);
    chunk.lane = capture::kLanes;  // nobody's
    chunk.committed.store(0, std::memory_order_relaxed);
    chunk.full.store(0, std::memory_order_relaxed);
    capture::return_bit(area_.header.free_chunks, index);
}

bool AreaReader::take_words(const Chunk& chunk, Cursor& cursor, std::size_t end) {
    words_.clear();
    while (cursor.offset < end) {
        const std::uint64_t head = said_word(chunk, cursor.offset);
        if (head == 0) {
            break;
        }
        const std::uint64_t second =
            cursor.offset + 8 < end ? said_word(chunk, cursor.offset + 8) : 0;
        const std::size_t bytes = capture::lane_record_bytes(head, second);
        if (bytes == 0 || bytes > end - cursor.offset) {
            return false;
        }
        words_.push_back(head);
        if (bytes > 8) {
            words_.push_back(second);
        }
        for (std::size_t at = 16; at < bytes; at += 8) {
            words_.push_back(said_word(chunk, cursor.offset + at));
        }
        cursor.offset += static_cast<std::uint32_t>(bytes);
    }
    return true;
}

void AreaReader::drain_said(const Ready& ready, AreaSink& sink) {
    Chunk& chunk = *ready.chunk;
    Said& said = said_[ready.slot];
    if (ready.sequence != said.next_sequence) {
        return;  // an earlier one has a record that is being written
    }
    Cursor& cursor = cursors_[ready.index];
    // Full before committed: then nobody reserves any more, and what is committed is all.
    const bool full = chunk.full.load(std::memory_order_acquire) != 0;
    const std::size_t end =
        full ? std::min(std::size_t{chunk.committed.load(std::memory_order_relaxed)} / 8 * 8,
                        Chunk::kDataBytes)
             : Chunk::kDataBytes;
    const capture::ThreadSlot* const slot = area_.reach_slot(ready.slot);
    const bool sound = slot != nullptr && take_words(chunk, cursor, end);
    if (slot != nullptr && !words_.empty()) {
        sink.on_said({ready.slot, slot->tid.load(std::memory_order_relaxed)}, words_);
    }
    if (!sound) {
        // What else there is begins nowhere that is known.
        ++corrupt_chunks_;
        cursor.offset = Chunk::kDataBytes;
    }
    if (full && cursor.offset >= end) {
        area_.header.waiting_chunks.fetch_sub(1, std::memory_order_relaxed);
        ++said.next_sequence;
        give_back(ready.index, chunk, sound ? end : Chunk::kDataBytes);
    }
}

void AreaReader::give_back_said_by(const std::unordered_set<std::uint32_t>& slots) {
    for_each_used(area_.header.free_chunks, [&](std::uint32_t index) {
        Chunk* const chunk = area_.chunk(index);
        if (chunk != nullptr && chunk->lane == capture::kInstrumentLane &&
            slots.contains(chunk->slot)) {
            // One that is full lacks a record that nobody will write any more.
            const std::uint32_t full = chunk->full.load() != 0 ? 1 : 0;
            corrupt_chunks_ += full;
            area_.header.waiting_chunks.fetch_sub(full, std::memory_order_relaxed);
            give_back(index, *chunk, Chunk::kDataBytes);
        }
    });
}

void AreaReader::take_losses(AreaSink& sink) {
    if (area_.header.most_waiting_chunks == 0) {
        return;
    }
    for_each_used_slot([&](std::uint32_t index, const capture::ThreadSlot& slot) {
        const std::uint64_t zones = slot.lost_zones.load(std::memory_order_relaxed);
        const std::uint64_t others = slot.lost_others.load(std::memory_order_relaxed);
        if (zones == 0 && others == 0) {
            return;
        }
        Said& said = said_[index];
        if ((zones != said.lost_zones || others != said.lost_others) &&
            sink.on_unsaid({index, slot.tid.load(std::memory_order_relaxed)},
                           zones - said.lost_zones, others - said.lost_others)) {
            said.lost_zones = zones;
            said.lost_others = others;
        }
    });
}

void AreaReader::drain_chunk(const Ready& ready, AreaSink& sink) {
    Chunk& chunk = *ready.chunk;
    Cursor& cursor = cursors_[ready.index];
    // Full before committed: then the owner writes no more, and what is committed is all.
    const bool full = chunk.full.load(std::memory_order_acquire) != 0;
    const std::uint32_t committed =
        std::min<std::uint32_t>(chunk.committed.load(std::memory_order_acquire), Chunk::kDataBytes);
    const capture::ThreadSlot* const slot = area_.reach_slot(ready.slot);
    bool sound = slot != nullptr && ready.lane == capture::kSampleLane && committed % 8 == 0;
    if (sound && cursor.offset < committed) {
        const Writer writer{ready.slot, slot->tid.load(std::memory_order_relaxed)};
        const std::span<const std::uint64_t> words{
            reinterpret_cast<const std::uint64_t*>(chunk.data.data() + cursor.offset),
            (committed - cursor.offset) / 8};
        sound = take_records(writer, words, sink);
        cursor.offset = committed;
    }
    if (!sound) {
        // What else is committed to this chunk starts nowhere that is known.
        ++corrupt_chunks_;
        cursor.offset = Chunk::kDataBytes;
        if (ready.lane == capture::kSampleLane) {
            forget_stack(ready.slot);
        }
    }
    if (full) {
        give_back(ready.index, chunk, sound ? committed : Chunk::kDataBytes);
    }
}

bool AreaReader::take_records(const Writer& writer, std::span<const std::uint64_t> words,
                              AreaSink& sink) {
    while (!words.empty()) {
        RecordHead head;
        std::memcpy(static_cast<void*>(&head), words.data(), sizeof head);
        if (head.size_words == 0 || head.size_words > words.size() ||
            !take_record(writer, words.first(head.size_words), sink)) {
            return false;
        }
        words = words.subspan(head.size_words);
    }
    return true;
}

bool AreaReader::take_record(const Writer& writer, std::span<const std::uint64_t> words,
                             AreaSink& sink) {
    RecordHead head;
    std::memcpy(static_cast<void*>(&head), words.data(), sizeof head);
    switch (head.kind) {
        case RecordKind::sample:
            return take_sample(writer, words, sink);
        case RecordKind::thread_start:
        case RecordKind::thread_end: {
            capture::ThreadRecord record;
            if (!copy_record(words, record)) {
                return false;
            }
            record.name.back() = '\0';
            if (head.kind == RecordKind::thread_start) {
                forget_stack(writer.slot);
                sink.on_thread_start(writer, record);
            } else {
                ended_threads_.push_back({writer, record});
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
            sink.on_module(writer, record, path.c_str());
            return true;
        }
        case RecordKind::unload:
            sink.on_unload(writer);
            return true;
        case RecordKind::wait:
            return take_wait(writer, words, sink);
        default:
            return false;
    }
}

bool AreaReader::take_wait(const Writer& writer, std::span<const std::uint64_t> words,
                           AreaSink& sink) {
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
    sink.on_wait(writer, wait);
    return true;
}

bool AreaReader::take_sample(const Writer& writer, std::span<const std::uint64_t> words,
                             AreaSink& sink) {
    capture::SampleRecord record;
    if (!copy_record(words, record)) {
        return false;
    }
    std::vector<std::uint64_t>& stack = stacks_[writer.slot];
    const auto fresh = words.subspan(sizeof record / 8);
    if (record.head.a != fresh.size() || record.head.b > stack.size() ||
        std::size_t{record.head.a} + record.head.b > kMaxDepth) {
        return false;
    }
    frames_ += record.head.b + fresh.size() - stack.size();
    if (frames_ > kMostFrames) {
        // The others' next samples lack their beginning until a chunk starts anew.
        std::erase_if(stacks_, [&](const auto& other) { return other.first != writer.slot; });
        frames_ = record.head.b + fresh.size();
        sink.on_stacks_dropped();
    }
    stack.resize(record.head.b);
    stack.insert(stack.end(), fresh.rbegin(), fresh.rend());
    sink.on_sample(writer, {record.ticks, record.weight_ns, record.unseen_ns, record.stop,
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
    // A thread that ends by itself leaves its chunks full; a killed one leaves them half written.
    const std::uint32_t number = area_.slot(index)->chunk.load(std::memory_order_relaxed);
    Chunk* const chunk = area_.chunk(number);
    if (chunk != nullptr && chunk->slot == index && chunk->lane == capture::kSampleLane) {
        const std::uint64_t free_bits = area_.header.free_chunks[number / 64].load();
        if (((free_bits >> (number % 64)) & 1) == 0) {
            give_back(number, *chunk, Chunk::kDataBytes);
        }
    }
    give_back_said_by({index});
    free_slot(index);
}

void AreaReader::free_slot(std::uint32_t index) {
    capture::ThreadSlot& slot = *area_.slot(index);
    fold(slot, ended_);
    slot.chunk.store(capture::kNoIndex, std::memory_order_relaxed);
    slot.tid.store(0, std::memory_order_relaxed);
    slot.samples.store(0, std::memory_order_relaxed);
    slot.lost.store(0, std::memory_order_relaxed);
    slot.lost_zones.store(0, std::memory_order_relaxed);
    slot.lost_others.store(0, std::memory_order_relaxed);
    slot.sent.store(0, std::memory_order_relaxed);
    slot.way_ns.store(0, std::memory_order_relaxed);
    slot.late.store(0, std::memory_order_relaxed);
    slot.handler_ticks.store(0, std::memory_order_relaxed);
    for (auto& count : slot.handler_histogram) {
        count.store(0, std::memory_order_relaxed);
    }
    forget_stack(index);
    said_.erase(index);
    capture::return_bit(area_.header.free_slots, index);
}

template <class Visit>
void AreaReader::for_each_used_slot(Visit visit) const {
    for_each_used(area_.header.free_slots, [&](std::uint32_t index) {
        if (const capture::ThreadSlot* const slot = area_.reach_slot(index); slot != nullptr) {
            visit(index, *slot);
        }
    });
}

std::vector<AreaReader::UsedSlot> AreaReader::used_slots() const {
    std::vector<UsedSlot> used;
    for_each_used_slot([&](std::uint32_t index, const capture::ThreadSlot& slot) {
        if (const std::uint32_t tid = slot.tid.load(); tid != 0) {
            used.push_back({index, tid});
        }
    });
    return used;
}

void AreaReader::fold(const capture::ThreadSlot& slot, HandlerTotals& totals) const {
    totals.samples += slot.samples.load(std::memory_order_relaxed);
    totals.lost += slot.lost.load(std::memory_order_relaxed);
    totals.sent += slot.sent.load(std::memory_order_relaxed);
    totals.way_ns += slot.way_ns.load(std::memory_order_relaxed);
    totals.late += slot.late.load(std::memory_order_relaxed);
    totals.ticks += slot.handler_ticks.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < totals.histogram.size(); ++i) {
        totals.histogram[i] += slot.handler_histogram[i].load(std::memory_order_relaxed);
    }
}

HandlerTotals AreaReader::totals() const {
    HandlerTotals totals = ended_;
    for_each_used_slot(
        [&](std::uint32_t /*index*/, const capture::ThreadSlot& slot) { fold(slot, totals); });
    totals.lost += area_.header.lost_reentry.load();
    return totals;
}

}  // namespace sample::collector
