// `sample record`: starts a command, records it, prints the summary, passes its exit code on.
//
//   check the command ─▶ fork it, held back ─▶ open the file ─▶ session ─▶ let it exec ─▶ record
//     ─▶ summary and exports ─▶ wait for it ─▶ end as it ended
#include "analysis/load_profile.h"
#include "cli/output.h"
#include "cli/record/command.h"
#include "cli/record/record_signals.h"
#include "cli/record/recording.h"
#include "cli/verbs/verbs.h"
#include "cli/views/terminal.h"
#include "cli/views/views.h"
#include "sampler/collector/session.h"
#include "trace/recording_writer.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>

namespace sample::cli {
namespace {

/// Ends this process as the command ended.
int end_like(int status) {
    if (!WIFSIGNALED(status)) {
        return WEXITSTATUS(status);
    }
    // Its core is the interesting one.
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    end_by(WTERMSIG(status));
}

/// One line that is written over once a second; nothing where standard error is no terminal.
class Countdown {
public:
    explicit Countdown(bool shown) : shown_{shown && ::isatty(STDERR_FILENO) == 1} {}

    void show(std::chrono::nanoseconds left) const {
        if (shown_) {
            const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
                left + std::chrono::seconds{1} - std::chrono::nanoseconds{1});
            fmt::print(stderr, "\r\x1b[Ksample: {}:{:02} left", seconds.count() / 60,
                       seconds.count() % 60);
        }
    }
    void clear() const {
        if (shown_) {
            std::fputs("\r\x1b[K", stderr);
        }
    }

private:
    bool shown_;
};

/// What failed, and the summary, on standard error. The exit code stays the command's.
void tell(const FinishedRecording& finished, const RecordOptions& options,
          const std::string& path) {
    for (const Error& error : finished.errors) {
        print_error(error.message());
    }
    if (!options.quiet && finished.named) {
        const callgraph::Profile profile =
            analysis::profile_of_recording(finished.named->recording, finished.named->symbols);
        const std::string text = summary_view(
            profile,
            {detect_terminal(STDERR_FILENO, options.color), SummaryOptions{}.functions, path});
        std::fputs(text.c_str(), stderr);
    }
}

int exec_failure_code(const Error& error) {
    print_error(error.message());
    return error.errno_value == ENOENT ? kExitNotFound : kExitNotExecutable;
}

/// Becomes the command, as if we were not there. Returns if that fails.
int run_unprofiled(const std::vector<std::string>& command) {
    obey_size_limit();
    exec_command(command);
    return exec_failure_code(Error::from_errno("cannot run the command"));
}

int record_command(RecordOptions options, LaunchedCommand& command, const std::string& preload) {
    auto prepared = prepare_recording(options, options.command[0], command.pid());
    if (!prepared) {
        print_error(prepared.error().message());
        return kExitUsage;
    }
    NewRecording& recording = prepared->file;
    RecordSignals signals{RecordSignals::kOfACommand, command.pid(), true};
    const Countdown countdown{!options.quiet};
    collector::SessionOptions session_options = session_options_of(options);
    session_options.command_line = fmt::format("{}", fmt::join(options.command, " "));
    session_options.stop_fd = signals.stop_fd();
    session_options.on_second = [&](std::chrono::nanoseconds left) { countdown.show(left); };
    auto session = collector::Session::create(
        std::move(session_options),
        std::make_unique<trace::RecordingWriter>(std::move(recording.fd)));
    if (!session) {
        print_error(session.error().message() + "; the command runs unprofiled");
        recording.discard();
        signals.command_goes_on();
        command.give_up();
        return run_unprofiled(options.command);
    }
    if (const auto started = command.start(preload, (*session)->name()); !started) {
        recording.discard();
        return exec_failure_code(started.error());
    }
    const collector::SessionOutcome outcome = (*session)->run(command.pid());
    countdown.clear();
    // Whatever is made of the recording, and the command if it goes on, a signal ends.
    signals.command_goes_on();
    if (outcome.is_empty) {
        print_error("nothing was recorded: " + outcome.why_empty);
        recording.discard();
        session->reset();
        return end_like(command.wait());
    }
    if (outcome.failure) {
        print_error("the recording is not whole: " + outcome.failure->message());
    }
    tell(finish_recording(options, prepared->path, **session, !outcome.failure, !options.quiet),
         options, prepared->path);
    session->reset();
    return end_like(command.wait());
}

}  // namespace

Result<int> run(const RecordOptions& options) {
    const auto check = check_command(options.command[0]);
    if (!check) {
        print_error(check.error().message());
        return check.error().code == ErrorCode::not_found ? kExitNotFound : kExitNotExecutable;
    }
    if (const auto event = check_event(options); !event) {
        print_error(event.error().message());
        return kExitUsage;
    }
    if (!check->cannot_profile.empty()) {
        print_error(check->cannot_profile + "; it runs unprofiled");
        return run_unprofiled(options.command);
    }
    SAMPLE_TRY(agent, find_agent_library());
    SAMPLE_TRY(command, LaunchedCommand::fork(options.command));
    // The command has got what it inherits.
    ignore_size_limit();
    return record_command(options, command,
                          check->runtime.empty() ? agent : check->runtime + ":" + agent);
}

}  // namespace sample::cli
