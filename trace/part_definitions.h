// What a session has defined, carried over into the part of its recording that is being written.
//
// A part lacks a definition until something in it refers to it: then it is written, with an id of
// the part's own and behind what it refers to itself. So a part is a whole recording, and has no
// more of an earlier one than it needs.
#pragma once

#include "trace/carried.h"
#include "trace/record_sink.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace sample::trace {

/// Not thread-safe. Memory: the definitions of the session, but for processes that ended two
/// parts ago; 36 bytes a stack node.
class PartDefinitions {
public:
    /// A process that has not ended, or ended in the part or in the one before it.
    struct OneProcess {
        Process facts;
        std::optional<ProcessEnd> end;
        ProcessId here;
        std::uint64_t told_ns = 0;   ///< CPU time that earlier parts have of it.
        bool is_ended_here = false;  ///< The part has its end.
        bool is_carried = false;     ///< It began in an earlier part.
    };

    /// What is defined from here on is written to `part`, which has begun at `start_ns`. Metrics,
    /// channels, kinds of frames and the processes that have not ended are at once.
    void begin(RecordSink& part, std::uint64_t start_ns);

    /// New definitions of the session: they are written at once.
    void define(const Metric& metric);
    void define(Process process);
    void define(Thread thread);
    void define(const Module& module);
    void define(const StackNode& node);
    void define(const ModuleLoad& load);
    void define(const ZoneSpec& spec) { define_in(zones_, spec); }
    void define(const CounterSpec& spec) { define_in(counters_, spec); }
    void define(const MessageSpec& spec) { define_in(messages_, spec); }
    void define(const EventTypeSpec& spec) { define_in(event_types_, spec); }
    void define(const HeapSpec& spec) { define_in(heaps_, spec); }
    void define(const MemoryTagSpec& spec) { define_in(tags_, spec); }
    void define(const FrameKind& kind);
    void define(const Channel& channel);
    /// `stack.id` is a node's.
    void define(const CallStack& stack);

    // What is known of them has changed.
    void change(const ThreadName& name);
    void change(const ThreadGroup& group);
    void change(const ChannelToggle& toggle);

    /// What the session's id is in the part, where it is defined now; none stays none, and so is
    /// what the session has not defined.
    ProcessId use(ProcessId id);
    ThreadId use(ThreadId id);
    ModuleId use(ModuleId id);
    NodeId use(NodeId id);
    ZoneId use(ZoneId id) { return use_of(zones_, id); }
    CounterId use(CounterId id) { return use_of(counters_, id); }
    MessageId use(MessageId id) { return use_of(messages_, id); }
    EventTypeId use(EventTypeId id) { return use_of(event_types_, id); }
    HeapId use(HeapId id) { return use_of(heaps_, id); }
    MemoryTagId use(MemoryTagId id) { return use_of(tags_, id); }
    /// A call stack of allocations, which is a node's number.
    std::uint32_t use_stack(std::uint32_t id);

    [[nodiscard]] OneProcess& process(ProcessId id) { return processes_[id]; }
    [[nodiscard]] std::map<ProcessId, OneProcess>& processes() { return processes_; }
    /// Of a thread whose process has not ended.
    [[nodiscard]] bool is_alive(ThreadId thread) const;
    [[nodiscard]] ProcessId process_of(ThreadId thread) {
        return threads_.knows(thread) ? threads_[thread].facts.process : ProcessId{};
    }
    [[nodiscard]] const EventTypeSpec* event_type(EventTypeId id) {
        return event_types_.knows(id) ? &event_types_[id] : nullptr;
    }
    /// The session's ids of what the part has, by its own ids - 1.
    [[nodiscard]] std::span<const ThreadId> threads() const { return threads_.in_part(); }
    [[nodiscard]] std::span<const ModuleId> modules() const { return modules_.in_part(); }
    /// Of a record of something that may have happened before the part's start.
    [[nodiscard]] std::uint64_t not_before_start(std::uint64_t time_ns) const {
        return std::max(time_ns, start_ns_);
    }

private:
    struct OneThread {
        ThreadId id;
        Thread facts;
        std::string group;
    };
    struct OneModule {
        ModuleId id;
        Module facts;
        std::vector<ModuleLoad> loads;  ///< Those in processes that have not ended.
    };
    struct OneStack {
        std::vector<std::uint64_t> frames;
        bool is_here = false;
    };

    template <class Spec>
    void define_in(Carried<Spec>& all, const Spec& spec) {
        all.learn(spec);
        use_of(all, spec.id);
    }
    template <class Spec>
    decltype(Spec::id) use_of(Carried<Spec>& all, decltype(Spec::id) id);
    void write_load(const ModuleLoad& load);
    void write_node(NodeId id);

    RecordSink* part_ = nullptr;
    std::uint64_t start_ns_ = 0;
    std::vector<Metric> metrics_;
    std::map<ProcessId, OneProcess> processes_;
    std::uint32_t processes_here_ = 0;
    Carried<OneThread> threads_;
    Carried<OneModule> modules_;
    Carried<StackNode> nodes_;
    std::vector<NodeId> missing_;  ///< Callers of a node that is being written.
    Carried<ZoneSpec> zones_;
    Carried<CounterSpec> counters_;
    Carried<MessageSpec> messages_;
    Carried<EventTypeSpec> event_types_;
    Carried<HeapSpec> heaps_;
    Carried<MemoryTagSpec> tags_;
    std::vector<FrameKind> frame_kinds_;
    std::vector<Channel> channels_;
    std::unordered_map<std::uint32_t, OneStack> stacks_;  ///< By the session's number.
};

template <class Spec>
decltype(Spec::id) PartDefinitions::use_of(Carried<Spec>& all, decltype(Spec::id) id) {
    if (const auto here = all.here(id); !here.is_none() || !all.knows(id)) {
        return here;
    }
    Spec told = all[id];
    if constexpr (requires { told.parent; }) {
        told.parent = use_of(all, told.parent);
    }
    if constexpr (requires { told.process; }) {
        told.process = use(told.process);
    }
    told.id = all.take_over(id);
    part_->instrumentation(told);
    return told.id;
}

}  // namespace sample::trace
