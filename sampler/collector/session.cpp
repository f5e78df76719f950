#include "sampler/collector/session.h"

#include "sampler/collector/proc_files.h"
#include "sampler/collector/process_end.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>

namespace sample::collector {
namespace {

constexpr int kDrainMs = 20;
constexpr std::uint64_t kDrainsASecond = 1000 / kDrainMs;
/// Of a kind in one note.
constexpr unsigned kMostNamed = 16;

trace::SessionStart session_start(const SessionOptions& options) {
    trace::SessionStart start;
    start.start_ns = monotonic_ns();
    start.start_unix_ns = realtime_ns();
    start.period = options.period();
    start.requested_hz = options.event.is_clock ? options.frequency_hz : 0;
    start.event = options.event.is_default() ? "" : options.event.name;
    start.unit = options.event.is_clock ? "" : options.event.unit;
    start.clock = options.clock;
    start.command_line = options.command_line;
    start.tool_version = options.tool_version;
    return start;
}

/// "name (pid)"
std::string describe_process(pid_t pid) {
    return thread_name_of(pid, pid) + " (" + std::to_string(pid) + ")";
}

/// What became of a process that confined itself, behind its name.
const char* describe_confinement(capture::Confinement confinement) {
    switch (confinement) {
        case capture::Confinement::none:
            break;
        case capture::Confinement::children_left_out:
            return " confined itself by seccomp to too few system calls for its children to join; "
                   "they are not in the recording";
        case capture::Confinement::unwatched:
            return " gave up rights, or its root directory, in a way that the sampling thread "
                   "could not follow; it was not watched from then on";
        case capture::Confinement::stopped:
            return " confined itself by seccomp to too few system calls for sampling, and was not "
                   "sampled from then on";
        case capture::Confinement::no_ticks:
            return " forbade itself to read the time stamp counter, and was not sampled from then "
                   "on";
        case capture::Confinement::traced:
            return " had itself traced by its parent, which each sample would have stopped it for, "
                   "and was not sampled from then on";
    }
    return " confined itself";
}

/// Each thread's event is a descriptor. The command was made before, with the limit as it was.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/// One line more for people, if there is anything to say.
void add_note(trace::SessionEnd& end, const std::string& line) {
    if (!line.empty()) {
        end.note += (end.note.empty() ? "" : "\n") + line;
    }
}

}  // namespace

Session::Session(SessionOptions options, std::unique_ptr<trace::RecordSink> sink)
    : options_{std::move(options)},
      sink_{std::move(sink)},
      recorder_{*sink_, session_start(options_)},
      throttling_{options_.frequency_hz} {}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(SessionOptions options,
                                                 std::unique_ptr<trace::RecordSink> sink) {
    if (!TickClock::is_invariant()) {
        return unexpected(ErrorCode::unsupported,
                          "this processor's time stamp counter is not invariant, so samples "
                          "could not be timed");
    }
    std::unique_ptr<Session> session{new Session{std::move(options), std::move(sink)}};
    session->finish_event_ = Fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    const int finish = session->finish_event_.get();
    auto gatekeeper = Gatekeeper::start([finish] { ::eventfd_write(finish, 1); });
    if (!gatekeeper) {
        return unexpected(gatekeeper.error());
    }
    session->gatekeeper_ = std::move(*gatekeeper);
    auto doorkeeper = Doorkeeper::open(
        {session->options_, session->clock_, *session->gatekeeper_, session->arrivals_});
    if (!doorkeeper) {
        return unexpected(doorkeeper.error());
    }
    session->doorkeeper_ = std::move(*doorkeeper);
    raise_descriptor_limit();
    return session;
}

SessionOutcome Session::run(pid_t root, Fd connected) {
    root_ = root;
    root_pidfd_ = Fd{static_cast<int>(::syscall(SYS_pidfd_open, root, 0))};
    doorkeeper_->start(root, std::move(connected));
    const std::uint64_t start = monotonic_ns();
    const auto limit = options_.time ? static_cast<std::uint64_t>(options_.time->count()) : 0;
    std::uint64_t next_drain = start;
    std::uint64_t last_second = ~std::uint64_t{0};
    while (!over_) {
        const std::uint64_t now = monotonic_ns();
        if (now >= next_drain) {
            housekeeping();
            next_drain = now + std::uint64_t{kDrainMs} * 1'000'000;
        }
        if (options_.time) {
            const std::uint64_t spent = now - start;
            if (spent >= limit) {
                break;
            }
            if (options_.on_second && spent / 1'000'000'000 != last_second) {
                last_second = spent / 1'000'000'000;
                options_.on_second(std::chrono::nanoseconds{limit - spent});
            }
        }
        const auto wait = static_cast<int>((next_drain - now + 999'999) / 1'000'000);
        poll_once(std::min(wait, kDrainMs));
    }
    return finish();
}

void Session::poll_once(int timeout_ms) {
    std::vector<pollfd> fds;
    for (const int fd :
         {arrivals_.fd(), finish_event_.get(), options_.stop_fd, root_pidfd_.get()}) {
        fds.push_back({fd, POLLIN, 0});
    }
    const std::size_t first_process = fds.size();
    for (const Live& live : processes_) {
        fds.push_back({live.pidfd.get(), POLLIN, 0});
    }
    if (::poll(fds.data(), fds.size(), timeout_ms) <= 0) {
        return;
    }
    // Deaths first: a pid that is used again must not meet its predecessor.
    std::size_t index = first_process;
    for (auto at = processes_.begin(); at != processes_.end(); ++index) {
        if (fds[index].revents != 0) {
            process_died(*at);
            at = processes_.erase(at);
        } else {
            ++at;
        }
    }
    if (fds[0].revents != 0) {
        take_arrivals();
    }
    if (fds[1].revents != 0 || fds[2].revents != 0) {
        over_ = true;
    }
    if (fds[3].revents != 0) {
        root_died();
    }
}

void Session::root_died() {
    root_ended_ = true;
    over_ = true;
}

void Session::note_confinement(Live& live) {
    const auto confinement =
        static_cast<capture::Confinement>(live.mapping->area().header.confinement.load());
    if (confinement == capture::Confinement::none) {
        return;
    }
    if (++confined_processes_ > kMostNamed) {
        return;
    }
    confined_ += (confined_.empty() ? "" : "; ") + describe_process(live.process->pid()) +
                 describe_confinement(confinement);
}

void Session::end_process(Live& live, trace::EndKind kind, int code) {
    if (live.unprofiled) {
        return;  // it has ended
    }
    const pid_t pid = live.process->pid();
    const std::uint64_t said = live.process->said_cpu_ns();
    std::optional<std::uint64_t> cpu;
    if (kind == trace::EndKind::replaced) {
        cpu = said != 0 ? said : process_cpu_ns(pid);
    } else {
        cpu = process_cpu_ns(pid);
        if (!cpu && said != 0) {
            cpu = said;
        }
    }
    // Nobody else waits for the root.
    if (pid != root_ && has_died(pid, live.pidfd.get())) {
        live.process->note_death();
    }
    note_confinement(live);
    const EventTimes times = gatekeeper_->remove(*live.mapping);
    live.process->end(kind, code, cpu, times.counted);
    if (options_.event.is_clock) {
        throttling_.add(times, live.process->samples());
    }
}

void Session::process_died(Live& live) {
    ProcessFate fate = fate_of(live.process->pid(), live.pidfd.get());
    const capture::AreaHeader& header = live.mapping->area().header;
    if (fate.kind == trace::EndKind::unknown && header.exit_known.load() != 0) {
        fate = {trace::EndKind::exited, header.exit_status.load()};
    }
    if (header.exit_known.load() == 0 && live.process->said_cpu_ns() != 0) {
        // Its last word was that it execs: what died is a program that said no Hello.
        fate = {trace::EndKind::replaced, 0};
    }
    end_process(live, fate.kind, fate.code);
    if (live.process->pid() == root_) {
        root_died();
    }
}

void Session::list_unprofiled() {
    for (const trace::UnprofiledProgram& program : unprofiled_.settle(monotonic_ns())) {
        for (Live& live : processes_) {
            if (live.process->pid() == static_cast<pid_t>(program.pid)) {
                end_process(live, trace::EndKind::replaced, 0);
                live.unprofiled = true;
            }
        }
        if (recorder_.has_begun()) {
            recorder_.sink().record(program);
        } else if (static_cast<pid_t>(program.pid) == root_) {
            why_root_is_not_ = program.reason;
        }
    }
}

void Session::housekeeping() {
    ++drains_;
    clock_.update();
    const bool is_second = drains_ % kDrainsASecond == kDrainsASecond / 2;
    if (is_second) {
        throttling_.look();
        give_way_to_tracers();
    }
    for (Live& live : processes_) {
        if (live.unprofiled) {
            continue;
        }
        live.process->drain();
        if (is_second) {
            live.process->collect_dead_threads();
            live.process->refresh_thread_names();
            live.process->measure_memory();
        }
    }
    bury_the_dead();
    gatekeeper_->close_ended_events();
    list_unprofiled();
    recorder_.flush(trace::FlushMode::worthwhile);
    if (recorder_.failure()) {
        doorkeeper_->turn_all_away();
        over_ = true;
    }
}

void Session::bury_the_dead() {
    for (auto at = processes_.begin(); at != processes_.end();) {
        if (has_died(at->process->pid(), at->pidfd.get())) {
            process_died(*at);
            at = processes_.erase(at);
        } else {
            ++at;
        }
    }
    if (has_died(root_, root_pidfd_.get())) {
        root_died();
    }
}

void Session::give_way_to_tracers() {
    for (const Live& live : processes_) {
        const pid_t pid = live.process->pid();
        const bool by_own = live.mapping->area().header.traced.load() != 0;
        was_traced_ = was_traced_ || by_own;
        if (live.process->identity().source == "sigtrap" || by_own) {
            const bool traced = is_traced(pid);
            was_traced_ = (gatekeeper_->hold(*live.mapping, traced) && traced) || was_traced_;
        }
    }
}

SessionOutcome Session::finish() {
    SessionOutcome outcome;
    doorkeeper_->close();
    take_arrivals();
    bury_the_dead();
    list_unprofiled();
    // A root that waits for us at its exit has said how it ends.
    std::string left;
    for (Live& live : processes_) {
        const capture::AreaHeader& header = live.mapping->area().header;
        if (header.exit_known.load() != 0) {
            end_process(live, trace::EndKind::exited, header.exit_status.load());
            root_ended_ = root_ended_ || live.process->pid() == root_;
        } else {
            if (live.process->pid() != root_) {
                if (++outcome.descendants_left <= kMostNamed) {
                    left += (left.empty() ? "" : ", ") + describe_process(live.process->pid());
                }
            }
            end_process(live, trace::EndKind::still_running, 0);
        }
        live.mapping->area().header.stopped.store(1);
    }
    gatekeeper_->remove_all();
    outcome.root_ended = root_ended_;
    outcome.is_empty = !recorder_.has_begun();
    outcome.why_empty = why_empty();
    trace::SessionEnd end;
    end.end_ns = monotonic_ns();
    end.stopped_early = !root_ended_ || outcome.descendants_left != 0;
    note_what_is_missing(end, outcome, left);
    processes_.clear();
    if (const auto finished = recorder_.finish(end); !finished) {
        outcome.failure = finished.error();
    }
    return outcome;
}

void Session::note_what_is_missing(trace::SessionEnd& end, const SessionOutcome& outcome,
                                   const std::string& left) {
    if (outcome.descendants_left != 0 && root_ended_) {
        add_note(end, "still running when the command ended, recorded until then: " + left +
                          (outcome.descendants_left > kMostNamed ? ", …" : ""));
    }
    add_note(end, confined_);
    if (confined_processes_ > kMostNamed) {
        add_note(end, std::to_string(confined_processes_ - kMostNamed) +
                          " more processes confined themselves by seccomp");
    }
    throttling_.look();
    add_note(end, throttling_.note(kernel_excluded_));
    if (doorkeeper_->threads_without_event() != 0) {
        add_note(end, std::to_string(doorkeeper_->threads_without_event()) +
                          " threads could not be sampled for want of descriptors: raise the hard "
                          "limit, ulimit -Hn");
    }
    if (doorkeeper_->was_late()) {
        add_note(end,
                 "processes that began while `sample` did not answer (it was stopped, or got no "
                 "processor) are not in the recording: nothing waits longer than 0.1 s for it");
    }
    if (was_traced_) {
        add_note(end,
                 "not sampled while a debugger or tracer was attached, which would have stopped at "
                 "each sample: with one that is not profiled itself, --source perf or thread goes "
                 "on");
    }
    if (unprofiled_.overlooked() != 0) {
        add_note(end, std::to_string(unprofiled_.overlooked()) +
                          " programs that cannot be profiled are not listed: too many at once");
    }
    for (const std::string& note : recorder_.notes()) {
        add_note(end, note);
    }
}

std::string Session::why_empty() const {
    if (recorder_.failure()) {
        return recorder_.failure()->message();
    }
    if (!doorkeeper_->refusal().empty()) {
        return doorkeeper_->refusal();
    }
    if (!why_root_is_not_.empty()) {
        return why_root_is_not_;
    }
    if (doorkeeper_->has_met_anybody()) {
        return "the agent could not be set up in it; what it said is above";
    }
    return root_ended_ ? "the command ended before libsample.so was set up in it: its loader or a "
                         "library's constructor ended it (what it said is above), or it does not "
                         "load what LD_PRELOAD names"
                       : "the command had not loaded libsample.so yet";
}

std::map<ModuleId, std::string> Session::module_files() const {
    std::map<ModuleId, std::string> files;
    for (const auto& [module, file] : recorder_.kept_files()) {
        files.emplace(module, "/proc/self/fd/" + std::to_string(file.get()));
    }
    return files;
}

std::map<ModuleId, std::shared_ptr<const FileRights>> Session::module_readers() const {
    return recorder_.readers();
}

void Session::release_root() {
    if (root_mapping_ != nullptr) {
        capture::AreaHeader& header = root_mapping_->area().header;
        header.finish_ack.store(1, std::memory_order_release);
        ::syscall(SYS_futex, &header.finish_ack, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
}

}  // namespace sample::collector
