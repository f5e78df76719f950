#include "sampler/attach/attach_session.h"

#include "sampler/attach/target_process.h"
#include "sampler/collector/own_limits.h"
#include "sampler/collector/process/proc_files.h"

#include <elf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace sample::attach {
namespace {

Fd open_pidfd(pid_t pid) {
    return Fd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
}

std::uint64_t image_of(pid_t pid) {
    return collector::auxiliary_value(pid, AT_RANDOM).value_or(0);
}

}  // namespace

AttachSession::AttachSession(collector::SessionOptions options,
                             std::unique_ptr<trace::RecordSink> sink)
    : OutsideSession{std::move(options), std::move(sink), Watching::threads},
      counts_{period_ns()} {}

Result<std::unique_ptr<AttachSession>> AttachSession::create(
    collector::SessionOptions options, const std::vector<pid_t>& pids,
    std::unique_ptr<trace::RecordSink> sink) {
    for (const pid_t pid : pids) {
        SAMPLE_CHECK(check_target(pid));
    }
    collector::raise_descriptor_limit();
    std::unique_ptr<AttachSession> session{new AttachSession{std::move(options), std::move(sink)}};
    for (const pid_t pid : pids) {
        SAMPLE_CHECK(session->attach(pid));
    }
    if (session->options().children) {
        session->attach_descendants(pids);
    }
    return session;
}

void AttachSession::attach_descendants(const std::vector<pid_t>& pids) {
    for (const pid_t child : descendants_of(pids)) {
        // They come and go, and may be others' (sudo): what can be watched is.
        if (find(child) == nullptr && check_target(child)) {
            unwatched_threads_ += attach(child) ? 0 : 1;
        }
    }
}

AttachSession::Watched* AttachSession::find(pid_t pid) {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? nullptr : &found->second;
}

AttachSession::Watched& AttachSession::add(collector::ProcessIdentity identity, Fd pidfd,
                                           bool is_target) {
    const pid_t pid = identity.pid;
    Watched& watched = processes_[pid];
    watched.process = std::make_unique<AttachedProcess>(std::move(identity), around());
    watched.pidfd = std::move(pidfd);
    watched.is_target = is_target;
    watched.image = image_of(pid);
    return watched;
}

Result<void> AttachSession::attach(pid_t pid) {
    Fd pidfd = open_pidfd(pid);
    // One that can't be watched leaves no trace in the recording.
    SAMPLE_CHECK(find_threads(pid));
    around().sampling.kernel_excluded = watch().excludes_kernel();
    recording().begin(trace::kAttachSource, "");
    // What it does until here is in no figure: opening events may have taken a while, if others
    // wanted the processors, too.
    drain(kMost);
    collector::ProcessIdentity identity = identity_of(pid);
    identity.carried_cpu_ns = collector::process_cpu_ns(pid).value_or(0);
    AttachedProcess& process = *add(std::move(identity), std::move(pidfd), true).process;
    for (const pid_t tid : collector::threads_of(pid)) {
        begin_thread(process, tid);
    }
    process.read_mappings();
    return {};
}

void AttachSession::begin_thread(AttachedProcess& process, pid_t tid) {
    if (!process.has_thread(tid)) {
        const std::uint64_t now = collector::monotonic_ns();
        process.start_thread(tid, collector::thread_name_of(process.pid(), tid),
                             collector::thread_cpu_ns(process.pid(), tid), now,
                             ThreadSwitches::watched(now));
    }
}

Result<void> AttachSession::find_threads(pid_t pid) {
    constexpr int kMostRounds = 10;
    for (int round = 0; round < kMostRounds; ++round) {
        std::vector<pid_t> unknown = collector::threads_of(pid);
        if (watch().has_begun()) {
            // Those that threads under watch have made meanwhile are known by their records.
            drain(kMost);
        } else if (unknown.empty()) {
            unknown.push_back(pid);  // it has ended, as the kernel will say
        }
        std::erase_if(unknown, [this](pid_t tid) { return watch().knows(tid); });
        if (unknown.empty()) {
            return {};
        }
        for (const pid_t tid : unknown) {
            if (const Result<void> watched = watch().watch(tid); !watched) {
                return unexpected(explain_refusal(pid, watched.error()));
            }
            if (Watched* const known = find(pid); known != nullptr) {
                begin_thread(*known->process, tid);
            }
        }
    }
    return {};
}

void AttachSession::on_sample(const StackSample& sample) {
    const std::uint64_t weight_ns = counts_.weight_of(sample);
    if (Watched* const watched = find(sample.pid); watched != nullptr) {
        count_sample();
        watched->process->add_sample(sample, weight_ns);
    }
}

void AttachSession::on_leaving(const StackSample& sample) {
    if (Watched* const watched = find(sample.pid); watched != nullptr) {
        watched->process->add_leaving(sample);
    }
}

void AttachSession::on_switch(const Switch& change) {
    const std::optional<ModuleId> waker = take_waker(change);
    if (Watched* const watched = find(change.pid); watched != nullptr) {
        watched->process->add_switch(change, waker);
    }
}

std::uint64_t AttachSession::lose_switches() {
    std::uint64_t waits = 0;
    for (auto& [pid, watched] : processes_) {
        waits += watched.process->lose_switches();
    }
    return waits;
}

void AttachSession::on_new_code(const NewCode& code) {
    if (Watched* const watched = find(code.pid); watched != nullptr) {
        watched->process->add_code(mapping_of(code));
    }
}

void AttachSession::on_start(pid_t parent, pid_t pid, pid_t tid, std::uint64_t time_ns) {
    if (parent == pid || options().children) {
        watch().add_known(tid);
    }
    Watched* const maker = find(parent);
    if (maker == nullptr) {
        return;
    }
    if (parent != pid) {
        add_fork(*maker, pid, time_ns);
        return;
    }
    if (!maker->process->has_thread(tid)) {
        std::string name = collector::thread_name_of(pid, tid);
        maker->process->start_thread(tid, name.empty() ? maker->process->name_of_thread(pid) : name,
                                     0, time_ns, ThreadSwitches::made(time_ns));
    }
}

void AttachSession::add_fork(Watched& parent, pid_t pid, std::uint64_t time_ns) {
    if (!options().children || find(pid) != nullptr) {
        return;
    }
    collector::ProcessIdentity identity = parent.process->identity();
    identity.parent = identity.pid;
    identity.pid = pid;
    identity.carried_cpu_ns = 0;
    identity.inherited = {};
    const std::string name = parent.process->name_of_thread(identity.parent);
    AttachedProcess& child = *add(std::move(identity), open_pidfd(pid), false).process;
    child.inherit(parent.process->code());
    child.start_thread(pid, name, 0, time_ns, ThreadSwitches::made(time_ns));
}

void AttachSession::on_end(pid_t pid, pid_t tid, std::uint64_t /*time_ns*/) {
    watch().forget(tid);
    counts_.forget(tid);
    Watched* const watched = find(pid);
    if (watched != nullptr && tid != pid) {
        watched->process->end_thread(tid);
    }
}

void AttachSession::on_name(pid_t pid, pid_t tid, std::string_view name) {
    if (Watched* const watched = find(pid); watched != nullptr) {
        watched->process->name_thread(tid, name);
    }
}

void AttachSession::on_exec(pid_t pid, std::string_view name, std::uint64_t time_ns) {
    Watched* const before = find(pid);
    if (before == nullptr) {
        return;
    }
    // If another thread than the first one has called it, that one's end came before.
    watch().add_known(pid);
    counts_.exec(pid);
    trace::ProcessEnd end;
    end.kind = trace::EndKind::replaced;
    before->process->end(end, true);
    collector::ProcessIdentity identity = identity_of(pid);
    if (identity.executable.empty()) {
        identity.executable = name;  // it has ended by now
        identity.parent = before->process->identity().parent;
    }
    identity.carried_cpu_ns = before->process->accounted_cpu_ns();
    before->process = std::make_unique<AttachedProcess>(std::move(identity), around());
    before->process->start_thread(pid, std::string{name}, 0, time_ns, ThreadSwitches{});
    before->process->read_mappings();
    before->image = image_of(pid);
}

void AttachSession::find_execs() {
    for (auto& [pid, watched] : processes_) {
        if (const std::uint64_t image = image_of(pid); image != 0 && image != watched.image) {
            on_exec(pid, collector::thread_name_of(pid, pid), collector::monotonic_ns());
        }
    }
}

void AttachSession::housekeeping(bool is_second) {
    take_deaths();
    for (auto& [pid, watched] : processes_) {
        watched.process->settle();
    }
    adapt_copies();
    if (is_second) {
        for (auto& [pid, watched] : processes_) {
            const auto threads = collector::threads_of(pid);
            const bool is_one_unknown = std::any_of(
                threads.begin(), threads.end(), [this](pid_t tid) { return !watch().knows(tid); });
            if (is_one_unknown && !find_threads(pid)) {
                ++unwatched_threads_;
            }
        }
    }
}

void AttachSession::adapt_copies() {
    // To begin anew with many threads takes long, and what they do meanwhile is not sampled.
    constexpr std::size_t kMostThreads = 128;
    most_of_stack_ = std::max(most_of_stack_, watch().stack_bytes());
    const auto size = around().copies.change(watch().stack_bytes(), most_of_stack_);
    const bool is_worth_it =
        size && (*size > watch().stack_bytes() || watch().known_threads() <= kMostThreads);
    if (!is_worth_it) {
        return;
    }
    const collector::InFront in_front;
    watch().stop();
    drain(kMost);
    const std::uint64_t stopped_ns = collector::monotonic_ns();
    if (options().off_cpu) {
        for (auto& [pid, watched] : processes_) {
            watched.process->pause_watching();
        }
    }
    watch().begin_anew(*size);
    counts_ = ThreadCounts{period_ns()};  // new events begin with 0
    std::vector<pid_t> pids;
    for (const auto& [pid, watched] : processes_) {
        pids.push_back(pid);
    }
    for (const pid_t pid : pids) {
        unwatched_threads_ += find_threads(pid) ? 0 : 1;
    }
    if (options().children) {
        attach_descendants(pids);
    }
    find_execs();
    if (options().off_cpu) {
        for (auto& [pid, watched] : processes_) {
            watched.process->go_on_watching(stopped_ns);
        }
    }
}

void AttachSession::take_deaths() {
    const auto is_dead = [](const auto& entry) {
        return collector::has_died(entry.first, entry.second.pidfd.get());
    };
    if (std::none_of(processes_.begin(), processes_.end(), is_dead)) {
        return;
    }
    // What they did last is in the rings by now.
    std::vector<pid_t> dead;
    for (const auto& entry : processes_) {
        if (is_dead(entry)) {
            dead.push_back(entry.first);
        }
    }
    drain(kMost);
    for (const pid_t pid : dead) {
        end(processes_.at(pid));
        processes_.erase(pid);
    }
}

void AttachSession::end(Watched& watched) {
    trace::ProcessEnd end;
    end.kind = trace::EndKind::still_running;
    if (collector::has_died(watched.process->pid(), watched.pidfd.get())) {
        const collector::ProcessFate fate =
            collector::fate_of(watched.process->pid(), watched.pidfd.get());
        end.kind = fate.kind;
        end.code = fate.code;
    }
    // Which process they were of is not known.
    end.lost = take_lost();
    watched.process->end(end, false);
}

bool AttachSession::have_all_ended() const {
    return std::none_of(processes_.begin(), processes_.end(), [this](const auto& entry) {
        return entry.second.is_target || options().children;
    });
}

std::vector<int> AttachSession::wakers() const {
    std::vector<int> fds;
    for (const auto& [pid, watched] : processes_) {
        fds.push_back(watched.pidfd.get());
    }
    return fds;
}

void AttachSession::end_all() {
    for (auto& [pid, watched] : processes_) {
        end(watched);
    }
    processes_.clear();
}

std::vector<std::string> AttachSession::own_notes() const {
    if (unwatched_threads_ == 0) {
        return {};
    }
    return {
        "some threads or child processes could not be watched: as root more can; raise the "
        "hard limit of descriptors (ulimit -Hn) for thousands of threads"};
}

}  // namespace sample::attach
