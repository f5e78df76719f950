// Live data over HTTP: what a page would read, who may read it, and that the command notices none
// of it.
#include "beside.h"
#include "session.h"
#include "terminal.h"
#include "tests/built.h"
#include "tests/server/live_client.h"
#include "tests/server/live_reader.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <set>

namespace sample::e2e {
namespace {

using server::LiveAddress;
using server::LiveClient;
using server::LiveEvent;
using server::LiveEvents;
using server::LiveReader;

class Live : public Session {
protected:
    /// Starts `sample WORDS` on a terminal; its address is read from there.
    void start(const Words& words) {
        Words all{sample_path()};
        all.insert(all.end(), words.begin(), words.end());
        running_.emplace(all);
        constexpr std::string_view kBefore = "sample: live at ";
        ASSERT_TRUE(running_->wait_for(kBefore) && running_->wait_for("/\r\n")) << running_->text();
        const std::string& text = running_->text();
        const std::size_t from = text.find(kBefore) + kBefore.size();
        address_.emplace(text.substr(from, text.find('\r', from) - from));
    }
    /// Of a program that works until stop_command(), and then exits with 7.
    void start_record() {
        ASSERT_EQ(mkfifo(file("stop").c_str(), 0600), 0);
        const std::string script = target("three_leaves") + " 600 >/dev/null & read x <" +
                                   file("stop").string() + "; kill $!; wait; exit 7";
        start({"record", "--live", "--quiet", "-o", recording(), "--", "/bin/sh", "-c", script});
    }
    void stop_command() const { std::ofstream{file("stop")} << "\n"; }

    [[nodiscard]] Terminal& running() { return *running_; }
    [[nodiscard]] const LiveAddress& address() const { return *address_; }
    [[nodiscard]] std::string host() const { return "Host: " + address_->host + "\r\n"; }
    [[nodiscard]] std::string status_of(const std::string& path, const std::string& headers) const {
        const std::string answer = answer_to(*address_, path, headers);
        return answer.substr(0, answer.find('\r'));
    }

    static void take(LiveReader& reader, const LiveEvent& event) {
        ASSERT_TRUE(event.name == "snapshot" || event.name == "delta") << event.name;
        reader.take(event.data, event.name == "snapshot");
    }
    /// Takes all up to the end, which the command waits for, and that of the command, with the exit
    /// code `code`. What there is then is what the recording has.
    void expect_the_recording_in_the_end(LiveReader& reader, LiveEvents& events, int code) {
        for (LiveEvent event = events.next(); event.name != "end"; event = events.next()) {
            ASSERT_NO_FATAL_FAILURE(take(reader, event));
        }
        const int status = running().finish();
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == code) << status << running().text();
        const nlohmann::json live = reader.all();
        EXPECT_EQ(live["state"], "ended");
        const Outcome outcome = sample({"report", "--view", "threads", "--json", recording()});
        const auto report = nlohmann::json::parse(outcome.out, nullptr, false);
        ASSERT_FALSE(report.is_discarded()) << outcome.err;
        EXPECT_EQ(reader.self_sum() / 1000, report["total_us"].get<std::uint64_t>());
        EXPECT_EQ(live["nodes"][0][4], reader.self_sum()) << "the root's total";
        // Rows: number, process, thread, name, program, time, samples.
        std::multiset<std::string> seen;
        for (const nlohmann::json& row : live["threads"]) {
            seen.insert(row[3].get<std::string>() + " " +
                        std::to_string(row[5].get<std::uint64_t>() / 1000) + " " + row[6].dump());
        }
        std::multiset<std::string> recorded;
        for (const nlohmann::json& thread : report["threads"]) {
            recorded.insert(thread["name"].get<std::string>() + " " + thread["cpu_us"].dump() +
                            " " + thread["samples"].dump());
        }
        EXPECT_EQ(seen, recorded);
    }

private:
    std::optional<Terminal> running_;
    std::optional<LiveAddress> address_;
};

TEST_F(Live, deltas_add_up_to_each_snapshot) {
    ASSERT_NO_FATAL_FAILURE(start_record());
    LiveEvents events{address()};
    LiveReader reader;
    ASSERT_NO_FATAL_FAILURE(take(reader, events.next()));
    for (int round = 0; round < 3; ++round) {
        LiveReader other;
        other.take(snapshot_of(address()), true);
        while (reader.sequence() < other.sequence()) {
            ASSERT_NO_FATAL_FAILURE(take(reader, events.next()));
        }
        EXPECT_EQ(reader.all(), other.all());
    }
    while (reader.all().dump().find("leaf_fifty") == std::string::npos) {
        ASSERT_NO_FATAL_FAILURE(take(reader, events.next()));
    }
    stop_command();
    EXPECT_GE(running().finish(), 0);
}

TEST_F(Live, the_end_is_what_was_recorded) {
    ASSERT_NO_FATAL_FAILURE(start_record());
    LiveEvents events{address()};
    LiveReader reader;
    ASSERT_NO_FATAL_FAILURE(take(reader, events.next()));
    stop_command();
    expect_the_recording_in_the_end(reader, events, 7);
}

TEST_F(Live, a_process_that_runs_already_has_it_too) {
    const Beside program{{target("three_leaves"), "600"}, file("out")};
    program.await_exec("three_leaves");
    ASSERT_NO_FATAL_FAILURE(
        start({"attach", "--live", "--quiet", "-o", recording(), program.pid()}));
    LiveEvents events{address()};
    LiveReader reader;
    do {
        ASSERT_NO_FATAL_FAILURE(take(reader, events.next()));
    } while (reader.all()["samples"] == 0);
    running().signal(SIGINT);
    expect_the_recording_in_the_end(reader, events, 0);
}

TEST_F(Live, the_whole_machine_has_it_too) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "the machine is root's to record";
    }
    const Beside program{{target("three_leaves"), "600"}, file("out")};
    program.await_exec("three_leaves");
    ASSERT_NO_FATAL_FAILURE(start({"record", "-a", "--live", "--quiet", "-o", recording()}));
    // Of how much there is to tell, the machine decides.
    while (snapshot_of(address()).find("leaf_fifty") == std::string::npos) {
    }
    running().signal(SIGINT);
    EXPECT_EQ(running().finish(), 0) << running().text();
}

TEST_F(Live, strangers_are_refused) {
    ASSERT_NO_FATAL_FAILURE(start_record());
    const std::string path = address().path + "snapshot";
    EXPECT_EQ(status_of(path, host()), "HTTP/1.1 200 OK");
    EXPECT_EQ(status_of(path, host() + "Origin: http://" + address().host + "\r\n"),
              "HTTP/1.1 200 OK");
    EXPECT_EQ(status_of(path, host() + "Origin: http://example.com\r\n"), "HTTP/1.1 403 Forbidden");
    EXPECT_EQ(status_of(path, "Host: example.com\r\n"), "HTTP/1.1 403 Forbidden");
    EXPECT_EQ(status_of("/", host()), "HTTP/1.1 404 Not Found");
    EXPECT_EQ(status_of("/snapshot", host()), "HTTP/1.1 404 Not Found");
    std::string wrong = path;
    wrong[1] = wrong[1] == '0' ? '1' : '0';
    EXPECT_EQ(status_of(wrong, host()), "HTTP/1.1 404 Not Found");
    EXPECT_FALSE(LiveClient(address().port, "127.0.0.2").is_connected()) << "a wider address";
    stop_command();
    EXPECT_GE(running().finish(), 0);
}

TEST_F(Live, other_users_are_not_told_the_token) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become other users";
    }
    ASSERT_NO_FATAL_FAILURE(start_record());
    const std::string process = "/proc/" + std::to_string(running().pid());
    const Outcome outcome =
        run_here({built::kConfine, "--user", "65534", "/bin/bash", "-c",
                  "cat " + process + "/cmdline " + process + "/environ; ls -l " + process +
                      "/fd; exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(address().port) +
                      "; printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' >&3; cat <&3"});
    EXPECT_NE(outcome.out.find("HTTP/1.1 404 Not Found"), std::string::npos) << outcome.err;
    const std::string token = address().path.substr(1, address().path.size() - 2);
    EXPECT_EQ((outcome.out + outcome.err).find(token), std::string::npos);
    stop_command();
    EXPECT_GE(running().finish(), 0);
}

TEST_F(Live, clients_that_do_not_read_or_ask_hold_nobody_up) {
    ASSERT_NO_FATAL_FAILURE(start_record());
    const LiveClient asleep{address().port};
    asleep.get(address().path + "events", host());
    const LiveClient vague{address().port};
    vague.send("GET /");
    LiveReader reader;
    reader.take(snapshot_of(address()), true);
    EXPECT_EQ(reader.all()["state"], "running");
    stop_command();
    const int status = running().finish();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status << running().text();
}

TEST_F(Live, a_port_that_is_taken_is_said_before_anything_runs) {
    ASSERT_NO_FATAL_FAILURE(start_record());
    const std::string other = file("other.utrace").string();
    const Outcome outcome = sample({"record", "--live=" + std::to_string(address().port), "-o",
                                    other, "--", "/bin/touch", file("it_ran").string()});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find("cannot serve live data at port"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(file("it_ran")));
    EXPECT_FALSE(std::filesystem::exists(other));
    stop_command();
    EXPECT_GE(running().finish(), 0);
}

TEST_F(Live, the_command_inherits_nothing_of_it) {
    const Words command{"/bin/sh", "-c",
                        "ls /proc/$$/fd; grep -E 'SigIgn|SigBlk' /proc/self/status"};
    Words words{"record", "--live", "--quiet", "-o", recording(), "--"};
    words.insert(words.end(), command.begin(), command.end());
    const Outcome live = sample(words);
    EXPECT_EQ(live.exit_code, 0) << live.err;
    EXPECT_EQ(live.out, run_here(command).out);
}

}  // namespace
}  // namespace sample::e2e
