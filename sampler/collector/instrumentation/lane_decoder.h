// What one process's threads say, from the words of their lanes (capture/lane_records.h) and the
// process's definitions to the plain values of trace/instrumentation.h.
//
// The words are the process's to scribble on: what does not parse is dropped and counted, and ends
// without a beginning are left out. Not thread-safe.
#pragma once

#include "core/ids.h"
#include "sampler/capture/definition_store.h"
#include "sampler/collector/instrumentation/said_definitions.h"
#include "sampler/collector/instrumentation/said_names.h"
#include "sampler/collector/process/tick_clock.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sample::collector {

/// What is known of a thread that says something.
struct SpeakingThread {
    ThreadId id;
    std::uint64_t last_ticks = 0;
    std::uint64_t last_ns = 0;
    /// Of each zone that is open, whether its begin was recorded.
    std::vector<bool> open;
    /// The same of each scope that an event has begun.
    struct Scope {
        bool is_recorded = false;
        bool is_timed = false;
        trace::EventTypeId type;
    };
    std::vector<Scope> scopes;
    std::optional<std::string> new_name;  ///< That it has given itself.
};

class LaneDecoder {
public:
    /// All outlive it. What was said before `start_ns` is left out.
    LaneDecoder(const capture::DefinitionStore& store, const TickClock& clock, SaidNames& names,
                trace::RecordSink& sink, std::uint64_t start_ns)
        : store_{store},
          clock_{clock},
          names_{names},
          sink_{sink},
          start_ns_{start_ns},
          definitions_{store, names} {}

    /// The node of a stack of the process: FrameAddress::bits(), root first, and
    /// SampleRecord::stop.
    using NodeOf = std::function<NodeId(std::span<const std::uint64_t> frames, std::uint32_t stop,
                                        std::uint64_t ticks)>;
    void begin(ProcessId process, NodeOf node_of) {
        process_ = process;
        definitions_.begin(process);
        node_of_ = std::move(node_of);
    }
    /// `words`: whole records.
    void decode(SpeakingThread& thread, std::span<const std::uint64_t> words);
    /// Ends what the thread has left open.
    void end(SpeakingThread& thread, std::uint64_t time_ns);
    using Unwritten = SaidDefinitions::Unwritten;
    /// Channels and kinds of frames that were defined since the last time, and Important events.
    void take_announced(Unwritten unwritten = Unwritten::wait);

    /// Records that made no sense.
    [[nodiscard]] std::uint64_t dropped() const { return dropped_ + definitions_.dropped(); }

private:
    struct Moment {
        ThreadId thread;
        std::uint64_t time_ns = 0;
        bool is_recorded = false;
    };

    void begin_zone(SpeakingThread& thread, const Moment& moment, std::uint32_t number,
                    std::span<const std::byte> values);
    void end_zone(SpeakingThread& thread, const Moment& moment);
    void count(const Moment& moment, std::uint32_t number, std::uint64_t value);
    void take_memory(const Moment& moment, std::span<const std::uint64_t> words);
    [[nodiscard]] std::uint32_t call_stack(std::uint32_t number, std::uint64_t ticks);
    void take_other(SpeakingThread& thread, const Moment& moment,
                    std::span<const std::uint64_t> words);
    void take_region(const Moment& moment, const capture::OtherRecord& record,
                     std::span<const std::byte> said);
    void take_message(const Moment& moment, std::uint32_t number, std::span<const std::byte> said);
    void take_event(SpeakingThread& thread, const Moment& moment,
                    const capture::OtherRecord& record, std::span<const std::byte> said);
    void end_scope(SpeakingThread& thread, const Moment& moment);
    void take_kept(std::uint32_t type_number, std::span<const std::byte> said);
    void move_coroutine(SpeakingThread& thread, const Moment& moment,
                        const capture::OtherRecord& record, std::span<const std::byte> said);

    const capture::DefinitionStore& store_;
    const TickClock& clock_;
    SaidNames& names_;
    trace::RecordSink& sink_;
    const std::uint64_t start_ns_;
    SaidDefinitions definitions_;
    ProcessId process_;
    NodeOf node_of_;
    std::unordered_map<std::uint32_t, std::uint32_t> call_stacks_;  ///< Nodes, by number.
    std::unordered_set<std::uint32_t> told_stacks_;                 ///< Nodes.
    std::size_t kept_bytes_ = 0;                                    ///< Of Important events.
    std::uint64_t dropped_ = 0;
};

}  // namespace sample::collector
