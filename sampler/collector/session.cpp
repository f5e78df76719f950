#include "sampler/collector/session.h"

#include "sampler/collector/messages.h"
#include "sampler/collector/proc_files.h"
#include "sampler/collector/process_end.h"

#include <linux/futex.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>

namespace sample::collector {
namespace {

constexpr int kDrainMs = 20;
constexpr std::uint64_t kDrainsASecond = 1000 / kDrainMs;

std::string random_name() {
    std::array<unsigned char, 8> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        const std::uint64_t fallback = monotonic_ns() ^ static_cast<std::uint64_t>(::getpid())
                                                            << 32U;
        std::memcpy(bytes.data(), &fallback, sizeof fallback);
    }
    std::string name = "sample-";
    for (const unsigned char byte : bytes) {
        constexpr const char* kDigits = "0123456789abcdef";
        name += kDigits[byte >> 4U];
        name += kDigits[byte & 15U];
    }
    return name;
}

trace::SessionStart session_start(const SessionOptions& options) {
    trace::SessionStart start;
    start.start_ns = monotonic_ns();
    start.start_unix_ns = realtime_ns();
    start.period_ns = options.period();
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

Session::Session(SessionOptions options, Fd recording)
    : options_{std::move(options)},
      name_{random_name()},
      spare_area_{options_.period(), options_.max_stack},
      recorder_{std::move(recording), session_start(options_)},
      throttling_{options_.frequency_hz} {}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(SessionOptions options, Fd recording) {
    if (!TickClock::is_invariant()) {
        return unexpected(ErrorCode::unsupported,
                          "this processor's time stamp counter is not invariant, so samples "
                          "could not be timed");
    }
    raise_descriptor_limit();
    std::unique_ptr<Session> session{new Session{std::move(options), std::move(recording)}};
    if (const auto listening = session->listen(); !listening) {
        return unexpected(listening.error());
    }
    session->finish_event_ = Fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    const int finish = session->finish_event_.get();
    auto gatekeeper = Gatekeeper::start([finish] { ::eventfd_write(finish, 1); });
    if (!gatekeeper) {
        return unexpected(gatekeeper.error());
    }
    session->gatekeeper_ = std::move(*gatekeeper);
    return session;
}

Result<void> Session::listen() {
    listener_ = Fd{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data(), name_.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    if (!listener_.is_open() ||
        ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(listener_.get(), SOMAXCONN) != 0) {
        return unexpected(Error::from_errno("cannot listen for the profiled processes"));
    }
    return {};
}

void Session::adopt_connection(Fd socket) {
    root_waits_ = true;
    connections_.push_back({std::move(socket), 0, {}, {}, {}});
}

SessionOutcome Session::run(pid_t root) {
    root_ = root;
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
        spare_area_.prepare(clock_.ticks_per_ns());
    }
    return finish();
}

void Session::poll_once(int timeout_ms) {
    std::vector<pollfd> fds;
    fds.push_back({listener_.get(), POLLIN, 0});
    fds.push_back({finish_event_.get(), POLLIN, 0});
    fds.push_back({options_.wake_fd, POLLIN, 0});
    for (const Connection& connection : connections_) {
        fds.push_back({connection.socket.get(), POLLIN, 0});
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
    index = 3;
    for (auto at = connections_.begin(); at != connections_.end(); ++index) {
        at = fds[index].revents != 0 && !serve(*at) ? connections_.erase(at) : std::next(at);
    }
    if (fds[0].revents != 0) {
        accept_connections();
    }
    if (fds[1].revents != 0) {
        over_ = true;
    }
    if (fds[2].revents != 0 && options_.on_wake && options_.on_wake()) {
        over_ = true;
    }
}

void Session::note_confinement(Live& live) {
    const auto confinement =
        static_cast<capture::Confinement>(live.mapping->area().header.confinement.load());
    if (confinement == capture::Confinement::none) {
        return;
    }
    confined_ += (confined_.empty() ? "" : "; ") + describe_process(live.process->pid());
    confined_ += confinement == capture::Confinement::stopped
                     ? " confined itself by seccomp to too few system calls for sampling, and was "
                       "not sampled from then on"
                     : " confined itself by seccomp to too few system calls for its children to "
                       "join; they are not in the recording";
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
    note_confinement(live);
    const EventTimes times = gatekeeper_->remove(pid);
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
        root_ended_ = true;
        over_ = true;
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
            recorder_.writer().unprofiled(program);
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
    gatekeeper_->close_ended_events();
    list_unprofiled();
    recorder_.flush(trace::FlushMode::worthwhile);
    if (recorder_.failure()) {
        over_ = true;
    }
}

void Session::give_way_to_tracers() {
    for (const Live& live : processes_) {
        const pid_t pid = live.process->pid();
        if (live.process->identity().source == "sigtrap") {
            const bool traced = is_traced(pid);
            was_traced_ = (gatekeeper_->hold(pid, traced) && traced) || was_traced_;
        }
    }
}

SessionOutcome Session::finish() {
    SessionOutcome outcome;
    listener_.reset();
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
                ++outcome.descendants_left;
                left += (left.empty() ? "" : ", ") + describe_process(live.process->pid());
            }
            end_process(live, trace::EndKind::still_running, 0);
        }
        live.mapping->area().header.stopped.store(1);
    }
    gatekeeper_->remove_all();
    outcome.root_ended = root_ended_;
    outcome.anyone_profiled = anyone_profiled_;
    trace::SessionEnd end;
    end.end_ns = monotonic_ns();
    end.stopped_early = !root_ended_ || outcome.descendants_left != 0;
    if (outcome.descendants_left != 0 && root_ended_) {
        add_note(end, "still running when the command ended, recorded until then: " + left);
    }
    add_note(end, confined_);
    throttling_.look();
    add_note(end, throttling_.note(kernel_excluded_));
    if (threads_without_event_ != 0) {
        add_note(end, std::to_string(threads_without_event_) +
                          " threads could not be sampled for want of descriptors: raise the hard "
                          "limit, ulimit -Hn");
    }
    if (was_traced_) {
        add_note(end,
                 "not sampled while a debugger or tracer was attached, which would have stopped at "
                 "each SIGTRAP: --source perf or thread goes on");
    }
    for (const std::string& note : recorder_.notes()) {
        add_note(end, note);
    }
    processes_.clear();
    if (const auto finished = recorder_.finish(end); !finished) {
        outcome.failure = finished.error();
    }
    return outcome;
}

std::map<ModuleId, std::string> Session::module_files() const {
    std::map<ModuleId, std::string> files;
    for (const auto& [module, file] : recorder_.kept_files()) {
        files.emplace(module, "/proc/self/fd/" + std::to_string(file.get()));
    }
    return files;
}

void Session::release_root() {
    if (root_mapping_ != nullptr) {
        capture::AreaHeader& header = root_mapping_->area().header;
        header.finish_ack.store(1, std::memory_order_release);
        ::syscall(SYS_futex, &header.finish_ack, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
}

}  // namespace sample::collector
