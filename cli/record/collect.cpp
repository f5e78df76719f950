// `sample collect FD`: the collector of a program that was run with libsample.so preloaded and no
// front end.
//
// Started by the agent, not by people. It has no terminal: its options are the SAMPLE_* variables,
// problems go back to the agent, which says them in one line. docs/command-line.md has the table of
// the variables.
#include "cli/record/collect.h"

#include "analysis/name_cache.h"
#include "analysis/name_recording.h"
#include "cli/options/record.h"
#include "cli/record/record_exports.h"
#include "cli/record/record_signals.h"
#include "cli/record/recording_file.h"
#include "cli/record/session_options.h"
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
#include <memory>
#include <utility>

namespace sample::cli {
namespace {

struct Variable {
    const char* name;
    const char* option;
};
constexpr Variable kVariables[] = {
    {"SAMPLE_FREQ", "--freq"},           {"SAMPLE_TIME", "--time"},
    {"SAMPLE_OUTPUT", "--output"},       {"SAMPLE_EXPORT", "--export"},
    {"SAMPLE_SOURCE", "--source"},       {"SAMPLE_CLOCK", "--clock"},
    {"SAMPLE_MAX_STACK", "--max-stack"}, {"SAMPLE_EVENT", "--event"},
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
            return unexpected(ErrorCode::invalid_argument,
                              std::string{variable.name} + " is neither 1 nor 0");
        }
        const char* option = parsed.value ? variable.on : variable.off;
        if (option != nullptr) {
            words.emplace_back(option);
        }
    }
    words.insert(words.end(), {"--", "program"});
    auto parsed = parse_record_options(words);
    if (!parsed) {
        return unexpected(parsed.error());
    }
    return std::move(parsed->options);
}

Result<std::unique_ptr<collector::Session>> make_session(RecordOptions& options, pid_t root,
                                                         int stop_fd, std::string& file,
                                                         NewRecording& made) {
    if (const auto event = check_event(options); !event) {
        return unexpected(event.error());
    }
    const std::string executable = collector::executable_of(root);
    file =
        expand_pattern(options.output.empty() ? kDefaultOutput : options.output, executable, root);
    if (const auto exports = name_exports(options, executable, root, file); !exports) {
        return unexpected(exports.error());
    }
    auto recording = open_recording(file, options.force);
    if (!recording) {
        return unexpected(recording.error());
    }
    made = std::move(*recording);
    collector::SessionOptions session = session_options_of(options);
    session.command_line = collector::command_line_of(root);
    session.stop_fd = stop_fd;
    return collector::Session::create(std::move(session),
                                      std::make_unique<trace::RecordingWriter>(std::move(made.fd)));
}

/// Its names, and what is made of it. False: something of that failed.
bool finish_recording(const RecordOptions& options, const std::string& file,
                      const collector::Session& session) {
    if ((!options.symbols || !is_regular_file(file)) && options.exports.empty()) {
        return true;
    }
    const auto cache = analysis::user_cache(options.cache);
    auto named = analysis::name_recording(file,
                                          {true, session.module_files(), options.debug_folders,
                                           cache.get(), session.module_readers()},
                                          times_wanted(options.exports));
    if (!named) {
        return false;
    }
    const bool is_kept =
        !options.symbols || analysis::keep_names(file, *named, options.code).has_value();
    return write_exports(options, *named).empty() && is_kept;
}

}  // namespace

int run_collect(int fd) {
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
    // A supervisor that ends everything does not mean us before the program has ended.
    RecordSignals signals{{SIGTERM}, peer.pid, false};
    auto options = options_from_environment();
    std::string file;
    NewRecording recording;
    auto session = options
                       ? make_session(*options, peer.pid, signals.stop_fd(), file, recording)
                       : Result<std::unique_ptr<collector::Session>>{unexpected(options.error())};
    if (!session) {
        collector::refuse(socket, printable(session.error().message()));
        return kExitFailure;
    }
    const collector::SessionOutcome outcome = (*session)->run(peer.pid, std::move(socket));
    signals.command_goes_on();
    if (outcome.is_empty) {
        // The agent has said why.
        recording.discard();
        (*session)->release_root();
        return kExitFailure;
    }
    // Exports are there when the program is gone; names are nothing that it should wait for.
    if (options->exports.empty()) {
        (*session)->release_root();
    }
    const bool good = finish_recording(*options, file, **session) && !outcome.failure;
    (*session)->release_root();
    return good ? kExitOk : kExitFailure;
}

}  // namespace sample::cli
