// Fuzzes the decoder of what programs say: definitions and a lane's words that a program could have
// scribbled, to plain values that a sink can take.
#include "sample/trace_abi.h"
#include "sampler/collector/instrumentation/lane_decoder.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <set>
#include <variant>
#include <vector>

namespace {

using namespace sample;             // NOLINT(google-build-using-namespace): a program of one file
using namespace sample::collector;  // NOLINT(google-build-using-namespace)

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

capture::DefinitionStore& store() {
    static auto* const mapped = [] {
        void* const address = ::mmap(nullptr, sizeof(capture::DefinitionStore),
                                     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(address != MAP_FAILED);
        return static_cast<capture::DefinitionStore*>(address);
    }();
    return *mapped;
}

/// As a file's writer: it would end the recording with an error.
class CheckingSink final : public trace::RecordSink {
public:
    void record(const trace::Record& /*record*/) override {}
    void node(const trace::StackNode& /*node*/) override {}
    void sample(const trace::Sample& /*sample*/) override {}
    void zone(const trace::ZoneEdge& edge) override {
        require(edge.kind == trace::EdgeKind::end ||
                (edge.zone.value != 0 && !edge.thread.is_none()));
    }
    void instrumentation(const trace::Instrumentation& said) override {
        if (const auto* type = std::get_if<trace::EventTypeSpec>(&said)) {
            types_.push_back(*type);
            require(type->id.value == types_.size());
        } else if (const auto* event = std::get_if<trace::RaisedEvent>(&said)) {
            check(*event);
        }
    }

private:
    void check(const trace::RaisedEvent& event) {
        require(event.type.value >= 1 && event.type.value <= types_.size());
        const trace::EventTypeSpec& type = types_[event.type.value - 1];
        require(event.thread.is_none() == ((type.flags & SAMPLE_TRACE_IMPORTANT) != 0));
        if (event.scope == trace::ScopeKind::leave) {
            require(open_ != 0);
            --open_;
            return;
        }
        open_ += event.scope == trace::ScopeKind::enter ? 1 : 0;
        std::size_t fixed = 0;
        for (const trace::EventField& field : type.fields) {
            fixed += (field.type_code & 0x80U) != 0 ? 0 : std::size_t{1} << (field.type_code & 3U);
        }
        require(event.fixed.size() == fixed);
        std::set<unsigned> seen;
        for (const trace::RaisedEvent::Variable& variable : event.variable) {
            require(variable.field < type.fields.size() && seen.insert(variable.field).second);
            require((type.fields[variable.field].type_code & 0x80U) != 0);
        }
    }

    std::vector<trace::EventTypeSpec> types_;
    std::size_t open_ = 0;
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

private:
    const std::uint8_t* data_;
    std::size_t size_;
};

constexpr std::uint32_t kDefinitions = 8;
constexpr std::uint32_t kWordsOfOne = 16;

/// Mostly sound outside, so that what is in them is reached.
void define(Input& input) {
    store().inherited.store(input.take<std::uint8_t>() % 4);
    store().next.store(input.take<std::uint8_t>() % 16);
    for (std::uint32_t number = 1; number <= kDefinitions; ++number) {
        const auto shape = input.take<std::uint8_t>();
        const std::uint32_t word = number * kWordsOfOne;
        auto* const at = reinterpret_cast<std::byte*>(&store().text[word]);
        std::memset(at, 0, kWordsOfOne * 8);
        capture::Definition head;
        head.bytes = (shape & 1) != 0 ? input.take<std::uint16_t>()
                                      : static_cast<std::uint16_t>(sizeof head + shape % 100);
        head.kind = static_cast<capture::DefinitionKind>(input.take<std::uint8_t>() % 15);
        head.flags = input.take<std::uint8_t>();
        head.number = input.take<std::uint8_t>() % (2 * kDefinitions);
        std::memcpy(at, &head, sizeof head);
        input.take_bytes(at + sizeof head, shape % 100);
        store().places[number].store((shape & 2) != 0 ? input.take<std::uint32_t>() : word + 1);
    }
}

/// One record, sound but for what the input says.
void add_record(Input& input, std::vector<std::uint64_t>& words) {
    const auto kind = static_cast<capture::LaneRecord>(input.take<std::uint8_t>() % 12);
    words.push_back(capture::lane_head(kind, input.take<std::uint32_t>()));
    if (kind != capture::LaneRecord::other) {
        for (auto more = input.take<std::uint8_t>() % 3; more > 0; --more) {
            words.push_back(input.take<std::uint8_t>());
        }
        return;
    }
    capture::OtherRecord record;
    record.kind = static_cast<capture::OtherKind>(input.take<std::uint8_t>() % 15);
    record.scope = static_cast<capture::ScopeBegin>(input.take<std::uint8_t>() % 4);
    record.said_bytes = input.take<std::uint8_t>();
    record.argument = input.take<std::uint8_t>() % (2 * kDefinitions);
    words.push_back(std::bit_cast<std::uint64_t>(record));
    std::vector<std::uint64_t> said(capture::padded_bytes(record.said_bytes) / 8);
    input.take_bytes(said.data(), record.said_bytes);
    words.insert(words.end(), said.begin(), said.end());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const TickClock clock;
    Input input{data, size};
    CheckingSink sink;
    SaidNames names{sink};
    LaneDecoder decoder{store(), clock, names, sink, 0};
    decoder.begin(ProcessId{1}, [](std::span<const std::uint64_t>, std::uint32_t stop,
                                   std::uint64_t) { return NodeId{stop % 3}; });
    define(input);
    SpeakingThread thread;
    thread.id = ThreadId{1};
    for (int round = 0; round < 2; ++round) {
        decoder.take_announced();
        std::vector<std::uint64_t> words;
        for (auto records = input.take<std::uint8_t>() % 16; records > 0; --records) {
            add_record(input, words);
        }
        decoder.decode(thread, words);
    }
    decoder.end(thread, 0);
    require(thread.open.empty() && thread.scopes.empty());
    decoder.take_announced(LaneDecoder::Unwritten::skip);
    return 0;
}
