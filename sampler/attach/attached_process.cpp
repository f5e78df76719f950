#include "sampler/attach/attached_process.h"

#include "core/file_rights.h"
#include "sampler/collector/process/proc_files.h"
#include "unwind/walk/walk.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace sample::attach {
namespace {

constexpr std::uint64_t kLookPauseNs = 50'000'000;
constexpr std::uint64_t kLongestPauseNs = 1'000'000'000;

collector::Writer writer_of(pid_t tid) {
    return {static_cast<std::uint32_t>(tid), static_cast<std::uint32_t>(tid)};
}

/// Not the stack was at its end, but the copy.
bool ended_with_copy(const unwind::WalkResult& result, const StackSample& sample) {
    return sample.is_cut_off && result.reason == unwind::StopReason::unreadable_memory;
}

/// What a walk that ended so says of the stack.
std::uint32_t stop_of(const unwind::WalkResult& result, const StackSample& sample) {
    const auto reason =
        ended_with_copy(result, sample) ? unwind::StopReason::depth_limit : result.reason;
    return static_cast<std::uint32_t>(reason) | (result.guessed != 0 ? capture::kStopGuessed : 0);
}

}  // namespace

collector::Mapping mapping_of(const NewCode& code) {
    collector::Mapping mapping;
    mapping.start = code.start;
    mapping.end = code.start + code.size;
    mapping.offset = code.file_offset;
    mapping.executable = true;
    mapping.path = code.path;
    return mapping;
}

collector::ProcessIdentity identity_of(pid_t pid) {
    collector::ProcessIdentity identity;
    identity.pid = pid;
    identity.parent = collector::parent_of(pid);
    identity.executable = collector::executable_of(pid);
    identity.command_line = collector::command_line_of(pid);
    identity.source = trace::kAttachSource;
    return identity;
}

void AttachedProcess::FreeMemo::operator()(unwind::StackMemo* memo) const noexcept {
    ::munmap(memo, sizeof *memo);
}

AttachedProcess::Memo AttachedProcess::make_memo() {
    // Zeroed memory is an empty memo, and pages that no stack needs are never touched.
    void* memory = ::mmap(nullptr, sizeof(unwind::StackMemo), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return Memo{memory == MAP_FAILED ? nullptr : static_cast<unwind::StackMemo*>(memory)};
}

AttachedProcess::AttachedProcess(collector::ProcessIdentity identity, Surroundings& around)
    : around_{around}, account_{std::move(identity), around.recorder, around.clock} {
    account_.begin();
    account_.set_sampling(around.sampling);
}

bool AttachedProcess::add_mapping(const collector::Mapping& mapping, std::uint64_t time_ns) {
    const ActingAs its_user{account_.addresses().rights(pid())};
    const std::shared_ptr<const CodeImage> image = around_.images.find(pid(), mapping);
    if (image == nullptr) {
        return false;
    }
    const auto bias = image->facts.bias_of_mapping(mapping.start, mapping.offset);
    if (!bias || !code_.add(image, *bias)) {
        return false;
    }
    const unwind::AddressRange span = image->elf.module_at(*bias).span;
    trace::Module module;
    module.path = mapping.path;
    module.kind = image->is_vdso ? trace::ModuleKind::vdso : trace::ModuleKind::elf;
    module.build_id = image->facts.build_id;
    collector::AddressRanges::Range range;
    range.end = span.end;
    range.bias = *bias;
    account_.add_module(std::move(module), span.begin, range, time_ns);
    return true;
}

void AttachedProcess::read_mappings() {
    const std::uint64_t now = collector::monotonic_ns();
    bool found_some = false;
    for (const collector::Mapping& mapping : collector::mappings_of(pid())) {
        found_some = (mapping.executable && add_mapping(mapping, now)) || found_some;
    }
    // Code that is made at run time lies in no file, however often one looks.
    look_pause_ns_ = found_some ? kLookPauseNs : std::min(look_pause_ns_ * 2, kLongestPauseNs);
    next_look_ns_ = now + look_pause_ns_;
}

void AttachedProcess::inherit(const CodeMap& parent) {
    const std::uint64_t now = collector::monotonic_ns();
    for (const CodeMap::Loaded& loaded : parent.loaded()) {
        if (!code_.add(loaded.image, loaded.bias)) {
            continue;
        }
        trace::Module module;
        module.path = loaded.image->path;
        module.kind = loaded.image->is_vdso ? trace::ModuleKind::vdso : trace::ModuleKind::elf;
        module.build_id = loaded.image->facts.build_id;
        collector::AddressRanges::Range range;
        range.end = loaded.module.span.end;
        range.bias = loaded.bias;
        account_.add_module(std::move(module), loaded.module.span.begin, range, now);
    }
}

void AttachedProcess::add_code(const collector::Mapping& code) {
    static_cast<void>(add_mapping(code, collector::monotonic_ns()));
}

void AttachedProcess::start_thread(pid_t tid, const std::string& name, std::uint64_t cpu_ns,
                                   std::uint64_t time_ns, ThreadSwitches switches) {
    capture::ThreadRecord record;
    record.tid = static_cast<std::uint32_t>(tid);
    record.ticks = time_ns;
    record.cpu_ns = cpu_ns;
    name.copy(record.name.data(), record.name.size() - 1);
    account_.on_thread_start(writer_of(tid), record);
    threads_[tid] = {make_memo(), name, switches, cpu_ns};
    if (around_.sees_switches) {
        around_.wakers.name(tid, name);
    }
}

void AttachedProcess::end_thread(pid_t tid) {
    account_.on_thread_killed(writer_of(tid));
    threads_.erase(tid);
    if (around_.sees_switches) {
        around_.wakers.forget(tid);
    }
}

void AttachedProcess::name_thread(pid_t tid, std::string_view name) {
    const auto thread = threads_.find(tid);
    if (thread != threads_.end() && thread->second.name != name) {
        thread->second.name = name;
        if (around_.sees_switches) {
            around_.wakers.name(tid, thread->second.name);
        }
        account_.rename_threads({{static_cast<std::uint32_t>(tid), std::string{name}}});
    }
}

std::string AttachedProcess::name_of_thread(pid_t tid) const {
    const auto thread = threads_.find(tid);
    return thread == threads_.end() ? "" : thread->second.name;
}

AttachedProcess::ThreadState& AttachedProcess::thread_of(pid_t tid, std::uint64_t time_ns) {
    const auto known = threads_.find(tid);
    if (known != threads_.end()) {
        return known->second;
    }
    // The record of its start was lost, or it was there before.
    const std::string name = collector::thread_name_of(pid(), tid);
    start_thread(tid, name.empty() ? name_of_thread(pid()) : name, 0, time_ns,
                 around_.watched_since_ns ? ThreadSwitches::watched(*around_.watched_since_ns)
                                          : ThreadSwitches{});
    return threads_[tid];
}

void AttachedProcess::look_again(std::uint64_t time_ns) {
    if (time_ns >= next_look_ns_) {
        read_mappings();
    }
}

void AttachedProcess::walk(const StackSample& sample, ThreadState& thread,
                           collector::DrainedSample& out) {
    if (code_.table().find(Pc{sample.registers.pc()}) == nullptr) {
        look_again(sample.time_ns);
    }
    unwind::StackMemory memory = unwind::StackMemory::recorded(sample.registers.sp(), sample.stack);
    const unwind::WalkResult result = unwind::walk(code_.table(), around_.rows, sample.registers,
                                                   memory, *thread.memo, around_.max_depth);
    out.stop = stop_of(result, sample);
    out.kept = thread.memo->kept();
    frames_.clear();
    for (const FrameAddress frame : thread.memo->root_first()) {
        frames_.push_back(frame.bits());
    }
    if (result.reason == unwind::StopReason::no_module) {
        look_again(sample.time_ns);
    }
    const bool is_whole = result.reason == unwind::StopReason::root;
    if (around_.adapts_copies && around_.copies.tell(is_whole, ended_with_copy(result, sample))) {
        while (!is_whole_with(sample, around_.copies.needed()) && around_.copies.need_more()) {
        }
    }
}

bool AttachedProcess::is_whole_with(const StackSample& sample, std::size_t bytes) {
    tried_.resize(around_.max_depth);
    unwind::StackMemory memory = unwind::StackMemory::recorded(
        sample.registers.sp(), sample.stack.first(std::min(bytes, sample.stack.size())));
    return unwind::walk(code_.table(), around_.rows, sample.registers, memory, tried_).reason ==
           unwind::StopReason::root;
}

collector::DrainedSample AttachedProcess::stack_of(const StackSample& sample, ThreadState& thread) {
    collector::DrainedSample drained;
    drained.ticks = sample.time_ns;
    if (sample.has_registers && thread.memo != nullptr) {
        walk(sample, thread, drained);
    } else {
        // What the account keeps of the last stack is no beginning of this one, and of the next.
        if (thread.memo != nullptr) {
            thread.memo->reset();
        }
        drained.stop = static_cast<std::uint32_t>(
            is_kernel_thread_ ? unwind::StopReason::root : unwind::StopReason::unreadable_memory);
        frames_.clear();
    }
    append_kernel_frames(sample, frames_);
    drained.frames = frames_;
    return drained;
}

void AttachedProcess::add_sample(const StackSample& sample, std::uint64_t weight_ns) {
    collector::DrainedSample drained = stack_of(sample, thread_of(sample.tid, sample.time_ns));
    drained.weight_ns = weight_ns;
    const std::uint64_t period_ns = around_.sampling.period_ns;
    if (around_.sampling.kernel_excluded && weight_ns > period_ns + period_ns / 2) {
        // It has run on in the kernel, where no expiry is a sample.
        drained.weight_ns = period_ns;
        drained.unseen_ns = weight_ns - period_ns;
    }
    account_.on_sample(writer_of(sample.tid), drained);
}

void AttachedProcess::add_leaving(const StackSample& sample) {
    ThreadState& thread = thread_of(sample.tid, sample.time_ns);
    thread.switches.leaving(account_.place_of(writer_of(sample.tid), stack_of(sample, thread)));
}

void AttachedProcess::end_switches(pid_t tid) {
    if (const auto thread = threads_.find(tid); thread != threads_.end()) {
        thread->second.switches.finish();
    }
}

void AttachedProcess::add_switch(const Switch& change, std::optional<ModuleId> waker) {
    ThreadSwitches& switches = thread_of(change.tid, change.time_ns).switches;
    if (!change.is_in) {
        switches.out(change.time_ns, change.is_preempted);
    } else if (const std::optional<Wait> wait = switches.in(change.time_ns)) {
        write_wait(change.tid, *wait, waker, change.time_ns);
    }
}

void AttachedProcess::write_wait(pid_t tid, const Wait& wait, std::optional<ModuleId> waker,
                                 std::uint64_t time_ns) {
    const collector::Writer writer = writer_of(tid);
    if (wait.is_for_processor) {
        account_.add_wait(writer, collector::Pseudo::waits_for_processor, wait.ns, time_ns);
    } else if (!wait.where) {
        account_.add_wait(writer, collector::Pseudo::wait_not_seen, wait.ns, time_ns);
    } else {
        const NodeId woken = waker ? around_.recorder.node(*wait.where, *waker, 0) : *wait.where;
        account_.add_wait(writer, woken.is_none() ? *wait.where : woken, wait.ns, time_ns);
    }
}

std::uint64_t AttachedProcess::lose_switches() {
    std::uint64_t waits = 0;
    for (auto& [tid, thread] : threads_) {
        waits += thread.switches.lose() ? 1 : 0;
    }
    return waits;
}

void AttachedProcess::pause_watching() {
    for (auto& [tid, thread] : threads_) {
        const std::uint64_t cpu_ns = collector::thread_cpu_ns(pid(), tid);
        if (cpu_ns != thread.cpu_ns) {
            thread.switches.has_run();
        }
        thread.cpu_ns = cpu_ns;
    }
}

void AttachedProcess::go_on_watching(std::uint64_t since_ns) {
    const std::uint64_t now = collector::monotonic_ns();
    for (auto& [tid, thread] : threads_) {
        const std::uint64_t cpu_ns = collector::thread_cpu_ns(pid(), tid);
        if (thread.switches.is_away() && cpu_ns == thread.cpu_ns) {
            continue;  // where it was
        }
        if (const auto wait = thread.switches.end(since_ns, true)) {
            write_wait(tid, *wait, std::nullopt, since_ns);
        }
        thread.switches = ThreadSwitches::watched(now);
        thread.cpu_ns = cpu_ns;
    }
}

void AttachedProcess::end_waits() {
    const std::uint64_t now = collector::monotonic_ns();
    for (auto& [tid, thread] : threads_) {
        const bool has_waited =
            thread.cpu_ns != 0 && thread.cpu_ns == collector::thread_cpu_ns(pid(), tid);
        if (const auto wait = thread.switches.end(now, has_waited)) {
            write_wait(tid, *wait, std::nullopt, now);
        }
    }
}

void AttachedProcess::settle() {
    account_.addresses().read_on();
    if (around_.believes_weights) {
        account_.settle(std::nullopt);
        return;
    }
    const std::optional<std::uint64_t> now = collector::process_cpu_ns(pid());
    last_cpu_ns_ = std::max(last_cpu_ns_, now.value_or(0));
    if (account_.has_due() && now) {
        account_.settle(now);
    }
}

void AttachedProcess::end(trace::ProcessEnd end, bool is_replaced) {
    if (around_.sees_switches) {
        end_waits();
    }
    if (is_replaced || around_.believes_weights) {
        account_.settle(std::nullopt);
        account_.end(end, {account_.accounted_cpu_ns(), 0});
        return;
    }
    settle();
    // Of one that somebody has waited for, nothing tells what it used since the clock was read
    // last but its samples.
    if (!collector::has_process_clock(pid())) {
        account_.settle(std::nullopt);
        last_cpu_ns_ = std::max(last_cpu_ns_, account_.accounted_cpu_ns());
    }
    account_.end(end, {last_cpu_ns_, 0});
}

}  // namespace sample::attach
