#include "trace/part_definitions.h"

#include <algorithm>
#include <utility>

namespace sample::trace {

void PartDefinitions::begin(RecordSink& part, std::uint64_t start_ns) {
    part_ = &part;
    start_ns_ = start_ns;
    std::erase_if(processes_,
                  [](const auto& one) { return one.second.end && !one.second.is_ended_here; });
    processes_here_ = 0;
    threads_.begin_part();
    modules_.begin_part();
    nodes_.begin_part();
    zones_.begin_part();
    counters_.begin_part();
    messages_.begin_part();
    event_types_.begin_part();
    heaps_.begin_part();
    tags_.begin_part();
    for (auto& [id, stack] : stacks_) {
        stack.is_here = false;
    }
    for (const Metric& metric : metrics_) {
        part_->record(metric);
    }
    for (auto& [id, process] : processes_) {
        process.here = ProcessId{};
        process.is_carried = true;
        process.is_ended_here = false;
        if (!process.end) {
            use(id);
        }
    }
    for (const FrameKind& kind : frame_kinds_) {
        part_->instrumentation(kind);
    }
    for (const Channel& channel : channels_) {
        part_->instrumentation(channel);
    }
}

void PartDefinitions::define(const Metric& metric) {
    metrics_.push_back(metric);
    part_->record(metric);
}

void PartDefinitions::define(Process process) {
    const ProcessId id = process.id;
    processes_[id].facts = std::move(process);
    use(id);
}

void PartDefinitions::define(Thread thread) {
    const ThreadId id = thread.id;
    threads_.learn({id, std::move(thread), {}});
    use(id);
}

void PartDefinitions::define(const Module& module) {
    modules_.learn({module.id, module, {}});
    use(module.id);
}

void PartDefinitions::define(const StackNode& node) {
    nodes_.learn(node);
    use(node.id);
}

void PartDefinitions::define(const ModuleLoad& load) {
    if (modules_.knows(load.module)) {
        use(load.module);
        modules_[load.module].loads.push_back(load);
        write_load(load);
    }
}

void PartDefinitions::define(const FrameKind& kind) {
    frame_kinds_.push_back(kind);
    part_->instrumentation(kind);
}

void PartDefinitions::define(const Channel& channel) {
    channels_.push_back(channel);
    part_->instrumentation(channel);
}

void PartDefinitions::define(const CallStack& stack) {
    stacks_[stack.id] = {stack.frames, false};
    use_stack(stack.id);
}

void PartDefinitions::change(const ThreadName& name) {
    if (threads_.knows(name.id)) {
        threads_[name.id].facts.name = name.name;
        if (const ThreadId here = threads_.here(name.id); !here.is_none()) {
            part_->record(ThreadName{here, name.name});
        }
    }
}

void PartDefinitions::change(const ThreadGroup& group) {
    if (threads_.knows(group.thread)) {
        threads_[group.thread].group = group.name;
        if (const ThreadId here = threads_.here(group.thread); !here.is_none()) {
            part_->instrumentation(ThreadGroup{here, group.name});
        }
    }
}

void PartDefinitions::change(const ChannelToggle& toggle) {
    if (toggle.channel.value - 1 < channels_.size()) {
        channels_[toggle.channel.value - 1].is_enabled = toggle.is_enabled;
    }
    part_->instrumentation(toggle);
}

ProcessId PartDefinitions::use(ProcessId id) {
    if (id.is_none()) {
        return id;
    }
    const auto [at, is_forgotten] = processes_.try_emplace(id);
    OneProcess& process = at->second;
    if (is_forgotten) {
        process.end = ProcessEnd{id};
    }
    if (process.here.is_none()) {
        process.here = ProcessId{++processes_here_};
        Process told = process.facts;
        told.id = process.here;
        told.start_ns = not_before_start(told.start_ns);
        part_->record(told);
    }
    return process.here;
}

ThreadId PartDefinitions::use(ThreadId id) {
    if (const ThreadId here = threads_.here(id); !here.is_none() || !threads_.knows(id)) {
        return here;
    }
    const OneThread& thread = threads_[id];
    Thread told = thread.facts;
    told.process = use(told.process);
    told.start_ns = not_before_start(told.start_ns);
    told.id = threads_.take_over(id);
    part_->record(told);
    if (!thread.group.empty()) {
        part_->instrumentation(ThreadGroup{told.id, thread.group});
    }
    return told.id;
}

ModuleId PartDefinitions::use(ModuleId id) {
    if (const ModuleId here = modules_.here(id); !here.is_none() || !modules_.knows(id)) {
        return here;
    }
    OneModule& module = modules_[id];
    const ModuleId here = modules_.take_over(id);
    Module told = module.facts;
    told.id = here;
    part_->record(told);
    std::erase_if(module.loads, [this](const ModuleLoad& load) {
        const auto process = processes_.find(load.process);
        return process == processes_.end() || process->second.end;
    });
    for (const ModuleLoad& load : module.loads) {
        write_load(load);
    }
    return here;
}

void PartDefinitions::write_load(const ModuleLoad& load) {
    ModuleLoad told = load;
    told.module = modules_.here(load.module);
    told.process = use(load.process);
    told.time_ns = not_before_start(load.time_ns);
    part_->record(told);
}

NodeId PartDefinitions::use(NodeId id) {
    for (NodeId next = id; nodes_.knows(next) && nodes_.here(next).is_none();
         next = nodes_[next].parent) {
        missing_.push_back(next);
    }
    for (; !missing_.empty(); missing_.pop_back()) {
        write_node(missing_.back());
    }
    return nodes_.here(id);
}

void PartDefinitions::write_node(NodeId id) {
    StackNode told = nodes_[id];
    told.parent = nodes_.here(told.parent);
    told.module = use(told.module);
    told.id = nodes_.take_over(id);
    part_->node(told);
}

std::uint32_t PartDefinitions::use_stack(std::uint32_t id) {
    const std::uint32_t here = use(NodeId{id}).value;
    const auto stack = stacks_.find(id);
    if (stack != stacks_.end() && !stack->second.is_here) {
        stack->second.is_here = true;
        part_->instrumentation(CallStack{here, stack->second.frames});
    }
    return here;
}

bool PartDefinitions::is_alive(ThreadId thread) const {
    const auto process =
        threads_.knows(thread) ? processes_.find(threads_[thread].facts.process) : processes_.end();
    return process != processes_.end() && !process->second.end;
}

}  // namespace sample::trace
