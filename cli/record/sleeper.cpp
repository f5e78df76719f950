#include "cli/record/sleeper.h"

#include "cli/output.h"
#include "cli/record/targets.h"
#include "core/file_rights.h"
#include "core/regular_file.h"
#include "sampler/collector/process/proc_files.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

namespace sample::cli {
namespace {

constexpr int kLookMs = 100;

/// Until the session samples no more; false: it has ended.
bool await_stop(Sleeper& sleeper, int stop_fd) {
    pollfd stop{stop_fd, POLLIN, 0};
    while (::poll(&stop, 1, kLookMs) <= 0) {
        if (const auto status = sleeper.session.ask("status"); status) {
            if (value_of(*status, "state") != "running") {
                return true;
            }
            continue;
        }
        // It has hung up: it ends, or too many talk to it.
        if (collector::has_died(sleeper.collector, -1)) {
            return false;
        }
        if (auto again = find_session(std::to_string(sleeper.pid), stop_fd)) {
            sleeper.session = *std::move(again);
        }
    }
    return sleeper.session.ask("stop").has_value();
}

/// The session's recording so far, or all of it, which is `from`, once it has ended.
Result<void> copy_recording(Sleeper& sleeper, bool goes_on, int stop_fd, const Fd& from, int to) {
    if (goes_on) {
        SAMPLE_TRY(reply, sleeper.session.ask("dump"));
        return sleeper.session.copy_recording(to, std::stoull(value_of(reply, "bytes")));
    }
    // It names the functions meanwhile.
    pollfd stop{stop_fd, POLLIN, 0};
    while (!collector::has_died(sleeper.collector, -1) && ::poll(&stop, 1, kLookMs) <= 0) {
    }
    constexpr std::size_t kPart = std::size_t{1} << 30U;
    ssize_t copied = from.is_open() ? 1 : -1;
    while (copied > 0) {
        copied = ::sendfile(to, from.get(), nullptr, kPart);
    }
    if (copied < 0) {
        return unexpected(Error::from_errno("cannot copy " + sleeper.recording));
    }
    return {};
}

/// With the rights of the process's user, whose session has named it.
Fd open_session_file(const Sleeper& sleeper) {
    const ActingAs its_user{lesser_rights_in(collector::status_of(sleeper.pid), nullptr)};
    return open_regular(sleeper.recording);
}

}  // namespace

Result<std::optional<Sleeper>> find_sleeper(const AttachOptions& options, int stop_fd) {
    // An agent does not see switches, and sleeps on.
    if (options.record.off_cpu || options.targets.size() != 1) {
        return std::optional<Sleeper>{};
    }
    SAMPLE_TRY(pids, find_targets(options, stop_fd));
    auto session = find_session(std::to_string(pids.front()), stop_fd);
    if (!session) {
        return std::optional<Sleeper>{};
    }
    const auto status = session->ask("status");
    if (!status || !status->contains("asleep")) {
        return std::optional<Sleeper>{};
    }
    return std::optional{Sleeper{pids.front(),
                                 static_cast<pid_t>(std::atoi(value_of(*status, "pid").c_str())),
                                 value_of(*status, "file"), *std::move(session)}};
}

Result<PreparedRecording> record_woken(Sleeper& sleeper, RecordOptions& options, int stop_fd) {
    SAMPLE_TRY(prepared, prepare_recording(options, program_of(sleeper.pid), sleeper.pid));
    // It may go with the session.
    const Fd recording = open_session_file(sleeper);
    // Whoever kills us cannot stop it.
    std::string request = fmt::format("start bound=1 freq={}", options.frequency_hz);
    if (options.time) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*options.time);
        request += fmt::format(" time={}ms", ms.count());
    }
    const auto started = sleeper.session.ask(request);
    if (!started) {
        prepared.file.discard();
        return unexpected(started.error());
    }
    prepared.file.keep();
    if (!options.quiet) {
        print_error(fmt::format(
            "process {} carries an agent that slept; it was woken, and samples from inside",
            sleeper.pid));
    }
    const bool goes_on = await_stop(sleeper, stop_fd);
    if (const auto copied =
            copy_recording(sleeper, goes_on, stop_fd, recording, prepared.file.fd.get());
        !copied) {
        prepared.file.discard();
        return unexpected(copied.error());
    }
    return std::move(prepared);
}

}  // namespace sample::cli
