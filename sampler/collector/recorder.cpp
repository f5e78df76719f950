#include "sampler/collector/recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

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
    {trace::kWaitsForProcessor, trace::ModuleKind::pseudo},
    {trace::kWaitNotSeen, trace::ModuleKind::pseudo},
    {trace::kSamplingThread, trace::ModuleKind::pseudo},
}};

constexpr std::size_t kMostFiles = 2048;

/// Of copies, which are memory of ours.
constexpr std::uint64_t kMostCopied = std::uint64_t{256} << 20U;

/// Adds the first `bytes` of `file`, or as many as it has; false if they could not be written.
bool append(const Fd& copy, const Fd& file, std::uint64_t bytes) {
    std::array<char, std::size_t{64} << 10U> buffer{};
    for (std::uint64_t offset = 0; offset < bytes;) {
        const ssize_t got = ::pread(file.get(), buffer.data(),
                                    std::min<std::uint64_t>(buffer.size(), bytes - offset),
                                    static_cast<off_t>(offset));
        if (got <= 0) {
            break;
        }
        if (::write(copy.get(), buffer.data(), static_cast<std::size_t>(got)) != got) {
            return false;
        }
        offset += static_cast<std::uint64_t>(got);
    }
    return true;
}

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

ModuleId Recorder::own_module(trace::Module module) {
    module.id = ModuleId{next_module_++};
    writer_->module(module);
    return module.id;
}

bool Recorder::wants_file(ModuleId module) {
    asked_files_.resize(std::max<std::size_t>(asked_files_.size(), std::size_t{module.value} + 1));
    if (asked_files_[module.value]) {
        return false;
    }
    asked_files_[module.value] = true;
    // The events of threads are descriptors, too.
    return kept_files_.size() <
           std::min<std::size_t>(kMostFiles, static_cast<std::size_t>(::sysconf(_SC_OPEN_MAX)) / 4);
}

void Recorder::keep_file(ModuleId module, Fd file) {
    kept_files_.try_emplace(module, std::move(file));
}

void Recorder::keep_copy(ModuleId module, std::span<const FilePart> parts, const Fd* last) {
    std::uint64_t last_bytes = 0;
    struct stat info = {};
    if (last != nullptr && ::fstat(last->get(), &info) == 0) {
        last_bytes = static_cast<std::uint64_t>(info.st_size);
    }
    std::uint64_t bytes = last_bytes;
    for (const FilePart& part : parts) {
        bytes += part.bytes;
    }
    if (bytes <= kMostCopied - copied_bytes_) {
        Fd copy{::memfd_create("names", MFD_CLOEXEC)};
        bool is_whole = copy.is_open();
        for (const FilePart& part : parts) {
            is_whole = is_whole && append(copy, *part.file, part.bytes);
        }
        if (is_whole && (last == nullptr || append(copy, *last, last_bytes))) {
            copied_bytes_ += bytes;
            keep_file(module, std::move(copy));
            return;
        }
    }
    const Fd& file = last != nullptr ? *last : *parts.back().file;
    keep_file(module, Fd{::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)});
}

void Recorder::add_note(const std::string& line) {
    if (std::find(notes_.begin(), notes_.end(), line) == notes_.end()) {
        notes_.push_back(line);
    }
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
