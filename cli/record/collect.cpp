// `sample collect FD [PID]`: a collector without a front end, of a program that was run with
// libsample.so preloaded, or of a process that `sample attach --inject` brings the agent into.
//
// Started by the agent, or by attach with PID, not by people. It has no terminal: its options are
// the SAMPLE_* variables, problems go back by the socket FD, to be said in one line.
// docs/command-line.md has the table of the variables. With PID the recording is for those who wake
// the agent (sleeper.h), and goes with the session.

#include "cli/record/injected.h"
#include "cli/record/record_signals.h"
#include "cli/record/recording.h"
#include "cli/refuse.h"
#include "cli/verbs/verbs.h"
#include "cli/views/text.h"
#include "sampler/collector/joining/messages.h"
#include "sampler/collector/process/proc_files.h"
#include "sampler/collector/session.h"
#include "trace/recording_writer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sample::cli {
namespace {

struct Variable {
    const char* name;
    const char* option;
};
constexpr Variable kVariables[] = {
    {"SAMPLE_FREQ", "--freq"},     {"SAMPLE_TIME", "--time"},
    {"SAMPLE_DELAY", "--delay"},   {"SAMPLE_OUTPUT", "--output"},
    {"SAMPLE_EXPORT", "--export"}, {"SAMPLE_SOURCE", "--source"},
    {"SAMPLE_CLOCK", "--clock"},   {"SAMPLE_MAX_STACK", "--max-stack"},
    {"SAMPLE_EVENT", "--event"},   {"SAMPLE_TRACE", "--trace"},
    {"SAMPLE_START", "--start"},
};
struct Switch {
    const char* name;
    const char* on;
    const char* off;
};
constexpr Switch kSwitches[] = {
    {"SAMPLE_CHILDREN", "--children", "--no-children"},
    {"SAMPLE_FORCE", "--force", nullptr},
    {"SAMPLE_SYMBOLS", "--symbols", "--no-symbols"},
    {"SAMPLE_CODE", "--code", "--no-code"},
};

/// The variables as the words of a command line, so that both are read by the same parser.
Result<RecordOptions> options_from_environment() {
    std::vector<std::string> words;
    for (const Variable& variable : kVariables) {
        if (const char* value = std::getenv(variable.name); value != nullptr && *value != '\0') {
            words.insert(words.end(), {variable.option, value});
        }
    }
    for (const Switch& variable : kSwitches) {
        const char* value = std::getenv(variable.name);
        if (value == nullptr || *value == '\0') {
            continue;
        }
        const auto parsed = parse_switch(value);
        if (!parsed.ok()) {
            return refuse("{} is neither 1 nor 0", variable.name);
        }
        const char* option = parsed.value ? variable.on : variable.off;
        if (option != nullptr) {
            words.emplace_back(option);
        }
    }
    words.insert(words.end(), {"--", "program"});
    SAMPLE_TRY(invocation, parse_options<RecordOptions>(words));
    // An event "help" is no event.
    auto* const options = std::get_if<RecordOptions>(&invocation);
    return options != nullptr ? std::move(*options) : RecordOptions{};
}

/// What is recorded, and where it goes.
struct Collection {
    RecordOptions options;
    PreparedRecording recording;
    std::unique_ptr<collector::Session> session;
};

Result<Collection> begin(pid_t root, int stop_fd) {
    SAMPLE_TRY(options, options_from_environment());
    SAMPLE_CHECK(check_event(options));
    SAMPLE_TRY(recording, prepare_recording(options, collector::executable_of(root), root));
    collector::SessionOptions told = session_options_of(options);
    told.command_line = collector::command_line_of(root);
    told.stop_fd = stop_fd;
    told.recording = std::filesystem::absolute(recording.path).string();
    auto session = collector::Session::create(
        std::move(told), std::make_unique<trace::RecordingWriter>(std::move(recording.file.fd)));
    if (!session) {
        recording.file.discard();
        return unexpected(session.error());
    }
    recording.file.keep();
    return Collection{std::move(options), std::move(recording), *std::move(session)};
}

}  // namespace

namespace {

/// Exports are there when the program is gone; names are nothing that it should wait for.
int conclude(Collection& collection, const std::optional<Error>& failure) {
    auto& [options, recording, session] = collection;
    if (options.exports.empty()) {
        session->release_root();
    }
    const bool is_good =
        finish_recording(options, recording, sources_of(session->recorder()), !failure, false)
            .errors.empty() &&
        !failure;
    session->release_root();
    return is_good ? kExitOk : kExitFailure;
}

}  // namespace

int run_collect(int fd, pid_t injected) {
    // The program's terminal and its supervisor mean the program, not us.
    for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGXFSZ}) {
        std::signal(signal, SIG_IGN);
    }
    Fd socket{fd};
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        return kExitUsage;
    }
    const pid_t root = injected != 0 ? injected : peer.pid;
    // A supervisor that ends everything does not mean us before the program has ended.
    RecordSignals signals{{SIGTERM}, root, false};
    auto begun = begin(root, signals.stop_fd());
    if (!begun) {
        const std::string problem = printable(begun.error().message());
        if (injected != 0) {
            sample::write_all(socket.get(), std::string{kNoCollector} + problem);
        } else {
            collector::refuse(socket, problem);
        }
        return kExitFailure;
    }
    collector::Session& session = *begun->session;
    if (injected != 0) {
        sample::write_all(socket.get(), session.name());
        socket.reset();
    }
    const collector::SessionOutcome outcome = session.run(root, std::move(socket));
    signals.command_goes_on();
    int code = kExitFailure;
    if (!outcome.is_empty) {
        code = conclude(*begun, outcome.failure);
    }
    if (outcome.is_empty || injected != 0) {
        // The agent has said why; or those who wanted it have it open.
        begun->recording.file.discard();
        session.release_root();
    }
    return code;
}

}  // namespace sample::cli
