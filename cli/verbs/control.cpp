// `sample control`: tells a running session what to do. `sample sessions`: which there are.
#include "cli/output.h"
#include "cli/refuse.h"
#include "cli/session_client.h"
#include "cli/verbs/verbs.h"
#include "cli/views/table.h"
#include "core/text.h"
#include "sampler/collector/control/control_socket.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

std::uint64_t number_of(const ControlReply& reply, const std::string& key) {
    const std::string text = value_of(reply, key);
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::string sampling_text(const ControlReply& reply) {
    const std::uint64_t hz = number_of(reply, "freq");
    return value_of(reply, "state") + (hz == 0 ? "" : fmt::format(" at {} Hz", grouped(hz)));
}

std::string switched_text(const ControlReply& reply) {
    std::string text =
        fmt::format("channels that are on: {}\n", printable(value_of(reply, "channels")));
    if (reply.contains("unknown")) {
        text += fmt::format("no program of the session has this channel yet: {}\n",
                            printable(value_of(reply, "unknown")));
    }
    if (const std::uint64_t left = number_of(reply, "left"); left != 0) {
        text += fmt::format(
            "{} did not follow: its memory may not be written to, or it loads a "
            "library just now and follows then\n",
            counted(left, "process"));
    }
    return text;
}

std::string status_text(const ControlReply& reply) {
    std::string text = fmt::format(
        "{}\n  collector  {}\n  command    {} (pid {})\n  since      {} ago\n",
        sampling_text(reply), value_of(reply, "pid"), printable(value_of(reply, "command")),
        value_of(reply, "root"), session_length(number_of(reply, "elapsed_ms")));
    if (reply.contains("left_ms")) {
        text += fmt::format("  stops in   {}\n", session_length(number_of(reply, "left_ms")));
    }
    if (reply.contains("channels")) {
        text += fmt::format("  channels   {}\n", printable(value_of(reply, "channels")));
    }
    if (reply.contains("file")) {
        text += fmt::format("  recording  {}, {} bytes so far\n",
                            printable(value_of(reply, "file")), grouped(number_of(reply, "bytes")));
    }
    return text;
}

/// The file of a dump is ours to write.
std::string request_line(const ControlOptions& options) {
    std::string line = options.action;
    if (options.action != kDumpAction) {
        for (const std::string& argument : options.arguments) {
            line += " " + argument;
        }
    }
    return line;
}

/// One that replaced the recording would end it: the session goes on writing to what is gone.
Result<void> write_dump(SessionClient& client, const ControlOptions& options) {
    const std::string& file = options.arguments.front();
    SAMPLE_TRY(status, client.ask(kStatusAction));
    std::error_code none;
    if (std::filesystem::equivalent(file, value_of(status, "file"), none)) {
        return refuse("{} is the session's own recording: name another file", file);
    }
    SAMPLE_TRY(reply, client.ask(request_line(options)));
    const auto copy = [&client, bytes = number_of(reply, "bytes")](int fd) {
        return client.copy_recording(fd, bytes);
    };
    return write_file_atomically(file, copy, options.force);
}

std::string reply_text(const ControlOptions& options, const ControlReply& reply) {
    if (options.action == kStatusAction) {
        return status_text(reply);
    }
    if (options.action == kChannelsAction) {
        return switched_text(reply);
    }
    const bool wants_frequency =
        std::any_of(options.arguments.begin(), options.arguments.end(),
                    [](const std::string& word) { return word.starts_with("freq="); });
    return sampling_text(reply) + (wants_frequency && number_of(reply, "freq") == 0
                                       ? "; the session samples an event, which has no frequency\n"
                                       : "\n");
}

}  // namespace

Result<int> run(const ControlOptions& options) {
    SAMPLE_TRY(client, find_session(options.target));
    if (options.action == kDumpAction) {
        SAMPLE_CHECK(write_dump(client, options));
        return kExitOk;
    }
    SAMPLE_TRY(reply, client.ask(request_line(options)));
    SAMPLE_CHECK(options.action == kDataAction
                     ? write_to_stdout([&client](int fd) { return client.copy_json(fd); })
                     : write_to_stdout(reply_text(options, reply)));
    return kExitOk;
}

Result<int> run(const SessionsOptions& options) {
    const std::vector<FoundSession> sessions = ask_sessions(::geteuid(), "status");
    const auto text = [&](const char* key) {
        return
            [&sessions, key](std::size_t row) { return Json(value_of(sessions[row].reply, key)); };
    };
    const auto number = [&](const char* key) {
        return
            [&sessions, key](std::size_t row) { return Json(number_of(sessions[row].reply, key)); };
    };
    const auto age = [&](std::size_t row) {
        return Json(session_length(number_of(sessions[row].reply, "elapsed_ms")));
    };
    Table table;
    table.rows = sessions.size();
    table.columns = {{"collector", "session", Kind::id, number("pid")},
                     {"root", "pid", Kind::id, number("root")},
                     {"state", "state", Kind::word, text("state")},
                     {"frequency_hz", "Hz", Kind::count, number("freq")},
                     {"", "running for", Kind::figure, age},
                     {"elapsed_ms", "", Kind::count, number("elapsed_ms")},
                     {"bytes", "bytes", Kind::count, number("bytes")},
                     {"file", "", Kind::word, text("file")},
                     {"command", "", Kind::word, text("command")}};
    table.name_heading = "command";
    table.name = [&](std::size_t row, std::size_t /*room*/) {
        return printable(value_of(sessions[row].reply, "command"));
    };
    if (sessions.empty() && !options.json) {
        SAMPLE_CHECK(write_to_stdout("no session of yours runs\n"));
        return kExitOk;
    }
    SAMPLE_CHECK(write_to_stdout(
        options.json ? dump(json_of(table))
                     : text_of(table, detect_terminal(STDOUT_FILENO, options.color))));
    return kExitOk;
}

}  // namespace sample::cli
