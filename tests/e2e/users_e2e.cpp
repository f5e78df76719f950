// Every kind of user gets the best source that works for him, is told which one and why, and gets
// the same figures: the sums within 3 %, the shares within chance. His program does not notice.
//
// The users are made by tests/tools/confine and by kernel.perf_event_paranoid, so these tests are
// root's. Who lacks a privilege cannot read a build folder that is root's either: he uses copies.
#include "kernel_setting.h"
#include "session.h"
#include "tests/built.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

namespace sample::e2e {
namespace {

struct UserKind {
    const char* name;
    std::optional<int> paranoid;  ///< kernel.perf_event_paranoid; empty: as it is.
    Words confined;               ///< What `confine` is told.
    const char* source;           ///< What he gets,
    const char* reason;           ///< and, in part, why it is not the first choice.
    bool kernel_seen = true;

    friend std::ostream& operator<<(std::ostream& out, const UserKind& kind) {
        return out << kind.name;
    }
};

Words operator+(Words left, const Words& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

std::vector<UserKind> all_users() {
    const Words ordinary = {"--user", "65534"};
    return {
        {"root", {}, {}, "sigtrap", ""},
        {"paranoid_minus_1", -1, ordinary, "sigtrap", ""},
        {"paranoid_1", 1, ordinary, "sigtrap", ""},
        {"paranoid_2", 2, ordinary, "sigtrap", "", false},
        {"debians_paranoid_3", 2, ordinary + Words{"--refuse-perf", "EACCES"}, "thread",
         "sigtrap was refused (Permission denied), perf was refused (Permission denied)"},
        {"container",
         {},
         ordinary + Words{"--refuse-perf", "EPERM"},
         "thread",
         "perf was refused (Operation not permitted)"},
        {"container_that_hides_perf",
         {},
         ordinary + Words{"--refuse-perf", "ENOSYS"},
         "thread",
         "perf was refused (Function not implemented)"},
        {"kernel_without_sigtrap", 2, ordinary + Words{"--no-sigtrap"}, "perf",
         "sigtrap was refused", false},
        {"kernel_before_5_13", {}, {"--before-5.13"}, "perf", "sigtrap was refused", false},
        {"traced", {}, {"--traced"}, "perf", "a debugger or tracer is attached", false},
    };
}

/// Without the times that a target tells, which differ from run to run.
std::string words_of(const Outcome& outcome) {
    return outcome.out.substr(0, outcome.out.find("_cpu_"));
}

UserKind user(std::string_view name) {
    const std::vector<UserKind> users = all_users();
    return *std::find_if(users.begin(), users.end(),
                         [name](const UserKind& kind) { return kind.name == name; });
}

class User : public Session, public testing::WithParamInterface<UserKind> {
protected:
    void SetUp() override {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root can become other users";
        }
        if (GetParam().paranoid) {
            paranoid_.emplace("perf_event_paranoid", std::to_string(*GetParam().paranoid));
            if (!paranoid_->is_set()) {
                GTEST_SKIP() << paranoid_->problem();
            }
        }
        namespace fs = std::filesystem;
        ASSERT_EQ(chmod(file("").c_str(), 0755), 0);
        ASSERT_TRUE(fs::create_directory(file("own")));
        ASSERT_EQ(chmod(file("own").c_str(), 0777), 0);
        (void)install(built::kConfine, "confine");
        (void)install(sample_path(), "sample");
        (void)install(agent_path(), "libsample.so");
    }

    /// A copy that this user may run.
    [[nodiscard]] std::string install(const std::string& from, const std::string& name) const {
        std::filesystem::copy_file(from, file(name),
                                   std::filesystem::copy_options::overwrite_existing);
        EXPECT_EQ(chmod(file(name).c_str(), 0755), 0);
        return file(name);
    }

    [[nodiscard]] std::filesystem::path kept() const { return file("own/r.utrace"); }

    [[nodiscard]] Outcome run_as_user(const Words& command) const {
        return run_here(Words{file("confine")} + GetParam().confined + command);
    }

    [[nodiscard]] Outcome record_as_user(const Words& command, const Words& options = {}) const {
        return run_as_user(Words{file("sample"), "--quiet", "--freq", "10k", "--force"} + options +
                           Words{"-o", kept(), "--"} + command);
    }

    /// With the agent alone; waits for the recording.
    [[nodiscard]] Outcome preload_as_user(const Words& command) const {
        std::filesystem::remove(kept());
        return run_as_user(Words{"env", "LD_PRELOAD=" + file("libsample.so").string(),
                                 "SAMPLE_FREQ=10k", "SAMPLE_OUTPUT=" + kept().string()} +
                           command);
    }

    void expect_source(const Recording& seen) const {
        EXPECT_EQ(seen.text_stat("source"), GetParam().source);
        if (*GetParam().reason == '\0') {
            EXPECT_EQ(seen.text_stat("source_reason"), "");
        } else {
            EXPECT_NE(seen.text_stat("source_reason").find(GetParam().reason), std::string::npos)
                << seen.text_stat("source_reason");
        }
    }

    /// The leaves' shares, and the sum of it all: what three_leaves says it used is in its leaves,
    /// or said not to be seen, as a sample's own work in the kernel is where that is excluded.
    static void expect_figures(const Recording& seen, const Outcome& outcome) {
        EXPECT_NEAR(seen.used_us() / told(outcome.out, "process_cpu_us"), 1, 0.03);
        const std::map<const char*, double> shares{
            {"leaf_fifty", 0.5}, {"leaf_thirty", 0.3}, {"leaf_twenty", 0.2}};
        double leaves_us = 0;
        for (const auto& [leaf, share] : shares) {
            leaves_us += seen.self_us(leaf);
        }
        for (const auto& [leaf, share] : shares) {
            EXPECT_NEAR(seen.self_us(leaf) / leaves_us, share,
                        six_sigma(share, seen.effective_samples()) + 0.01)
                << leaf;
        }
        EXPECT_NEAR(1000 * (leaves_us + seen.unseen_us()) / told(outcome.out, "work_cpu_ns"), 1,
                    0.05 + seen.late_share());
        EXPECT_GT(leaves_us, 0);
    }

private:
    std::optional<KernelSetting> paranoid_;
};

TEST_P(User, gets_his_source_its_reason_and_right_figures) {
    const std::string command = install(target("three_leaves"), "three_leaves");
    const Outcome outcome = record_as_user({command, "0.3"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const Recording seen{kept()};
    expect_source(seen);
    expect_figures(seen, outcome);
    const std::string report = sample({"report", kept()}).out;
    EXPECT_NE(report.find(std::string{" Hz by "} + GetParam().source), std::string::npos) << report;
    EXPECT_EQ(report.find("sampled with source") != std::string::npos, *GetParam().reason != '\0')
        << report;
}

class AloneUser : public User {};

TEST_P(AloneUser, gets_the_same_of_the_agent_alone) {
    const std::string command = install(target("three_leaves"), "three_leaves");
    const Outcome outcome = preload_as_user({command, "0.3"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const Recording seen{kept()};
    expect_source(seen);
    expect_figures(seen, outcome);
}

TEST_P(User, notices_nothing_in_his_program) {
    for (const Words& command :
         {Words{install(target("exit_code"), "exit_code"), "7", "its own words"},
          Words{install(target("killed"), "killed"), "term", "0"}}) {
        SCOPED_TRACE(command[0]);
        const Outcome bare = run_as_user(command);
        const Outcome profiled = record_as_user(command);
        EXPECT_EQ(words_of(profiled), words_of(bare));
        EXPECT_EQ(profiled.err, bare.err);
        EXPECT_EQ(profiled.exit_code, bare.exit_code);
        EXPECT_EQ(profiled.signal, bare.signal);
    }
}

/// Whose kernel time is not seen by sigtrap, so that the thread inside takes over in what follows.
class TakenOverUser : public User {};

TEST_P(TakenOverUser, gets_no_signal_in_a_new_image_after_much_in_the_kernel) {
    std::ofstream{file("chain.sh")}
        << "i=0; while [ $i -lt 60000 ]; do [ -e / ]; i=$((i+1)); done\n"
           "[ $1 -gt 0 ] || exit 7\n"
           "exec sh \"$0\" $(($1-1))\n";
    const Outcome outcome = record_as_user({"sh", file("chain.sh"), "8"});
    EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
    EXPECT_EQ(outcome.signal, 0);
    EXPECT_GT(Recording{kept()}.stat("samples"), 0);
}

TEST_P(TakenOverUser, gets_no_signal_where_none_can_be_queued) {
    const Outcome outcome =
        record_as_user({install(target("wordless_signals"), "wordless_signals")});
    EXPECT_EQ(outcome.out, "sent_by_nobody=0\nown=1\n");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.signal, 0);
    const Recording seen{kept()};
    EXPECT_NE(seen.stats()["notes"].dump().find("a thread inside it took over"), std::string::npos);
}

class KernelUser : public User {};

TEST_P(KernelUser, finds_his_kernel_time_where_it_can_be_seen) {
    const std::string command = install(target("syscalls"), "syscalls");
    const Outcome outcome = record_as_user({command, "read", "1"}, {"--freq", "1k"});
    const Recording seen{kept()};
    EXPECT_NEAR(seen.used_us() / told(outcome.out, "process_cpu_us"), 1, 0.03);
    const double unseen = seen.total_us("[kernel, caller unseen]");
    const double reading = seen.total_us("read_zeros");
    const bool says =
        seen.stats()["notes"].dump().find("a thread inside it took over") != std::string::npos;
    const bool takes_over = !GetParam().kernel_seen && seen.text_stat("source") == "sigtrap";
    EXPECT_EQ(says, takes_over);
    // Whoever interrupts it may be late, on a busy machine: then it is in its next call.
    const double reading_or_next = reading + seen.total_us("__vdso_clock_gettime");
    if (takes_over) {
        EXPECT_LT(unseen, 0.1 * seen.roots_us());
        EXPECT_GT(reading_or_next, 0.85 * 1'000'000);
        EXPECT_GT(reading, 0.1 * 1'000'000);  // where nobody takes over, it is less
    } else if (GetParam().kernel_seen) {
        EXPECT_EQ(unseen, 0);
        EXPECT_GT(reading_or_next, 0.85 * 1'000'000);
        EXPECT_GT(reading, 0.1 * 1'000'000);
    } else {
        EXPECT_GT(unseen, 0.9 * 1'000'000);
        EXPECT_LT(reading, 0.1 * 1'000'000);
    }
}

TEST_P(User, is_told_the_same_by_the_doctor) {
    const Outcome outcome = run_as_user({file("sample"), "doctor", "--json"});
    const auto said = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_FALSE(said.is_discarded()) << outcome.out << outcome.err;
    EXPECT_EQ(said["auto_source"], GetParam().source);
    EXPECT_EQ(said["auto_source_reason"].is_null(), *GetParam().reason == '\0');
}

INSTANTIATE_TEST_SUITE_P(Kinds, User, testing::ValuesIn(all_users()),
                         [](const auto& kind) { return std::string{kind.param.name}; });

INSTANTIATE_TEST_SUITE_P(Kinds, AloneUser,
                         testing::Values(user("paranoid_2"), user("container"), user("traced")),
                         [](const auto& kind) { return std::string{kind.param.name}; });

INSTANTIATE_TEST_SUITE_P(Kinds, TakenOverUser, testing::Values(user("paranoid_2")),
                         [](const auto& kind) { return std::string{kind.param.name}; });

INSTANTIATE_TEST_SUITE_P(Kinds, KernelUser,
                         testing::Values(user("paranoid_1"), user("paranoid_2"), user("container"),
                                         user("kernel_without_sigtrap")),
                         [](const auto& kind) { return std::string{kind.param.name}; });

using Confined = Session;

TEST_F(Confined, a_debugger_that_comes_later_is_given_way) {
    const Outcome outcome = sample({"--quiet", "--source", "sigtrap", "--freq", "10k", "-o",
                                    recording(), "--", target("traced_later")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(told(outcome.out, "quiet"), 1) << told(outcome.out, "stops") << " stops";
    const Outcome report = sample({"report", recording()});
    EXPECT_NE(report.out.find("while a debugger or tracer was attached"), std::string::npos)
        << report.out;
}

TEST_F(Confined, a_traced_program_would_be_stopped_by_sigtrap) {
    const Outcome outcome =
        run_here({built::kConfine, "--traced", sample_path(), "--quiet", "--source", "sigtrap",
                  "-o", recording(), "--", target("three_leaves"), "0.1"});
    EXPECT_EQ(outcome.exit_code, 99) << outcome.err;
}

/// One that nothing here depends on.
constexpr const char* kHarmless = "perf_event_mlock_kb";

std::string read_setting() {
    std::ifstream file{std::string{"/proc/sys/kernel/"} + kHarmless};
    std::string value;
    file >> value;
    return value;
}

TEST_F(Confined, a_setting_is_put_back_though_its_test_is_killed) {
    const std::string before = read_setting();
    const std::string other = before + "1";
    const pid_t child = fork();
    if (child == 0) {
        const KernelSetting setting{kHarmless, other};
        raise(setting.is_set() && read_setting() == other ? SIGKILL : SIGTERM);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WTERMSIG(status) != SIGKILL) {
        GTEST_SKIP() << "the settings below /proc/sys/kernel cannot be changed here";
    }
    const KernelSetting waits_for_the_lock{kHarmless, before};
    EXPECT_EQ(read_setting(), before);
}

}  // namespace
}  // namespace sample::e2e
