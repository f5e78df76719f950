#include "trace/foreign_recording.h"

#include "trace/foreign_stacks.h"
#include "trace/instrumentation_reader.h"
#include "trace/text.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::trace {
namespace {

using Problem = std::optional<std::string>;

constexpr ProcessId kProcess{1};
constexpr std::size_t kMostThreads = std::size_t{1} << 16;

/// Keeps what is defined until the sink may have it.
class WaitingDefinitions final : public RecordSink {
public:
    void record(const Record& /*record*/) override {}
    void node(const StackNode& /*node*/) override {}
    void sample(const Sample& /*sample*/) override {}
    void instrumentation(const Instrumentation& said) override { definitions.push_back(said); }

    std::vector<Instrumentation> definitions;
};

/// What the first reading finds out.
class ForeignRecording {
public:
    explicit ForeignRecording(RecordSink& sink) : sink_{sink} {}

    Result<ForeignOutcome> read(std::span<const std::byte> file, const Passed& passed);

private:
    void learn(const EventView& session);
    void name_thread(const EventView& info);
    ThreadId thread(std::uint32_t number);
    void begin(const EventReader& reader);
    void end();

    RecordSink& sink_;
    WaitingDefinitions waiting_;
    InstrumentationReader reader_{
        waiting_,
        {false, [this](std::uint32_t number) { return thread(number); },
         [](ProcessId process) { return process == kProcess; }, [] { return true; }}};
    ForeignStacks stacks_;
    bool has_begun_ = false;
    SessionStart session_;
    Process process_;
    std::unordered_map<std::uint32_t, ThreadId> ids_;  ///< By the file's numbers.
    std::vector<Thread> threads_;                      ///< By ThreadId - 1.
};

void ForeignRecording::learn(const EventView& session) {
    session_.command_line = bounded_text(session.text("CommandLine"), kMaxCommandLineBytes);
    session_.tool_version = bounded_text(session.text("BuildVersion"), kMaxTextBytes);
    process_.executable = bounded_text(session.text("AppName"), kMaxPathBytes);
    if (process_.executable.empty()) {
        process_.executable = bounded_text(session.text("ProjectName"), kMaxPathBytes);
    }
    process_.command_line = session_.command_line;
}

/// The thread of a stream, of which nothing else may be known. None if there are too many.
ThreadId ForeignRecording::thread(std::uint32_t number) {
    const auto known = ids_.find(number);
    if (known != ids_.end()) {
        return known->second;
    }
    if (ids_.size() >= kMostThreads) {
        return {};
    }
    Thread thread;
    thread.id = ThreadId{static_cast<std::uint32_t>(ids_.size()) + 1};
    thread.process = kProcess;
    thread.tid = number;
    ids_.emplace(number, thread.id);
    if (has_begun_) {
        sink_.record(thread);
    } else {
        threads_.push_back(thread);
    }
    return thread.id;
}

void ForeignRecording::name_thread(const EventView& info) {
    const ThreadId id = thread(info.number<std::uint32_t>("ThreadId"));
    if (id.is_none()) {
        return;
    }
    Thread& its = threads_[id.value - 1];
    const auto system_id = info.number<std::uint32_t>("SystemId");
    its.tid = system_id != 0 ? system_id : its.tid;
    if (std::string name = bounded_text(info.text("Name"), kMaxTextBytes); !name.empty()) {
        its.name = std::move(name);
    }
}

void ForeignRecording::begin(const EventReader& reader) {
    reader_.set_clock(reader.facts().clock());
    reader_.hand_to(sink_);
    has_begun_ = true;
    session_.source = kNoSource;
    sink_.record(session_);
    process_.id = kProcess;
    process_.source = kNoSource;
    sink_.record(process_);
    for (const Thread& thread : threads_) {
        sink_.record(thread);
    }
    stacks_.define_modules(sink_);
    for (const Instrumentation& definition : waiting_.definitions) {
        if (const auto* const stack = std::get_if<CallStack>(&definition)) {
            stacks_.define(*stack, sink_);
        } else {
            sink_.instrumentation(definition);
        }
    }
    reader_.set_stacks([this](std::uint32_t number) { return stacks_.node_of(number); });
    waiting_.definitions = {};
}

void ForeignRecording::end() {
    ProcessEnd process;
    process.id = kProcess;
    process.end_ns = reader_.newest_ns();
    sink_.record(process);
    SessionEnd session;
    session.end_ns = process.end_ns;
    sink_.record(session);
}

Result<ForeignOutcome> ForeignRecording::read(std::span<const std::byte> file,
                                              const Passed& passed) {
    EventReader first;
    reader_.subscribe_definitions(first);
    first.subscribe("Diagnostics.Session2", [this](const EventView& event) -> Problem {
        learn(event);
        return std::nullopt;
    });
    first.subscribe("$Trace.ThreadInfo", [this](const EventView& event) -> Problem {
        name_thread(event);
        reader_.take_thread_info(event.number<std::uint32_t>("ThreadId"));
        return std::nullopt;
    });
    first.subscribe("Diagnostics.ModuleInit", [this](const EventView& event) -> Problem {
        stacks_.take_init(event);
        return std::nullopt;
    });
    first.subscribe("Diagnostics.ModuleLoad", [this](const EventView& event) -> Problem {
        stacks_.take_load(event);
        return std::nullopt;
    });
    SAMPLE_CHECK(first.run(file, passed));
    begin(first);

    EventReader second;
    reader_.subscribe_events(second);
    reader_.skip_definitions(second);
    for (const std::string_view name :
         {"$Trace.NewTrace", "$Trace.ThreadInfo", "Diagnostics.Session2", "Diagnostics.ModuleInit",
          "Diagnostics.ModuleLoad", "Diagnostics.ModuleUnload"}) {
        second.subscribe(name, [](const EventView&) -> Problem { return std::nullopt; });
    }
    auto stream = second.run(file, passed);
    if (!stream) {
        return unexpected(stream.error());
    }
    end();
    ForeignOutcome outcome{std::move(stream).value(), reader_.problem()};
    outcome.stream.unknown_events += reader_.unknown_events();
    return outcome;
}

}  // namespace

Result<ForeignOutcome> read_foreign(std::span<const std::byte> file, RecordSink& sink,
                                    const Passed& passed) {
    ForeignRecording recording{sink};
    return recording.read(file, passed);
}

}  // namespace sample::trace
