// Fuzzes the reader of the shared area: what a program could scribble into its bitmaps, slots and
// chunks, drained twice.
#include "sampler/collector/process/area_reader.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

using namespace sample::collector;  // NOLINT(google-build-using-namespace): a program of one file
namespace capture = sample::capture;

/// Touched by one input; the area's other pages stay untouched.
constexpr std::uint32_t kChunks = 32;
constexpr std::uint32_t kSlots = 64;
constexpr std::size_t kGroups = kSlots / capture::kChunksPerGroup;

capture::Area& area() {
    static capture::Area* const area_storage = [] {
        void* address = ::mmap(nullptr, capture::area_bytes(kGroups), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (address == MAP_FAILED) {
            std::abort();
        }
        auto* start = static_cast<capture::AreaStart*>(address);
        new (&start->header) capture::AreaHeader{};
        return new capture::Area{*start, kGroups};
    }();
    return *area_storage;
}

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

/// Believes nothing, and reads all that it is handed.
class CheckingSink : public AreaSink {
public:
    void on_sample(const Writer& writer, const DrainedSample& sample) override {
        require(writer.slot < capture::kMaxThreads);
        require(sample.frames.size() <= capture::kMaxDepth);
        require(sample.kept <= sample.frames.size());
        for (const std::uint64_t frame : sample.frames) {
            sum_ = sum_ + frame;
        }
    }
    void on_thread_start(const Writer& writer, const capture::ThreadRecord& record) override {
        check_thread(writer.slot, record);
    }
    void on_thread_end(const Writer& writer, const capture::ThreadRecord& record) override {
        check_thread(writer.slot, record);
    }
    void on_module(const Writer& /*writer*/, const capture::ModuleRecord& record,
                   const char* path) override {
        require(record.head.b <= record.build_id.size());
        require(std::strlen(path) <= record.head.a);
    }
    void on_unload(const Writer& writer) override { require(writer.slot < capture::kMaxThreads); }
    void on_wait(const Writer& writer, const DrainedWait& wait) override {
        require(writer.slot < capture::kMaxThreads);
        require(wait.frames.size() <= capture::kMaxDepth);
        require(wait.frames.size() == wait.record.head.a);
        for (const std::uint64_t frame : wait.frames) {
            sum_ = sum_ + frame;
        }
    }
    void on_said(const Writer& writer, std::span<const std::uint64_t> words) override {
        require(writer.slot < capture::kMaxThreads);
        require(!words.empty() && words.size_bytes() <= capture::Chunk::kDataBytes);
        for (const std::uint64_t word : words) {
            sum_ = sum_ + word;
        }
    }

private:
    static void check_thread(std::uint32_t slot, const capture::ThreadRecord& record) {
        require(slot < capture::kMaxThreads);
        require(std::memchr(record.name.data(), 0, record.name.size()) != nullptr);
    }
    volatile std::uint64_t sum_ = 0;
};

class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : data_{data}, size_{size} {}
    template <class T>
    T take() {
        T value{};
        take_bytes(&value, sizeof value);
        return value;
    }
    std::size_t take_bytes(void* out, std::size_t count) {
        const std::size_t got = std::min(count, size_);
        if (got != 0) {
            std::memcpy(out, data_, got);
        }
        data_ += got;
        size_ -= got;
        return got;
    }
    [[nodiscard]] bool empty() const { return size_ == 0; }

private:
    const std::uint8_t* data_;
    std::size_t size_;
};

/// Records of every kind, sound but for what the input says; bytes that were written.
std::uint32_t compose_records(Input& input, capture::Chunk& chunk) {
    std::uint32_t used = 0;
    for (int records = input.take<std::uint8_t>() % 8; records > 0; --records) {
        capture::RecordHead head;
        head.kind = static_cast<capture::RecordKind>(input.take<std::uint8_t>() % 8);
        const std::size_t fixed_words = head.kind == capture::RecordKind::wait
                                            ? sizeof(capture::WaitRecord) / 8
                                            : sizeof(capture::SampleRecord) / 8;
        const std::size_t frames = input.take<std::uint8_t>() % 16;
        const std::size_t words = fixed_words + frames;
        head.size_words = static_cast<std::uint16_t>(words);
        head.a = static_cast<std::uint16_t>(frames + input.take<std::uint8_t>() % 2);
        head.b = input.take<std::uint8_t>();
        std::byte* const at = chunk.data.data() + used;
        std::memcpy(at, &head, sizeof head);
        input.take_bytes(at + sizeof head, words * 8 - sizeof head);
        used += static_cast<std::uint32_t>(words * 8);
    }
    return used;
}

/// One chunk from the input: mostly sound outside, so that its records are reached.
void fill_chunk(Input& input) {
    const auto shape = input.take<std::uint8_t>();
    const std::uint32_t index = input.take<std::uint8_t>() % kChunks;
    capture::Chunk& chunk = *area().reach_chunk(index);
    area().header.free_chunks[0].fetch_and(~(std::uint64_t{1} << index));
    chunk.slot = (shape & 0x70) == 0 ? input.take<std::uint16_t>()
                                     : std::uint16_t{input.take<std::uint8_t>()} % 4;
    chunk.lane = (shape & 0x60) == 0 ? input.take<std::uint8_t>() % (capture::kLanes + 1)
                                     : capture::kSampleLane;
    chunk.sequence = (shape & 8) != 0 ? input.take<std::uint32_t>() : input.take<std::uint8_t>();
    std::uint32_t committed = 0;
    if ((shape & 7) == 2) {
        committed = compose_records(input, chunk);
    } else {
        const std::uint32_t wanted = input.take<std::uint16_t>() % (capture::Chunk::kDataBytes + 1);
        const std::size_t got = input.take_bytes(chunk.data.data(), wanted & ~std::uint32_t{7});
        committed = static_cast<std::uint32_t>(got) & ~std::uint32_t{7};
    }
    if ((shape & 7) == 0) {
        committed = input.take<std::uint32_t>();
    } else if ((shape & 7) == 1) {
        committed = input.take<std::uint16_t>();
    }
    chunk.committed.store(committed);
    chunk.full.store(shape >> 7);
    const std::uint32_t slot = chunk.slot % kSlots;
    area().reach_slot(slot)->chunk = index;
    area().reach_slot(slot)->tid.store(shape);
    area().header.free_slots[0].fetch_and(~(std::uint64_t{1} << slot));
}

void clear() {
    for (std::size_t word = 0; word < area().header.free_slots.size(); ++word) {
        area().header.free_slots[word].store(~std::uint64_t{0});
        area().header.free_chunks[word].store(~std::uint64_t{0});
    }
    for (std::uint32_t i = 0; i < kChunks; ++i) {
        capture::Chunk& chunk = *area().reach_chunk(i);
        chunk.committed.store(0);
        chunk.full.store(0);
    }
    for (std::uint32_t i = 0; i < kSlots; ++i) {
        area().reach_slot(i)->tid.store(0);
        area().reach_slot(i)->chunk = capture::kNoIndex;
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    clear();
    Input input{data, size};
    AreaReader reader{area()};
    CheckingSink sink;
    for (int round = 0; round < 3; ++round) {
        area().header.observer_slot_plus_one.store(input.take<std::uint8_t>() % 6);
        const auto chunks = input.take<std::uint8_t>() % 32;
        for (int i = 0; i < chunks && !input.empty(); ++i) {
            fill_chunk(input);
        }
        reader.drain(sink);
        for (const AreaReader::UsedSlot& used : reader.used_slots()) {
            require(used.slot < capture::kMaxThreads);
            if (used.tid % 5 == 1) {
                reader.free_killed(used.slot);
            }
        }
    }
    (void)reader.totals();
    return 0;
}
