// Fuzzes the reader of recordings with libFuzzer. Beside "no crash, no sanitizer report", it checks
// what the reader promises: ids are defined before they are used. A file that declares no session
// of ours is read as a foreign one.
//
// The seeds are made by recording_fuzz_corpus. In half of them packets are not compressed, so that
// mutations reach the events inside.
#include "trace/message_text.h"
#include "trace/packed.h"
#include "trace/recording_reader.h"
#include "trace/sample_stream.h"
#include "trace/symbol_codec.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace {

using namespace sample;         // NOLINT(google-build-using-namespace): one program, one purpose
using namespace sample::trace;  // NOLINT(google-build-using-namespace)

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

/// Stops the program where an id is used that was not defined.
class CheckingSink : public RecordSink {
public:
    void record(const Record& record) override {
        std::visit([this](const auto& one) { check(one); }, record);
    }
    void node(const StackNode& node) override {
        require(node.id.value == ++nodes_);
        require(node.parent.value < node.id.value);
        known(node.module.value, modules_);
    }
    void sample(const Sample& sample) override {
        known(sample.thread.value, threads_);
        known(sample.metric.value, metrics_);
        require(sample.node.value <= nodes_);
    }
    void zone(const ZoneEdge& edge) override {
        known(edge.thread.value, threads_);
        require(edge.zone.value <= zones_ && edge.note.value <= notes_);
        require(edge.kind != EdgeKind::begin || edge.zone.value >= 1);
    }
    void instrumentation(const Instrumentation& said) override {
        require(began_ == 1);
        std::visit(
            [this](const auto& one) {
                if constexpr (requires { one.thread; } &&
                              !std::is_same_v<std::decay_t<decltype(one)>, RaisedEvent>) {
                    known(one.thread.value, threads_);
                }
                say(one);
            },
            said);
    }
    void memory(const MemoryEvent& event) override {
        known(event.thread.value, threads_);
        require(event.heap.value <= heaps_ && event.tag.value <= tags_);
        knows_stacks_ = knows_stacks_ && event.call_stack <= nodes_;
    }
    void attach(const Attachment& attachment) const {
        require(has_ended_ && !attachment.packed.empty());
        if (const auto bytes = unpack(attachment.packed)) {
            [[maybe_unused]] const auto names = decode_symbols(*bytes);
        }
    }
    /// The call stacks of all allocations are nodes, as those of foreign files become.
    [[nodiscard]] bool knows_stacks() const { return knows_stacks_; }

private:
    void check(const SessionStart& /*session*/) { require(!began_++); }
    void check(const Metric& metric) {
        require(metric.id.value == ++metrics_ && metrics_ <= SampleStream::kMostMetrics);
    }
    void check(const Process& process) { require(process.id.value == ++processes_); }
    void check(const ProcessEnd& end) const { known(end.id.value, processes_); }
    void check(const UnprofiledProgram& /*program*/) const { require(began_ == 1); }
    void check(const Thread& thread) {
        require(thread.id.value == ++threads_);
        known(thread.process.value, processes_);
    }
    void check(const ThreadName& name) const { known(name.id.value, threads_); }
    void check(const Module& module) { require(module.id.value == ++modules_); }
    void check(const ModuleLoad& load) const {
        known(load.module.value, modules_);
        known(load.process.value, processes_);
    }
    void check(const SessionEnd& /*end*/) { has_ended_ = true; }
    void say(const ZoneSpec& spec) { require(spec.id.value == ++zones_); }
    void say(const ZoneNote& note) {
        require(note.id.value == ++notes_);
        known(note.zone.value, zones_);
    }
    void say(const CounterSpec& spec) {
        require(spec.id.value == ++counters_);
        known(spec.process.value, processes_);
    }
    void say(const CounterValue& value) const { known(value.counter.value, counters_); }
    void say(const MessageSpec& spec) {
        require(spec.id.value == formats_.size() + 1);
        formats_.push_back(spec.format);
    }
    void say(const Message& message) const {
        require(message.spec.value >= 1 && message.spec.value <= formats_.size());
        require(message_text(formats_[message.spec.value - 1], message.arguments).size() <= 65'536);
    }
    void say(const Channel& channel) { require(channel.id.value == ++channels_); }
    void say(const ChannelToggle& toggle) const { known(toggle.channel.value, channels_); }
    void say(const EventTypeSpec& spec) {
        require(spec.id.value == types_.size() + 1);
        types_.push_back(spec.fields.size());
    }
    void say(const RaisedEvent& event) const {
        require(event.thread.value <= threads_);
        require(event.type.value >= 1 && event.type.value <= types_.size());
        for (const RaisedEvent::Variable& variable : event.variable) {
            require(variable.field < types_[event.type.value - 1]);
        }
    }
    void say(const HeapSpec& spec) {
        require(spec.id.value == ++heaps_ && spec.parent.value < heaps_);
    }
    void say(const MemoryTagSpec& spec) {
        require(spec.id.value == ++tags_ && spec.parent.value < tags_);
    }
    template <class Any>
    void say(const Any& /*one*/) {}
    void known(std::uint32_t id, std::uint32_t count) const {
        require(began_ == 1 && id >= 1 && id <= count);
    }

    int began_ = 0;
    bool has_ended_ = false;
    bool knows_stacks_ = true;
    std::uint32_t metrics_ = 1;
    std::uint32_t processes_ = 0;
    std::uint32_t threads_ = 0;
    std::uint32_t heaps_ = 0;
    std::uint32_t tags_ = 0;
    std::uint32_t modules_ = 0;
    std::uint32_t nodes_ = 0;
    std::uint32_t zones_ = 0;
    std::uint32_t notes_ = 0;
    std::uint32_t counters_ = 0;
    std::uint32_t channels_ = 0;
    std::vector<std::string> formats_;
    std::vector<std::size_t> types_;  ///< How many fields they have.
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    CheckingSink sink;
    const auto outcome = read_recording(std::as_bytes(std::span{data, size}), sink,
                                        [&](Attachment&& one) { sink.attach(one); });
    if (outcome) {
        require(outcome->bytes_used <= size);
        require(!outcome->whole || outcome->problem.empty());
        require(!outcome->is_foreign || sink.knows_stacks());
    }
    return 0;
}
