// `sample record`: starts a command, records it, prints the summary, passes its exit code on.
//
//   check the command ─▶ fork it, held back ─▶ open the file ─▶ session ─▶ let it exec ─▶ record
//     ─▶ summary and exports ─▶ wait for it ─▶ end as it ended
#include "analysis/load_profile.h"
#include "analysis/name_cache.h"
#include "analysis/name_recording.h"
#include "cli/output.h"
#include "cli/record/agent_library.h"
#include "cli/record/command_check.h"
#include "cli/record/launched_command.h"
#include "cli/record/record_exports.h"
#include "cli/record/record_signals.h"
#include "cli/record/recording_file.h"
#include "cli/record/session_options.h"
#include "cli/verbs/verbs.h"
#include "cli/views/terminal.h"
#include "cli/views/views.h"
#include "sampler/collector/session.h"
#include "trace/recording_writer.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

namespace sample::cli {
namespace {

std::string join_words(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

/// Ends this process as the command ended.
int end_like(int status) {
    if (!WIFSIGNALED(status)) {
        return WEXITSTATUS(status);
    }
    // Its core is the interesting one.
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const int signal = WTERMSIG(status);
    std::signal(signal, SIG_DFL);
    sigset_t only{};
    ::sigemptyset(&only);
    ::sigaddset(&only, signal);
    ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
    ::raise(signal);
    return 128 + signal;
}

/// One line that is written over once a second; nothing where standard error is no terminal.
class Countdown {
public:
    explicit Countdown(bool shown) : shown_{shown && ::isatty(STDERR_FILENO) == 1} {}

    void show(std::chrono::nanoseconds left) const {
        if (shown_) {
            const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
                left + std::chrono::seconds{1} - std::chrono::nanoseconds{1});
            std::fprintf(stderr, "\r\x1b[Ksample: %lld:%02lld left",
                         static_cast<long long>(seconds.count() / 60),
                         static_cast<long long>(seconds.count() % 60));
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

/// The exports, and the summary on standard error.
void show_result(const RecordOptions& options, const std::string& file,
                 const analysis::NamedRecording& named) {
    for (const Error& error : write_exports(options, named)) {
        print_error(error.message());
    }
    if (!options.quiet) {
        const callgraph::Profile profile =
            analysis::profile_of_recording(named.recording, named.symbols);
        const std::string text = summary_view(
            profile,
            {detect_terminal(STDERR_FILENO, options.color), SummaryOptions{}.functions, file});
        std::fputs(text.c_str(), stderr);
    }
}

/// After the recording: its names, and what is made of it. What fails is said; the exit code stays
/// the command's.
void finish_recording(const RecordOptions& options, const std::string& file,
                      const collector::Session& session, bool is_whole) {
    const bool is_shown = !options.quiet || !options.exports.empty();
    const bool can_keep = options.symbols && is_whole && is_regular_file(file);
    if (!is_shown && !can_keep) {
        return;
    }
    const auto cache = analysis::user_cache(options.cache);
    auto named = analysis::name_recording(file,
                                          {true, session.module_files(), options.debug_folders,
                                           cache.get(), session.module_readers()},
                                          times_wanted(options.exports));
    if (!named) {
        print_error(named.error().message());
        return;
    }
    if (can_keep) {
        if (const auto kept = analysis::keep_names(file, *named, options.code); !kept) {
            print_error(kept.error().message());
        }
    }
    show_result(options, file, *named);
}

int exec_failure_code(const Error& error) {
    print_error(error.message());
    return error.errno_value == ENOENT ? kExitNotFound : kExitNotExecutable;
}

/// Becomes the command, as if we were not there. Returns if that fails.
int run_unprofiled(const std::vector<std::string>& command) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    obey_size_limit();
    ::execvp(words[0], words.data());
    return exec_failure_code(Error::from_errno("cannot run the command"));
}

int record_command(RecordOptions options, LaunchedCommand& command, const std::string& preload) {
    const std::string file =
        expand_pattern(options.output.empty() ? kDefaultOutput : options.output, options.command[0],
                       command.pid());
    if (const auto exports = name_exports(options, options.command[0], command.pid(), file);
        !exports) {
        print_error(exports.error().message());
        return kExitUsage;
    }
    auto recording = open_recording(file, options.force);
    if (!recording) {
        print_error(recording.error().message());
        return kExitUsage;
    }
    RecordSignals signals{RecordSignals::kOfACommand, command.pid(), true};
    const Countdown countdown{!options.quiet};
    collector::SessionOptions session_options = session_options_of(options);
    session_options.command_line = join_words(options.command);
    session_options.stop_fd = signals.stop_fd();
    session_options.on_second = [&](std::chrono::nanoseconds left) { countdown.show(left); };
    auto session = collector::Session::create(
        std::move(session_options),
        std::make_unique<trace::RecordingWriter>(std::move(recording->fd)));
    if (!session) {
        print_error(session.error().message() + "; the command runs unprofiled");
        recording->discard();
        signals.command_goes_on();
        command.give_up();
        return run_unprofiled(options.command);
    }
    if (const auto started = command.start(preload, (*session)->name()); !started) {
        recording->discard();
        return exec_failure_code(started.error());
    }
    const collector::SessionOutcome outcome = (*session)->run(command.pid());
    countdown.clear();
    // Whatever is made of the recording, and the command if it goes on, a signal ends.
    signals.command_goes_on();
    if (outcome.is_empty) {
        print_error("nothing was recorded: " + outcome.why_empty);
        recording->discard();
        session->reset();
        return end_like(command.wait());
    }
    if (outcome.failure) {
        print_error("the recording is not whole: " + outcome.failure->message());
    }
    finish_recording(options, file, **session, !outcome.failure);
    session->reset();
    return end_like(command.wait());
}

}  // namespace

int run_record(const RecordOptions& options) {
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
    const auto agent = find_agent_library();
    if (!agent) {
        print_error(agent.error().message());
        return kExitFailure;
    }
    auto command = LaunchedCommand::fork(options.command);
    if (!command) {
        print_error(command.error().message());
        return kExitFailure;
    }
    // The command has got what it inherits.
    ignore_size_limit();
    const std::string preload = check->runtime.empty() ? *agent : check->runtime + ":" + *agent;
    return record_command(options, *command, preload);
}

}  // namespace sample::cli
