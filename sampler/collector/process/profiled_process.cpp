#include "sampler/collector/process/profiled_process.h"

#include "sampler/collector/code/module_file.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/process/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <new>
#include <span>
#include <utility>

namespace sample::collector {
namespace {

constexpr const char* kFurtherThreads = "[further threads]";

/// Where libraries lie as each thread has named them, together. Some 20 MB.
constexpr std::size_t kMostLibraries = std::size_t{1} << 18U;

/// Thread ids whose end is remembered.
constexpr std::size_t kMostEnded = std::size_t{1} << 16U;

bool thread_exists(pid_t pid, std::uint32_t tid) {
    return ::syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

std::uint64_t percentile_99(const HandlerTotals& totals, double ticks_per_ns) {
    std::uint64_t count = 0;
    for (const std::uint64_t in_class : totals.histogram) {
        count += in_class;
    }
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < totals.histogram.size(); ++i) {
        seen += totals.histogram[i];
        if (count != 0 && seen * 100 >= count * 99) {
            // The class's upper bound: never better than it was.
            return static_cast<std::uint64_t>(static_cast<double>(capture::histogram_floor(i + 1)) /
                                              ticks_per_ns);
        }
    }
    return 0;
}

}  // namespace

Result<std::shared_ptr<AreaMapping>> AreaMapping::create(std::uint64_t period_ns,
                                                         double ticks_per_ns, bool is_root,
                                                         std::uint32_t max_depth) {
    std::size_t groups = capture::kMaxGroups;
    Fd fd;
    do {
        fd = make_shared_memory("sample", capture::area_bytes(groups));
        groups /= fd.is_open() ? 1 : 2;
    } while (!fd.is_open() && errno == EFBIG && groups != 0);
    if (!fd.is_open()) {
        return unexpected(Error::from_errno(
            errno == EFBIG ? "cannot make the shared sample buffers, for which ulimit -f is "
                             "too low"
                           : "cannot make the shared sample buffers"));
    }
    // The target cannot shrink it under us (SIGBUS).
    ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void* address = ::mmap(nullptr, capture::Area::kFirstBytes, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
    if (address == MAP_FAILED) {
        return unexpected(Error::from_errno("cannot map the shared sample buffers"));
    }
    auto* start = static_cast<capture::AreaStart*>(address);
    capture::AreaHeader& header = *new (&start->header) capture::AreaHeader{};
    header.is_root = is_root ? 1 : 0;
    header.period_ns = period_ns;
    header.max_depth = max_depth;
    header.period_ticks =
        static_cast<std::uint64_t>(std::llround(static_cast<double>(period_ns) * ticks_per_ns));
    header.gap_ticks = static_cast<std::uint64_t>(
        std::llround(1.5 * static_cast<double>(period_ns) * ticks_per_ns));
    for (std::size_t word = 0; word < header.free_slots.size(); ++word) {
        header.free_slots[word].store(~std::uint64_t{0}, std::memory_order_relaxed);
        header.free_chunks[word].store(~std::uint64_t{0}, std::memory_order_release);
    }
    return std::make_shared<AreaMapping>(std::move(fd), *start, groups);
}

AreaMapping::~AreaMapping() {
    area_.for_each_mapping(
        [](std::span<std::byte> memory) { ::munmap(memory.data(), memory.size()); });
}

std::uint64_t AreaMapping::resident_bytes() const {
    struct stat info = {};
    return ::fstat(fd_.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * 512 : 0;
}

ProfiledProcess::ProfiledProcess(Identity identity, std::shared_ptr<AreaMapping> mapping,
                                 Recorder& recorder, const TickClock& clock)
    : identity_{std::move(identity)},
      mapping_{std::move(mapping)},
      recorder_{recorder},
      clock_{clock},
      reader_{mapping_->area()},
      stacks_{identity_.pid, addresses_, recorder, clock},
      started_ns_{monotonic_ns()} {
    addresses_.inherit(identity_.inherited);
    addresses_.set_rights(identity_.rights);
}

void ProfiledProcess::begin() {
    recorder_.begin(identity_.source, identity_.source_reason);
    if (!recorder_.has_begun()) {
        return;
    }
    trace::Process process;
    process.pid = static_cast<std::uint32_t>(identity_.pid);
    process.parent_pid = static_cast<std::uint32_t>(identity_.parent);
    process.start_ns = started_ns_;
    process.executable = identity_.executable;
    process.command_line = identity_.command_line;
    process.source = identity_.source;
    process.source_reason = identity_.source_reason;
    id_ = recorder_.add_process(std::move(process));
    reader_.drain(*this);
    const std::uint64_t start_cpu = area().header.start_cpu_ns.load();
    before_start_ns_ = start_cpu - std::min(start_cpu, identity_.carried_cpu_ns);
    ThreadState* main = threads_.empty() ? nullptr : &threads_.begin()->second;
    if (main != nullptr && identity_.is_time) {
        book(*main, Pseudo::before_start, before_start_ns_, started_ns_);
        // Recorded now: not to be taken off the thread's rest twice.
        main->spent_before_ns -= std::min(main->spent_before_ns, before_start_ns_);
    }
}

void ProfiledProcess::drain() {
    if (recorder_.has_begun()) {
        addresses_.read_on();
        reader_.drain(*this);
    }
}

void ProfiledProcess::take_names() {
    if (recorder_.has_begun()) {
        drain();
        addresses_.finish(identity_.pid);
    }
}

InheritedCode ProfiledProcess::code_for_child(pid_t own_pid) {
    return addresses_.for_child({identity_.pid, own_pid}, monotonic_ns());
}

std::uint64_t ProfiledProcess::said_cpu_ns() const {
    return mapping_->area().header.last_cpu_ns.load();
}

void ProfiledProcess::end(trace::EndKind kind, int code, std::optional<std::uint64_t> cpu_ns,
                          std::uint64_t counted) {
    if (!recorder_.has_begun()) {
        return;
    }
    drain();
    addresses_.finish(identity_.pid);
    if (!has_died_) {
        refresh_thread_names();
    }
    const std::uint64_t now = monotonic_ns();
    book_observer(now);
    if (observes_waits()) {
        end_waits(now);
    }
    std::uint64_t image_cpu = 0;
    if (cpu_ns && *cpu_ns > identity_.carried_cpu_ns) {
        image_cpu = *cpu_ns - identity_.carried_cpu_ns;
    }
    book_rest_of_process(identity_.is_time ? image_cpu : counted, now);
    const HandlerTotals totals = reader_.totals();
    if (kind == trace::EndKind::replaced || has_died_) {
        // What /proc has of it is the new image's, which waits, or gone.
        measure_area();
    } else {
        measure_memory();
    }
    trace::ProcessEnd end;
    end.id = id_;
    end.kind = kind;
    end.code = code;
    end.end_ns = now;
    end.cpu_ns = image_cpu;
    recorder_.beyond().damaged += reader_.corrupt_chunks();
    end.lost = totals.lost;
    end.handler_count = totals.samples;
    end.handler_sum_ns =
        static_cast<std::uint64_t>(static_cast<double>(totals.ticks) / clock_.ticks_per_ns());
    end.handler_p99_ns = percentile_99(totals, clock_.ticks_per_ns());
    end.agent_rss_bytes = resident_bytes_ + library_bytes_;
    end.unwind_table_bytes = table_bytes_;
    recorder_.sink().record(end);
}

void ProfiledProcess::book_rest_of_process(std::uint64_t whole, std::uint64_t time_ns) {
    ThreadState* main = nullptr;
    for (auto& [slot, thread] : threads_) {
        if (thread.tid == static_cast<std::uint32_t>(identity_.pid) || main == nullptr) {
            main = &thread;
        }
    }
    if (main == nullptr && main_) {
        main = &*main_;
    }
    if (main != nullptr && whole > recorded_ns_) {
        book_rest(*main, whole - recorded_ns_, time_ns, threads_.size());
    }
}

void ProfiledProcess::collect_dead_threads() {
    forget_ended();
    if (!identity_.same_pid_namespace) {
        return;
    }
    for (const auto& [slot, tid] : reader_.used_slots()) {
        if (!thread_exists(identity_.pid, tid)) {
            drain();
            // Its end may have been among what was drained, and the slot another thread's since.
            if (area().slots[slot].tid.load() != tid) {
                continue;
            }
            if (const auto at = threads_.find(slot); at != threads_.end()) {
                if (tid == static_cast<std::uint32_t>(identity_.pid)) {
                    main_ = at->second;
                }
                threads_.erase(at);
                slots_.erase(tid);
                note_end(tid, monotonic_ns());
            }
            reader_.free_killed(slot);
        }
    }
}

void ProfiledProcess::refresh_thread_names() {
    static_cast<void>(addresses_.rights(identity_.pid));
    for (auto& [slot, thread] : threads_) {
        std::string name = thread_name_of(identity_.pid, static_cast<pid_t>(thread.tid));
        if (!name.empty() && name != thread.name && thread.id != further_) {
            thread.name = name;
            recorder_.sink().record(trace::ThreadName{thread.id, std::move(name)});
        }
    }
}

void ProfiledProcess::measure_area() {
    resident_bytes_ = std::max(resident_bytes_, mapping_->resident_bytes());
    table_bytes_ = std::max(table_bytes_, area().header.table_bytes.load());
}

void ProfiledProcess::measure_memory() {
    measure_area();
    if (library_bytes_ == 0) {
        library_bytes_ = resident_bytes_of(identity_.pid, "libsample.so").value_or(0);
    }
}

ProfiledProcess::ThreadState& ProfiledProcess::thread_of(std::uint32_t slot, std::uint64_t ticks) {
    const auto at = threads_.find(slot);
    if (at != threads_.end()) {
        return at->second;
    }
    // Its start was lost with a chunk.
    capture::ThreadRecord record;
    record.tid = area().slots[slot].tid.load();
    record.ticks = ticks;
    on_thread_start(slot, record);
    return threads_.find(slot)->second;
}

void ProfiledProcess::book(ThreadState& thread, Pseudo what, std::uint64_t weight_ns,
                           std::uint64_t time_ns) {
    if (weight_ns == 0) {
        return;
    }
    thread.recorded_ns += weight_ns;
    recorded_ns_ += weight_ns;
    recorder_.book(thread.id, time_ns, what, weight_ns);
}

void ProfiledProcess::book_rest(ThreadState& thread, std::uint64_t rest_ns, std::uint64_t time_ns,
                                std::size_t threads) {
    std::uint64_t unseen = 0;
    if (identity_.is_time && area().header.kernel_excluded.load() != 0) {
        // More than a period a thread would have ticked, had it not been spent in the kernel.
        const std::uint64_t most = area().header.period_ns * std::max<std::size_t>(threads, 1);
        unseen = rest_ns - std::min(rest_ns, most);
    }
    book(thread, Pseudo::kernel_unseen, unseen, time_ns);
    book(thread, Pseudo::not_sampled, rest_ns - unseen, time_ns);
}

void ProfiledProcess::on_sample(std::uint32_t slot, const DrainedSample& sample) {
    ThreadState& thread = thread_of(slot, sample.ticks);
    const NodeId node = stacks_.node_of(thread.stack, sample);
    const std::uint64_t time_ns = clock_.to_ns(sample.ticks);
    if (sample.unseen_ns != 0) {
        book(thread, Pseudo::kernel_unseen, sample.unseen_ns, time_ns);
    }
    thread.recorded_ns += sample.weight_ns;
    recorded_ns_ += sample.weight_ns;
    recorder_.sink().sample({thread.id, time_ns, node, sample.weight_ns});
}

ProfiledProcess::ThreadState ProfiledProcess::new_thread(std::uint32_t tid, std::string name,
                                                         std::uint64_t time_ns) {
    ThreadState thread;
    thread.tid = tid;
    if (!recorder_.has_room_for_threads()) {
        ++recorder_.beyond().threads;
        if (further_.is_none()) {
            further_ = recorder_.add_thread({ThreadId{}, id_, 0, time_ns, kFurtherThreads});
        }
        thread.id = further_;
        return thread;
    }
    thread.id = recorder_.add_thread({ThreadId{}, id_, tid, time_ns, name});
    thread.name = std::move(name);
    return thread;
}

void ProfiledProcess::on_thread_start(std::uint32_t slot, const capture::ThreadRecord& record) {
    const std::uint64_t time_ns = clock_.to_ns(record.ticks);
    ThreadState thread;
    if (const auto seen = only_seen_.find(record.tid); seen != only_seen_.end()) {
        thread = std::move(seen->second);
        only_seen_.erase(seen);
    } else {
        thread = new_thread(record.tid, record.name.data(), time_ns);
    }
    thread.spent_before_ns = record.cpu_ns;
    thread.waits.begin(time_ns, record.cpu_ns);
    if (const auto before = threads_.find(slot); before != threads_.end()) {
        slots_.erase(before->second.tid);
    }
    slots_[record.tid] = slot;
    threads_.insert_or_assign(slot, std::move(thread));
}

void ProfiledProcess::on_thread_end(std::uint32_t slot, const capture::ThreadRecord& record) {
    ThreadState& thread = thread_of(slot, record.ticks);
    if (thread.name != record.name.data() && thread.id != further_) {
        recorder_.sink().record(trace::ThreadName{thread.id, record.name.data()});
    }
    const std::uint64_t known = thread.spent_before_ns + thread.recorded_ns;
    const std::uint64_t time_ns = clock_.to_ns(record.ticks);
    if (identity_.is_time && record.cpu_ns > known) {
        book_rest(thread, record.cpu_ns - known, time_ns, 1);
    }
    if (observes_waits()) {
        thread.waits.read(time_ns, record.cpu_ns);
        book_waits(thread, time_ns);
        note_end(record.tid, time_ns);
    }
    if (record.tid == static_cast<std::uint32_t>(identity_.pid)) {
        main_ = thread;
    }
    slots_.erase(record.tid);
    threads_.erase(slot);
}

void ProfiledProcess::on_module(std::uint32_t slot, const capture::ModuleRecord& record,
                                const char* path) {
    trace::Module module;
    module.path = path;
    module.kind = (record.flags & capture::kModuleVdso) != 0 ? trace::ModuleKind::vdso
                                                             : trace::ModuleKind::elf;
    module.plugin = (record.flags & capture::kModulePlugin) != 0;
    module.build_id.assign(record.build_id.begin(), record.build_id.begin() + record.head.b);
    const ActingAs its_user{addresses_.rights(identity_.pid)};
    const ModuleId id = recorder_.module(module);
    if (id == recorder_.pseudo(Pseudo::unknown_code)) {
        return;  // no room
    }
    module.id = id;
    keep_module_file(recorder_, module, identity_.pid, record.start);
    AddressRanges::Range range;
    range.end = record.end;
    range.bias = record.bias;
    range.module = id;
    range.is_agent = (record.flags & capture::kModuleAgent) != 0;
    const bool has_room =
        module.plugin ? thread_of(slot, record.ticks).stack.libraries.add(record.start, range)
                      : addresses_.add(record.start, range);
    recorder_.beyond().modules += has_room ? 0 : 1;
    if (module.plugin) {
        bound_libraries();
    }
    recorder_.sink().record(trace::ModuleLoad{
        id, id_, record.bias, record.start, record.end - record.start, clock_.to_ns(record.ticks)});
}

void ProfiledProcess::bound_libraries() {
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

void ProfiledProcess::on_stacks_dropped() {
    for (auto& [slot, thread] : threads_) {
        std::vector<NodeId>{}.swap(thread.stack.path);  // with its memory
    }
}

void ProfiledProcess::note_end(std::uint32_t tid, std::uint64_t time_ns) {
    if (ended_ns_.size() >= kMostEnded) {
        ended_ns_.clear();
    }
    ended_ns_[tid] = time_ns;
}

void ProfiledProcess::on_unload(std::uint32_t slot) {
    if (const auto at = threads_.find(slot); at != threads_.end()) {
        at->second.stack.libraries.clear();
    }
    addresses_.forget_files();
}

}  // namespace sample::collector
