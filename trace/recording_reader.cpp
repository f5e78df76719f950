#include "trace/recording_reader.h"

#include "trace/batch_codec.h"
#include "trace/foreign_recording.h"
#include "trace/instrumentation_reader.h"
#include "trace/node_codec.h"
#include "trace/sample_stream.h"
#include "trace/standard_events.h"

#include <optional>
#include <utility>

namespace sample::trace {
namespace {

using Problem = std::optional<std::string>;

std::string full_name(const EventSpec& spec) {
    return std::string{spec.logger}.append(".").append(spec.name);
}

/// The analyzer of our own events: checks ids and hands records to the sink.
class RecordingAnalyzer {
public:
    RecordingAnalyzer(RecordSink& sink, const AttachmentReceiver& receive)
        : sink_{sink},
          attachments_{[&receive](Attachment&& one) {
              if (receive) {
                  receive(std::move(one));
              }
          }},
          instrumentation_{sink,
                           {true, [this](std::uint32_t number) { return thread(number); },
                            [this](ProcessId process) { return ids_.knows(process); },
                            [this] { return has_session_; }}} {}

    void subscribe(EventReader& reader);
    [[nodiscard]] bool has_session() const noexcept { return has_session_; }
    [[nodiscard]] bool has_end() const noexcept { return has_end_; }
    [[nodiscard]] bool is_too_new() const noexcept { return is_too_new_; }
    [[nodiscard]] bool lacks_attachments() const { return attachments_.is_incomplete(); }
    [[nodiscard]] const InstrumentationReader& instrumentation() const { return instrumentation_; }

private:
    template <class... Records>
    void subscribe(EventReader& reader, const std::variant<Records...>* /*records*/) {
        (on<Records>(reader), ..., on<StackNodes>(reader));
        on<SampleBatch>(reader);
    }
    template <class Any>
    void on(EventReader& reader) {
        reader.subscribe(full_name(kSpec<Any>), [this](const EventView& event) -> Problem {
            const Any record = read_event<Any>(event);
            if (!has_session_ && !std::is_same_v<Any, SessionStart>) {
                return "an event precedes the session's";
            }
            if (!ids_.admit(record)) {
                return "a " + std::string{kSpec<Any>.name} +
                       " is out of order, or refers to what is not defined";
            }
            return take(record);
        });
    }

    /// Of a stream, or of $Trace.ThreadInfo's number.
    [[nodiscard]] ThreadId thread(std::uint32_t number) const {
        const ThreadId id{number - EventWriter::kDataStream};
        return ids_.knows(id) ? id : ThreadId{};
    }
    Problem take(const SessionStart& session);
    Problem take(const Metric& metric);
    Problem take(const StackNodes& nodes);
    Problem take(const SampleBatch& batch);
    template <class Any>
    Problem take(const Any& record) {
        has_end_ = has_end_ || std::is_same_v<Any, SessionEnd>;
        sink_.record(record);
        return std::nullopt;
    }

    RecordSink& sink_;
    bool has_session_ = false;
    bool has_end_ = false;
    bool is_too_new_ = false;
    DefinedIds ids_;
    NodeCodec nodes_;
    AttachmentJoiner attachments_;
    InstrumentationReader instrumentation_;
};

void RecordingAnalyzer::subscribe(EventReader& reader) {
    subscribe(reader, static_cast<const Record*>(nullptr));
    for (std::size_t i = 0; i < kAttachmentKinds; ++i) {
        const auto kind = static_cast<AttachmentKind>(i);
        reader.subscribe(full_name(AttachmentJoiner::spec(kind)),
                         [this, kind](const EventView& event) -> Problem {
                             if (!has_end_) {
                                 return "an attachment precedes the end of the session";
                             }
                             attachments_.add(kind, read_event<AttachmentPiece>(event));
                             return std::nullopt;
                         });
    }
    for (const EventSpec& spec : standard_events()) {
        // Known, and for others: all that they say is in our own events too.
        reader.subscribe(full_name(spec), [](const EventView&) -> Problem { return std::nullopt; });
    }
    instrumentation_.subscribe_definitions(reader);
    instrumentation_.subscribe_events(reader);
    reader.subscribe("$Trace.ThreadInfo", [this](const EventView& event) -> Problem {
        instrumentation_.take_thread_info(event.number<std::uint32_t>("ThreadId"));
        return std::nullopt;
    });
}

Problem RecordingAnalyzer::take(const SessionStart& session) {
    if (session.version > kVersion) {
        is_too_new_ = true;
        return "it was made by a newer version of sample";
    }
    if (has_session_) {
        return "a second session begins in it";
    }
    has_session_ = true;
    sink_.record(session);
    return std::nullopt;
}

/// Each takes memory of each thread.
Problem RecordingAnalyzer::take(const Metric& metric) {
    if (metric.id.value > SampleStream::kMostMetrics) {
        return "more than " + std::to_string(SampleStream::kMostMetrics) +
               " metrics, which is all that samples can be weighed by";
    }
    sink_.record(metric);
    return std::nullopt;
}

Problem RecordingAnalyzer::take(const StackNodes& nodes) {
    if (nodes.first != std::uint64_t{nodes_.size()} + 1) {
        return "stack nodes are missing";
    }
    std::span<const std::byte> data = nodes.data;
    while (!data.empty()) {
        const auto node = nodes_.decode(data, ids_.last<ModuleTag>());
        if (!node) {
            return "a stack node is damaged";
        }
        sink_.node(*node);
    }
    return std::nullopt;
}

Problem RecordingAnalyzer::take(const SampleBatch& batch) {
    auto samples = BatchDecoder::open(batch, nodes_.size());
    if (!samples || !ids_.knows(MetricId{std::uint32_t{batch.metric} + 1})) {
        return "a batch of samples is damaged";
    }
    for (std::uint64_t left = samples->count(); left > 0; --left) {
        sink_.sample(samples->next());
    }
    return std::nullopt;
}

enum class FileKind : std::uint8_t { ours, foreign, without_events };

/// Ours declares all its types before the first event.
FileKind kind_of(std::span<const std::byte> file) {
    EventReader reader;
    bool has_events = false;
    reader.subscribe_to_others([&](const EventView&) -> Problem {
        has_events = true;
        reader.stop();
        return std::nullopt;
    });
    static_cast<void>(reader.run(file));
    return reader.is_declared(full_name(kSpec<SessionStart>)) ? FileKind::ours
           : has_events                                       ? FileKind::foreign
                                                              : FileKind::without_events;
}

Result<ReadOutcome> read_of_others(std::span<const std::byte> file, RecordSink& sink,
                                   const Passed& passed) {
    auto foreign = read_foreign(file, sink, passed);
    if (!foreign) {
        return unexpected(foreign.error());
    }
    ReadOutcome outcome;
    outcome.is_foreign = true;
    outcome.problem = std::move(foreign->stream.problem);
    outcome.whole = outcome.problem.empty();
    outcome.bytes_used = foreign->stream.bytes_used;
    outcome.unknown_events = foreign->stream.unknown_events;
    outcome.instrumentation_problem = std::move(foreign->instrumentation_problem);
    return outcome;
}

}  // namespace

Result<ReadOutcome> read_recording(std::span<const std::byte> file, RecordSink& sink,
                                   const AttachmentReceiver& receive, const Passed& passed) {
    const FileKind kind = kind_of(file);
    if (kind == FileKind::foreign) {
        return read_of_others(file, sink, passed);
    }
    RecordingAnalyzer analyzer{sink, receive};
    EventReader reader;
    analyzer.subscribe(reader);
    auto stream = reader.run(file, passed);
    if (!stream) {
        return unexpected(stream.error());
    }
    if (analyzer.is_too_new()) {
        return unexpected(ErrorCode::unsupported,
                          "the recording was made by a newer version of sample; use that one");
    }
    if (stream->problem.empty() && stream->bytes_used > 0 && kind != FileKind::ours) {
        return unexpected(ErrorCode::unsupported, "a .utrace file without any events");
    }
    ReadOutcome outcome;
    outcome.problem = std::move(stream->problem);
    outcome.bytes_used = stream->bytes_used;
    outcome.unknown_events = stream->unknown_events + analyzer.instrumentation().unknown_events();
    outcome.instrumentation_problem = analyzer.instrumentation().problem();
    if (analyzer.has_end()) {
        outcome.attachments_problem = std::move(outcome.problem);
        outcome.problem.clear();
        if (outcome.attachments_problem.empty() && analyzer.lacks_attachments()) {
            outcome.attachments_problem = "some of what it carries is cut off or damaged";
        }
    }
    outcome.whole = outcome.problem.empty() && analyzer.has_end();
    return outcome;
}

}  // namespace sample::trace
