// `sample attach` and `sample record -a`: record processes from outside, print the summary.
//
//   whom? ─▶ open the file ─▶ watch them ─▶ record ─▶ summary and exports
//
// Whatever ends the recording (its time, Ctrl-C, the end of the processes), it is kept, and the
// exit code is 0.
#include "cli/output.h"
#include "cli/record/injected.h"
#include "cli/record/live_data.h"
#include "cli/record/machine.h"
#include "cli/record/parts.h"
#include "cli/record/progress.h"
#include "cli/record/recording.h"
#include "cli/record/sleeper.h"
#include "cli/record/targets.h"
#include "cli/refuse.h"
#include "cli/roomy_heap.h"
#include "cli/verbs/verbs.h"
#include "core/fd.h"
#include "core/text.h"
#include "sampler/attach/attach_session.h"
#include "sampler/attach/machine_session.h"
#include "sampler/attach/target_process.h"
#include "sampler/collector/own_limits.h"
#include "sampler/collector/process/proc_files.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace sample::cli {
namespace {

/// While it lives, the signals that would end us end the recording.
class StopSignals {
public:
    StopSignals() {
        sigset_t ours{};
        ::sigemptyset(&ours);
        for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
            ::sigaddset(&ours, signal);
        }
        ::pthread_sigmask(SIG_BLOCK, &ours, &before_);
        signals_ = Fd{::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK)};
        if (!signals_.is_open()) {
            go_on();  // then they act as they would without us
        }
    }
    ~StopSignals() { go_on(); }
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// Readable when one has come.
    [[nodiscard]] int fd() const { return signals_.get(); }
    /// Forgets the one that has come: from here on the next one ends us.
    void go_on() {
        signalfd_siginfo info{};
        static_cast<void>(!::read(signals_.get(), &info, sizeof info));
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t before_{};
    Fd signals_;
};

std::string list_of(const std::vector<pid_t>& pids) {
    constexpr std::size_t kMostNamed = 8;
    std::string list = fmt::format(
        "{}",
        fmt::join(pids.begin(),
                  pids.begin() + static_cast<std::ptrdiff_t>(std::min(pids.size(), kMostNamed)),
                  ", "));
    return pids.size() > kMostNamed ? list + ", ..." : list;
}

/// Waits for `stop_fd`, a moment at most. True: it has come.
bool has_stopped(int stop_fd) {
    constexpr int kPauseMs = 10;
    pollfd stop{stop_fd, POLLIN, 0};
    return ::poll(&stop, 1, kPauseMs) > 0;
}

/// `pids` without those that another one of them, or a child of its, has started.
std::vector<pid_t> without_descendants(const std::vector<pid_t>& pids) {
    std::vector<pid_t> first;
    std::copy_if(pids.begin(), pids.end(), std::back_inserter(first), [&pids](pid_t pid) {
        do {
            pid = collector::parent_of(pid);
        } while (pid != 0 && std::find(pids.begin(), pids.end(), pid) == pids.end());
        return pid == 0;
    });
    return first;
}

/// The process that `word`, an id or a name, is of.
Result<pid_t> find_target(const std::string& word, const AttachOptions& options, int stop_fd) {
    pid_t pid = 0;
    const char* const end = word.data() + word.size();
    const auto parsed = std::from_chars(word.data(), end, pid);
    if (parsed.ec == std::errc{} && parsed.ptr == end && pid > 0) {
        return pid;
    }
    std::vector<pid_t> found = attach::processes_called(word);
    while (found.empty() && options.waits) {
        if (has_stopped(stop_fd)) {
            return refuse(ErrorCode::not_found, "no process called {} has appeared", word);
        }
        found = attach::processes_called(word);
    }
    if (found.empty()) {
        return refuse(ErrorCode::not_found,
                      "no process is called {}: name its id, or wait for it with sample attach "
                      "--wait",
                      word);
    }
    // Who waits means the one that appears, and no worker that it may have started by now.
    if (options.waits || options.record.children) {
        found = without_descendants(found);
    }
    if (found.size() > 1) {
        return refuse("{} processes are called {}: name one or several of {}", found.size(), word,
                      list_of(found));
    }
    return found.front();
}

}  // namespace

Result<std::vector<pid_t>> find_targets(const AttachOptions& options, int stop_fd) {
    std::vector<pid_t> pids;
    for (const std::string& word : options.targets) {
        SAMPLE_TRY(pid, find_target(word, options, stop_fd));
        SAMPLE_CHECK(attach::check_target(pid));
        if (std::find(pids.begin(), pids.end(), pid) == pids.end()) {
            pids.push_back(pid);
        }
    }
    return pids;
}

std::string program_of(pid_t pid) {
    const std::string executable = collector::executable_of(pid);
    const auto stat = collector::stat_of(pid);
    return executable.empty() ? (stat ? stat->name : "process")
                              : std::string{without_deleted(executable)};
}

std::string command_lines_of(const std::vector<pid_t>& pids) {
    std::string text;
    for (const pid_t pid : pids) {
        text += (text.empty() ? "" : " + ") + collector::command_line_of(pid);
    }
    return text;
}

namespace {

/// Samples are taken from here on.
struct Begun {
    std::vector<pid_t> pids;
    PreparedRecording prepared;
    std::unique_ptr<Parts> parts;
    std::unique_ptr<attach::AttachSession> session;
};

/// `options` get the names of its files.
Result<Begun> begin(const AttachOptions& asked, RecordOptions& options, LiveData* live,
                    const Countdown& countdown, int stop_fd) {
    // A process with many threads that are busy would leave us little time. But to wait for one may
    // take hours.
    std::optional<collector::InFront> in_front;
    if (!asked.waits) {
        in_front.emplace();
    }
    Begun begun;
    SAMPLE_TRY(pids, find_targets(asked, stop_fd));
    if (asked.waits) {
        in_front.emplace();
    }
    begun.pids = std::move(pids);
    SAMPLE_TRY(prepared,
               prepare_recording(options, program_of(begun.pids.front()), begun.pids.front()));
    begun.prepared = std::move(prepared);
    auto parts = Parts::begin(options, begun.prepared);
    if (!parts) {
        begun.prepared.file.discard();
        return unexpected(parts.error());
    }
    begun.parts = std::move(*parts);
    collector::SessionOptions told = session_options_of(options);
    told.command_line = command_lines_of(begun.pids);
    told.stop_fd = stop_fd;
    told.on_second = [&countdown](std::chrono::nanoseconds left) { countdown.show(left); };
    auto session = attach::AttachSession::create(
        std::move(told), begun.pids,
        LiveData::beside(live, Parts::sink(begun.parts.get(), begun.prepared)));
    if (!session) {
        begun.prepared.file.discard();
        return unexpected(session.error());
    }
    begun.prepared.file.keep();
    begun.session = std::move(*session);
    Parts::follow(begun.parts.get(), begun.session->recorder());
    return begun;
}

/// Makes of what was recorded what is asked for. Returns the exit code.
int conclude(const ModuleSources& sources, const attach::OutsideOutcome& outcome,
             const RecordOptions& options, const PreparedRecording& recording) {
    if (outcome.failure) {
        print_error("the recording is not whole: " + outcome.failure->message());
    }
    make_heap_roomy();
    const FinishedRecording finished =
        finish_recording(options, recording, sources, !outcome.failure, !options.quiet);
    tell(finished, options, recording.path);
    return finished.errors.empty() && !outcome.failure ? kExitOk : kExitFailure;
}

/// With --inject the process has one afterwards.
Result<std::optional<Sleeper>> find_or_make_sleeper(const AttachOptions& asked, int stop_fd) {
    SAMPLE_TRY(sleeper, find_sleeper(asked, stop_fd));
    if (!asked.injects || sleeper || has_stopped(stop_fd)) {
        return std::move(sleeper);
    }
    SAMPLE_TRY(pids, find_targets(asked, stop_fd));
    SAMPLE_CHECK(bring_agent_into(pids.front(), asked.record.quiet));
    // The agent does not wait until its session counts the process as its own.
    constexpr int kMostLooks = 1000;
    for (int look = 0; look < kMostLooks; ++look) {
        SAMPLE_TRY(injected, find_sleeper(asked, stop_fd));
        if (injected) {
            return std::move(injected);
        }
        if (has_stopped(stop_fd)) {
            break;
        }
    }
    return refuse("process {} has the agent now, but its session does not answer", pids.front());
}

}  // namespace

Result<int> run(const AttachOptions& asked) {
    StopSignals signals;
    RecordOptions options = asked.record;
    const Countdown countdown{!options.quiet};
    SAMPLE_TRY(sleeper, find_or_make_sleeper(asked, signals.fd()));
    if (has_stopped(signals.fd())) {
        return refuse("nothing was recorded: attach was ended before it had begun");
    }
    if (sleeper && options.live_port) {
        return refuse(
            "process {} carries an agent that sleeps, whose own collector serves no live data: "
            "leave --live out, or watch it with sample top",
            sleeper->pid);
    }
    if (sleeper && options.parts.are_wanted()) {
        return refuse(
            "process {} carries an agent that sleeps, whose own collector writes one file: leave "
            "--rotate, --keep and --max-size out",
            sleeper->pid);
    }
    if (sleeper) {
        SAMPLE_TRY(recording, record_woken(*sleeper, options, signals.fd()));
        signals.go_on();
        return conclude({}, {}, options, recording);
    }
    SAMPLE_TRY(live, LiveData::start(options));
    SAMPLE_TRY(begun, begin(asked, options, live.get(), countdown, signals.fd()));
    collector::yield_to_programs();
    const attach::OutsideOutcome outcome = begun.session->run();
    countdown.clear();
    signals.go_on();
    LiveData::finish(live.get());
    if (outcome.have_all_ended && !options.quiet) {
        print_error(
            begun.pids.size() == 1
                ? fmt::format("process {} has ended, and the recording with it", begun.pids[0])
                : "the processes have ended, and the recording with them");
    }
    const ModuleSources sources =
        Parts::finish(begun.parts.get(), begun.prepared, begun.session->recorder());
    const int code = conclude(sources, outcome, options, begun.prepared);
    Parts::tell(begun.parts.get());
    return code;
}

Result<int> record_machine(RecordOptions options) {
    ignore_broken_pipes();
    ignore_size_limit();
    StopSignals signals;
    const Countdown countdown{!options.quiet};
    SAMPLE_TRY(live, LiveData::start(options));
    SAMPLE_TRY(prepared, prepare_recording(options, "machine", ::getpid()));
    auto parts = Parts::begin(options, prepared);
    if (!parts) {
        prepared.file.discard();
        return unexpected(parts.error());
    }
    collector::SessionOptions told = session_options_of(options);
    told.command_line = "every process of the machine";
    told.stop_fd = signals.fd();
    told.on_second = [&countdown](std::chrono::nanoseconds left) { countdown.show(left); };
    auto session = attach::MachineSession::create(
        std::move(told), LiveData::beside(live.get(), Parts::sink(parts->get(), prepared)));
    if (!session) {
        prepared.file.discard();
        return unexpected(session.error());
    }
    prepared.file.keep();
    Parts::follow(parts->get(), (*session)->recorder());
    attach::OutsideOutcome outcome;
    {
        // Among many busy processes it would get to read too late.
        const collector::InFront in_front;
        outcome = (*session)->run();
    }
    countdown.clear();
    signals.go_on();
    LiveData::finish(live.get());
    const ModuleSources sources = Parts::finish(parts->get(), prepared, (*session)->recorder());
    const int code = conclude(sources, outcome, options, prepared);
    Parts::tell(parts->get());
    return code;
}

}  // namespace sample::cli
