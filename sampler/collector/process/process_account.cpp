#include "sampler/collector/process/process_account.h"

#include "sampler/collector/code/module_file.h"
#include "sampler/collector/process/proc_files.h"

#include <algorithm>
#include <utility>

namespace sample::collector {
namespace {

constexpr const char* kFurtherThreads = "[further threads]";

/// Where libraries lie as each thread has named them, together. Some 20 MB.
constexpr std::size_t kMostLibraries = std::size_t{1} << 18U;

/// How long a sample waits for the process's clock before what the clock lacks is shared out.
constexpr std::uint64_t kPatienceNs = 100'000'000;

/// What waits for the process's clock at a time. Some 3 MB.
constexpr std::size_t kMostDue = std::size_t{1} << 16U;

/// 146 years: a process may say any weights, and any last clock of its own.
constexpr std::uint64_t kMostPaid = std::uint64_t{1} << 62U;

/// Thread ids whose end is remembered.
constexpr std::size_t kMostEnded = std::size_t{1} << 16U;

}  // namespace

ProcessAccount::ProcessAccount(ProcessIdentity identity, Recorder& recorder, const TickClock& clock)
    : identity_{std::move(identity)},
      recorder_{recorder},
      clock_{clock},
      stacks_{identity_.pid, addresses_, recorder, clock},
      started_ns_{monotonic_ns()} {
    addresses_.inherit(identity_.inherited);
    addresses_.set_rights(identity_.rights);
}

void ProcessAccount::begin() {
    trace::Process process;
    process.pid = static_cast<std::uint32_t>(identity_.pid);
    process.parent_pid = static_cast<std::uint32_t>(identity_.parent);
    process.start_ns = started_ns_;
    process.executable = identity_.executable;
    process.command_line = identity_.command_line;
    process.source = identity_.source;
    process.source_reason = identity_.source_reason;
    id_ = recorder_.add_process(std::move(process));
    if (decoder_ != nullptr) {
        decoder_->begin(id_, [this](std::span<const std::uint64_t> frames, std::uint32_t stop,
                                    std::uint64_t ticks) {
            ThreadStack stack;
            DrainedSample sample;
            sample.ticks = ticks;
            sample.stop = stop;
            sample.frames = frames;
            return stacks_.node_of(stack, sample);
        });
    }
}

void ProcessAccount::book_before_start(std::uint64_t cpu_ns) {
    ThreadState* const main = main_thread();
    if (main == nullptr || !identity_.is_time) {
        return;
    }
    const std::uint64_t before = cpu_ns - std::min(cpu_ns, identity_.carried_cpu_ns);
    book(*main, Pseudo::before_start, before, started_ns_);
    // Recorded now: not to be taken off the thread's rest twice.
    main->spent_before_ns -= std::min(main->spent_before_ns, before);
}

ProcessAccount::ThreadState* ProcessAccount::main_thread() {
    ThreadState* main = nullptr;
    for (auto& [slot, thread] : threads_) {
        if (thread.tid == static_cast<std::uint32_t>(identity_.pid)) {
            return &thread;
        }
        if (!thread.id.is_none() && (main == nullptr || thread.id.value < main->id.value)) {
            main = &thread;
        }
    }
    return main;
}

ProcessAccount::Used ProcessAccount::used(const ProcessCounts& counts) const {
    const std::uint64_t clock = counts.cpu_ns.value_or(0);
    const std::uint64_t others = identity_.carried_cpu_ns + sampling_.observer_cpu_ns;
    const std::uint64_t cpu_ns = clock - std::min(clock, others);
    const std::uint64_t system_ns = counts.system_ns.value_or(system_look_.system_ns);
    return {cpu_ns, identity_.is_time ? cpu_ns : counts.events,
            system_ns - std::min(system_ns, identity_.system_before_ns)};
}

void ProcessAccount::leave_out(const Used& used) {
    earlier_.cpu_ns += used.cpu_ns;
    earlier_.weight += used.weight;
    earlier_.system_ns += used.system_ns;
    recorder_.add_earlier(used.weight);
}

void ProcessAccount::end(trace::ProcessEnd end, const ProcessCounts& counts) {
    addresses_.finish(identity_.pid);
    const std::uint64_t now = monotonic_ns();
    if (sampling_.observes_waits && !stopped_) {
        end_waits(now);
    }
    for (auto& [slot, thread] : threads_) {
        end_said(thread, now);
    }
    write_due(counts.cpu_ns);
    const Used whole = used(counts);
    if (!recorder_.has_begun_sampling()) {
        leave_out(whole);
    }
    go_on_counting(counts);
    if (counts.cpu_ns && counts.system_ns) {
        note_system_time(*counts.cpu_ns, *counts.system_ns);
    }
    book_rest_of_process(whole.weight - std::min(whole.weight, earlier_.weight), now,
                         counts.cpu_ns);
    end.id = id_;
    end.end_ns = recorder_.not_before_start(now);
    end.cpu_ns = whole.cpu_ns - std::min(whole.cpu_ns, earlier_.cpu_ns);
    if (counts.cpu_ns) {
        end.cpu_ns = std::max(end.cpu_ns, trace::kNoCpuTime);
    }
    end.agent_cpu_ns =
        sampling_.observer_cpu_ns - std::min(sampling_.observer_cpu_ns, earlier_observer_ns_);
    recorder_.sink().record(end);
}

void ProcessAccount::book_rest_of_process(std::uint64_t whole, std::uint64_t time_ns,
                                          std::optional<std::uint64_t> cpu_ns) {
    ThreadState* main = main_thread();
    if (main == nullptr && main_) {
        main = &*main_;
    }
    if (main == nullptr || whole <= recorded_ns_) {
        return;
    }
    const Rest rest = divide(whole - recorded_ns_, threads_.size(), cpu_ns);
    recorder_.book(main->id, time_ns, Pseudo::kernel_unseen, rest.unseen_ns);
    recorder_.book(main->id, time_ns, Pseudo::not_sampled, rest.not_sampled_ns);
    recorded_ns_ = whole;
}

ProcessAccount::ThreadNames ProcessAccount::changed_thread_names() {
    static_cast<void>(addresses_.rights(identity_.pid));
    ThreadNames names;
    const ThreadNumbers numbers = thread_numbers();
    for (const auto& [slot, thread] : threads_) {
        std::string name = thread_name_of(identity_.pid, numbers.here(thread.tid));
        if (!name.empty() && name != thread.name && thread.id != further_ && !thread.id.is_none() &&
            !thread.names_itself) {
            names.emplace_back(slot, std::move(name));
        }
    }
    return names;
}

void ProcessAccount::rename_threads(const ThreadNames& names) {
    for (const auto& [slot, name] : names) {
        ThreadState& thread = threads_.at(slot);
        thread.name = name;
        recorder_.sink().record(trace::ThreadName{thread.id, name});
    }
}

ProcessAccount::ThreadState& ProcessAccount::thread_of(const Writer& writer, std::uint64_t ticks) {
    const auto at = threads_.find(writer.slot);
    if (at != threads_.end()) {
        return at->second;
    }
    // Its start was lost with a chunk.
    capture::ThreadRecord record;
    record.tid = writer.tid;
    record.ticks = ticks;
    on_thread_start(writer, record);
    return threads_.find(writer.slot)->second;
}

void ProcessAccount::book(ThreadState& thread, Pseudo what, std::uint64_t weight_ns,
                          std::uint64_t time_ns) {
    if (const std::uint64_t due = account_for(thread, weight_ns, time_ns); due != 0) {
        add_due({thread.id, time_ns, recorder_.pseudo_node(what, NodeId{}), due, true});
        if (what == Pseudo::kernel_unseen || what == Pseudo::ring_worker) {
            booked_in_kernel_ns_ += due;
        }
    }
}

void ProcessAccount::add_due(const trace::Sample& sample) {
    if (sample.thread.is_none()) {
        return;  // no sample of ours, whatever the process has written there
    }
    if (due_.size() == kMostDue) {
        write_due(process_cpu_ns(identity_.pid));
    }
    due_.push_back(sample);
}

std::uint64_t ProcessAccount::due_ns() const {
    std::uint64_t due = 0;
    for (const trace::Sample& sample : due_) {
        due += sample.weight;
    }
    return due;
}

std::uint64_t ProcessAccount::unrecorded_ns(std::uint64_t cpu_ns) const {
    std::uint64_t cpu = used({cpu_ns, 0}).cpu_ns;
    if (stopped_) {
        cpu = std::min(cpu, stopped_->used.cpu_ns);
    }
    const std::uint64_t accounted = earlier_.cpu_ns + recorded_ns_;
    return cpu - std::min(cpu, accounted);
}

std::uint64_t ProcessAccount::payable(std::uint64_t due, std::optional<std::uint64_t> cpu_ns,
                                      bool pays_owed) {
    if (!identity_.is_time || !cpu_ns) {
        return due;
    }
    std::uint64_t wanted = due + owed_ns_;
    wanted -= std::min(wanted, std::exchange(overdrawn_ns_, 0));
    const std::uint64_t paid =
        std::min({wanted, pays_owed ? wanted : due, unrecorded_ns(*cpu_ns), kMostPaid});
    owed_ns_ = wanted - paid;
    return paid;
}

std::uint64_t ProcessAccount::take_back(ThreadId thread, std::uint64_t overdrawn_ns) {
    for (auto sample = due_.rbegin(); overdrawn_ns != 0 && sample != due_.rend(); ++sample) {
        if (sample->thread == thread) {
            const std::uint64_t taken = std::min(sample->weight, overdrawn_ns);
            sample->weight -= taken;
            overdrawn_ns -= taken;
        }
    }
    return overdrawn_ns;
}

void ProcessAccount::settle(std::optional<std::uint64_t> cpu_ns) {
    std::vector<trace::Sample> waiting;
    if (identity_.is_time && cpu_ns && due_ns() > unrecorded_ns(*cpu_ns)) {
        const auto first_waiting = sort_until(unrecorded_ns(*cpu_ns));
        waiting.assign(first_waiting, due_.end());
        due_.erase(first_waiting, due_.end());
    }
    write_due(cpu_ns, waiting.empty());
    due_ = std::move(waiting);
}

std::vector<trace::Sample>::iterator ProcessAccount::sort_until(std::uint64_t covered_ns) {
    const auto is_earlier = [](const trace::Sample& left, const trace::Sample& right) {
        return left.time_ns < right.time_ns;
    };
    const auto fresh = std::is_sorted_until(due_.begin(), due_.end(), is_earlier);
    std::stable_sort(fresh, due_.end(), is_earlier);
    std::inplace_merge(due_.begin(), fresh, due_.end(), is_earlier);
    const std::uint64_t now = monotonic_ns();
    return std::find_if(due_.begin(), due_.end(), [&](const trace::Sample& sample) {
        const bool is_covered = sample.weight <= covered_ns;
        covered_ns -= std::min(covered_ns, sample.weight);
        return !is_covered && sample.time_ns + kPatienceNs >= now;
    });
}

void ProcessAccount::write_due(std::optional<std::uint64_t> cpu_ns, bool pays_owed) {
    if (due_.empty()) {
        return;
    }
    const std::uint64_t due = due_ns();
    const std::uint64_t paid = payable(due, cpu_ns, pays_owed);
    // Those of a thread that was ahead of its clock weigh nothing until that has caught up.
    const double shares = static_cast<double>(due != 0 ? due : due_.size());
    double so_far = 0;
    std::uint64_t written = 0;
    for (trace::Sample& sample : due_) {
        if (paid != due) {
            // As differences of the running sum, so that rounding adds nothing.
            so_far += due != 0 ? static_cast<double>(sample.weight) : 1;
            const auto by_now = static_cast<std::uint64_t>(static_cast<double>(paid) *
                                                           std::min(so_far / shares, 1.0));
            sample.weight = by_now - written;
            written = by_now;
        }
        recorder_.sink().sample(sample);
    }
    due_.clear();
    recorded_ns_ += paid;
}

std::uint64_t ProcessAccount::account_for(ThreadState& thread, std::uint64_t weight_ns,
                                          std::uint64_t time_ns) {
    const std::uint64_t known = thread.spent_before_ns + thread.recorded_ns;
    thread.recorded_ns += weight_ns;
    return std::min(weight_ns - thread.off.take(known, weight_ns),
                    recorder_.most_of_thread(time_ns));
}

void ProcessAccount::on_sample(const Writer& writer, const DrainedSample& sample) {
    ThreadState& thread = thread_of(writer, sample.ticks);
    const std::uint64_t time_ns = clock_.to_ns(sample.ticks);
    book(thread, Pseudo::kernel_unseen, sample.unseen_ns, time_ns);
    const std::uint64_t due_ns = account_for(thread, sample.weight_ns, time_ns);
    seen_ns_ += sample.weight_ns;
    if (recorder_.most_of_thread(time_ns) == 0) {
        thread.stack.path.clear();  // the next stack is not told by what differs from it
        return;
    }
    const NodeId node = stacks_.node_of(thread.stack, sample);
    add_due({thread.id, time_ns, node, due_ns});
}

ThreadId ProcessAccount::further_threads(std::uint64_t time_ns) {
    if (further_.is_none()) {
        further_ = recorder_.add_thread({ThreadId{}, id_, 0, time_ns, kFurtherThreads});
    }
    return further_;
}

void ProcessAccount::book_slotless(std::uint64_t weight) {
    const std::uint64_t fresh = weight - std::min(weight, slotless_);
    slotless_ += fresh;
    const std::uint64_t now = monotonic_ns();
    if (fresh != 0 && !stopped_ && recorder_.most_of_thread(now) != 0) {
        const NodeId node = recorder_.pseudo_node(Pseudo::too_many_threads, NodeId{});
        add_due({further_threads(now), now, node, fresh, true});
    }
}

ProcessAccount::ThreadState ProcessAccount::new_thread(std::uint32_t tid, std::string name,
                                                       std::uint64_t time_ns) {
    ThreadState thread;
    thread.tid = tid;
    if (!recorder_.has_room_for_threads()) {
        ++recorder_.beyond().threads;
        thread.id = further_threads(time_ns);
        return thread;
    }
    thread.id = recorder_.add_thread({ThreadId{}, id_, tid, time_ns, name});
    thread.name = std::move(name);
    return thread;
}

void ProcessAccount::on_thread_start(const Writer& writer, const capture::ThreadRecord& record) {
    const std::uint64_t time_ns = clock_.to_ns(record.ticks);
    ThreadState thread;
    if (const auto seen = only_seen_.find(record.tid); seen != only_seen_.end()) {
        thread = std::move(seen->second);
        only_seen_.erase(seen);
    } else if (record.is_observer != 0) {
        thread.tid = record.tid;
    } else {
        thread = new_thread(record.tid, record.name.data(), time_ns);
    }
    thread.spent_before_ns = record.cpu_ns;
    thread.waits.begin(time_ns, record.cpu_ns);
    if (stopped_) {
        thread.off.begin(0);
    } else if (const auto used = used_before_.find(record.tid); used != used_before_.end()) {
        thread.off.begin(0);
        thread.off.end(used->second);
        used_before_.erase(used);
    }
    if (const auto before = threads_.find(writer.slot); before != threads_.end()) {
        slots_.erase(before->second.tid);
    }
    slots_[record.tid] = writer.slot;
    threads_.insert_or_assign(writer.slot, std::move(thread));
}

void ProcessAccount::on_thread_end(const Writer& writer, const capture::ThreadRecord& record) {
    ThreadState& thread = thread_of(writer, record.ticks);
    end_said(thread, clock_.to_ns(record.ticks));
    if (thread.name != record.name.data() && thread.id != further_ && !thread.id.is_none() &&
        !thread.names_itself) {
        recorder_.sink().record(trace::ThreadName{thread.id, record.name.data()});
    }
    const std::uint64_t known = thread.spent_before_ns + thread.recorded_ns;
    const std::uint64_t time_ns = clock_.to_ns(record.ticks);
    if (identity_.is_time) {
        overdrawn_ns_ += take_back(thread.id, known - std::min(known, record.cpu_ns));
        const Rest rest =
            divide(record.cpu_ns - std::min(known, record.cpu_ns), 1,
                   sampling_.kernel_excluded ? process_cpu_ns(identity_.pid) : std::nullopt);
        book(thread, Pseudo::kernel_unseen, rest.unseen_ns, time_ns);
        book(thread, Pseudo::not_sampled, rest.not_sampled_ns, time_ns);
    }
    if (sampling_.observes_waits) {
        thread.waits.read(time_ns, record.cpu_ns);
        if (!stopped_) {
            book_waits(thread, time_ns);
        }
        note_end(record.tid, time_ns);
    }
    if (record.tid == static_cast<std::uint32_t>(identity_.pid)) {
        main_ = thread;
    }
    slots_.erase(record.tid);
    threads_.erase(writer.slot);
}

void ProcessAccount::on_thread_killed(const Writer& writer) {
    if (const auto at = threads_.find(writer.slot); at != threads_.end()) {
        end_said(at->second, monotonic_ns());
        if (writer.tid == static_cast<std::uint32_t>(identity_.pid)) {
            main_ = at->second;
        }
        threads_.erase(at);
        slots_.erase(writer.tid);
        note_end(writer.tid, monotonic_ns());
    }
}

void ProcessAccount::on_module(const Writer& writer, const capture::ModuleRecord& record,
                               const char* path) {
    trace::Module module;
    module.path = path;
    module.kind = (record.flags & capture::kModuleVdso) != 0 ? trace::ModuleKind::vdso
                                                             : trace::ModuleKind::elf;
    module.plugin = (record.flags & capture::kModulePlugin) != 0;
    module.build_id.assign(record.build_id.begin(), record.build_id.begin() + record.head.b);
    if (!know_module(module, record.start)) {
        return;
    }
    AddressRanges::Range range;
    range.end = record.end;
    range.bias = record.bias;
    range.module = module.id;
    range.is_agent = (record.flags & capture::kModuleAgent) != 0;
    const bool has_room =
        module.plugin ? thread_of(writer, record.ticks).stack.libraries.add(record.start, range)
                      : addresses_.add(record.start, range);
    recorder_.beyond().modules += has_room ? 0 : 1;
    if (module.plugin) {
        bound_libraries();
    }
    record_load(range, record.start, clock_.to_ns(record.ticks));
}

void ProcessAccount::add_module(trace::Module module, std::uint64_t start,
                                AddressRanges::Range range, std::uint64_t time_ns) {
    if (know_module(module, start)) {
        range.module = module.id;
        recorder_.beyond().modules += addresses_.add(start, range) ? 0 : 1;
        record_load(range, start, time_ns);
    }
}

bool ProcessAccount::know_module(trace::Module& module, std::uint64_t start) {
    const ActingAs its_user{addresses_.rights(identity_.pid)};
    know_module_file(recorder_, module, identity_.pid, start);
    return module.id != recorder_.pseudo(Pseudo::unknown_code);
}

void ProcessAccount::record_load(const AddressRanges::Range& range, std::uint64_t start,
                                 std::uint64_t time_ns) {
    recorder_.sink().record(
        trace::ModuleLoad{range.module, id_, range.bias, start, range.end - start, time_ns});
}

void ProcessAccount::bound_libraries() {
    if (++libraries_ <= kMostLibraries) {
        return;
    }
    // Threads have ended and forgotten theirs meanwhile, mostly.
    libraries_ = 0;
    for (const auto& [slot, thread] : threads_) {
        libraries_ += thread.stack.libraries.size();
    }
    if (libraries_ > kMostLibraries) {
        for (auto& [slot, thread] : threads_) {
            thread.stack.libraries.clear();
        }
        recorder_.beyond().modules += std::exchange(libraries_, 0);
    }
}

void ProcessAccount::on_stacks_dropped() {
    for (auto& [slot, thread] : threads_) {
        std::vector<NodeId>{}.swap(thread.stack.path);  // with its memory
    }
}

void ProcessAccount::on_said(const Writer& writer, std::span<const std::uint64_t> words) {
    if (decoder_ == nullptr || words.empty()) {
        return;
    }
    ThreadState& thread = thread_of(writer, words.front() & capture::kTickMask);
    if (thread.id.is_none()) {
        return;  // one of ours, whatever the process has written there
    }
    thread.speaking.id = thread.id;
    decoder_->decode(thread.speaking, words);
    if (auto name = std::exchange(thread.speaking.new_name, std::nullopt);
        name && thread.id != further_) {
        thread.names_itself = true;
        thread.name = *std::move(name);
        recorder_.sink().record(trace::ThreadName{thread.id, thread.name});
    }
}

bool ProcessAccount::on_unsaid(const Writer& writer, std::uint64_t zones, std::uint64_t others) {
    const auto at = threads_.find(writer.slot);
    if (at == threads_.end()) {
        return false;
    }
    recorder_.beyond().zones += zones;
    recorder_.beyond().said += others;
    if (decoder_ != nullptr && !at->second.id.is_none()) {
        recorder_.sink().instrumentation(
            trace::InstrumentationLoss{at->second.id, monotonic_ns(), zones, others});
    }
    return true;
}

void ProcessAccount::end_said(ThreadState& thread, std::uint64_t time_ns) {
    if (decoder_ != nullptr) {
        decoder_->end(thread.speaking, time_ns);
    }
}

void ProcessAccount::note_end(std::uint32_t tid, std::uint64_t time_ns) {
    if (ended_ns_.size() >= kMostEnded) {
        ended_ns_.clear();
    }
    ended_ns_[tid] = time_ns;
}

void ProcessAccount::on_unload(const Writer& writer) {
    if (const auto at = threads_.find(writer.slot); at != threads_.end()) {
        at->second.stack.libraries.clear();
    }
    addresses_.forget_files();
}

}  // namespace sample::collector
