// Programs that steer their own profiler, and others, by the public interface.
#include "sample/profiler.h"
#include "tests/built.h"
#include "tests/e2e/session.h"

#include <fstream>
#include <iterator>
#include <string>

namespace sample::e2e {
namespace {

/// Sessions listen in a folder of the test's own.
class Steering : public Session {
protected:
    [[nodiscard]] RunOptions here() const {
        return {.settings = {{"XDG_RUNTIME_DIR", file("")},
                             {"SAMPLE_OUTPUT", recording()},
                             {"PYTHONPATH", built::kPythonPath},
                             {"SAMPLE_BIN", sample_path()}}};
    }
    [[nodiscard]] Outcome steer(const Words& words) const {
        Words command{"--quiet", "--freq", "1k", "-o", recording(), "--", target("steers")};
        command.insert(command.end(), words.begin(), words.end());
        return sample(command, here());
    }
};

nlohmann::json read_json(const std::filesystem::path& path) {
    std::ifstream in{path};
    return nlohmann::json::parse(in, nullptr, false);
}

TEST_F(Steering, what_is_stopped_is_not_seen) {
    const Outcome outcome = steer({"data", file("data.json")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(told(outcome.out, "stop"), 0) << outcome.out;
    EXPECT_EQ(told(outcome.out, "data"), 0) << outcome.out;
    EXPECT_EQ(told(outcome.out, "is_own"), 1) << outcome.out;
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("seen_work"), 0);
    EXPECT_EQ(seen.total_us("hidden_work"), 0);
}

TEST_F(Steering, data_are_what_an_export_of_the_session_says) {
    // Of the same moment.
    const std::filesystem::path dump = file("dump.utrace");
    const Outcome outcome =
        sample({"--quiet", "--no-children", "-o", recording(), "--", target("steers"), "data",
                file("data.json"), sample_path() + " control $PPID dump " + dump.string()},
               here());
    ASSERT_EQ(told(outcome.out, "command"), 0) << outcome.out << outcome.err;
    nlohmann::json data = read_json(file("data.json"));
    const Outcome said = sample({"export", "--format", "json", "-o", "-", dump});
    nlohmann::json exported = nlohmann::json::parse(said.out, nullptr, false);
    for (nlohmann::json* each : {&data, &exported}) {
        ASSERT_TRUE(each->is_object()) << said.err;
        each->erase("SessionEndTime");  // some milliseconds later
    }
    EXPECT_EQ(data, exported);
}

TEST_F(Steering, back_and_forth_leaves_nothing_behind_and_loses_no_signal) {
    const Outcome outcome = steer({"switch", std::to_string(SAMPLE_SWITCHES)});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(told(outcome.out, "done"), SAMPLE_SWITCHES) << outcome.out;
    EXPECT_EQ(told(outcome.out, "signals"), SAMPLE_SWITCHES) << outcome.out;
    EXPECT_EQ(told(outcome.out, "still_sampling"), 0) << outcome.out;
    EXPECT_EQ(told(outcome.out, "new_descriptors"), 0) << outcome.out;
    EXPECT_EQ(told(outcome.out, "new_mappings"), 0) << outcome.out;
}

TEST_F(Steering, what_is_asked_for_during_the_delay_is_done_when_it_is_over) {
    const std::string status = sample_path() + " control $PPID status >" + file("status").string();
    const Outcome outcome =
        sample({"--quiet", "--no-children", "--delay", "2s", "-o", recording(), "--",
                target("steers"), "data", file("data.json"),
                "until " + status + " && ! grep -q ^delayed " + file("status").string() +
                    "; do sleep 0.05; done; grep -q ^stopped " + file("status").string()},
               here());
    EXPECT_EQ(told(outcome.out, "stop"), 0) << outcome.out << outcome.err;
    EXPECT_EQ(told(outcome.out, "command"), 0) << outcome.out;
}

TEST_F(Steering, is_the_first_owners_where_a_session_is_shared) {
    // Who has not opened the session may always.
    const Outcome outcome = steer({"share", sample_path() + " control $PPID freq 250 >/dev/null"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string done = "=0\n";
    const std::string not_owner = "=" + std::to_string(SAMPLE_PROFILING_NOT_OWNER) + "\n";
    EXPECT_EQ(outcome.out, "first open" + done + "second open" + done + "second start 2000" +
                               not_owner + "second stop" + not_owner + "second status" + done +
                               "  samples=1\n  hz=1000\n  owns=0\n" + "second start 1000" + done +
                               "first start 2000" + done + "first status" + done +
                               "  samples=1\n  hz=2000\n  owns=1\n" + "first stop" + done +
                               "second resume" + not_owner + "second status" + done +
                               "  samples=0\n  hz=2000\n  owns=0\n" + "first close" + done +
                               "second status" + done + "  samples=0\n  hz=2000\n  owns=1\n" +
                               "second start 500" + done + "second stop" + done + "second close" +
                               done + "command" + done + "data" + done + "is_kept=1\n");
}

TEST_F(Steering, is_refused_where_nothing_is_to_be_sampled) {
    const Outcome outcome = sample({"--quiet", "--freq", "off", "--trace", "default", "-o",
                                    recording(), "--", target("steers"), "unsampled"},
                                   here());
    const std::string refused = "=" + std::to_string(SAMPLE_PROFILING_REFUSED) + "\n";
    EXPECT_EQ(outcome.out, "status=0\nsamples=0\nhz=0\nstart" + refused +
                               "start of the null handle" + refused + "stop" + refused +
                               "frequency" + refused +
                               "problem=the session takes no samples: it was started with --freq "
                               "off\n")
        << outcome.err;
}

TEST_F(Steering, has_no_frequency_where_an_event_is_counted) {
    const Outcome outcome = sample({"--quiet", "--event", "page-faults", "-o", recording(), "--",
                                    target("steers"), "unsampled"},
                                   here());
    EXPECT_EQ(told(outcome.out, "samples"), 1) << outcome.out << outcome.err;
    EXPECT_EQ(told(outcome.out, "hz"), 0) << outcome.out;
    EXPECT_EQ(told(outcome.out, "start"), 0) << outcome.out;
    EXPECT_EQ(told(outcome.out, "frequency"), SAMPLE_PROFILING_REFUSED) << outcome.out;
}

TEST_F(Steering, goes_on_over_a_fork) {
    const Outcome outcome = steer({"fork"});
    EXPECT_EQ(told(outcome.out, "before"), 0) << outcome.out;
    EXPECT_EQ(told(outcome.out, "child"), 0) << outcome.out;
    EXPECT_EQ(told(outcome.out, "after"), 0) << outcome.out;
    EXPECT_GT(Recording{recording()}.total_us("seen_work"), 0);
}

TEST_F(Steering, changes_nothing_that_the_program_does) {
    expect_same_behaviour({target("steers"), "plain"});
}

TEST_F(Steering, brings_the_agent_into_a_program_that_runs) {
    const Outcome outcome = run_here({target("steers"), "load", agent_path()}, here());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    for (const char* call : {"load", "again", "status", "stop", "start"}) {
        EXPECT_EQ(told(outcome.out, call), 0) << call << "\n" << outcome.out;
    }
    EXPECT_EQ(told(outcome.out, "same_stack"), 1) << outcome.out;
    EXPECT_EQ(told(outcome.out, "handled"), 1) << outcome.out;
    const Recording seen = whole_recording();
    EXPECT_EQ(seen.text_stat("source"), "thread");
    EXPECT_GT(seen.total_us("seen_work"), 0);
    EXPECT_GT(seen.total_us("thread_work"), 0);
}

TEST_F(Steering, brings_no_agent_where_the_program_uses_its_signal) {
    for (const char* way : {"handled", "blocked"}) {
        const Outcome outcome = run_here({target("steers"), "load", agent_path(), way}, here());
        EXPECT_EQ(told(outcome.out, "load"), SAMPLE_PROFILING_SIGNAL_IN_USE) << outcome.out;
        EXPECT_FALSE(std::filesystem::exists(recording()));
    }
}

TEST_F(Steering, brings_the_agent_into_python) {
    const Outcome outcome = run_here({SAMPLE_PYTHON, "-B", "-c",
                                      R"(
from sample_profiler import Profiler, Result, load_agent
import signal, sys
profiler = Profiler()
assert profiler.start() is Result.NO_AGENT
assert load_agent('/nowhere/libsample.so') is Result.NO_LIBRARY
signal.signal(signal.SIGURG, lambda *_: None)
assert load_agent(sys.argv[1]) is Result.SIGNAL_IN_USE
signal.signal(signal.SIGURG, signal.SIG_DFL)
assert load_agent(sys.argv[1]) and load_agent(sys.argv[1]), 'not loaded'
assert profiler.start(10000), profiler.problem
for i in range(10_000_000):
    pass
assert profiler.stop()
print(len(profiler.data().functions) > 0)
)",
                                      agent_path()},
                                     here());
    EXPECT_EQ(outcome.out, "True\n") << outcome.err;
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_GT(whole_recording().stat("samples"), 0);
}

TEST_F(Steering, works_from_python) {
    const Outcome outcome =
        sample({"--quiet", "--freq", "1k", "-o", recording(), "--", SAMPLE_PYTHON, "-B", "-c", R"(
from sample_profiler import Profiler, profile
def work():
    for i in range(10_000_000):
        pass
Profiler().stop()
with profile(freq=2000) as p:
    assert p.status().is_sampling and p.status().frequency_hz == 2000
    work()
assert not p.status().is_sampling
print(sum(category is not None for category in p.data().categories) > 0)
assert p.open() and p.is_owner and p.close()
)"},
               here());
    EXPECT_EQ(outcome.out, "True\n") << outcome.err;
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Outcome read =
        run_here({SAMPLE_PYTHON, "-B", "-c",
                  "from sample_profiler import Recording\n"
                  "r = Recording('" +
                      recording().string() +
                      "')\n"
                      "for c in r.nodes(), r.functions(), r.zones(), r.counters():\n"
                      "    assert len(set(map(len, c.values()))) == 1, c\n"
                      "print(sum(r.nodes()['self_us']) > 0, r.stats()['whole'])\n"
                      "import os\n"
                      "os.chdir(os.path.dirname(r.file))\n"
                      "os.rename(r.file, '-r.utrace')\n"
                      "print(Recording('-r.utrace').stats()['whole'])\n"
                      "os.rename('-r.utrace', r.file)"},
                 here());
    EXPECT_EQ(read.out, "True True\nTrue\n") << read.err;
}

}  // namespace
}  // namespace sample::e2e
