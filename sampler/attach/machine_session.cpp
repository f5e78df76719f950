#include "sampler/attach/machine_session.h"

#include "sampler/attach/target_process.h"
#include "sampler/collector/own_limits.h"
#include "sampler/collector/process/proc_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace sample::attach {
namespace {

/// What a process may have mapped as code, more or less: of more, the rest is unknown.
constexpr std::size_t kMostCode = 4096;

Error explain(const Error& refusal) {
    if (refusal.errno_value == EACCES || refusal.errno_value == EPERM) {
        return {ErrorCode::permission, 0,
                "every process of the machine is not yours to record: sudo sample record -a, or "
                "let sample have CAP_PERFMON and CAP_SYS_PTRACE (setcap "
                "cap_perfmon,cap_sys_ptrace+ep); sample attach PID records your own"};
    }
    if (refusal.errno_value == ENOSYS) {
        return {ErrorCode::unsupported, 0,
                "this kernel has no perf_event_open, or hides it (gVisor, a seccomp filter): "
                "start the program with sample record instead"};
    }
    return refusal;
}

}  // namespace

MachineSession::MachineSession(collector::SessionOptions options,
                               std::unique_ptr<trace::RecordSink> sink)
    : OutsideSession{std::move(options), std::move(sink), Watching::machine} {
    around().believes_weights = true;
    around().adapts_copies = false;
}

Result<std::unique_ptr<MachineSession>> MachineSession::create(
    collector::SessionOptions options, std::unique_ptr<trace::RecordSink> sink) {
    collector::raise_descriptor_limit();
    std::unique_ptr<MachineSession> session{
        new MachineSession{std::move(options), std::move(sink)}};
    if (const Result<void> watched = session->watch().watch_machine(); !watched) {
        return unexpected(explain(watched.error()));
    }
    session->recording().begin(trace::kAttachSource, "");
    session->around().watched_since_ns = collector::monotonic_ns();
    return session;
}

MachineSession::Known MachineSession::met(pid_t pid) {
    Known known;
    const std::string status = collector::status_of(pid);
    known.parent = collector::parent_of(pid);
    known.name = collector::thread_name_of(pid, pid);
    known.executable = collector::executable_of(pid);
    known.rights = lesser_rights_in(status, nullptr);
    known.is_kernel_thread = collector::is_kernel_thread(pid);
    for (collector::Mapping& mapping : collector::mappings_of(pid)) {
        if (mapping.executable && known.code.size() < kMostCode) {
            known.code.push_back(std::move(mapping));
        }
    }
    return known;
}

MachineSession::Known& MachineSession::known_process(pid_t pid) {
    const auto found = processes_.find(pid);
    return found != processes_.end() ? found->second
                                     : processes_.emplace(pid, met(pid)).first->second;
}

void MachineSession::write(pid_t pid, Known& known, std::uint64_t time_ns) {
    collector::ProcessIdentity identity;
    identity.pid = pid;
    identity.parent = known.parent;
    identity.executable = !known.executable.empty() ? known.executable
                          : known.name.empty()      ? "[unknown process]"
                                                    : "[" + known.name + "]";
    // By now it may be another program, or gone.
    if (collector::executable_of(pid) == known.executable) {
        identity.command_line = collector::command_line_of(pid);
    }
    identity.source = trace::kAttachSource;
    known.rights = lesser_rights_in(collector::status_of(pid), std::move(known.rights));
    identity.rights = known.rights;
    known.process = std::make_unique<AttachedProcess>(std::move(identity), around());
    if (known.is_kernel_thread) {
        known.process->set_kernel_thread();
    }
    for (const collector::Mapping& mapping : known.code) {
        known.process->add_code(mapping);
    }
    // Of one that was there before, it is not known when this thread began.
    ThreadSwitches switches;
    if (known.born_ns != 0) {
        switches = ThreadSwitches::made(known.born_ns);
    } else if (around().watched_since_ns) {
        switches = ThreadSwitches::watched(*around().watched_since_ns);
    }
    known.process->start_thread(pid, known.name, 0, time_ns, switches);
}

AttachedProcess& MachineSession::process_of(pid_t pid, std::uint64_t time_ns) {
    Known& of = known_process(pid);
    if (of.process == nullptr) {
        write(pid, of, time_ns);
    }
    return *of.process;
}

void MachineSession::end(Known& known, trace::EndKind kind) {
    if (known.process != nullptr) {
        trace::ProcessEnd end;
        end.kind = kind;
        end.lost = take_lost();
        known.process->end(end, false);
        known.process.reset();
    }
}

void MachineSession::on_sample(const StackSample& sample) {
    // Of one that is about to be gone the kernel no longer tells which it is.
    const pid_t pid = std::max(sample.pid, 0);
    AttachedProcess& process = process_of(pid, sample.time_ns);
    count_sample();
    whole_ns_ += period_ns();
    own_ns_ += pid == ::getpid() ? period_ns() : 0;
    process.add_sample(sample, period_ns());
}

void MachineSession::on_leaving(const StackSample& sample) {
    // A processor that has nothing to do is no thread, and one that has ended has no number.
    if (sample.tid > 0 && sample.pid > 0) {
        process_of(sample.pid, sample.time_ns).add_leaving(sample);
    }
}

void MachineSession::on_switch(const Switch& change) {
    const std::optional<ModuleId> waker = take_waker(change);
    if (change.tid > 0 && change.pid > 0) {
        process_of(change.pid, change.time_ns).add_switch(change, waker);
    }
}

std::uint64_t MachineSession::lose_switches() {
    std::uint64_t waits = 0;
    for (auto& [pid, of] : processes_) {
        waits += of.process == nullptr ? 0 : of.process->lose_switches();
    }
    return waits;
}

void MachineSession::on_new_code(const NewCode& code) {
    const auto found = processes_.find(code.pid);
    if (found == processes_.end()) {
        return;  // /proc will tell
    }
    Known& of = found->second;
    collector::Mapping mapping = mapping_of(code);
    // The program is the first that an exec maps.
    if (of.executable.empty() && mapping.path.starts_with('/')) {
        of.executable = mapping.path;
    }
    if (of.process != nullptr) {
        of.process->add_code(mapping);
    }
    if (of.code.size() < kMostCode) {
        of.code.push_back(std::move(mapping));
    }
}

void MachineSession::on_start(pid_t parent, pid_t pid, pid_t tid, std::uint64_t time_ns) {
    Known& maker = known_process(parent);
    if (parent == pid) {
        if (std::erase(ended_threads_, Thread{pid, tid}) +
                std::erase(over_threads_, Thread{pid, tid}) !=
            0) {
            end_thread({pid, tid});  // the number was another one's
        }
        if (options().off_cpu) {
            static_cast<void>(process_of(pid, time_ns));  // its start is told only once
        }
        if (maker.process != nullptr && !maker.process->has_thread(tid)) {
            maker.process->start_thread(tid, maker.name, 0, time_ns, ThreadSwitches::made(time_ns));
        }
        return;
    }
    Known child;
    child.parent = parent;
    child.born_ns = time_ns;
    child.name = maker.name;
    child.executable = maker.executable;
    child.code = maker.code;
    child.rights = maker.rights;
    child.is_kernel_thread = maker.is_kernel_thread;
    Known& place = processes_[pid];
    end(place, trace::EndKind::unknown);  // the number was another one's
    std::erase(ended_, pid);
    place = std::move(child);
}

void MachineSession::on_end(pid_t pid, pid_t tid, std::uint64_t /*time_ns*/) {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) {
        return;
    }
    if (found->second.process != nullptr) {
        found->second.process->end_switches(tid);
    }
    if (tid == pid) {
        if (!std::exchange(found->second.has_ended, true)) {
            ended_.push_back(pid);
        }
    } else if (found->second.process != nullptr) {
        ended_threads_.emplace_back(pid, tid);
    }
}

void MachineSession::end_thread(const Thread& thread) {
    const auto found = processes_.find(thread.first);
    if (found != processes_.end() && found->second.process != nullptr &&
        found->second.process->has_thread(thread.second)) {
        found->second.process->end_thread(thread.second);
    }
}

void MachineSession::on_name(pid_t pid, pid_t tid, std::string_view name) {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) {
        return;
    }
    if (tid == pid) {
        found->second.name = name;
    }
    if (found->second.process != nullptr) {
        found->second.process->name_thread(tid, name);
    }
}

void MachineSession::on_exec(pid_t pid, std::string_view name, std::uint64_t time_ns) {
    Known& of = known_process(pid);
    end(of, trace::EndKind::replaced);
    of.name = name;
    of.executable.clear();
    of.code.clear();
    of.born_ns = time_ns;
    of.is_kernel_thread = false;
    // If another thread than the first one has called it, that one's end came before.
    std::erase(ended_, pid);
    of.has_ended = false;
    of.is_over = false;
}

void MachineSession::housekeeping(bool /*is_second*/) {
    for (auto& [pid, of] : processes_) {
        if (of.process != nullptr) {
            of.process->settle();
        }
    }
    // Samples of the last moments come behind the record of the end: a thread is kept for one round
    // more, and a process also while other threads of it live.
    for (const Thread& thread : std::exchange(over_threads_, {})) {
        end_thread(thread);
    }
    over_threads_.swap(ended_threads_);
    std::vector<pid_t> still;
    for (const pid_t pid : ended_) {
        const auto found = processes_.find(pid);
        if (found == processes_.end() || !found->second.has_ended) {
            continue;
        }
        const bool is_alone = collector::threads_of(pid).size() <= 1;
        if (!found->second.is_over || !is_alone || !collector::has_died(pid, -1)) {
            found->second.is_over = true;
            still.push_back(pid);
            continue;
        }
        end(found->second, trace::EndKind::unknown);
        processes_.erase(found);
    }
    ended_ = std::move(still);
}

void MachineSession::end_all() {
    for (auto& [pid, of] : processes_) {
        end(of, of.has_ended ? trace::EndKind::unknown : trace::EndKind::still_running);
    }
    processes_.clear();
}

std::vector<std::string> MachineSession::own_notes() const {
    constexpr double kNsPerMs = 1e6;
    std::array<char, 128> text{};
    std::snprintf(text.data(), text.size(), "sample itself took %.1f ms of it, %.2f %%",
                  static_cast<double>(own_ns_) / kNsPerMs,
                  whole_ns_ == 0
                      ? 0.0
                      : 100.0 * static_cast<double>(own_ns_) / static_cast<double>(whole_ns_));
    return {text.data()};
}

}  // namespace sample::attach
