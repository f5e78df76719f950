#include "trace/recording_reader.h"

#include "trace/batch_codec.h"
#include "trace/event_reader.h"
#include "trace/node_codec.h"
#include "trace/schema.h"

#include <optional>
#include <utility>

namespace sample::trace {
namespace {

using Problem = std::optional<std::string>;

std::string full_name(const EventSpec& spec) {
    return std::string{spec.logger}.append(".").append(spec.name);
}

/// A number as an enumerator; one that this version does not know becomes `otherwise`.
template <class Enum>
Enum enumerator(std::uint8_t value, Enum last, Enum otherwise) {
    return value <= static_cast<std::uint8_t>(last) ? static_cast<Enum>(value) : otherwise;
}

/// The analyzer of our own events: checks ids and hands records to the visitor.
class RecordingAnalyzer {
public:
    explicit RecordingAnalyzer(RecordingVisitor& visitor)
        : visitor_{visitor}, attachments_{[&visitor](Attachment&& one) {
              visitor.on_attachment(std::move(one));
          }} {}

    void subscribe(EventReader& reader);
    [[nodiscard]] bool has_session() const noexcept { return has_session_; }
    [[nodiscard]] bool has_end() const noexcept { return has_end_; }
    [[nodiscard]] bool is_too_new() const noexcept { return is_too_new_; }
    [[nodiscard]] bool lacks_attachments() const { return attachments_.is_incomplete(); }

private:
    Problem session(const EventView& event);
    Problem session_end(const EventView& event);
    Problem process(const EventView& event);
    Problem process_end(const EventView& event);
    Problem unprofiled(const EventView& event);
    Problem thread(const EventView& event);
    Problem thread_name(const EventView& event);
    Problem module(const EventView& event);
    Problem module_load(const EventView& event);
    Problem stack_nodes(const EventView& event);
    Problem sample_batch(const EventView& event);

    /// The id that a definition must have; counts it.
    static bool is_next(std::uint32_t id, std::uint32_t& count) { return id != 0 && id == ++count; }
    static bool is_known(std::uint32_t id, std::uint32_t count) { return id != 0 && id <= count; }

    RecordingVisitor& visitor_;
    bool has_session_ = false;
    bool has_end_ = false;
    bool is_too_new_ = false;
    std::uint32_t processes_ = 0;
    std::uint32_t threads_ = 0;
    std::uint32_t modules_ = 0;
    NodeCodec nodes_;
    AttachmentJoiner attachments_;
};

void RecordingAnalyzer::subscribe(EventReader& reader) {
    using Member = Problem (RecordingAnalyzer::*)(const EventView&);
    const auto on = [&](const EventSpec& spec, Member member) {
        reader.subscribe(full_name(spec), [this, member](const EventView& event) -> Problem {
            if (!has_session_ && member != &RecordingAnalyzer::session) {
                return "an event precedes the session's";
            }
            return (this->*member)(event);
        });
    };
    on(schema::kSession, &RecordingAnalyzer::session);
    on(schema::kSessionEnd, &RecordingAnalyzer::session_end);
    on(schema::kProcess, &RecordingAnalyzer::process);
    on(schema::kProcessEnd, &RecordingAnalyzer::process_end);
    on(schema::kUnprofiled, &RecordingAnalyzer::unprofiled);
    on(schema::kThread, &RecordingAnalyzer::thread);
    on(schema::kThreadName, &RecordingAnalyzer::thread_name);
    on(schema::kModule, &RecordingAnalyzer::module);
    on(schema::kModuleLoad, &RecordingAnalyzer::module_load);
    on(schema::kStackNodes, &RecordingAnalyzer::stack_nodes);
    on(schema::kSampleBatch, &RecordingAnalyzer::sample_batch);
    for (std::size_t i = 0; i < kAttachmentKinds; ++i) {
        const auto kind = static_cast<AttachmentKind>(i);
        reader.subscribe(full_name(AttachmentJoiner::spec(kind)),
                         [this, kind](const EventView& event) -> Problem {
                             if (!has_end_) {
                                 return "an attachment precedes the end of the session";
                             }
                             attachments_.add(kind, event);
                             return std::nullopt;
                         });
    }
    for (const EventSpec& spec : schema::kStandardEvents) {
        // Known, and for others: all that they say is in our own events too.
        reader.subscribe(full_name(spec), [](const EventView&) -> Problem { return std::nullopt; });
    }
}

Problem RecordingAnalyzer::session(const EventView& event) {
    if (event.number<std::uint32_t>("Version") > schema::kVersion) {
        is_too_new_ = true;
        return "it was made by a newer version of sample";
    }
    if (has_session_) {
        return "a second session begins in it";
    }
    has_session_ = true;
    SessionStart session;
    session.start_ns = event.number<std::uint64_t>("StartTime");
    session.start_unix_ns = event.number<std::uint64_t>("StartUnixTime");
    session.period_ns = event.number<std::uint64_t>("Period");
    session.requested_hz = event.number<std::uint32_t>("RequestedHz");
    session.clock = enumerator(event.number<std::uint8_t>("Clock"), Clock::wall, Clock::cpu);
    session.source = event.text("Source");
    session.source_reason = event.text("SourceReason");
    session.command_line = event.text("CommandLine");
    session.tool_version = event.text("ToolVersion");
    session.event = event.text("Event");
    session.unit = event.text("Unit");
    visitor_.on_session_start(session);
    return std::nullopt;
}

Problem RecordingAnalyzer::session_end(const EventView& event) {
    has_end_ = true;
    visitor_.on_session_end(SessionEnd{event.number<std::uint64_t>("EndTime"),
                                       event.number<std::uint8_t>("StoppedEarly") != 0,
                                       event.text("Note")});
    return std::nullopt;
}

Problem RecordingAnalyzer::process(const EventView& event) {
    Process process;
    process.id.value = event.number<std::uint32_t>("ProcessId");
    if (!is_next(process.id.value, processes_)) {
        return "a process is out of order";
    }
    process.pid = event.number<std::uint32_t>("Pid");
    process.parent_pid = event.number<std::uint32_t>("ParentPid");
    process.start_ns = event.number<std::uint64_t>("StartTime");
    process.executable = event.text("Executable");
    process.command_line = event.text("CommandLine");
    process.source = event.text("Source");
    process.source_reason = event.text("SourceReason");
    visitor_.on_process(process);
    return std::nullopt;
}

Problem RecordingAnalyzer::process_end(const EventView& event) {
    ProcessEnd end;
    end.id.value = event.number<std::uint32_t>("ProcessId");
    if (!is_known(end.id.value, processes_)) {
        return "an undefined process ends";
    }
    end.kind = enumerator(event.number<std::uint8_t>("Kind"), EndKind::unknown, EndKind::unknown);
    end.code = event.number<std::int32_t>("Code");
    end.end_ns = event.number<std::uint64_t>("EndTime");
    end.cpu_ns = event.number<std::uint64_t>("CpuTime");
    end.lost = event.number<std::uint64_t>("Lost");
    end.handler_count = event.number<std::uint64_t>("HandlerCount");
    end.handler_sum_ns = event.number<std::uint64_t>("HandlerSum");
    end.handler_p99_ns = event.number<std::uint64_t>("HandlerP99");
    end.agent_rss_bytes = event.number<std::uint64_t>("AgentRss");
    end.unwind_table_bytes = event.number<std::uint64_t>("UnwindTables");
    visitor_.on_process_end(end);
    return std::nullopt;
}

Problem RecordingAnalyzer::unprofiled(const EventView& event) {
    UnprofiledProgram program;
    program.pid = event.number<std::uint32_t>("Pid");
    program.parent_pid = event.number<std::uint32_t>("ParentPid");
    program.start_ns = event.number<std::uint64_t>("StartTime");
    program.executable = event.text("Executable");
    program.reason = event.text("Reason");
    visitor_.on_unprofiled(program);
    return std::nullopt;
}

Problem RecordingAnalyzer::thread(const EventView& event) {
    Thread thread;
    thread.id.value = event.number<std::uint32_t>("ThreadId");
    thread.process.value = event.number<std::uint32_t>("ProcessId");
    if (!is_next(thread.id.value, threads_) || !is_known(thread.process.value, processes_)) {
        return "a thread is out of order";
    }
    thread.tid = event.number<std::uint32_t>("Tid");
    thread.start_ns = event.number<std::uint64_t>("StartTime");
    thread.name = event.text("Name");
    visitor_.on_thread(thread);
    return std::nullopt;
}

Problem RecordingAnalyzer::thread_name(const EventView& event) {
    const auto id = event.number<std::uint32_t>("ThreadId");
    if (!is_known(id, threads_)) {
        return "an undefined thread is named";
    }
    visitor_.on_thread_name(ThreadName{ThreadId{id}, event.text("Name")});
    return std::nullopt;
}

Problem RecordingAnalyzer::module(const EventView& event) {
    Module module;
    module.id.value = event.number<std::uint32_t>("ModuleId");
    if (!is_next(module.id.value, modules_)) {
        return "a module is out of order";
    }
    module.kind =
        enumerator(event.number<std::uint8_t>("Kind"), ModuleKind::kernel, ModuleKind::pseudo);
    module.plugin = event.number<std::uint8_t>("IsPlugin") != 0;
    module.path = event.text("Path");
    for (const std::byte byte : event.bytes("BuildId")) {
        module.build_id.push_back(std::to_integer<std::uint8_t>(byte));
    }
    visitor_.on_module(module);
    return std::nullopt;
}

Problem RecordingAnalyzer::module_load(const EventView& event) {
    ModuleLoad load;
    load.module.value = event.number<std::uint32_t>("ModuleId");
    load.process.value = event.number<std::uint32_t>("ProcessId");
    if (!is_known(load.module.value, modules_) || !is_known(load.process.value, processes_)) {
        return "an undefined module is loaded";
    }
    load.base = event.number<std::uint64_t>("Base");
    load.start = event.number<std::uint64_t>("Start");
    load.size = event.number<std::uint64_t>("Size");
    load.time_ns = event.number<std::uint64_t>("Time");
    visitor_.on_module_load(load);
    return std::nullopt;
}

Problem RecordingAnalyzer::stack_nodes(const EventView& event) {
    if (event.number<std::uint64_t>("First") != std::uint64_t{nodes_.size()} + 1) {
        return "stack nodes are missing";
    }
    std::span<const std::byte> data = event.bytes("Data");
    while (!data.empty()) {
        const auto node = nodes_.decode(data, modules_);
        if (!node) {
            return "a stack node is damaged";
        }
        visitor_.on_node(*node);
    }
    return std::nullopt;
}

Problem RecordingAnalyzer::sample_batch(const EventView& event) {
    BatchHeader header;
    header.thread.value = event.number<std::uint32_t>("ThreadId");
    header.start_ns = event.number<std::uint64_t>("StartTime");
    header.period_ns = event.number<std::uint64_t>("Period");
    if (!is_known(header.thread.value, threads_)) {
        return "samples of an undefined thread";
    }
    auto batch = BatchDecoder::open(header, event.bytes("Data"), nodes_.size());
    if (!batch) {
        return "a batch of samples is damaged";
    }
    for (std::uint64_t left = batch->count(); left > 0; --left) {
        const BatchDecoder::Entry entry = batch->next();
        const Sample& sample = entry.sample;
        if (entry.is_booking) {
            visitor_.on_booking(
                Booking{sample.thread, sample.time_ns, sample.node, sample.weight_ns});
        } else {
            visitor_.on_sample(sample);
        }
    }
    return std::nullopt;
}

}  // namespace

RecordingVisitor::~RecordingVisitor() = default;

Result<ReadOutcome> read_recording(std::span<const std::byte> file, RecordingVisitor& visitor) {
    RecordingAnalyzer analyzer{visitor};
    EventReader reader;
    analyzer.subscribe(reader);
    auto stream = reader.run(file);
    if (!stream) {
        return unexpected(stream.error());
    }
    if (analyzer.is_too_new()) {
        return unexpected(ErrorCode::unsupported,
                          "the recording was made by a newer version of sample; use that one");
    }
    if (stream->problem.empty() && stream->bytes_used > 0 &&
        !reader.is_declared(full_name(schema::kSession))) {
        return unexpected(ErrorCode::unsupported,
                          "a .utrace file, but not one that sample has recorded");
    }
    ReadOutcome outcome;
    outcome.problem = std::move(stream->problem);
    outcome.bytes_used = stream->bytes_used;
    outcome.unknown_events = stream->unknown_events;
    if (analyzer.has_end()) {
        outcome.attachments_problem = std::move(outcome.problem);
        outcome.problem.clear();
        if (outcome.attachments_problem.empty() && analyzer.lacks_attachments()) {
            outcome.attachments_problem = "some of what it carries is cut off or damaged";
        }
    } else if (outcome.problem.empty()) {
        outcome.problem = "the end of the session is missing: the recording was broken off";
    }
    outcome.whole = outcome.problem.empty();
    return outcome;
}

}  // namespace sample::trace
