#include "trace/recording_writer.h"

#include "trace/event_writer.h"
#include "trace/record_events.h"
#include "trace/sample_stream.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sample::trace {
namespace {

constexpr std::uint32_t kMaxNodes = std::numeric_limits<std::uint32_t>::max() - 1;

}  // namespace

/// Checks what a caller hands over, and passes it on. The members refer to each other: it stays
/// where it was made.
class RecordingWriter::Impl {
public:
    Impl(PacketWriter packets, const SessionStart& session)
        : events_{std::move(packets)}, records_{events_}, samples_{events_, session.period_ns} {
        records_.session(session);
    }

    /// False after a failure; makes one of it if a condition that the caller owes us is broken.
    bool require(bool condition, const char* otherwise);
    [[nodiscard]] bool is_process(ProcessId id) const {
        return !id.is_none() && id.value <= processes_;
    }
    [[nodiscard]] bool is_thread(ThreadId id) const {
        return !id.is_none() && id.value <= tids_.size();
    }
    [[nodiscard]] bool is_module(ModuleId id) const {
        return !id.is_none() && id.value <= modules_;
    }
    [[nodiscard]] bool is_node(NodeId id) { return id.value <= samples_.nodes().size(); }

    void entry(const Sample& sample, bool is_booking);
    Result<void> flush(FlushMode mode);

    EventWriter events_;
    RecordEvents records_;
    SampleStream samples_;
    std::uint32_t processes_ = 0;
    std::uint32_t modules_ = 0;
    std::vector<std::uint32_t> tids_;  ///< By ThreadId - 1.
};

bool RecordingWriter::Impl::require(bool condition, const char* otherwise) {
    if (events_.packets().has_failed()) {
        return false;
    }
    if (!condition) {
        events_.packets().fail(Error{
            ErrorCode::invalid_argument, 0,
            std::string{"the recording was stopped by a defect of ours: "}.append(otherwise)});
    }
    return condition;
}

void RecordingWriter::Impl::entry(const Sample& sample, bool is_booking) {
    if (require(is_thread(sample.thread), "a sample of an undefined thread") &&
        require(is_node(sample.node), "a sample at an undefined node")) {
        samples_.add(sample, is_booking);
    }
}

Result<void> RecordingWriter::Impl::flush(FlushMode mode) {
    if (mode == FlushMode::everything || samples_.is_overdue()) {
        samples_.close_all();
    } else {
        events_.close_importants();
    }
    return events_.packets().flush();
}

Result<RecordingWriter> RecordingWriter::create(Fd file, const SessionStart& session) {
    auto packets =
        PacketWriter::create(std::move(file), make_guid(session, 0), make_guid(session, 1));
    if (!packets) {
        return unexpected(packets.error());
    }
    auto impl = std::make_unique<Impl>(std::move(packets).value(), session);
    if (auto flushed = impl->flush(FlushMode::everything); !flushed) {
        return unexpected(flushed.error());
    }
    return RecordingWriter{std::move(impl)};
}

void RecordingWriter::process(const Process& process) {
    if (impl_->require(process.id.value == impl_->processes_ + 1, "a process id out of order")) {
        ++impl_->processes_;
        impl_->records_.process(process);
    }
}

void RecordingWriter::process_end(const ProcessEnd& end) {
    if (impl_->require(impl_->is_process(end.id), "the end of an undefined process")) {
        impl_->samples_.close_process(end.id);
        impl_->records_.process_end(end);
    }
}

void RecordingWriter::unprofiled(const UnprofiledProgram& program) {
    if (impl_->require(true, "")) {
        impl_->records_.unprofiled(program);
    }
}

void RecordingWriter::thread(const Thread& thread) {
    if (impl_->require(thread.id.value == impl_->tids_.size() + 1, "a thread id out of order") &&
        impl_->require(impl_->is_process(thread.process), "a thread of an undefined process")) {
        impl_->tids_.push_back(thread.tid);
        impl_->samples_.add_thread(thread.process);
        impl_->records_.thread(thread);
    }
}

void RecordingWriter::thread_name(const ThreadName& name) {
    if (impl_->require(impl_->is_thread(name.id), "the name of an undefined thread")) {
        impl_->records_.thread_name(name, impl_->tids_[name.id.value - 1]);
    }
}

void RecordingWriter::module(const Module& module) {
    if (impl_->require(module.id.value == impl_->modules_ + 1, "a module id out of order")) {
        ++impl_->modules_;
        impl_->records_.module(module);
    }
}

void RecordingWriter::module_load(const ModuleLoad& load) {
    if (impl_->require(impl_->is_module(load.module), "the load of an undefined module") &&
        impl_->require(impl_->is_process(load.process), "a module load of an undefined process")) {
        impl_->records_.module_load(load);
    }
}

NodeId RecordingWriter::node(NodeId parent, ModuleId module, std::uint64_t address) {
    NodeTable& nodes = impl_->samples_.nodes();
    if (!impl_->require(impl_->is_node(parent), "a node below an undefined one") ||
        !impl_->require(impl_->is_module(module), "a node in an undefined module") ||
        !impl_->require(nodes.size() < kMaxNodes, "too many different stacks")) {
        return NodeId{};
    }
    return nodes.intern(parent, module, address);
}

NodeId RecordingWriter::find_node(NodeId parent, ModuleId module, std::uint64_t address) const {
    return impl_->samples_.nodes().find(parent, module, address);
}

std::uint32_t RecordingWriter::nodes() const {
    return impl_->samples_.nodes().size();
}

void RecordingWriter::sample(const Sample& sample) {
    impl_->entry(sample, false);
}

void RecordingWriter::booking(const Booking& booking) {
    impl_->entry(Sample{booking.thread, booking.time_ns, booking.node, booking.weight_ns}, true);
}

Result<void> RecordingWriter::flush(FlushMode mode) {
    return impl_->flush(mode);
}

Result<void> RecordingWriter::finish(const SessionEnd& end) {
    if (auto flushed = impl_->flush(FlushMode::everything); !flushed) {
        return flushed;
    }
    impl_->records_.session_end(end);
    return impl_->flush(FlushMode::everything);
}

std::uint64_t RecordingWriter::bytes_written() const {
    return impl_->events_.packets().bytes_written();
}

RecordingWriter::RecordingWriter(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
RecordingWriter::RecordingWriter(RecordingWriter&&) noexcept = default;
RecordingWriter& RecordingWriter::operator=(RecordingWriter&&) noexcept = default;
RecordingWriter::~RecordingWriter() = default;

}  // namespace sample::trace
