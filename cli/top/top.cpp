// `sample top`: a process that runs already, or a command, is sampled, and a thread shows each
// second where its time goes.
//
//   whom? ─▶ watcher (its thread, the screen) ─▶ session, until it ends or the user has had enough
//     ─▶ the last page, the recording if one is kept ─▶ the command's end
//
// Exit code: 0, also if the command failed, which is said; 126 or 127 if it cannot be run; a signal
// that ends the session ends this process in the end.
#include "cli/output.h"
#include "cli/record/command.h"
#include "cli/record/inherited.h"
#include "cli/record/progress.h"
#include "cli/record/record_signals.h"
#include "cli/record/recording.h"
#include "cli/record/targets.h"
#include "cli/refuse.h"
#include "cli/top/top_watcher.h"
#include "cli/verbs/verbs.h"
#include "sampler/attach/attach_session.h"
#include "sampler/collector/own_limits.h"
#include "sampler/collector/session.h"
#include "trace/recording_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace sample::cli {
namespace {

/// The file that is kept beside the view; or none.
class KeptRecording {
public:
    [[nodiscard]] static Result<KeptRecording> prepare(RecordOptions options,
                                                       const std::string& executable, pid_t pid) {
        KeptRecording kept;
        options.quiet = true;
        if (!options.output.empty()) {
            SAMPLE_TRY(prepared, prepare_recording(options, executable, pid));
            kept.writer_ = std::make_unique<trace::RecordingWriter>(std::move(prepared.file.fd));
            kept.prepared_ = std::move(prepared);
        }
        kept.options_ = std::move(options);
        return kept;
    }

    /// What a session is to write to, beside `view`. Both outlive it.
    [[nodiscard]] std::unique_ptr<trace::RecordSink> beside(trace::RecordSink& view) const {
        std::vector<trace::RecordSink*> sinks{&view};
        if (writer_ != nullptr) {
            sinks.push_back(writer_.get());
        }
        return std::make_unique<trace::Tee>(std::move(sinks));
    }
    [[nodiscard]] const RecordOptions& options() const { return options_; }

    void keep() {
        if (prepared_) {
            prepared_->file.keep();
        }
    }
    void discard() const {
        if (prepared_) {
            prepared_->file.discard();
        }
    }
    /// Names what was recorded; says where it is. Returns the exit code.
    [[nodiscard]] int finish(const collector::Recorder& recorder,
                             const std::optional<Error>& failure) const {
        if (failure) {
            print_error("the recording is not whole: " + failure->message());
        }
        if (!prepared_) {
            return failure ? kExitFailure : kExitOk;
        }
        const FinishedRecording finished =
            finish_recording(options_, *prepared_, sources_of(recorder), !failure, false);
        tell(finished, options_, prepared_->path);
        print_error("the recording is " + prepared_->path);
        return finished.errors.empty() && !failure ? kExitOk : kExitFailure;
    }

private:
    RecordOptions options_;
    std::optional<PreparedRecording> prepared_;
    std::unique_ptr<trace::RecordingWriter> writer_;
};

Result<std::unique_ptr<TopWatcher>> start_watcher(const TopOptions& options,
                                                  const KeptRecording& kept) {
    auto watcher = TopWatcher::start(options);
    if (!watcher) {
        kept.discard();
    }
    return watcher;
}

/// Ends this process by the signal that ended the session, if one did.
void end_by_any(int signal) {
    if (signal != 0) {
        end_by(signal);
    }
}

Result<int> watch_processes(const TopOptions& options) {
    ignore_broken_pipes();
    ignore_size_limit();
    SAMPLE_TRY(pids, find_targets(options.attach, -1));
    SAMPLE_TRY(kept, KeptRecording::prepare(options.attach.record, program_of(pids.front()),
                                            pids.front()));
    collector::SessionOptions told = session_options_of(kept.options());
    told.command_line = command_lines_of(pids);
    SAMPLE_TRY(watcher, start_watcher(options, kept));
    told.stop_fd = watcher->stop_fd();
    std::optional<collector::InFront> in_front;
    in_front.emplace();
    auto session =
        attach::AttachSession::create(std::move(told), pids, kept.beside(watcher->sink()));
    in_front.reset();
    if (!session) {
        watcher->finish(false);
        kept.discard();
        return unexpected(session.error());
    }
    kept.keep();
    const attach::OutsideOutcome outcome = (*session)->run();
    const int signal = watcher->finish(true);
    if (outcome.have_all_ended) {
        print_error(pids.size() == 1 ? fmt::format("process {} has ended", pids[0])
                                     : "the processes have ended");
    }
    const int code = kept.finish((*session)->recorder(), outcome.failure);
    end_by_any(signal);
    return watcher->has_failed() ? kExitFailure : code;
}

Result<Fd> open_log(const std::string& path) {
    const std::string file = path.empty() ? "/dev/null" : path;
    Fd log{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR)};
    if (!log.is_open()) {
        return unexpected(Error::from_errno("cannot write " + file));
    }
    return log;
}

/// What is to be said of how it ended; empty: nothing.
std::string ending_of(int status) {
    if (WIFSIGNALED(status)) {
        return fmt::format("the command was ended by signal {} ({})", WTERMSIG(status),
                           ::strsignal(WTERMSIG(status)));  // NOLINT(concurrency-mt-unsafe)
    }
    return WEXITSTATUS(status) == 0
               ? ""
               : fmt::format("the command has ended with {}", WEXITSTATUS(status));
}

/// The command, and what it has started, is asked to end, if it goes on.
void end_command(const LaunchedCommand& command) {
    constexpr int kMostToEndMs = 5000;
    std::optional<int> status = command.wait_for(0);
    if (!status) {
        ::kill(-command.pid(), SIGTERM);
        ::kill(-command.pid(), SIGCONT);
        status = command.wait_for(kMostToEndMs);
        if (!status) {
            print_error(fmt::format("the command goes on as process {}: it does not end by SIGTERM",
                                    command.pid()));
        }
        return;
    }
    if (const std::string said = ending_of(*status); !said.empty()) {
        print_error(said);
    }
}

Result<int> watch_started(const TopOptions& options, LaunchedCommand& command,
                          const std::string& preload) {
    const std::vector<std::string>& words = options.attach.record.command;
    SAMPLE_TRY(kept, KeptRecording::prepare(options.attach.record, words[0], command.pid()));
    collector::SessionOptions told = session_options_of(kept.options());
    told.command_line = fmt::format("{}", fmt::join(words, " "));
    SAMPLE_TRY(watcher, start_watcher(options, kept));
    told.stop_fd = watcher->stop_fd();
    auto session = collector::Session::create(std::move(told), kept.beside(watcher->sink()));
    if (!session) {
        watcher->finish(false);
        kept.discard();
        return unexpected(session.error());
    }
    if (const auto started = command.start(preload, (*session)->name()); !started) {
        watcher->finish(false);
        kept.discard();
        print_error(started.error().message());
        return started.error().errno_value == ENOENT ? kExitNotFound : kExitNotExecutable;
    }
    kept.keep();
    const collector::SessionOutcome outcome = (*session)->run(command.pid());
    const int signal = watcher->finish(!outcome.is_empty);
    int code = kExitFailure;
    if (outcome.is_empty) {
        print_error("nothing was recorded: " + outcome.why_empty);
        kept.discard();
    } else {
        code = kept.finish((*session)->recorder(), outcome.failure);
    }
    session->reset();
    end_command(command);
    end_by_any(signal);
    return watcher->has_failed() ? kExitFailure : code;
}

Result<int> watch_command(const TopOptions& options) {
    const std::vector<std::string>& words = options.attach.record.command;
    const auto check = check_command(words[0]);
    if (!check) {
        print_error(check.error().message());
        return check.error().code == ErrorCode::not_found ? kExitNotFound : kExitNotExecutable;
    }
    if (!check->cannot_profile.empty()) {
        return refuse(ErrorCode::unsupported,
                      "{}; start it by itself, and watch it from outside: sample top PID",
                      check->cannot_profile);
    }
    SAMPLE_TRY(agent, find_agent_library(false));
    SAMPLE_TRY(log, open_log(options.log));
    SAMPLE_TRY(command, LaunchedCommand::fork(words, environment_now(), log.get()));
    log.reset();
    stand_by_the_command();
    const std::string preload = check->runtime.empty() ? agent : check->runtime + ":" + agent;
    Result<int> code = watch_started(options, command, preload);
    if (!code) {
        command.give_up();
    }
    return code;
}

}  // namespace

Result<int> run(const TopOptions& options) {
    return options.attach.targets.empty() ? watch_command(options) : watch_processes(options);
}

}  // namespace sample::cli
