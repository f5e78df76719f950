// The agent is brought into programs that were started without it: they go on as if nothing was,
// and it samples, sleeps and wakes as one that was there from the start; or `sample` refuses, and
// says what to do.
#include "beside.h"
#include "edges.h"
#include "tests/built.h"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace sample::e2e {
namespace {

class Inject : public Attach {
protected:
    void SetUp() override {
        if (is_under_seccomp()) {
            GTEST_SKIP() << "this test's programs are under a seccomp filter";
        }
    }
    [[nodiscard]] Outcome inject(const Beside& program) const {
        return attach({"--inject", "--time", "200ms", program.pid()});
    }
    [[nodiscard]] std::string over() const { return file("over"); }
    void end(Beside& program) const {
        const std::ofstream made{over()};
        EXPECT_EQ(program.wait(), 0) << program.out();
    }
    /// The signals that its first thread blocks.
    static std::string blocked_by(const Beside& program) {
        const std::string status = text_of("/proc/" + program.pid() + "/status");
        const std::size_t at = status.find("SigBlk:");
        return status.substr(at, status.find('\n', at) - at);
    }
    void expect_refusal_to_inject(const Beside& program, const std::string& says) const {
        const Outcome outcome = inject(program);
        EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
        EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
        EXPECT_EQ(text_of("/proc/" + program.pid() + "/maps").find("libsample"), std::string::npos);
    }
};

TEST_F(Inject, samples_from_inside_sleeps_afterwards_and_wakes) {
    const auto program = start({target("three_leaves"), "600"});
    const Outcome outcome = sample(
        {"attach", "--inject", "--freq", "10k", "--time", "1s", "-o", recording(), program->pid()});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    {
        const Recording seen{recording()};
        EXPECT_EQ(seen.text_stat("source"), "thread");
        EXPECT_EQ(seen.text_stat("source_reason"), "");
        const double leaves = seen.total_us("leaf_fifty") + seen.total_us("leaf_thirty") +
                              seen.total_us("leaf_twenty");
        const double samples = seen.effective_samples();
        expect_share(seen.total_us("leaf_fifty"), leaves, 0.5, samples);
        expect_share(seen.total_us("leaf_thirty"), leaves, 0.3, samples);
        EXPECT_EQ(seen.stat("threads"), 1) << "the one that has brought the agent in is ours";
    }
    EXPECT_NE(sample({"sessions"}).out.find("stopped"), std::string::npos);
    const Outcome again = sample({"attach", "--freq", "10k", "--time", "200ms", "--force", "-o",
                                  recording(), program->pid()});
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_NE(again.err.find("carries an agent that slept"), std::string::npos) << again.err;
    const Outcome twice = inject(*program);
    EXPECT_EQ(twice.exit_code, 0) << "it is woken: " << twice.err;
}

TEST_F(Inject, leaves_no_file_and_no_collector_behind_a_program_that_ends) {
    const auto program = start({target("injected"), "sums", over()});
    const Outcome outcome = inject(*program);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto recordings = [&] {
        int count = 0;
        for (const auto& each : std::filesystem::directory_iterator{"/tmp"}) {
            count += each.path().filename().string().starts_with("sample-injected-" +
                                                                 program->pid() + "-")
                         ? 1
                         : 0;
        }
        return count;
    };
    EXPECT_EQ(recordings(), 1);
    end(*program);
    while (recordings() != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

class InjectAsRoot : public AttachAsUser {};

// Its user may look into it.
TEST_F(InjectAsRoot, a_users_collector_has_nothing_of_ours) {
    if (is_under_seccomp()) {
        GTEST_SKIP() << "this test's programs are under a seccomp filter";
    }
    install(std::filesystem::path{sample_path()}.parent_path() / "../lib/libsample.so",
            "libsample.so");
    install(target("injected"), "injected");
    std::ofstream{file("secret")} << "ours";
    Beside program{{file("confine"), "--user", "65534", file("injected"), "sums", file("over")},
                   file("out")};
    program.await_exec("injected");
    const Outcome outcome =
        run_here({"sh", "-c",
                  fmt::format("exec 7<{}; exec {} attach --inject --quiet --time 50ms -o {} {}",
                              file("secret").string(), file("sample").string(),
                              recording().string(), program.pid())},
                 {.settings = {{"SECRET", "ours"}}});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string command = std::string{"sample\0collect\0", 15} + "3" + '\0' + program.pid();
    std::string environment = "no collector";
    std::string files;
    for (const auto& process : std::filesystem::directory_iterator{"/proc"}) {
        if (text_of(process.path() / "cmdline").starts_with(command)) {
            environment = text_of(process.path() / "environ");
            for (const auto& each : std::filesystem::directory_iterator{process.path() / "fd"}) {
                files += std::filesystem::read_symlink(each).string() + "\n";
            }
        }
    }
    EXPECT_NE(environment.find("SAMPLE_START=off"), std::string::npos) << environment;
    EXPECT_EQ(environment.find("SECRET"), std::string::npos) << environment;
    EXPECT_EQ(files.find("secret"), std::string::npos) << files;
    const std::ofstream made{file("over")};
    EXPECT_EQ(program.wait(), 0) << program.out();
}

class InjectedWait : public Inject, public testing::WithParamInterface<const char*> {};

TEST_P(InjectedWait, neither_fails_nor_ends_early) {
    // Source thread may end a wait by a sample, and says so. At one a second there is hardly one.
    for (bool was_sampled = true; was_sampled;) {
        std::filesystem::remove(over());
        const auto program = start({target("injected"), "waits", GetParam(), over()});
        const Outcome outcome = sample({"attach", "--inject", "--quiet", "--force", "--freq", "1",
                                        "--time", "20ms", "-o", recording(), program->pid()});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        const std::ofstream made{over()};
        const int status = program->wait();
        was_sampled = Recording{recording()}.stat("samples") > 0;
        EXPECT_TRUE(status == 0 || was_sampled) << program->out();
    }
}

INSTANTIATE_TEST_SUITE_P(Of, InjectedWait,
                         testing::Values("nanosleep", "poll", "select", "epoll", "condition",
                                         "read", "signal"),
                         [](const auto& kind) { return std::string{kind.param}; });

TEST_F(Inject, leaves_registers_as_they_were) {
    for (int round = 0; round < 5; ++round) {
        std::filesystem::remove(over());
        const auto program = start({target("injected"), "sums", over()});
        const Outcome outcome = inject(*program);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        end(*program);
    }
}

TEST_F(Inject, waits_until_no_lock_is_held) {
    for (int round = 0; round < 5; ++round) {
        std::filesystem::remove(over());
        const auto program = start({target("injected"), "churns", target("plugin.so"), over()});
        const Outcome outcome = inject(*program);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        end(*program);
    }
}

TEST_F(Inject, a_program_outlives_who_is_killed_at_any_request_of_ptrace) {
    for (const Words& command : {Words{target("injected"), "sums", over()},
                                 Words{target("injected"), "waits", "condition", over()}}) {
        int requests = 0;
        for (bool was_killed = true; was_killed; ++requests) {
            SCOPED_TRACE(command[1] + ", killed behind request " + std::to_string(requests));
            std::filesystem::remove(over());
            const auto program = start(command);
            const std::string blocked = blocked_by(*program);
            const Outcome outcome = sample({"attach", "--inject", "--quiet", "--force", "--time",
                                            "20ms", "-o", recording(), program->pid()},
                                           {{},
                                            {{"LD_PRELOAD", built::kKilledAtRequest},
                                             {"KILLED_AT_REQUEST", std::to_string(requests + 1)}},
                                            {}});
            was_killed = outcome.signal == SIGKILL;
            EXPECT_TRUE(was_killed || outcome.exit_code == 0) << outcome.err;
            // What is ours there still runs for a moment.
            for (int i = 0; i < 1000 && blocked_by(*program) != blocked; ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds{10});
            }
            EXPECT_EQ(blocked_by(*program), blocked);
            end(*program);
        }
        EXPECT_GT(requests, 20);
    }
}

TEST_F(Inject, a_program_outlives_who_dies_when_its_thread_is_made) {
    for (int round = 0; round < 10; ++round) {
        std::filesystem::remove(over());
        const auto program = start({target("injected"), "waits", "condition", over()});
        {
            const Beside recorder{{sample_path(), "attach", "--inject", "--quiet", "--force", "-o",
                                   recording(), program->pid()},
                                  file("told")};
            recorder.await_exec(sample_path());
            std::this_thread::sleep_for(std::chrono::milliseconds{15 + 10 * round});
        }  // is killed
        end(*program);
    }
}

TEST_F(Inject, takes_no_library_with_a_like_name_for_its_own) {
    std::filesystem::copy_file(target("plugin.so"), file("libsamplerate.so.0"));
    Beside program{{"env", "LD_PRELOAD=" + file("libsamplerate.so.0").string(), target("injected"),
                    "sums", over()},
                   file("out")};
    program.await_exec(target("injected"));
    const Outcome outcome = inject(program);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    end(program);
}

TEST_F(Inject, refuses_where_it_would_not_be_safe) {
    expect_refusal_to_inject(*start({target("three_leaves_static"), "60"}), "statically linked");
    const auto handling = start({target("injected"), "handles", over()});
    while (handling->out().empty()) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    expect_refusal_to_inject(*handling, "SIGURG");
    const auto stopped = start({target("three_leaves"), "60"});
    stopped->signal(SIGSTOP);
    while (stopped->state() != 'T') {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    expect_refusal_to_inject(*stopped, "it is stopped");
    EXPECT_EQ(attach({"--inject", "--off-cpu", "1"}).exit_code, 2);
    const auto two = attach({"--inject", "1", "2"});
    EXPECT_NE(two.err.find("one process at a time"), std::string::npos) << two.err;
}

}  // namespace
}  // namespace sample::e2e
