#include "sampler/collector/session.h"

#include "core/text.h"
#include "sampler/capture/channel_table.h"
#include "sampler/collector/own_limits.h"
#include "sampler/collector/process/proc_files.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace sample::collector {
namespace {

constexpr int kDrainMs = 20;
constexpr std::uint64_t kDrainsASecond = 1000 / kDrainMs;

}  // namespace

Session::Session(SessionOptions options, std::unique_ptr<trace::RecordSink> sink,
                 std::unique_ptr<Gatekeeper> gatekeeper, Fd finish_event, Fd request_event)
    : options_{std::move(options)},
      sink_{std::move(sink)},
      recorder_{*sink_, options_.start_now()},
      throttling_{options_.frequency_hz},
      finish_event_{std::move(finish_event)},
      request_event_{std::move(request_event)},
      pace_{options_.frequency_hz, options_.channels},
      gatekeeper_{std::move(gatekeeper)},
      one_shots_{*gatekeeper_, options_.expiry_period()},
      unprofiled_{recorder_},
      processes_{{recorder_, clock_, *gatekeeper_, throttling_, one_shots_, notes_, unprofiled_,
                  options_, pace_}},
      welcome_{arrivals_, processes_, unprofiled_, recorder_, notes_} {
    if (options_.delay.count() != 0) {
        recorder_.hold_back();
    }
}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::create(SessionOptions options,
                                                 std::unique_ptr<trace::RecordSink> sink) {
    if (!TickClock::is_invariant()) {
        return unexpected(ErrorCode::unsupported,
                          "this processor's time stamp counter is not invariant, so samples "
                          "could not be timed");
    }
    Fd finish_event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    Fd request_event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    const int finish = finish_event.get();
    const int request = request_event.get();
    auto gatekeeper = Gatekeeper::start([finish] { ::eventfd_write(finish, 1); },
                                        [request] { ::eventfd_write(request, 1); });
    if (!gatekeeper) {
        return unexpected(gatekeeper.error());
    }
    std::unique_ptr<Session> session{new Session{std::move(options), std::move(sink),
                                                 std::move(*gatekeeper), std::move(finish_event),
                                                 std::move(request_event)}};
    session->open_control();
    auto doorkeeper = Doorkeeper::open({session->options_, session->clock_, *session->gatekeeper_,
                                        session->arrivals_, session->pace_,
                                        session->control_ ? session->control_->path() : ""});
    if (!doorkeeper) {
        return unexpected(doorkeeper.error());
    }
    session->doorkeeper_ = std::move(*doorkeeper);
    raise_descriptor_limit();
    return session;
}

void Session::open_control() {
    if (!options_.is_controlled) {
        return;
    }
    auto control = ControlService::open(options_.recording);
    if (control) {
        control_ = std::move(*control);
    } else {
        notes_.add("the session could not be controlled from outside: " +
                   control.error().message());
    }
}

bool Session::keep_time(std::uint64_t now_ns) {
    if (!recorder_.has_begun_sampling() && now_ns >= start_ns_) {
        processes_.begin_sampling();
        unprofiled_.begin_sampling();
        before_delay_ = recorder_.earlier();
        if (const auto postponed = std::exchange(postponed_, std::nullopt)) {
            follow(*postponed);
        }
    }
    if (pollfd starter{starter_.get(), POLLIN, 0};
        starter_.is_open() && ::poll(&starter, 1, 0) > 0) {
        set_state(State::stopped);
    }
    if (!countdown_ || now_ns < start_ns_) {
        return true;
    }
    if (now_ns >= countdown_->end_ns) {
        if (countdown_->ends_session) {
            return false;
        }
        set_state(State::stopped);
        return true;
    }
    const std::uint64_t left = countdown_->end_ns - now_ns;
    if (const std::uint64_t second = left / 1'000'000'000;
        options_.on_second && second != countdown_->told_second) {
        countdown_->told_second = second;
        options_.on_second(std::chrono::nanoseconds{left});
    }
    return true;
}

void Session::watch_unprofiled(pid_t root) {
    if (options_.children && options_.event.is_clock && options_.clock == trace::Clock::cpu) {
        unprofiled_.watch(root);
    }
}

SessionOutcome Session::run(pid_t root, Fd connected) {
    processes_.set_root(root);
    watch_unprofiled(root);
    if (options_.starts_off) {
        set_state(State::stopped);
    }
    doorkeeper_->start(root, std::move(connected));
    yield_to_programs();
    start_ns_ = monotonic_ns() + static_cast<std::uint64_t>(options_.delay.count());
    if (options_.time) {
        countdown_ =
            Countdown{start_ns_ + static_cast<std::uint64_t>(options_.time->count()), true};
    }
    std::uint64_t next_drain = 0;  // at once
    while (!over_ && !processes_.has_root_ended()) {
        const std::uint64_t now = monotonic_ns();
        if (now >= next_drain) {
            housekeeping();
            next_drain = now + std::uint64_t{kDrainMs} * 1'000'000;
        }
        has_run_out_ = !keep_time(now);
        if (has_run_out_) {
            break;
        }
        const std::uint64_t next = now < start_ns_ ? std::min(next_drain, start_ns_) : next_drain;
        const auto wait = static_cast<int>((next - now + 999'999) / 1'000'000);
        poll_once(std::min(wait, kDrainMs));
    }
    return finish();
}

void Session::poll_once(int timeout_ms) {
    std::vector<pollfd> fds;
    for (const int fd : {arrivals_.fd(), finish_event_.get(), options_.stop_fd,
                         request_event_.get(), control_ ? control_->fd() : -1}) {
        fds.push_back({fd, POLLIN, 0});
    }
    const std::size_t first_process = fds.size();
    processes_.append_to(fds);
    if (::poll(fds.data(), fds.size(), timeout_ms) > 0) {
        // Deaths first: a pid that is used again must not meet its predecessor.
        processes_.take_deaths(&fds[first_process]);
        over_ = over_ || fds[1].revents != 0 || fds[2].revents != 0;
        welcome_.take_arrivals();
        if (fds[3].revents != 0 || fds[4].revents != 0) {
            take_requests();
        }
        return;
    }
    welcome_.take_arrivals();
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
    welcome_.list_unprofiled(UnprofiledPrograms::Heard::up_to_a_moment_ago);
    unprofiled_.look(monotonic_ns(), [this] {
        welcome_.take_arrivals();
        processes_.bury_the_dead();
    });
    if (recorder_.has_begun() && options_.samples && options_.event.is_clock) {
        price_.find_out(control::source_named(recorder_.source()), options_.frequency_hz);
        slow_down_if_dear();
    }
    recorder_.flush(trace::FlushMode::worthwhile);
    if (recorder_.failure()) {
        doorkeeper_->turn_all_away();
        over_ = true;
    }
}

SessionOutcome Session::finish() {
    doorkeeper_->close();
    control_.reset();
    welcome_.take_arrivals();
    processes_.bury_the_dead();
    welcome_.list_unprofiled(UnprofiledPrograms::Heard::everything);
    unprofiled_.finish();
    note_strangers_left();
    processes_.end_all();
    gatekeeper_->remove_all();
    SessionOutcome outcome;
    outcome.root_ended = processes_.has_root_ended();
    outcome.descendants_left = notes_.left();
    outcome.is_empty = !recorder_.has_begun();
    outcome.why_empty = why_empty();
    const bool stopped_early = !outcome.root_ended || outcome.descendants_left != 0;
    trace::SessionEnd end;
    end.end_ns = recorder_.not_before_start(monotonic_ns());
    end.stopped_early = stopped_early;
    end.note = note();
    end.handler_p99_ns = clock_.ns_of(percentile_99(recorder_.handler_times()));
    price_.tell(end, clock_.ns_of(usual_time(recorder_.handler_times())));
    if (const auto finished = recorder_.finish(end); !finished) {
        outcome.failure = finished.error();
    }
    return outcome;
}

void Session::note_strangers_left() {
    if (!processes_.has_root_ended() || !options_.children) {
        return;
    }
    // The session's name in it, which the agent hands to all that the program starts.
    for (const pid_t pid : processes_after(processes_.root(), doorkeeper_->name())) {
        if (pid != ::getpid() && processes_.find(pid) == nullptr) {
            notes_.left_running(pid);
        }
    }
}

std::string Session::note() {
    throttling_.look();
    notes_.add(note_on_delay());
    notes_.add(note_on_control());
    notes_.add(throttling_.note(notes_.is_kernel_excluded()));
    notes_.add(one_shots_.note());
    notes_.add(doorkeeper_->threads_without_event(),
               " threads could not be sampled for want of descriptors: raise the hard limit, "
               "ulimit -Hn");
    if (doorkeeper_->was_late()) {
        notes_.add(
            "processes that began while `sample` did not answer (it was stopped, or got no "
            "processor) are not in the recording: nothing waits longer than 0.1 s for it");
    }
    notes_.add(note_on_channels());
    notes_.add(welcome_.overlooked(),
               " programs that cannot be profiled are not listed: too many at once");
    for (const std::string& note : recorder_.notes()) {
        notes_.add(note);
    }
    return notes_.text(processes_.has_root_ended());
}

std::string Session::note_on_channels() {
    std::string unknown;
    bool some_known = options_.channels.empty();
    std::istringstream channels{options_.channels};
    for (std::string name; std::getline(channels, name, ',');) {
        if (name == capture::kNoChannels) {
            some_known = true;
            continue;
        }
        // Every program that has channels has this one.
        const std::string wanted = name == capture::kAllChannels ? "cpu" : name;
        const bool is_known = recorder_.names().knows_channel(wanted);
        some_known = some_known || is_known;
        if (!is_known) {
            unknown += (unknown.empty() ? "" : ", ") + name;
        }
    }
    if (!some_known) {
        return "nothing was said: no program of the session that was met has a channel of --trace "
               "(" +
               unknown + "); programs say things by sample/trace.h";
    }
    return unknown.empty() ? unknown : "no program has the channel that --trace names: " + unknown;
}

std::string Session::note_on_delay() const {
    if (options_.delay.count() == 0) {
        return {};
    }
    const std::string delay = short_duration(static_cast<std::uint64_t>(options_.delay.count()));
    const std::uint64_t earlier =
        recorder_.has_begun_sampling() ? before_delay_ : recorder_.earlier();
    const std::string left_out =
        (options_.event.is_clock ? short_duration(earlier) + " of CPU time"
                                 : std::to_string(earlier) + " " + options_.event.unit) +
        " before that " + (options_.event.is_clock ? "is" : "are") + " in no figure";
    return recorder_.has_begun_sampling()
               ? "sampling began " + delay + " after the start, as asked: " + left_out
               : "sampling was to begin " + delay +
                     " after the start, as asked, but the session was over before: " + left_out;
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
    if (has_run_out_) {
        return "--time was over before the agent was set up in it (if it could not be, what it "
               "said is above)";
    }
    if (doorkeeper_->has_met_anybody()) {
        return "the agent could not be set up in it: what it said is above, or nothing, if this "
               "machine kept sample from answering it in time";
    }
    if (resident_bytes_of(::getpid(), "/libsample.so").value_or(0) != 0) {
        return "another session records this sample: leave one of the two out";
    }
    return processes_.has_root_ended()
               ? "the command ended before libsample.so was set up in it: its loader or a "
                 "library's constructor ended it (what it said is above), or it does not "
                 "load what LD_PRELOAD names"
               : "the command had not loaded libsample.so yet";
}

}  // namespace sample::collector
