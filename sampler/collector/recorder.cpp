#include "sampler/collector/recorder.h"

namespace sample::collector {
namespace {

struct PseudoModule {
    const char* path;
    trace::ModuleKind kind;
};
constexpr std::array<PseudoModule, kPseudoCount> kPseudoModules{{
    {trace::kNotSampled, trace::ModuleKind::pseudo},
    {trace::kBeforeStart, trace::ModuleKind::pseudo},
    {trace::kKernelUnseen, trace::ModuleKind::pseudo},
    {trace::kStackIncomplete, trace::ModuleKind::pseudo},
    {trace::kStackTruncated, trace::ModuleKind::pseudo},
    {trace::kFramesElided, trace::ModuleKind::pseudo},
    {trace::kUnknownCode, trace::ModuleKind::pseudo},
    {"[jit]", trace::ModuleKind::jit},
    {trace::kWaitsForProcessor, trace::ModuleKind::pseudo},
    {trace::kWaitNotSeen, trace::ModuleKind::pseudo},
    {trace::kSamplingThread, trace::ModuleKind::pseudo},
}};

}  // namespace

void Recorder::begin(const std::string& source, const std::string& source_reason) {
    if (writer_ || failure_) {
        return;
    }
    session_.source = source;
    session_.source_reason = source_reason;
    auto writer = trace::RecordingWriter::create(std::move(file_), session_);
    if (!writer) {
        failure_ = writer.error();
        return;
    }
    writer_.emplace(std::move(*writer));
    for (const PseudoModule& pseudo : kPseudoModules) {
        trace::Module module;
        module.id = ModuleId{next_module_++};
        module.kind = pseudo.kind;
        module.path = pseudo.path;
        writer_->module(module);
    }
}

ProcessId Recorder::add_process(trace::Process process) {
    process.id = ProcessId{next_process_++};
    writer_->process(process);
    return process.id;
}

ThreadId Recorder::add_thread(trace::Thread thread) {
    thread.id = ThreadId{next_thread_++};
    writer_->thread(thread);
    return thread.id;
}

ModuleId Recorder::module(const trace::Module& module) {
    auto& known = modules_[module.plugin ? 1 : 0];
    const auto [at, is_new] =
        known.try_emplace({module.path, module.build_id}, ModuleId{next_module_});
    if (is_new) {
        trace::Module named = module;
        named.id = ModuleId{next_module_++};
        writer_->module(named);
    }
    return at->second;
}

ModuleId Recorder::pseudo(Pseudo which) const {
    return ModuleId{static_cast<std::uint32_t>(which) + 1};
}

NodeId Recorder::pseudo_node(Pseudo which, NodeId parent, std::uint64_t address) {
    return writer_->node(parent, pseudo(which), address);
}

void Recorder::flush(trace::FlushMode mode) {
    if (writer_ && !failure_) {
        if (const auto result = writer_->flush(mode); !result) {
            failure_ = result.error();
        }
    }
}

Result<void> Recorder::finish(const trace::SessionEnd& end) {
    begin("none", "no process could be profiled");
    if (!failure_) {
        if (const auto result = writer_->finish(end); !result) {
            failure_ = result.error();
        }
    }
    if (failure_) {
        return unexpected(*failure_);
    }
    return {};
}

}  // namespace sample::collector
