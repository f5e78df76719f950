#include "trace/recording_writer.h"

#include "trace/event_writer.h"
#include "trace/instrumentation_writer.h"
#include "trace/sample_stream.h"
#include "trace/standard_events.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sample::trace {
namespace {

/// What a recording declares at its begin; together they fit into one packet.
template <class... Records>
std::vector<EventSpec> declared(const std::variant<Records...>* /*records*/) {
    std::vector<EventSpec> specs{kSpec<Records>..., kSpec<StackNodes>, kSpec<SampleBatch>};
    const auto standard = standard_events();
    specs.insert(specs.begin(), standard.begin(), standard.end());
    return specs;
}

}  // namespace

/// Checks what a caller hands over, and passes it on. The members refer to each other: it stays
/// where it was made.
class RecordingWriter::Impl {
public:
    explicit Impl(Fd file) : file_{std::move(file)} {}

    void begin(SessionStart session);
    void add(const SessionStart& session) { begin(session); }
    void add(const ProcessEnd& end) {
        if (admit(end)) {
            open_->samples.close_process(end.id);
            open_->instrumentation.end_process(end.id, end.end_ns);
            write(end);
        }
    }
    void add(const Thread& thread) {
        if (admit(thread)) {
            open_->samples.add_thread(thread.process);
            open_->instrumentation.add_thread(thread.process);
            write(thread);
        }
    }
    void add(const SessionEnd& end) {
        if (open_) {
            open_->instrumentation.finish();
        }
        static_cast<void>(flush(FlushMode::everything));
        if (admit(end)) {
            write(end);
        }
    }
    template <class Any>
    void add(const Any& record) {
        if (admit(record)) {
            write(record);
        }
    }
    void node(const StackNode& node);
    void sample(const Sample& sample);
    void zone(const ZoneEdge& edge);
    void instrumentation(const Instrumentation& said);
    void memory(const MemoryEvent& event);
    Result<void> flush(FlushMode mode);

    /// False after a failure; makes one of it if a condition that the caller owes us is broken.
    bool require(bool condition, std::string_view otherwise);
    [[nodiscard]] EventWriter& events() { return open_->events; }
    [[nodiscard]] std::uint64_t bytes_written() const {
        return open_ ? open_->events.packets().bytes_written() : 0;
    }

private:
    struct Open {
        Open(PacketWriter packets, std::uint64_t period)
            : events{std::move(packets)},
              samples{events, period},
              standard{events},
              instrumentation{events, standard} {}
        EventWriter events;
        SampleStream samples;
        StandardEvents standard;
        InstrumentationWriter instrumentation;
        DefinedIds ids;
    };

    void fail(Error error);
    template <class Any>
    bool admit(const Any& record) {
        return require(true, "") && require(open_->ids.admit(record), kSpec<Any>.name);
    }
    template <class Any>
    void write(const Any& record) {
        events().add(record);
        open_->standard.beside(record);
    }

    Fd file_;
    std::optional<Error> failure_;  ///< Before the file was open.
    std::optional<Open> open_;
};

void RecordingWriter::Impl::fail(Error error) {
    if (open_) {
        open_->events.packets().fail(std::move(error));
    } else if (!failure_) {
        failure_ = std::move(error);
    }
}

bool RecordingWriter::Impl::require(bool condition, std::string_view otherwise) {
    if (failure_ || (open_ && open_->events.packets().has_failed())) {
        return false;
    }
    if (!condition || !open_) {
        fail(Error{ErrorCode::invalid_argument, 0,
                   std::string{"the recording was stopped by a defect of ours: out of order, or "
                               "referring to what is not defined: a "}
                       .append(otherwise)});
    }
    return condition && open_;
}

void RecordingWriter::Impl::begin(SessionStart session) {
    if (failure_ || open_) {
        return;
    }
    session.version = session.unit.empty() ? kVersionOfTime : kVersion;
    auto packets =
        PacketWriter::create(std::move(file_), make_guid(session, 0), make_guid(session, 1));
    if (!packets) {
        fail(packets.error());
        return;
    }
    open_.emplace(std::move(packets).value(), session.period);
    events().declare(declared(static_cast<const Record*>(nullptr)));
    open_->standard.beside(session);
    events().add(session);
    static_cast<void>(flush(FlushMode::everything));
}

void RecordingWriter::Impl::node(const StackNode& node) {
    if (require(true, "") &&
        require(node.id.value == open_->samples.nodes() + 1 && node.parent.value < node.id.value &&
                    open_->ids.knows(node.module),
                "StackNode")) {
        open_->samples.add_node(node);
    }
}

void RecordingWriter::Impl::sample(const Sample& sample) {
    if (require(true, "") &&
        require(open_->ids.knows(sample.thread) && open_->ids.knows(sample.metric) &&
                    sample.metric.value <= SampleStream::kMostMetrics &&
                    sample.node.value <= open_->samples.nodes(),
                "Sample")) {
        open_->samples.add(sample);
    }
}

void RecordingWriter::Impl::zone(const ZoneEdge& edge) {
    if (require(true, "") &&
        require(open_->ids.knows(edge.thread) && open_->instrumentation.admits(edge), "ZoneEdge")) {
        open_->instrumentation.add(edge);
    }
}

void RecordingWriter::Impl::instrumentation(const Instrumentation& said) {
    const auto knows_origin = [this](const auto& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, RaisedEvent>) {
            return one.thread.is_none() || open_->ids.knows(one.thread);
        } else if constexpr (requires { one.thread; }) {
            return open_->ids.knows(one.thread);
        } else if constexpr (requires { one.process; }) {
            return open_->ids.knows(one.process);
        } else {
            return true;
        }
    };
    if (require(true, "") &&
        require(std::visit(knows_origin, said) && open_->instrumentation.admits(said),
                "definition or value of the program's")) {
        open_->instrumentation.add(said);
    }
}

void RecordingWriter::Impl::memory(const MemoryEvent& event) {
    if (require(true, "") &&
        require(open_->ids.knows(event.thread) && open_->instrumentation.admits(event),
                "MemoryEvent")) {
        open_->instrumentation.add(event);
    }
}

Result<void> RecordingWriter::Impl::flush(FlushMode mode) {
    if (!open_) {
        return failure_ ? Result<void>{unexpected(*failure_)} : Result<void>{};
    }
    open_->instrumentation.release(mode);
    if (mode == FlushMode::everything || open_->samples.is_overdue() ||
        open_->instrumentation.is_overdue()) {
        open_->instrumentation.close_all();
        open_->samples.close_all();
    } else {
        events().close_importants();
    }
    return events().packets().flush();
}

RecordingWriter::RecordingWriter(Fd file) : impl_{std::make_unique<Impl>(std::move(file))} {}

void RecordingWriter::record(const Record& record) {
    std::visit([this](const auto& one) { impl_->add(one); }, record);
}

void RecordingWriter::node(const StackNode& node) {
    impl_->node(node);
}

void RecordingWriter::sample(const Sample& sample) {
    impl_->sample(sample);
}

void RecordingWriter::zone(const ZoneEdge& edge) {
    impl_->zone(edge);
}

void RecordingWriter::instrumentation(const Instrumentation& said) {
    impl_->instrumentation(said);
}

void RecordingWriter::memory(const MemoryEvent& event) {
    impl_->memory(event);
}

Result<void> RecordingWriter::flush(FlushMode mode) {
    return impl_->flush(mode);
}

std::uint64_t RecordingWriter::bytes_written() const {
    return impl_->bytes_written();
}

RecordingWriter::RecordingWriter(RecordingWriter&&) noexcept = default;
RecordingWriter& RecordingWriter::operator=(RecordingWriter&&) noexcept = default;
RecordingWriter::~RecordingWriter() = default;

}  // namespace sample::trace
