// `sample control`: a session that runs stops, goes on, samples faster, and hands out what it has.
#include "each_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace sample::e2e {
namespace {

/// A shell's words, with `control` for the session that it runs in, and the three parts of a
/// program that the shell's own words end.
constexpr const char* kShell = R"(
TOLD={1}/told
control() {{ LD_PRELOAD= SAMPLE_SESSION= {0} control $$ "$@" >>$TOLD || echo "failed=$*"; }}
enough() {{
    touch {1}/$1
    until [ -e {1}/$1.seen ]; do sleep 0.02; done
}}
attach() {{ LD_PRELOAD= SAMPLE_SESSION= {0} attach --force -o {1}/woken.utrace "$@" 2>{1}/said; }}
{2} {1}/first {1}/second {1}/third {4} &
sleep 0.4
{3}
wait
)";

template <class Base>
class Controlled : public Base {
protected:
    [[nodiscard]] Outcome record_parts(const Words& options, const char* script,
                                       const char* way = "") const {
        Words words = {"--quiet", "--force", "-o", this->recording()};
        words.insert(words.end(), options.begin(), options.end());
        const std::string folder = this->file("").parent_path();
        const Words command = {
            "--", "sh", "-c",
            fmt::format(kShell, sample_path(), folder, target("parts"), script, way)};
        words.insert(words.end(), command.begin(), command.end());
        return this->sample(words, {.settings = {{"XDG_RUNTIME_DIR", folder}}});
    }
    static std::string notes_of(const Recording& seen) { return seen.stats()["notes"].dump(); }
};

using Control = Controlled<EachSource>;

TEST_P(Control, what_runs_while_sampling_is_stopped_is_in_no_figure) {
    const Outcome outcome = record_parts({"--source", GetParam()}, R"(
control stop
enough first
sleep 0.4
enough second
control start
sleep 0.4
enough third)");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("failed="), std::string::npos) << outcome.out;
    const Recording seen = recorded();
    EXPECT_GT(seen.total_us("first_part"), 0);
    EXPECT_EQ(seen.total_us("second_part"), 0);
    EXPECT_GT(seen.total_us("third_part"), 0);
    EXPECT_NEAR(seen.roots_us() / seen.stat("process_cpu_us"), 1, 0.01);
    EXPECT_LT(seen.total_us("third_part"), 1.05 * told(outcome.out, "third_us"));
    EXPECT_NE(notes_of(seen).find("sampling was stopped 1 time, "), std::string::npos)
        << notes_of(seen);
}

SAMPLE_FOR_EACH_SOURCE(Control);

/// Of the source whose samples come by the thread's own clock, in the kernel, too: what another one
/// meets late it meets in the next part.
class ControlledByClock : public Control {
protected:
    /// What `name` used, by its own account, as its samples tell: how much of its neighbours' time
    /// they stand for as well is a matter of how many there are.
    static void expect_part(const Recording& seen, const Outcome& outcome,
                            const std::string& name) {
        const double truth = told(outcome.out, name + "_us");
        ASSERT_GT(seen.stat("samples"), 0);
        const double a_samples_us = seen.stat("sampled_us") / seen.stat("samples");
        EXPECT_NEAR(seen.total_us(name + "_part"), truth, 0.01 * truth + 6 * a_samples_us) << name;
    }
};

TEST_P(ControlledByClock, each_part_keeps_its_time) {
    // Frequencies that any machine's samples leave room for.
    const Outcome outcome = record_parts({"--source", GetParam(), "--freq", "250"}, R"(
control freq 1k
enough first
sleep 0.6
control freq 250
enough second
sleep 0.6
enough third)");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("failed="), std::string::npos) << outcome.out;
    const Recording seen = recorded();
    for (const char* const part : {"first", "second", "third"}) {
        expect_part(seen, outcome, part);
    }
    const std::string notes = notes_of(seen);
    EXPECT_NE(notes.find("250 Hz at first, 1000 from"), std::string::npos) << notes;
    // Where others wake so often that it is put off its processor each time, there are fewer.
    if (notes.find("left the processor often") == std::string::npos) {
        EXPECT_GT(seen.stat("samples"), 0.6 * told(outcome.out, "second_us") / 1000) << "at 1 kHz";
    }
}

// It has no sample until then.
TEST_P(ControlledByClock, what_a_thread_has_used_before_the_start_is_in_no_figure) {
    const Outcome outcome = record_parts({"--source", GetParam(), "--start", "off"}, R"(
control start
enough first
sleep 0.4
enough second
enough third)",
                                         "thread");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_part(recorded(), outcome, "second");
}

INSTANTIATE_TEST_SUITE_P(, ControlledByClock, testing::Values("sigtrap"), source_of);

TEST_P(Control, an_agent_that_sleeps_is_woken_by_attach) {
    const Outcome outcome = record_parts({"--source", GetParam(), "--start", "off"}, R"(
enough first
attach --freq 10k --time 400ms $!
enough second
enough third
head -n1 "${TOLD%told}said")");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("carries an agent that slept"), std::string::npos) << outcome.out;
    for (const std::string& path : Words{recording(), file("woken.utrace")}) {
        const Recording seen{path};
        EXPECT_EQ(seen.total_us("first_part"), 0) << path;
        EXPECT_GT(seen.total_us("second_part"), 0) << path;
        EXPECT_EQ(seen.total_us("third_part"), 0) << path;
        EXPECT_EQ(seen.text_stat("source"), GetParam()) << path;
    }
    EXPECT_NE(notes_of(recorded()).find("sampling was off at the start and stopped 1 time"),
              std::string::npos);
}

using ControlledSession = Controlled<Session>;

TEST_F(ControlledSession, that_samples_an_event_has_no_frequency_and_starts_all_the_same) {
    const Outcome outcome = record_parts({"--event", "page-faults"}, R"(
control freq 1k
control stop
control start freq=5k
tail -n1 "$TOLD"
enough first
enough second
enough third)");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("failed=freq 1k"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("\nrunning; the session samples an event, which has no frequency\n"),
              std::string::npos)
        << outcome.out;
}

TEST_F(ControlledSession, hands_data_to_a_reader_that_has_gone_without_an_error) {
    const Outcome outcome =
        record_parts({}, fmt::format(R"(
enough first
{{
    until [ -e {1}/gone ]; do sleep 0.02; done
    LD_PRELOAD= SAMPLE_SESSION= {0} control $$ data 2>{1}/said
    echo "data=$?" >>{1}/said
}} | {{ exec <&-; touch {1}/gone; }}
cat {1}/said
enough second
enough third)",
                                     sample_path(), std::string{file("").parent_path()})
                             .c_str());
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("data=0\n"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("sample: "), std::string::npos) << outcome.out;
}

TEST_F(ControlledSession, an_agent_whose_waker_is_killed_sleeps_again) {
    const Outcome outcome = record_parts({"--start", "off"}, R"(
state() { rm -f "$TOLD"; control status; head -n1 "$TOLD"; }
attach -f 10k --time 10m $! &
until state | grep -q '^running'; do sleep 0.05; done
enough first
kill -KILL $(cat /proc/$!/task/$!/children)
until state | grep -q '^stopped'; do sleep 0.5; done
enough second
enough third)");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("second_part"), 0);
    EXPECT_EQ(seen.total_us("third_part"), 0);
}

TEST_F(ControlledSession, a_stop_by_hand_cancels_the_countdown) {
    const Outcome outcome = record_parts({"--time", "1h"}, R"(
ask() {
    rm -f "$TOLD"
    control status
}
ask
grep -c '^  stops in ' "$TOLD"
control pause
ask
grep -c '^  stops in ' "$TOLD"
control resume
control stop
ask
grep -c '^  stops in ' "$TOLD"
control start
ask
grep -c '^  stops in ' "$TOLD"
enough first
enough second
control time 200ms
until ask && grep -q '^stopped at' "$TOLD"; do sleep 0.1; done
enough third)");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("1\n1\n0\n0\n"), 0) << outcome.out;
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("second_part"), 0) << "the session went on behind the second";
}

TEST_F(ControlledSession, the_recording_so_far_is_handed_out) {
    const Outcome outcome = record_parts({}, R"(
control dump "$TOLD.utrace"
rm "$TOLD"
control data
enough first; enough second; enough third)");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("failed="), std::string::npos) << outcome.out;
    const Recording so_far{file("told.utrace")};
    EXPECT_GT(so_far.total_us("first_part"), 0);
    EXPECT_EQ(so_far.total_us("third_part"), 0);
    std::ifstream told{file("told")};
    const auto data = nlohmann::json::parse(told, nullptr, false);
    EXPECT_EQ(data.value("Version", 0), 2);
}

TEST_F(ControlledSession, is_not_replaced_by_its_dump) {
    const Outcome outcome = record_parts({}, R"(
control dump --force "${TOLD%told}r.utrace"
enough first; enough second; enough third)");
    EXPECT_NE(outcome.out.find("failed=dump --force"), std::string::npos) << outcome.out;
    EXPECT_GT(Recording{recording()}.total_us("third_part"), 0) << outcome.err;
}

TEST_F(ControlledSession, is_named_by_its_program_whose_path_has_blanks) {
    const std::filesystem::path shell = file("a shell");
    std::filesystem::create_symlink("/bin/sh", shell);
    const Outcome outcome =
        sample({"--quiet", "-o", recording(), "--", shell, "-c",
                fmt::format("LD_PRELOAD= SAMPLE_SESSION= {} control 'a shell' status; true",
                            sample_path())},
               {.settings = {{"XDG_RUNTIME_DIR", file("")}}});
    EXPECT_EQ(outcome.out.find("running at "), 0) << outcome.out << outcome.err;
}

TEST_F(ControlledSession, an_agent_that_sleeps_records_in_no_parts) {
    const Outcome outcome = record_parts({"--start", "off"}, R"(
attach --rotate 1s $! || head -n1 "${TOLD%told}said"
enough first; enough second; enough third)");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("leave --rotate, --keep and --max-size out"), std::string::npos)
        << outcome.out;
    EXPECT_FALSE(std::filesystem::exists(file("woken.utrace")));
}

// What has ended before is in earlier parts.
TEST_F(ControlledSession, the_part_so_far_is_handed_out) {
    const Outcome outcome = record_parts({"--rotate", "200ms"}, R"(
parts() { ls "${TOLD%told}" | grep -c '^r[.]0'; }
enough first
ended=$(parts)
until [ $(parts) -gt $((ended + 1)) ]; do sleep 0.02; done
control dump "$TOLD.utrace"
rm "$TOLD"
control data
enough second; enough third)");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("failed="), std::string::npos) << outcome.out;
    EXPECT_EQ(Recording{file("told.utrace")}.total_us("first_part"), 0);
    std::ifstream told{file("told")};
    const auto data = nlohmann::json::parse(told, nullptr, false);
    EXPECT_EQ(data.value("Version", 0), 2);
    EXPECT_EQ(data.dump().find("first_part"), std::string::npos);
}

// No other part is handed out in its place.
TEST_F(ControlledSession, a_part_that_was_renamed_is_not_handed_out) {
    const Outcome outcome = record_parts({"--rotate", "200ms"}, R"(
parts() { ls "${TOLD%told}" | grep -c '^r[.]0'; }
until [ $(parts) -gt 1 ]; do sleep 0.02; done
mv "${TOLD%told}r.utrace" "${TOLD%told}moved"
control dump "$TOLD.utrace"
enough first; enough second; enough third)");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("failed=dump"), std::string::npos) << outcome.out;
    EXPECT_FALSE(std::filesystem::exists(file("told.utrace")));
}

// The numbers of its threads are others than those of /proc.
TEST_F(ControlledSession, what_sleeps_in_a_pid_namespace_is_seen_behind_a_stop) {
    if (run_here({"unshare", "--pid", "--fork", "--mount-proc", "true"}).exit_code != 0) {
        GTEST_SKIP() << "unshare --pid needs CAP_SYS_ADMIN";
    }
    const Outcome outcome =
        sample({"--quiet", "--clock", "wall", "-o", recording(), "--", "sh", "-c",
                fmt::format(R"(
control() {{ LD_PRELOAD= SAMPLE_SESSION= {0} control $$ "$@" >/dev/null || echo "failed=$*"; }}
unshare --pid --fork --mount-proc {1} worked over &
sleep 2
touch worked
until [ -e worked.seen ]; do sleep 0.02; done
before=$(date +%s%N)
control stop
control start
echo off_us=$((($(date +%s%N) - before) / 1000))
sleep 2
touch over
wait)",
                            sample_path(), target("works_then_sleeps"))},
               {.settings = {{"XDG_RUNTIME_DIR", recording().parent_path()}},
                .directory = recording().parent_path()});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find("failed="), std::string::npos) << outcome.out;
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("sleeps_on"),
              0.6 * (told(outcome.out, "slept_us") - told(outcome.out, "off_us")))
        << outcome.out;
    EXPECT_NEAR(seen.total_us("works_first") / told(outcome.out, "worked_us"), 1, 0.1);
}

}  // namespace
}  // namespace sample::e2e
