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
class CheckingVisitor : public RecordingVisitor {
public:
    void on_session_start(const SessionStart& /*session*/) override { require(!began_++); }
    void on_process(const Process& process) override { require(process.id.value == ++processes_); }
    void on_process_end(const ProcessEnd& end) override { known(end.id.value, processes_); }
    void on_thread(const Thread& thread) override {
        require(thread.id.value == ++threads_);
        known(thread.process.value, processes_);
    }
    void on_thread_name(const ThreadName& name) override { known(name.id.value, threads_); }
    void on_module(const Module& module) override { require(module.id.value == ++modules_); }
    void on_module_load(const ModuleLoad& load) override {
        known(load.module.value, modules_);
        known(load.process.value, processes_);
    }
    void on_node(const StackNode& node) override {
        require(node.id.value == ++nodes_);
        require(node.parent.value < node.id.value);
        known(node.module.value, modules_);
    }
    void on_sample(const Sample& sample) override {
        known(sample.thread.value, threads_);
        require(sample.node.value <= nodes_);
    }
    void on_booking(const Booking& booking) override {
        known(booking.thread.value, threads_);
        require(booking.node.value <= nodes_);
    }
    void on_session_end(const SessionEnd& /*end*/) override { has_ended_ = true; }
    void on_attachment(Attachment&& attachment) override {
        require(has_ended_ && !attachment.packed.empty());
        if (const auto bytes = unpack(attachment.packed)) {
            [[maybe_unused]] const auto names = decode_symbols(*bytes);
        }
    }

private:
    void known(std::uint32_t id, std::uint32_t count) const {
        require(began_ == 1 && id >= 1 && id <= count);
    }

    int began_ = 0;
    bool has_ended_ = false;
    std::uint32_t processes_ = 0;
    std::uint32_t threads_ = 0;
    std::uint32_t modules_ = 0;
    std::uint32_t nodes_ = 0;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    CheckingVisitor visitor;
    const auto outcome = read_recording(std::as_bytes(std::span{data, size}), visitor);
    if (outcome) {
        require(outcome->bytes_used <= size);
        require(outcome->whole == outcome->problem.empty());
    }
    return 0;
}
