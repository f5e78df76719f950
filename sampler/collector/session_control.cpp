// What a session is asked for while it runs, over its control socket and by its processes: the
// session's part of docs/control.md.
#include "core/option_values.h"
#include "core/text.h"
#include "sampler/capture/channel_table.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/session.h"

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace sample::collector {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
/// Changes of the frequency, or of the channels, that the note lists.
constexpr std::uint32_t kMostListed = 8;

/// Whether samples are taken.
bool changes_sampling(ControlVerb verb) {
    return verb == ControlVerb::start || verb == ControlVerb::stop || verb == ControlVerb::pause ||
           verb == ControlVerb::resume;
}

std::string ms_text(std::uint64_t ns) {
    return std::to_string(ns / kNsPerMs);
}

}  // namespace

void Session::take_requests() {
    eventfd_t count = 0;
    ::eventfd_read(request_event_.get(), &count);
    for (const Gatekeeper::Request& request : gatekeeper_->take_requests()) {
        if (recorder_.has_begun_sampling()) {
            follow(request.word.request);
        } else {
            postpone(request.word.request);
        }
        Gatekeeper::acknowledge(request);
    }
    if (!control_) {
        return;
    }
    for (const ControlCommand& command : control_->take()) {
        const bool reads = command.verb == ControlVerb::dump || command.verb == ControlVerb::data;
        std::string answer = carry_out(command);
        const bool is_ok = answer.starts_with("ok");
        control_->answer(command, std::move(answer),
                         !reads || !is_ok                    ? ControlService::Then::go_on
                         : command.verb == ControlVerb::dump ? ControlService::Then::send_recording
                                                             : ControlService::Then::send_export);
    }
}

void Session::follow(control::ControlRequest request) {
    if (!options_.samples) {
        return;
    }
    // Also behind a stop: a start that came before it, and was not read in time, has set it.
    if (request.frequency_hz != 0) {
        change_frequency(std::min(request.frequency_hz, kMaxFrequencyHz));
    }
    switch (request.kind) {
        case control::ControlKind::start:
        case control::ControlKind::resume:
            set_state(State::running);
            break;
        case control::ControlKind::stop:
            set_state(State::stopped);
            break;
        case control::ControlKind::pause:
            if (state_ == State::running) {
                set_state(State::paused);
            }
            break;
    }
}

void Session::postpone(control::ControlRequest request) {
    if (!postponed_) {
        postponed_ = request;
        return;
    }
    const bool is_stopped = postponed_->kind == control::ControlKind::stop;
    if (request.kind != control::ControlKind::pause || !is_stopped) {
        postponed_->kind = request.kind;
    }
    if (request.frequency_hz != 0) {
        postponed_->frequency_hz = request.frequency_hz;
    }
}

std::string Session::carry_out(const ControlCommand& command) {
    const bool is_for_frequency = command.verb == ControlVerb::frequency;
    if (!options_.samples && (is_for_frequency || changes_sampling(command.verb))) {
        return "error the session takes no samples: it was started with --freq off";
    }
    // A start always names one, of programs that do not care which: its answer is freq=0.
    if (is_for_frequency && !options_.event.is_clock) {
        return "error the session samples an event, which has no frequency";
    }
    switch (command.verb) {
        case ControlVerb::status:
            return answer_about(command);
        case ControlVerb::dump:
        case ControlVerb::data:
            if (!control_->has_recording()) {
                return "error the recording goes to no file that could be read while it grows";
            }
            if (!recorder_.has_begun()) {
                return "error nothing is recorded yet: no process has joined the session";
            }
            processes_.drain(false);
            recorder_.flush(trace::FlushMode::everything);
            if (options_.current_part && !control_->go_on_with(options_.current_part())) {
                return "error the recording has another name by now, or none";
            }
            return "ok";
        case ControlVerb::channels:
            return switch_channels(command.channels);
        case ControlVerb::close:
            openers_.close(command.token);
            return "ok";
        case ControlVerb::open:
            return openers_.open(command.token, command.peer) ? steer(command)
                                                              : "error too many share the session";
        default:
            return recorder_.has_begun_sampling()
                       ? steer(command)
                       : "error sampling has not begun yet: the session was started with a delay";
    }
}

bool Session::changes_frequency(const ControlCommand& command) const {
    return command.frequency_hz && *command.frequency_hz != pace_.frequency_hz.load();
}

std::string Session::steer(const ControlCommand& command) {
    const bool owns = openers_.owns(command.token);
    if (owns && changes_frequency(command) && recorder_.has_begun_sampling()) {
        change_frequency(*command.frequency_hz);
    }
    if (command.verb == ControlVerb::time && owns && state_ == State::stopped) {
        return "error sampling is stopped: say start time=DURATION";
    }
    if (owns) {
        change_state(command);
    }
    std::string answer = "ok";
    if (!command.token.empty()) {
        answer += " token=" + percent_encoded(command.token) + (owns ? " owner=1" : " owner=0");
    }
    return answer + " state=" + state_text() + " freq=" + frequency_text();
}

void Session::change_state(const ControlCommand& command) {
    switch (command.verb) {
        case ControlVerb::start:
            if (command.time) {
                set_countdown(*command.time);
            }
            set_state(State::running);
            starter_.reset(command.is_bound
                               ? static_cast<int>(::syscall(SYS_pidfd_open, command.peer, 0))
                               : -1);
            break;
        case ControlVerb::resume:
            set_state(State::running);
            break;
        case ControlVerb::stop:
            set_state(State::stopped);
            break;
        case ControlVerb::pause:
            if (state_ == State::running) {
                set_state(State::paused);
            }
            break;
        case ControlVerb::time:
            set_countdown(*command.time);
            break;
        case ControlVerb::cancel:
            cancel_countdown();
            break;
        default:
            break;
    }
}

std::string Session::answer_about(const ControlCommand& command) {
    const std::uint64_t now = monotonic_ns();
    std::string answer = "ok pid=" + std::to_string(::getpid()) +
                         " root=" + std::to_string(processes_.root()) + " state=" + state_text() +
                         " freq=" + frequency_text() +
                         " elapsed_ms=" + ms_text(now - std::min(now, start_ns_));
    if (options_.starts_off && state_ == State::stopped) {
        answer += " asleep=1";
    }
    if (countdown_) {
        answer += " left_ms=" + ms_text(countdown_->end_ns - std::min(now, countdown_->end_ns));
    }
    if (const std::string channels = pace_.channels(); !channels.empty()) {
        answer += " channels=" + percent_encoded(channels);
    }
    struct stat info {};
    if (!options_.recording.empty() && ::stat(options_.recording.c_str(), &info) == 0) {
        answer += " bytes=" + std::to_string(info.st_size) +
                  " file=" + percent_encoded(options_.recording);
    }
    if (!command.token.empty()) {
        answer += openers_.owns(command.token) ? " owner=1" : " owner=0";
    }
    answer += " command=" + percent_encoded(options_.command_line.substr(0, kMostCommandBytes / 8));
    if (command.about != 0) {
        const bool is_member =
            command.about == processes_.root() || processes_.find(command.about) != nullptr;
        answer += is_member ? " member=1" : " member=0";
    }
    return answer;
}

void Session::set_state(State state) {
    if (state == State::stopped) {
        cancel_countdown();
        starter_.reset();
    }
    const bool was_on = state_ == State::running;
    const bool is_on = state == State::running;
    state_ = state;
    if (was_on == is_on) {
        return;
    }
    pace_.is_on.store(is_on);
    const std::uint64_t now = monotonic_ns();
    if (is_on) {
        unprofiled_.go_on_counting();
        processes_.go_on_sampling();
        off_ns_ += now - off_since_ns_;
    } else {
        processes_.stop_sampling();
        unprofiled_.stop_counting();
        off_since_ns_ = now;
        ++stops_;
    }
}

bool Session::set_frequency(std::uint32_t hz) {
    if (hz == pace_.frequency_hz.load() || !options_.has_frequency()) {
        return false;
    }
    pace_.frequency_hz.store(hz);
    processes_.change_frequency();
    return true;
}

void Session::slow_down_if_dear() {
    const auto cost = price_.so_far();
    const std::uint32_t hz = pace_.frequency_hz.load();
    const std::uint32_t slower_hz = cost ? affordable_frequency(hz, *cost) : hz;
    if (set_frequency(slower_hz)) {
        notes_.add("sampled at " + std::to_string(slower_hz) + " Hz instead of " +
                   std::to_string(hz) + " from " + short_duration(monotonic_ns() - start_ns_) +
                   " on: a sample takes " + short_duration(cost->ns) +
                   " here, and the program would hardly have got on");
    }
}

void Session::change_frequency(std::uint32_t asked_hz) {
    const auto cost = price_.so_far();
    const std::uint32_t hz = cost ? affordable_frequency(asked_hz, *cost) : asked_hz;
    if (set_frequency(hz) && ++changes_ <= kMostListed) {
        frequencies_ += (frequencies_.empty() ? "" : ", ") + std::to_string(hz) +
                        (hz == asked_hz ? "" : " instead of " + std::to_string(asked_hz)) +
                        " from " + short_duration(monotonic_ns() - start_ns_) + " on";
    }
}

std::string Session::switch_channels(const std::string& channels) {
    if (options_.channels.empty()) {
        return "error the session records nothing that programs say: begin one with --trace, or "
               "with --trace none to have all channels off at first";
    }
    if (recorder_.has_begun()) {
        processes_.drain(false);  // what was said before
    }
    pace_.switch_channels(channels);
    const unsigned left = processes_.switch_channels();
    recorder_.names().switch_channels(channels);
    const std::uint64_t now = monotonic_ns();
    if (++changes_of_channels_ <= kMostListed) {
        switches_ += (switches_.empty() ? "" : "; ") + channels + " from " +
                     short_duration(now - std::min(now, start_ns_)) + " on";
    }
    std::string unknown;
    std::istringstream names{channels};
    for (std::string name; std::getline(names, name, ',');) {
        if (name != capture::kAllChannels && name != capture::kNoChannels &&
            !recorder_.names().knows_channel(name)) {
            unknown += (unknown.empty() ? "" : ",") + name;
        }
    }
    return "ok state=" + state_text() + " freq=" + frequency_text() +
           " channels=" + percent_encoded(channels) +
           (unknown.empty() ? "" : " unknown=" + percent_encoded(unknown)) +
           (left == 0 ? "" : " left=" + std::to_string(left));
}

void Session::set_countdown(std::chrono::nanoseconds time) {
    countdown_ = Countdown{monotonic_ns() + static_cast<std::uint64_t>(time.count())};
}

void Session::cancel_countdown() {
    if (std::exchange(countdown_, std::nullopt) && options_.on_cancel) {
        options_.on_cancel();
    }
}

std::string Session::state_text() const {
    if (!recorder_.has_begun_sampling()) {
        return "delayed";
    }
    if (!options_.samples) {
        return "stopped";
    }
    return state_ == State::running ? "running" : state_ == State::paused ? "paused" : "stopped";
}

std::string Session::frequency_text() const {
    return std::to_string(options_.has_frequency() ? pace_.frequency_hz.load() : 0);
}

std::string Session::note_on_stops() const {
    if (stops_ == 0) {
        return {};
    }
    const std::uint64_t left_out = recorder_.earlier() - before_delay_;
    const std::uint64_t off =
        off_ns_ + (state_ == State::running ? 0 : monotonic_ns() - off_since_ns_);
    std::string note = "sampling was ";
    if (options_.starts_off) {
        note += "off at the start";
        if (stops_ > 1) {
            note += " and stopped " + counted(stops_ - 1, "time");
        }
    } else {
        note += "stopped " + counted(stops_, "time");
    }
    return note + ", " + short_duration(off) + " in all, as asked: " +
           (options_.event.is_clock ? short_duration(left_out) + " of CPU time"
                                    : std::to_string(left_out) + " " + options_.event.unit) +
           " meanwhile " + (options_.event.is_clock ? "is" : "are") + " in no figure";
}

std::string Session::note_on_control() const {
    std::string note = note_on_stops();
    if (changes_ != 0) {
        note += (note.empty() ? "" : "\n") + std::string{"the frequency was changed, as asked: "} +
                std::to_string(options_.frequency_hz) + " Hz at first, " + frequencies_ +
                (changes_ > kMostListed ? ", …" : "");
    }
    if (changes_of_channels_ != 0) {
        note += (note.empty() ? "" : "\n") + std::string{"channels were switched, as asked: "} +
                options_.channels + " at first; " + switches_ +
                (changes_of_channels_ > kMostListed ? "; …" : "");
    }
    return note;
}

}  // namespace sample::collector
