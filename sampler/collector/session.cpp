#include "sampler/collector/session.h"

#include "sampler/collector/process/proc_files.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace sample::collector {
namespace {

constexpr int kDrainMs = 20;
constexpr std::uint64_t kDrainsASecond = 1000 / kDrainMs;

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

/// Each thread's event is a descriptor. The command was made before, with the limit as it was.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

}  // namespace

Session::Session(SessionOptions options, std::unique_ptr<trace::RecordSink> sink,
                 std::unique_ptr<Gatekeeper> gatekeeper, Fd finish_event)
    : options_{std::move(options)},
      sink_{std::move(sink)},
      recorder_{*sink_, session_start(options_)},
      throttling_{options_.frequency_hz},
      finish_event_{std::move(finish_event)},
      gatekeeper_{std::move(gatekeeper)},
      processes_{{recorder_, clock_, *gatekeeper_, throttling_, notes_, options_.event.is_clock}},
      welcome_{arrivals_, processes_, recorder_, notes_} {}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(SessionOptions options,
                                                 std::unique_ptr<trace::RecordSink> sink) {
    if (!TickClock::is_invariant()) {
        return unexpected(ErrorCode::unsupported,
                          "this processor's time stamp counter is not invariant, so samples "
                          "could not be timed");
    }
    Fd finish_event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    const int finish = finish_event.get();
    auto gatekeeper = Gatekeeper::start([finish] { ::eventfd_write(finish, 1); });
    if (!gatekeeper) {
        return unexpected(gatekeeper.error());
    }
    std::unique_ptr<Session> session{new Session{std::move(options), std::move(sink),
                                                 std::move(*gatekeeper), std::move(finish_event)}};
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
    processes_.set_root(root);
    doorkeeper_->start(root, std::move(connected));
    const std::uint64_t start = monotonic_ns();
    const auto limit = options_.time ? static_cast<std::uint64_t>(options_.time->count()) : 0;
    std::uint64_t next_drain = start;
    std::uint64_t last_second = ~std::uint64_t{0};
    while (!over_ && !processes_.has_root_ended()) {
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
    for (const int fd : {arrivals_.fd(), finish_event_.get(), options_.stop_fd}) {
        fds.push_back({fd, POLLIN, 0});
    }
    const std::size_t first_process = fds.size();
    processes_.append_to(fds);
    if (::poll(fds.data(), fds.size(), timeout_ms) <= 0) {
        return;
    }
    // Deaths first: a pid that is used again must not meet its predecessor.
    processes_.take_deaths(&fds[first_process]);
    if (fds[0].revents != 0) {
        welcome_.take_arrivals();
    }
    over_ = over_ || fds[1].revents != 0 || fds[2].revents != 0;
}

void Session::housekeeping() {
    ++drains_;
    clock_.update();
    const bool is_second = drains_ % kDrainsASecond == kDrainsASecond / 2;
    if (is_second) {
        throttling_.look();
        processes_.give_way_to_tracers();
    }
    processes_.drain(is_second);
    processes_.bury_the_dead();
    gatekeeper_->close_ended_events();
    welcome_.list_unprofiled();
    recorder_.flush(trace::FlushMode::worthwhile);
    if (recorder_.failure()) {
        doorkeeper_->turn_all_away();
        over_ = true;
    }
}

SessionOutcome Session::finish() {
    doorkeeper_->close();
    welcome_.take_arrivals();
    processes_.bury_the_dead();
    welcome_.list_unprofiled();
    processes_.end_all();
    gatekeeper_->remove_all();
    SessionOutcome outcome;
    outcome.root_ended = processes_.has_root_ended();
    outcome.descendants_left = notes_.left();
    outcome.is_empty = !recorder_.has_begun();
    outcome.why_empty = why_empty();
    const bool stopped_early = !outcome.root_ended || outcome.descendants_left != 0;
    if (const auto finished = recorder_.finish({monotonic_ns(), stopped_early, note()});
        !finished) {
        outcome.failure = finished.error();
    }
    return outcome;
}

std::string Session::note() {
    throttling_.look();
    notes_.add(throttling_.note(notes_.is_kernel_excluded()));
    notes_.add(doorkeeper_->threads_without_event(),
               " threads could not be sampled for want of descriptors: raise the hard limit, "
               "ulimit -Hn");
    if (doorkeeper_->was_late()) {
        notes_.add(
            "processes that began while `sample` did not answer (it was stopped, or got no "
            "processor) are not in the recording: nothing waits longer than 0.1 s for it");
    }
    notes_.add(welcome_.overlooked(),
               " programs that cannot be profiled are not listed: too many at once");
    for (const std::string& note : recorder_.notes()) {
        notes_.add(note);
    }
    return notes_.text(processes_.has_root_ended());
}

std::string Session::why_empty() const {
    if (recorder_.failure()) {
        return recorder_.failure()->message();
    }
    if (!doorkeeper_->refusal().empty()) {
        return doorkeeper_->refusal();
    }
    if (!welcome_.why_root_is_not().empty()) {
        return welcome_.why_root_is_not();
    }
    if (doorkeeper_->has_met_anybody()) {
        return "the agent could not be set up in it; what it said is above";
    }
    return processes_.has_root_ended()
               ? "the command ended before libsample.so was set up in it: its loader or a "
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

}  // namespace sample::collector
