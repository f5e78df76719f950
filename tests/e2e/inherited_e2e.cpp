// What `sample` gets from who starts it is the command's: signals, timers, sockets, closed
// descriptors, being process 1. And where `sample` itself may lie.
#include "session.h"
#include "terminal.h"
#include "tests/built.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>

namespace sample::e2e {
namespace {

class Inherited : public Session {
protected:
    /// A shell's script, in which `$record` stands for `sample --quiet … --`.
    [[nodiscard]] Outcome shell(const std::string& script) const {
        const std::string record = fmt::format("record='{} --quiet --force -o {} --'\n",
                                               sample_path(), recording().string());
        return run_here({"bash", "-c", record + script});
    }
    void expect_whole() const { EXPECT_TRUE(Recording{recording()}.flag("whole")); }
};

TEST_F(Inherited, an_ignored_child_signal_costs_no_exit_code) {
    for (const char* ignored : {"CHLD", "CHLD USR1 HUP"}) {
        const Outcome outcome =
            shell(fmt::format("trap '' {}; exec $record sh -c 'exit 7'", ignored));
        EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
        expect_whole();
    }
}

TEST_F(Inherited, ignored_signals_are_ignored_in_the_command) {
    const Outcome outcome =
        shell("trap '' CHLD USR1 PIPE; exec $record grep -E '^Sig(Ign|Blk)' /proc/self/status");
    const Outcome bare =
        shell("trap '' CHLD USR1 PIPE; exec grep -E '^Sig(Ign|Blk)' /proc/self/status");
    EXPECT_EQ(outcome.out, bare.out);
}

TEST_F(Inherited, what_the_whole_group_is_sent_is_the_commands) {
    for (const char* name : {"USR1", "USR2", "ALRM", "VTALRM", "PROF", "IO", "PWR", "STKFLT",
                             "RTMIN", "TERM", "HUP", "ABRT", "SEGV"}) {
        const Outcome outcome = shell(fmt::format(
            "exec $record bash -c 'trap \"echo got it\" {0}; kill -{0} 0; sleep 0.2; exit 5'",
            name));
        EXPECT_EQ(outcome.exit_code, 5) << name << outcome.err;
        EXPECT_EQ(outcome.out, "got it\n") << name;
        expect_whole();
    }
}

TEST_F(Inherited, a_signal_to_sample_alone_is_the_commands) {
    for (const char* name : {"TERM", "HUP", "ABRT", "SEGV", "TRAP", "XCPU"}) {
        const Outcome outcome = shell(fmt::format(
            R"($record bash -c 'trap "echo got it; exit 5" {0}; touch ready; for i in $(seq 900); do sleep 0.1; done' &
until [ -e ready ]; do sleep 0.05; done
kill -{0} $!; wait $!; ended=$?; rm ready; exit $ended)",
            name));
        EXPECT_EQ(outcome.exit_code, 5) << name << outcome.err;
        EXPECT_EQ(outcome.out, "got it\n") << name;
        expect_whole();
    }
}

TEST_F(Inherited, the_end_of_a_terminal_is_the_commands) {
    Terminal terminal{{sample_path(), "--quiet", "-o", recording(), "--", "bash", "-c",
                       "trap 'exit 5' HUP; echo ready; for i in $(seq 900); do sleep 0.1; done"}};
    ASSERT_TRUE(terminal.wait_for("ready")) << terminal.text();
    terminal.hang_up();
    const int status = terminal.finish();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
    expect_whole();
}

TEST_F(Inherited, little_of_anything_costs_no_exit_code) {
    // From what lets the session begin at all to what lacks little.
    for (const char* limit : {"-d 8000", "-d 20000", "-d 28000", "-d 36000", "-d 42000", "-d 43000",
                              "-n 4", "-n 6", "-n 9", "-n 12", "-s 64", "-s 160", "-v 200000"}) {
        const std::string limited = fmt::format("ulimit {}; exec ", limit);
        if (shell(limited + sample_path() + " version").exit_code != 0) {
            continue;  // the loader has too little for `sample`
        }
        const Outcome outcome = shell(limited + "$record sh -c 'echo ran; exit 7'");
        EXPECT_EQ(outcome.exit_code, 7) << limit << outcome.err;
        EXPECT_EQ(outcome.out, "ran\n") << limit;
    }
}

// The kernel then tells of no signal who sent it.
TEST_F(Inherited, signals_that_can_not_be_queued_cost_no_exit_code) {
    const Outcome outcome =
        shell("ulimit -i 0; exec ${record%--} --time 100ms -- sh -c 'sleep 0.5; exit 7'");
    EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
    EXPECT_EQ(outcome.signal, 0);
    expect_whole();
}

TEST_F(Inherited, few_processes_cost_no_exit_code) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    for (const auto& [from, name] : {std::pair{sample_path(), "sample"},
                                     {agent_path(), "libsample.so"},
                                     {std::string{built::kConfine}, "confine"}}) {
        std::filesystem::copy_file(from, file(name));
        std::filesystem::permissions(file(name), std::filesystem::perms{0755});
    }
    std::filesystem::permissions(file(""), std::filesystem::perms{0777});
    for (const std::string way : {"--quiet", "--rotate=60s"}) {
        for (int most = 1; most <= 9; ++most) {
            const Outcome outcome =
                run_here({file("confine"), "--user", "47123", "prlimit",
                          "--nproc=" + std::to_string(most), file("sample"), way, "--quiet",
                          "--force", "-o", recording(), "--", "sh", "-c", "echo ran; exit 7"});
            EXPECT_EQ(outcome.exit_code, 7) << way << most << outcome.err;
            EXPECT_EQ(outcome.out, "ran\n") << way << most;
        }
    }
}

TEST_F(Inherited, timers_are_the_commands) {
    // The command ends by its signal, once it has made it come at once.
    const Outcome outcome = shell(R"(exec python3 -c '
import os, signal, sys
signal.setitimer(signal.ITIMER_REAL, 5000)
os.execvp(sys.argv[1], sys.argv[1:])' $record python3 -c '
import signal
assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 5000
signal.setitimer(signal.ITIMER_REAL, 0.001)
while True:
    signal.pause()')");
    EXPECT_EQ(outcome.signal, SIGALRM) << outcome.err;
    expect_whole();
}

TEST_F(Inherited, signals_that_wait_are_the_commands) {
    // Each of our own signals, too; what waits is told with the words of its sender.
    const std::string show = R"(import signal
names = {signal.SIGUSR1, signal.SIGTRAP, signal.SIGURG, signal.SIGTERM, signal.SIGRTMIN}
all = []
while signal.sigpending():
    told = signal.sigtimedwait(names, 0)
    all.append((told.si_signo, told.si_code, told.si_uid))
print(*sorted(all), sep='\n')
)";
    const std::string wait = R"(import os, signal, sys
names = [signal.SIGUSR1, signal.SIGTRAP, signal.SIGURG, signal.SIGTERM, signal.SIGRTMIN]
signal.pthread_sigmask(signal.SIG_BLOCK, names)
for each in names + [signal.SIGRTMIN]:
    os.kill(os.getpid(), each)
os.execvp(sys.argv[1], sys.argv[1:])
)";
    const Outcome bare = run_here({"python3", "-c", wait, "python3", "-c", show});
    for (const char* source : {"sigtrap", "perf", "thread"}) {
        const Outcome outcome =
            run_here({"python3", "-c", wait, sample_path(), "--quiet", "--force", "--source",
                      source, "-o", recording(), "--", "python3", "-c", show});
        EXPECT_EQ(outcome.out, bare.out) << source << outcome.err;
        EXPECT_EQ(outcome.exit_code, 0) << source << outcome.err;
    }
    EXPECT_EQ(std::count(bare.out.begin(), bare.out.end(), '\n'), 6) << bare.out;
}

TEST_F(Inherited, an_environment_without_room_for_ours_is_the_commands) {
    constexpr std::size_t kLongestEntry = 131'071;  // MAX_ARG_STRLEN of Linux, with its end.
    const std::string preload(kLongestEntry - std::string{"LD_PRELOAD="}.size(), ':');
    const Outcome outcome = sample({"--quiet", "-o", recording(), "--", "sh", "-c",
                                    "echo ${#LD_PRELOAD} $SAMPLE_SESSION; exit 7"},
                                   {.settings = {{"LD_PRELOAD", preload}}});
    EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
    EXPECT_EQ(outcome.out, std::to_string(preload.size()) + "\n");
    EXPECT_NE(outcome.err.find("leave no room for what sample adds to them; the command runs "
                               "unprofiled\n"),
              std::string::npos)
        << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(recording()));
}

TEST_F(Inherited, sockets_of_an_activation_are_the_commands) {
    const Outcome outcome =
        shell("LISTEN_FDS=1 LISTEN_PID=$$ exec $record bash -c 'echo $((LISTEN_PID == $$))'");
    EXPECT_EQ(outcome.out, "1\n");
    const Outcome others =
        shell("LISTEN_FDS=1 LISTEN_PID=1 exec $record bash -c 'echo $LISTEN_PID'");
    EXPECT_EQ(others.out, "1\n");
}

TEST_F(Inherited, a_services_watchdog_is_the_commands) {
    const Outcome outcome =
        shell("WATCHDOG_PID=$$ exec $record bash -c 'echo $((WATCHDOG_PID == $$))'");
    EXPECT_EQ(outcome.out, "1\n");
}

TEST_F(Inherited, closed_descriptors_are_closed_in_the_command) {
    for (const char* closed : {"2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"}) {
        const std::string list = fmt::format("bash -c 'ls /proc/$$/fd >{}'", file("open").string());
        (void)shell(fmt::format("exec {} {}", closed, list));
        const std::string bare = run_here({"cat", file("open")}).out;
        const Outcome outcome = shell(fmt::format("exec {} $record {}", closed, list));
        EXPECT_EQ(run_here({"cat", file("open")}).out, bare) << closed;
        EXPECT_EQ(outcome.err, "");
        expect_whole();
    }
}

// Who waits for the end of a pipe, or for a lock, waits for the command alone.
TEST_F(Inherited, descriptors_are_the_commands_alone) {
    std::ofstream{file("waits.py")} << R"(
import fcntl, os, signal, subprocess, sys
(in_end, in_), (out, out_end), (further, further_end) = os.pipe(), os.pipe(), os.pipe()
lock = os.open("lock", os.O_CREAT | os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
lets_go = f"exec 0<&- 1>&- {further_end}>&- {lock}>&-"
command = subprocess.Popen(
    sys.argv[1:] + ["bash", "-c", lets_go + "; until [ -e seen ]; do sleep 0.02; done; exit 5"],
    stdin=in_end, stdout=out_end, pass_fds=[further_end, lock])
for descriptor in (in_end, out_end, further_end, lock):
    os.close(descriptor)
signal.alarm(60)
assert os.read(out, 1) + os.read(further, 1) == b""
fcntl.flock(os.open("lock", os.O_RDWR), fcntl.LOCK_EX)
try:
    while True:
        os.write(in_, b"x")
except BrokenPipeError:
    open("seen", "w")
sys.exit(command.wait())
)";
    const Outcome outcome = shell("exec python3 waits.py $record");
    EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
    expect_whole();
}

TEST_F(Inherited, descriptors_that_are_to_be_written_to_stay) {
    for (const char* path : {"/dev/fd/3", "/proc/self/fd/3", "/dev/stderr"}) {
        const Outcome outcome = shell(
            fmt::format("exec 3>&1; exec ${{record%--}} --freq 10k --export folded={} -- {} 0.2",
                        path, target("three_leaves")));
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        const std::string both = outcome.out + outcome.err;
        EXPECT_NE(both.find("leaf_fifty"), std::string::npos) << path << both;
    }
}

TEST_F(Inherited, orphans_are_reaped_by_process_1) {
    constexpr const char* kScript = R"(
for i in 1 2 3; do sh -c 'sleep 0.1 & exit 0'; done
for tries in $(seq 200); do
    sleep 0.05
    [ $(pgrep -cx sleep) = 0 ] && exit 3
done)";
    if (run_here({"unshare", "-pf", "--mount-proc", "true"}).exit_code != 0) {
        GTEST_SKIP() << "no pid namespace can be made here";
    }
    std::ofstream{file("orphans.sh")} << kScript;
    const Outcome outcome =
        run_here({"unshare", "-pf", "--mount-proc", sample_path(), "--quiet", "--force", "-o",
                  recording(), "--", "sh", file("orphans.sh")});
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
}

TEST_F(Inherited, a_missing_proc_costs_no_exit_code) {
    const auto without_proc = [this](const Words& command) {
        Words words = {"unshare", "-m", "sh", "-c", R"(mount -t tmpfs none /proc && exec "$@")",
                       "sh"};
        words.insert(words.end(), command.begin(), command.end());
        return run_here(words);
    };
    if (without_proc({"true"}).exit_code != 0) {
        GTEST_SKIP() << "no mount namespace can be made here";
    }
    const Outcome outcome =
        without_proc({sample_path(), "--force", "-o", recording(), "--", "sh", "-c", "exit 7"});
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_NE(outcome.err.find("the command runs unprofiled"), std::string::npos) << outcome.err;
}

TEST_F(Inherited, the_list_of_a_programs_libraries_is_its_own) {
    const Outcome outcome = shell("exec $record ldd " + target("three_leaves"));
    EXPECT_NE(outcome.out.find("libc.so"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out.find("libsample"), std::string::npos) << outcome.out;
}

TEST_F(Inherited, it_may_lie_in_any_folder) {
    for (const char* name : {"my projects", "a:b", "$ORIGIN", "\xc3\xbc b"}) {
        const std::filesystem::path folder = file(name);
        std::filesystem::create_directory(folder);
        std::filesystem::copy_file(sample_path(), folder / "sample");
        std::filesystem::copy_file(agent_path(), folder / "libsample.so");
        const Outcome outcome =
            run_here({folder / "sample", "--quiet", "--force", "--freq", "10k", "-o", recording(),
                      "--", "sh", "-c", target("three_leaves") + " 0.2"});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
        EXPECT_GT(Recording{recording()}.total_us("leaf_fifty"), 0) << name;
    }
}

}  // namespace
}  // namespace sample::e2e
