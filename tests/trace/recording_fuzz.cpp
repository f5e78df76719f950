// Fuzzes the reader of recordings with libFuzzer. Beside "no crash, no sanitizer report", it checks
// what the reader promises: ids are defined before they are used.
//
// The seeds are made by recording_fuzz_corpus. In half of them packets are not compressed, so that
// mutations reach the events inside.
#include "trace/packed.h"
#include "trace/recording_reader.h"
#include "trace/symbol_codec.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

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
    void attach(const Attachment& attachment) const {
        require(has_ended_ && !attachment.packed.empty());
        if (const auto bytes = unpack(attachment.packed)) {
            [[maybe_unused]] const auto names = decode_symbols(*bytes);
        }
    }

private:
    void check(const SessionStart& /*session*/) { require(!began_++); }
    void check(const Metric& metric) { require(metric.id.value == ++metrics_); }
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
    void known(std::uint32_t id, std::uint32_t count) const {
        require(began_ == 1 && id >= 1 && id <= count);
    }

    int began_ = 0;
    bool has_ended_ = false;
    std::uint32_t metrics_ = 1;
    std::uint32_t processes_ = 0;
    std::uint32_t threads_ = 0;
    std::uint32_t modules_ = 0;
    std::uint32_t nodes_ = 0;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    CheckingSink sink;
    const auto outcome = read_recording(std::as_bytes(std::span{data, size}), sink,
                                        [&](Attachment&& one) { sink.attach(one); });
    if (outcome) {
        require(outcome->bytes_used <= size);
        require(outcome->whole == outcome->problem.empty());
    }
    return 0;
}
