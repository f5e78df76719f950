// What the tests of sampler/ share: an area as the collector makes it, filled through the handler's
// own functions, and a sink that keeps what comes out.
#pragma once

#include "sampler/capture/chunk_writer.h"
#include "sampler/collector/process/area_mapping.h"
#include "sampler/collector/process/area_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace sample::collector {

inline constexpr std::uint64_t kPeriodNs = 100'000;
/// A thread of this name is one of ours.
inline constexpr const char* kObserver = "observer";

/// A sample as the handler would write it.
struct HandSample {
    std::vector<std::uint64_t> fresh;  ///< FrameAddress bits, leaf first.
    std::uint16_t kept = 0;
    std::uint64_t weight_ns = kPeriodNs;
    std::uint32_t unseen_ns = 0;
    std::uint32_t stop = 0;
    std::uint64_t ticks = 0;
};

/// What a sampling thread has seen of another one.
struct HandWait {
    std::uint32_t tid = 0;
    capture::WaitKind kind = capture::WaitKind::clocks;
    std::uint64_t ticks = 0;
    std::uint64_t cpu_ns = 0;
    std::uint64_t processor_wait_ns = 0;
    std::vector<std::uint64_t> frames = {};  ///< FrameAddress bits, leaf first.
    std::uint32_t stop = 0;
};

/// An area, and what threads of its process do to it.
class TestArea {
public:
    /// `channels`: that are on; empty: nobody listens.
    explicit TestArea(const std::string& channels = {}) {
        auto created = AreaMapping::create(kPeriodNs, 2.0, false, capture::kMaxDepth, channels);
        if (!created) {
            ADD_FAILURE() << created.error().message();
            return;
        }
        mapping_ = *created;
    }

    [[nodiscard]] const std::shared_ptr<AreaMapping>& mapping() const { return mapping_; }
    [[nodiscard]] capture::Area& area() const { return mapping_->area(); }
    [[nodiscard]] capture::ThreadSlot& slot(std::uint32_t index) const {
        return *area().reach_slot(index);
    }
    [[nodiscard]] capture::Chunk& chunk(std::uint32_t index) const {
        return *area().reach_chunk(index);
    }
    /// That a slot's thread fills with samples.
    [[nodiscard]] std::uint32_t chunk_index_of(std::uint32_t slot_index) const {
        return slot(slot_index).chunk;
    }
    [[nodiscard]] capture::Chunk& chunk_of(std::uint32_t slot_index) const {
        return chunk(chunk_index_of(slot_index));
    }
    /// What the thread whose slot it is keeps.
    [[nodiscard]] capture::ThreadState& thread(std::uint32_t index) const {
        auto& state = threads_[index];
        if (state == nullptr) {
            void* const memory = ::mmap(nullptr, sizeof(capture::ThreadState),
                                        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) {
                throw std::bad_alloc{};
            }
            state.reset(static_cast<capture::ThreadState*>(memory));
            state->slot = &slot(index);
            state->slot_index = index;
        }
        return *state;
    }

    /// A thread's first sample: a slot, and the record of its start.
    [[nodiscard]] std::uint32_t start_thread(std::uint32_t tid, const std::string& name = "worker",
                                             std::uint64_t spent_ns = 0,
                                             std::uint64_t ticks = 0) const {
        const std::uint32_t index = capture::claim_bit(area().header.free_slots);
        write_start(index, tid, name, spent_ns, ticks);
        return index;
    }
    /// The same in a slot that is the thread's already.
    void write_start(std::uint32_t index, std::uint32_t tid, const std::string& name,
                     std::uint64_t spent_ns = 0, std::uint64_t ticks = 0) const {
        thread(index).cursor.chunk = nullptr;
        slot(index).chunk = capture::kNoIndex;
        slot(index).tid.store(tid);
        thread_record(index, capture::RecordKind::thread_start, spent_ns, name, ticks);
    }
    void end_thread(std::uint32_t index, std::uint64_t cpu_ns, const std::string& name = "worker",
                    std::uint64_t ticks = 0) const {
        thread_record(index, capture::RecordKind::thread_end, cpu_ns, name, ticks);
        capture::leave_chunk(thread(index).cursor.chunk);
    }
    void add_sample(std::uint32_t index, const HandSample& sample) const {
        capture::SampleRecord record;
        record.head.kind = capture::RecordKind::sample;
        record.head.a = static_cast<std::uint16_t>(sample.fresh.size());
        record.head.b = sample.kept;
        record.ticks = sample.ticks;
        record.weight_ns = sample.weight_ns;
        record.unseen_ns = sample.unseen_ns;
        record.stop = sample.stop;
        write(index, record, sample.fresh.data(), sample.fresh.size() * 8);
        slot(index).samples.fetch_add(1);
    }
    /// By the thread whose slot `index` is.
    void add_wait(std::uint32_t index, const HandWait& wait) const {
        capture::WaitRecord record;
        record.head.kind = capture::RecordKind::wait;
        record.head.a = static_cast<std::uint16_t>(wait.frames.size());
        record.head.b = static_cast<std::uint16_t>(wait.kind);
        record.tid = wait.tid;
        record.stop = wait.stop;
        record.ticks = wait.ticks;
        record.cpu_ns = wait.cpu_ns;
        record.processor_wait_ns = wait.processor_wait_ns;
        write(index, record, wait.frames.data(), wait.frames.size() * 8);
    }
    void add_module(std::uint32_t index, const std::string& path, std::uint64_t start,
                    std::uint64_t end, std::uint32_t flags = 0) const {
        capture::ModuleRecord record;
        record.head = {capture::RecordKind::module, 0, static_cast<std::uint16_t>(path.size()), 2};
        record.build_id = {0xab, 0xcd};
        record.start = start;
        record.end = end;
        record.bias = start;
        record.flags = flags;
        write(index, record, path.data(), path.size());
    }
    /// A record and what follows it, in a new chunk if it does not fit.
    template <class Record>
    void write(std::uint32_t index, Record record, const void* rest, std::size_t rest_bytes) const {
        const auto words = static_cast<std::uint32_t>((sizeof record + rest_bytes + 7) / 8);
        const capture::Reservation room = capture::reserve_anywhere(area(), thread(index), words);
        ASSERT_NE(room.words, nullptr);
        record.head.size_words = static_cast<std::uint16_t>(words);
        std::memcpy(room.words, &record, sizeof record);
        if (rest_bytes != 0) {
            std::memcpy(room.words + sizeof record / 8, rest, rest_bytes);
        }
        capture::commit(thread(index), room);
    }

private:
    void thread_record(std::uint32_t index, capture::RecordKind kind, std::uint64_t cpu_ns,
                       const std::string& name, std::uint64_t ticks) const {
        capture::ThreadRecord record;
        record.head.kind = kind;
        record.ticks = ticks;
        record.tid = slot(index).tid.load();
        record.cpu_ns = cpu_ns;
        record.is_observer = name == kObserver ? 1 : 0;
        std::copy_n(name.data(), std::min(name.size(), record.name.size()), record.name.data());
        write(index, record, nullptr, 0);
    }

    std::shared_ptr<AreaMapping> mapping_;
    struct Unmap {
        void operator()(capture::ThreadState* state) const {
            ::munmap(state, sizeof(capture::ThreadState));
        }
    };
    /// As the handler has them: of each only what was written is memory.
    mutable std::map<std::uint32_t, std::unique_ptr<capture::ThreadState, Unmap>> threads_;
};

/// Keeps everything.
class KeepingSink : public AreaSink {
public:
    struct Kept {
        std::uint32_t slot = 0;
        std::uint64_t ticks = 0;
        std::uint64_t weight_ns = 0;
        std::uint64_t unseen_ns = 0;
        std::uint32_t stop = 0;
        std::uint32_t kept = 0;
        std::vector<std::uint64_t> frames;  ///< Root first.
    };
    struct KeptWait {
        capture::WaitRecord record;
        std::vector<std::uint64_t> frames;  ///< Root first.
    };
    std::vector<Kept> samples;
    std::vector<KeptWait> waits;
    std::vector<std::pair<std::uint32_t, capture::ThreadRecord>> starts;
    std::vector<std::pair<std::uint32_t, capture::ThreadRecord>> ends;
    std::vector<std::pair<std::string, capture::ModuleRecord>> modules;
    std::vector<std::uint32_t> unloads;
    std::vector<std::uint64_t> said;         ///< The words of all threads.
    std::vector<capture::RecordKind> order;  ///< Of all but module and unload records.

    void on_sample(const Writer& writer, const DrainedSample& sample) override {
        order.push_back(capture::RecordKind::sample);
        samples.push_back({writer.slot,
                           sample.ticks,
                           sample.weight_ns,
                           sample.unseen_ns,
                           sample.stop,
                           sample.kept,
                           {sample.frames.begin(), sample.frames.end()}});
    }
    void on_thread_start(const Writer& writer, const capture::ThreadRecord& record) override {
        order.push_back(capture::RecordKind::thread_start);
        starts.emplace_back(writer.slot, record);
    }
    void on_thread_end(const Writer& writer, const capture::ThreadRecord& record) override {
        order.push_back(capture::RecordKind::thread_end);
        ends.emplace_back(writer.slot, record);
    }
    void on_module(const Writer& /*writer*/, const capture::ModuleRecord& record,
                   const char* path) override {
        modules.emplace_back(path, record);
    }
    void on_unload(const Writer& writer) override { unloads.push_back(writer.slot); }
    void on_wait(const Writer& /*writer*/, const DrainedWait& wait) override {
        order.push_back(capture::RecordKind::wait);
        waits.push_back(
            {wait.record, std::vector<std::uint64_t>{wait.frames.begin(), wait.frames.end()}});
    }
    void on_said(const Writer& /*writer*/, std::span<const std::uint64_t> words) override {
        said.insert(said.end(), words.begin(), words.end());
    }
    [[nodiscard]] std::size_t records() const {
        return samples.size() + starts.size() + ends.size() + modules.size() + waits.size();
    }
};

/// Bits that are set: what is free.
inline std::size_t count_free(const capture::Bitmap& bitmap) {
    std::size_t count = 0;
    for (const auto& word : bitmap) {
        count += static_cast<std::size_t>(__builtin_popcountll(word.load()));
    }
    return count;
}

/// An area, who reads it, and what was read.
class AreaReading : public ::testing::Test {
protected:
    TestArea test;
    AreaReader reader{test.area()};
    KeepingSink sink;
};

}  // namespace sample::collector
