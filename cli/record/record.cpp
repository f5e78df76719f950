// `sample record`: starts a command, records it, prints the summary, passes its exit code on.
//
//   check the command ─▶ fork it, held back ─▶ open the file ─▶ session ─▶ let it exec ─▶ record
//     ─▶ summary and exports ─▶ wait for it ─▶ end as it ended
#include "cli/output.h"
#include "cli/record/command.h"
#include "cli/record/inherited.h"
#include "cli/record/last_resort.h"
#include "cli/record/live_data.h"
#include "cli/record/machine.h"
#include "cli/record/memory_copy.h"
#include "cli/record/parts.h"
#include "cli/record/progress.h"
#include "cli/record/receivers.h"
#include "cli/record/record_signals.h"
#include "cli/record/recording.h"
#include "cli/roomy_heap.h"
#include "cli/verbs/verbs.h"
#include "sampler/collector/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

namespace sample::cli {
namespace {

int exec_failure_code(const Error& error) {
    print_error(error.message());
    return error.errno_value == ENOENT ? kExitNotFound : kExitNotExecutable;
}

/// Becomes the command, as if we were not there. Returns if that fails.
int run_unprofiled(const std::vector<std::string>& command) {
    act_as_inherited();
    exec_command(command);
    return exec_failure_code(Error::from_errno("cannot run the command"));
}

int run_unprofiled(const std::vector<std::string>& command, const Error& why) {
    print_error(why.message() + "; the command runs unprofiled");
    return run_unprofiled(command);
}

/// Nothing that the user has said, and could say otherwise.
bool is_shortage(const Error& error) {
    const int number = error.errno_value;
    return number == EMFILE || number == ENFILE || number == ENOMEM || number == EAGAIN;
}

/// Errors: also no memory and no thread to be had.
Result<std::unique_ptr<collector::Session>> create_session(
    collector::SessionOptions options, std::unique_ptr<trace::RecordSink> sink) {
    try {
        return collector::Session::create(std::move(options), std::move(sink));
    } catch (const std::exception& error) {
        return unexpected(ErrorCode::system,
                          std::string{"cannot start the session: "} + error.what());
    }
}

/// What is made of a recording while it goes on.
struct Meanwhile {
    std::unique_ptr<LiveData> live;
    std::unique_ptr<Parts> parts;
    std::unique_ptr<MemoryCopy> copy;
};

Result<Meanwhile> begin_meanwhile(const RecordOptions& options,
                                  const PreparedRecording& recording) {
    SAMPLE_TRY(live, LiveData::start(options));
    SAMPLE_TRY(parts, Parts::begin(options, recording));
    auto copy = std::make_unique<MemoryCopy>();
    if (parts != nullptr || is_memory_limited() || (options.quiet && !options.symbols)) {
        copy->drop();
    }
    return Meanwhile{std::move(live), std::move(parts), std::move(copy)};
}

/// Names what was recorded, and says what and where it is.
void conclude_session(const collector::SessionOutcome& outcome, const collector::Recorder& recorder,
                      const RecordOptions& options, Meanwhile& meanwhile,
                      PreparedRecording& recording) {
    if (outcome.failure) {
        print_error("the recording is not whole: " + outcome.failure->message());
    }
    make_heap_roomy();
    const ModuleSources sources = Parts::finish(meanwhile.parts.get(), recording, recorder);
    tell(finish_recording(options, recording, sources, !outcome.failure, !options.quiet,
                          meanwhile.copy->take()),
         options, recording.path);
    Parts::tell(meanwhile.parts.get());
}

/// Once the command runs, unless a file that is to be written is named as a descriptor of ours.
void let_go_of_descriptors(const LaunchedCommand& command, const RecordOptions& options) {
    const auto is_one = [](std::string_view path) {
        return path.starts_with("/dev/fd/") || path.starts_with("/dev/std") ||
               path.starts_with("/proc/");
    };
    const bool writes_to_one =
        is_one(options.output) ||
        std::any_of(options.exports.begin(), options.exports.end(),
                    [&](const ExportRequest& each) { return is_one(each.path); });
    if (!writes_to_one) {
        command.let_go();
    }
}

/// With what is asked and told while it runs. All of it outlives the session.
collector::SessionOptions session_options_of(const RecordOptions& options, const std::string& path,
                                             const RecordSignals& signals, Parts* parts,
                                             const Countdown& countdown) {
    collector::SessionOptions session = session_options_of(options);
    session.command_line = fmt::format("{}", fmt::join(options.command, " "));
    session.stop_fd = signals.stop_fd();
    session.recording = std::filesystem::absolute(path).string();
    session.current_part = Parts::opener(parts);
    session.on_cancel = [&countdown] { countdown.clear(); };
    session.on_second = [&countdown](std::chrono::nanoseconds left) { countdown.show(left); };
    session.on_trouble = [](const std::string& text) { print_error(text); };
    return session;
}

/// The recording is over; the command may go on, with what is sent to us.
int end_behind(const LaunchedCommand& command, const RecordSignals& signals) {
    const std::optional<int> status =
        outlast(command.pid(), RecordSignals::kOfACommand, signals.interrupts());
    return status ? end_like(*status) : kExitFailure;
}

int record_command(RecordOptions options, LaunchedCommand& command, const std::string& preload) {
    auto prepared = prepare_recording(options, options.command[0], command.pid());
    if (!prepared) {
        if (is_shortage(prepared.error())) {
            command.give_up();
            return run_unprofiled(options.command, prepared.error());
        }
        print_error(prepared.error().message());
        return kExitUsage;
    }
    NewRecording& recording = prepared->file;
    RecordSignals signals{RecordSignals::kOfACommand, command.pid(), true};
    auto meanwhile = begin_meanwhile(options, *prepared);
    if (!meanwhile) {
        recording.discard();
        print_error(meanwhile.error().message());
        return kExitUsage;
    }
    auto& [live, parts, copy] = *meanwhile;
    const Countdown countdown{!options.quiet};
    auto session = create_session(
        session_options_of(options, prepared->path, signals, parts.get(), countdown),
        copy->beside(LiveData::beside(live.get(), Parts::sink(parts.get(), *prepared))));
    if (!session) {
        recording.discard();
        signals.command_goes_on();
        command.give_up();
        return run_unprofiled(options.command, session.error());
    }
    Parts::follow(parts.get(), (*session)->recorder());
    const auto started = command.start(preload, (*session)->name());
    if (!started) {
        recording.discard();
        return exec_failure_code(started.error());
    }
    guard_started();
    let_go_of_descriptors(command, options);
    std::string why_empty = std::string{kNoRoom} + "; the command runs unprofiled";
    collector::SessionOutcome outcome;
    outcome.is_empty = !*started;
    if (*started) {
        recording.keep();
        outcome = (*session)->run(command.pid());
        why_empty = "nothing was recorded: " + outcome.why_empty;
    }
    countdown.clear();
    // Whatever is made of the recording, a signal ends it.
    signals.command_goes_on();
    LiveData::finish(live.get());
    if (outcome.is_empty) {
        print_error(why_empty);
        recording.discard();
    } else {
        conclude_session(outcome, (*session)->recorder(), options, *meanwhile, *prepared);
    }
    session->reset();
    live.reset();
    return end_behind(command, signals);
}

/// By the environment that the command gets.
Result<void> prepare_receivers(const RecordOptions& options, const std::string& agent) {
    SAMPLE_TRY(settings, receiver_settings(options.trace, follow_links(agent)));
    for (const std::string& note : settings.notes) {
        print_error(note);
    }
    for (const auto& [variable, library] : settings.variables) {
        ::setenv(variable.c_str(), library.c_str(), 1);
    }
    return {};
}

/// Adds the host of the plug-ins to `preload`, and tells it of them by the environment that the
/// command gets.
Result<void> prepare_plugins(const RecordOptions& options, std::string& preload) {
    if (options.unity_plugins.empty()) {
        return {};
    }
    SAMPLE_TRY(host, find_unity_host());
    preload += ":" + host;
    ::setenv("SAMPLE_UNITY_PLUGIN",
             fmt::format("{}", fmt::join(options.unity_plugins, ":")).c_str(), 1);
    if (options.unity_release) {
        ::setenv("SAMPLE_UNITY_RELEASE", "1", 1);
    }
    return {};
}

/// The same of the profiler modules: those of the variable first.
Result<void> prepare_modules(const RecordOptions& options, std::string& preload) {
    const char* const set = std::getenv("SAMPLE_MODULE");
    const std::string before = set == nullptr ? "" : set;
    if (before.empty() && options.modules.empty()) {
        return {};
    }
    SAMPLE_TRY(host, find_module_host());
    preload += ":" + host;
    const std::string named = fmt::format("{}", fmt::join(options.modules, ";"));
    ::setenv("SAMPLE_MODULE",
             (before.empty() || named.empty() ? before + named : before + ";" + named).c_str(), 1);
    return {};
}

/// What is preloaded into the command, whose environment is made for it.
Result<std::string> prepare_preload(const RecordOptions& options, const std::string& runtime) {
    // Only where they are asked for: malloc is the program's as it is else.
    const bool with_memory = ("," + options.trace + ",").find(",memory,") != std::string::npos;
    SAMPLE_TRY(agent, find_agent_library(with_memory));
    SAMPLE_CHECK(prepare_receivers(options, agent));
    std::string preload = runtime.empty() ? agent : runtime + ":" + agent;
    SAMPLE_CHECK(prepare_plugins(options, preload));
    SAMPLE_CHECK(prepare_modules(options, preload));
    return preload;
}

}  // namespace

Result<int> run(const RecordOptions& options) {
    if (options.machine) {
        return record_machine(options);
    }
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
        print_error(check->cannot_profile +
                    "; it runs unprofiled: sample attach PID records it from outside");
        return run_unprofiled(options.command);
    }
    const std::vector<char*> environment = environment_now();
    const auto preload = prepare_preload(options, check->runtime);
    if (!preload && preload.error().errno_value != 0) {  // not what the user has said
        return run_unprofiled(options.command, preload.error());
    }
    if (!preload) {
        return unexpected(preload.error());
    }
    auto command = LaunchedCommand::fork(options.command, environment);
    if (!command) {
        return run_unprofiled(options.command, command.error());
    }
    stand_by_the_command();
    guard(command->pid(), command->order());
    return record_command(options, *command, *preload);
}

}  // namespace sample::cli
