// Programs that run already are recorded from outside: the same figures, nothing for them to
// notice, and a refusal that says what to do where it can't be.
#include "beside.h"
#include "edges.h"
#include "kernel_setting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <thread>

namespace sample::e2e {
namespace {

void expect_leaves(const Recording& seen) {
    const double leaves =
        seen.total_us("leaf_fifty") + seen.total_us("leaf_thirty") + seen.total_us("leaf_twenty");
    const double samples = seen.effective_samples();
    expect_share(seen.total_us("leaf_fifty"), leaves, 0.5, samples);
    expect_share(seen.total_us("leaf_thirty"), leaves, 0.3, samples);
    expect_share(seen.total_us("leaf_twenty"), leaves, 0.2, samples);
    EXPECT_GT(leaves / seen.roots_us(), 0.8);
    // All that it used while it was watched, and no more.
    EXPECT_NEAR(seen.roots_us(), seen.stat("process_cpu_us"), 2);
}

void expect_complete(const Recording& seen) {
    const double broken = seen.stat("incomplete_stacks") + seen.stat("truncated_stacks");
    std::cout << "complete stacks: " << 100 * (1 - broken / seen.stat("samples")) << " % of "
              << seen.stat("samples") << ", lost " << seen.stat("lost") << "\n";
    EXPECT_LE(broken / seen.stat("samples"), 0.01);
}

TEST_F(Attach, has_the_shares_of_a_running_program) {
    const auto program = start({target("three_leaves"), "60"});
    const Outcome outcome = attach({"--time", "1500ms", program->pid()});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(seen.text_stat("source"), "attach");
    EXPECT_EQ(seen.stat("processes"), 1);
    EXPECT_EQ(seen.stat("threads"), 1);
    EXPECT_TRUE(seen.flag("whole"));
    expect_leaves(seen);
    expect_complete(seen);
}

TEST_F(Attach, sees_a_static_program) {
    const auto program = start({target("three_leaves_static"), "60"});
    ASSERT_EQ(attach({"--time", "1s", program->pid()}).exit_code, 0);
    const Recording seen{recording()};
    expect_leaves(seen);
    expect_complete(seen);
}

TEST_F(Attach, changes_nothing_for_the_program) {
    const auto program = start({target("three_leaves"), "--rounds", "8000"});
    ASSERT_EQ(attach({"--time", "300ms", program->pid()}).exit_code, 0);
    EXPECT_EQ(program->wait(), 0);
    EXPECT_EQ(told(program->out(), "rounds"), 8000);
}

TEST_F(Attach, keeps_what_it_has_when_the_process_ends) {
    const auto program = start({target("three_leaves"), "60"});
    Beside recorder{{sample_path(), "attach", "-o", recording(), program->pid()}, file("err")};
    recorder.await_recording();
    program->signal(SIGTERM);
    EXPECT_EQ(program->wait(), SIGTERM);
    EXPECT_EQ(recorder.wait(), 0);
    const std::string told = recorder.out();
    EXPECT_NE(told.find("process " + program->pid() + " has ended"), std::string::npos) << told;
    const Recording seen{recording()};
    EXPECT_TRUE(seen.flag("whole"));
    EXPECT_EQ(seen.stats()["process_list"][0]["ending"], "killed by SIGTERM (15)") << seen.stats();
}

TEST_F(Attach, keeps_what_it_has_when_interrupted) {
    const auto program = start({target("three_leaves"), "60"});
    Beside recorder{{sample_path(), "attach", "--quiet", "-o", recording(), program->pid()},
                    file("err")};
    recorder.await_recording();
    program->await_work();
    recorder.signal(SIGINT);
    EXPECT_EQ(recorder.wait(), 0) << recorder.out();
    const Recording seen{recording()};
    EXPECT_TRUE(seen.flag("whole"));
    EXPECT_GT(seen.stat("samples"), 0);
}

// Each of them would be waited for ten seconds.
TEST_F(Attach, is_ended_beside_sessions_that_do_not_answer) {
    const auto program = start({target("three_leaves"), "60"});
    const Outcome outcome =
        run_here({"bash", "-c",
                  fmt::format(R"(
export XDG_RUNTIME_DIR=$PWD
for i in 1 2 3 4; do {0} --quiet -o silent$i.utrace -- sleep 600 & silent="$silent $!"; done
until [ $({0} sessions | grep -c sleep) = 4 ]; do sleep 0.1; done
kill -STOP $silent
{0} attach --quiet -o {1} {2} &
attach=$!
while [ $((0x0$(sed -n 's/^SigBlk:.//p' /proc/$attach/status) & 1 << 14)) = 0 ] &&
    kill -0 $attach; do sleep 0.01; done
kill -TERM $attach
for i in $(seq 300); do [ -e /proc/$attach ] && sleep 0.1 || break; done
kill -0 $attach 2>/dev/null && echo waits
for each in $silent; do kill -KILL $(cat /proc/$each/task/*/children) $each; done)",
                              sample_path(), recording().string(), program->pid())});
    EXPECT_EQ(outcome.out, "") << outcome.err;
}

// The main thread and a second one are there, a third one comes later.
TEST_F(Attach, sees_threads_that_come_later) {
    attach_to_phases({});
    const Recording seen{recording()};
    EXPECT_EQ(seen.stat("processes"), 1);
    EXPECT_EQ(seen.stat("threads"), 3);
    EXPECT_GT(seen.total_us("second_phase"), 0);
    EXPECT_GT(seen.total_us("third_phase"), 0);
}

TEST_F(Attach, sees_all_threads_of_many) {
    const auto program = start({target("threads"), "20", "60"});
    ASSERT_EQ(attach({"--time", "2s", program->pid()}).exit_code, 0);
    const Recording seen{recording()};
    // Those that were there, or came: each has used its part.
    EXPECT_GE(seen.stat("threads"), 20);
    EXPECT_NEAR(seen.total_us("worker_main") / seen.roots_us(), 1, 0.1);
    const Outcome report = sample({"report", "--view", "threads", recording()});
    EXPECT_NE(report.out.find("worker-"), std::string::npos) << report.out;
}

TEST_F(Attach, sees_children_if_asked) {
    attach_to_phases({"--children"});
    const Recording seen{recording()};
    // The child, and what it becomes by its exec.
    EXPECT_EQ(seen.stats()["process_list"].size(), 3U) << seen.stats()["process_list"];
    EXPECT_GT(seen.total_us("third_phase"), 0);
}

TEST_F(Attach, names_code_of_a_library_that_comes_later) {
    const auto program = start({target("plugin_host"), target("plugin.so"), "1.5", "20"});
    ASSERT_EQ(attach({program->pid()}).exit_code, 0);
    const Recording seen{recording()};
    expect_share(seen.total_us("plugin_work"),
                 seen.total_us("plugin_work") + seen.total_us("host_work"), 0.5,
                 seen.effective_samples());
    expect_complete(seen);
}

// 10,000 frames are more than 32 KB.
TEST_F(Attach, marks_stacks_that_are_longer_than_a_copy) {
    const auto program = start({target("recursion"), "10000", "60"});
    ASSERT_EQ(attach({"--time", "700ms", program->pid()}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_GT(seen.stat("truncated_stacks"), seen.stat("samples") * 0.8);
    EXPECT_LE(seen.stat("incomplete_stacks"), seen.stat("samples") * 0.01);
    EXPECT_NEAR(seen.total_us("bottom") / seen.roots_us(), 1, 0.2);
}

/// Microseconds inside system calls, whether or not the kernel's functions have names here.
double kernel_us(const Recording& seen) {
    return std::max(seen.total_us("do_syscall_64"), seen.total_us("[kernel]+0x"));
}

TEST_F(Attach, shows_the_kernels_part_of_a_stack) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "others may not see it everywhere";
    }
    const auto program = start({target("syscalls"), "read", "60"});
    ASSERT_EQ(attach({"--kernel", "on", "--time", "1s", program->pid()}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_GT(kernel_us(seen), seen.total_us("read_zeros") * 0.9);
    EXPECT_LT(seen.self_us("read_zeros"), seen.total_us("read_zeros") * 0.1);
    double from_the_start_us = 0;
    for (const Edge& edge : edges_of(seen.exported())) {
        from_the_start_us += edge.callee == "_start" ? edge.total_us : 0;
    }
    EXPECT_GT(from_the_start_us, seen.roots_us() * 0.95) << "it is below its caller";
    expect_complete(seen);
}

TEST_F(Attach, leaves_the_kernels_part_out_if_asked) {
    const auto program = start({target("syscalls"), "read", "60"});
    ASSERT_EQ(attach({"--kernel", "off", "--time", "300ms", program->pid()}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_EQ(kernel_us(seen), 0);
    EXPECT_GT(seen.roots_us(), 0);
}

TEST_F(Attach, leaves_a_stopped_process_stopped) {
    const auto program = start({target("three_leaves"), "0.5"});
    program->signal(SIGSTOP);
    while (program->state() != 'T') {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    ASSERT_EQ(attach({"--time", "300ms", program->pid()}).exit_code, 0);
    EXPECT_EQ(program->state(), 'T');
    program->signal(SIGCONT);
    EXPECT_EQ(program->wait(), 0);
    const Recording seen{recording()};
    EXPECT_EQ(seen.stat("samples"), 0);
    EXPECT_NE(seen.stats()["notes"].dump().find("while watched: asleep, or stopped"),
              std::string::npos)
        << seen.stats()["notes"];
    EXPECT_TRUE(seen.flag("whole"));
}

TEST_F(Attach, finds_a_process_by_its_name) {
    const std::string name = "attach-by-name";
    std::filesystem::copy_file(target("three_leaves"), file(name));
    expect_refusal({name}, "no process is called " + name);
    const auto first = start({file(name), "60"});
    ASSERT_EQ(attach({"--time", "200ms", name}).exit_code, 0);
    std::filesystem::remove(recording());
    const auto second = start({file(name), "60"});
    expect_refusal({name}, "2 processes are called " + name);
    ASSERT_EQ(attach({"--time", "200ms", first->pid(), second->pid()}).exit_code, 0);
    EXPECT_EQ(Recording{recording()}.stat("processes"), 2);
}

// As a server that has its workers: all are called so.
TEST_F(Attach, takes_the_one_that_has_started_the_others) {
    const std::string name = "attach-service";
    std::filesystem::copy_file(target("children"), file(name));
    const auto service = start({file(name), "fork", "kept", target("children"), "fork", "kept",
                                file(name), "fork", "kept", target("three_leaves"), "60"});
    const Words refused{"--time", "1ms", name};
    while (attach(refused).err.find("processes are called " + name) == std::string::npos) {
    }
    ASSERT_EQ(attach({"--time", "200ms", "--children", name}).exit_code, 0);
    EXPECT_GE(Recording{recording()}.stats()["process_list"].size(), 2U);
    const Outcome one = attach({"--time", "1ms", "--wait", name});
    EXPECT_EQ(one.exit_code, 0) << one.err;
    EXPECT_EQ(Recording{recording()}.stats()["process_list"][0]["pid"], std::stoi(service->pid()));
    kill(-std::stoi(service->pid()), SIGKILL);
}

// Its first thread ends, and the one that has execed has its number.
TEST_F(Attach, samples_a_program_that_another_thread_has_execed_once) {
    const auto program =
        start({target("exec_elsewhere"), file("go"), "0.5", target("three_leaves"), "3"});
    Beside recorder{{sample_path(), "attach", "--quiet", "-o", recording(), program->pid()},
                    file("told")};
    recorder.await_recording();
    const std::ofstream go{file("go")};
    EXPECT_EQ(program->wait(), 0);
    EXPECT_EQ(recorder.wait(), 0) << recorder.out();
    const Recording seen{recording()};
    expect_share(seen.total_us("leaf_fifty"), seen.total_us("leaf_"), 0.5,
                 seen.effective_samples());
    // At 1 kHz, one in 1.059 ms at most.
    EXPECT_LE(seen.stat("samples"), seen.stat("process_cpu_us") / 1000);
}

// Where less of stacks is copied from then on, there are new events.
TEST_F(Attach, copies_what_stacks_need_however_many_processes_were_forked) {
    const auto program = start(
        {"bash", "-c",
         fmt::format("until [ -e {0} ]; do sleep 0.01; done; for i in {{1..150}}; do (:); done; "
                     "exec {1} 60",
                     file("go").string(), target("three_leaves"))});
    Beside recorder{{sample_path(), "attach", "--quiet", "-o", recording(), program->pid()},
                    file("told")};
    recorder.await_recording();
    const std::ofstream go{file("go")};
    const auto one_each = static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
    while (recorder.events() <= one_each && program->state() != 'Z') {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    EXPECT_GT(recorder.events(), one_each);
    recorder.signal(SIGINT);
    EXPECT_EQ(recorder.wait(), 0) << recorder.out();
}

// Of such a process /proc shows a zombie, and nothing else.
TEST_F(Attach, sees_a_process_whose_first_thread_has_left) {
    const std::string name = "attach-headless";
    std::filesystem::copy_file(target("first_leaves"), file(name));
    const auto program = start({file(name), "60", "works"});
    while (program->state() != 'Z') {
    }
    for (const std::string& word : {program->pid(), name}) {
        const Outcome outcome = attach({"--time", "300ms", word});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        const Recording seen{recording()};
        EXPECT_GT(seen.total_us("burn"), 0);
        expect_complete(seen);
    }
}

TEST_F(Attach, waits_for_a_process_to_appear) {
    const std::string name = "attach-awaited";
    std::filesystem::copy_file(target("three_leaves"), file(name));
    Beside recorder{{sample_path(), "attach", "--wait", "--quiet", "-o", recording(), name},
                    file("err")};
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    const auto program = start({file(name), "60"});
    recorder.await_recording();
    program->await_work();
    program->signal(SIGTERM);
    static_cast<void>(program->wait());
    EXPECT_EQ(recorder.wait(), 0) << recorder.out();
    EXPECT_GT(Recording{recording()}.total_us("leaf_fifty"), 0);
}

TEST_F(Attach, says_why_it_can_not) {
    expect_refusal({"4999999"}, "there is no process 4999999");
    const auto threads = start({target("threads"), "2", "60"});
    std::string thread;
    while (thread.empty()) {
        for (const auto& task :
             std::filesystem::directory_iterator{"/proc/" + threads->pid() + "/task"}) {
            const std::string tid = task.path().filename();
            thread = tid != threads->pid() ? tid : thread;
        }
    }
    expect_refusal({thread}, "is a thread of process " + threads->pid());
    Beside zombie{{target("exit_code"), "0"}, file("out")};
    while (zombie.state() != 'Z') {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    expect_refusal({zombie.pid()}, "has ended");
    const std::string kthreadd = text_of("/proc/2/status");
    if (kthreadd.find("Name:\tkthreadd") != std::string::npos) {
        expect_refusal({"2"}, "is a thread of the kernel");
    }
}

/// CPU time of all processors by the kernel, but for what no process has used: being idle, waiting
/// for a disk, and what the hypervisor took.
double machine_us() {
    std::ifstream in{"/proc/stat"};
    std::string cpu;
    double user = 0;
    double nice = 0;
    double system = 0;
    double idle = 0;
    double waiting = 0;
    double interrupts = 0;
    double soft = 0;
    in >> cpu >> user >> nice >> system >> idle >> waiting >> interrupts >> soft;
    return (user + nice + system + interrupts + soft) * 1e6 /
           static_cast<double>(sysconf(_SC_CLK_TCK));
}

TEST_F(Machine, has_every_process_with_its_stacks) {
    const auto one = start({target("three_leaves"), "60"});
    const auto other = start({target("threads"), "3", "60"});
    ASSERT_EQ(record_all({"--time", "2s"}).exit_code, 0);
    const Recording seen{recording()};
    EXPECT_TRUE(seen.flag("whole"));
    EXPECT_GE(seen.stat("processes"), 2);
    EXPECT_GT(seen.total_us("leaf_fifty"), 0);
    EXPECT_GT(seen.total_us("worker_main"), 0);
    EXPECT_NE(seen.stats()["notes"].dump().find("sample itself took"), std::string::npos);
    EXPECT_LT(seen.stat("lost") * 100, seen.stat("samples"));
}

TEST_F(Machine, adds_up_to_the_processors_time) {
    // So that there are few ticks in which nobody runs.
    const auto one = start({target("three_leaves"), "60"});
    const auto other = start({target("three_leaves"), "60"});
    const auto start_time = std::chrono::steady_clock::now();
    const double before = machine_us();
    ASSERT_EQ(record_all({"--time", "4s", "--no-symbols"}).exit_code, 0);
    const double used = machine_us() - before;
    const std::chrono::duration<double, std::milli> whole =
        std::chrono::steady_clock::now() - start_time;
    // Not all programs of the machine are to be named for this.
    const Outcome report = sample({"report", "--view", "stats", "--json", recording()});
    const auto seen = nlohmann::json::parse(report.out, nullptr, false);
    ASSERT_FALSE(seen.is_discarded()) << report.err;
    // The command takes longer than the recording, in which as much is used at a time.
    const double recorded_ms =
        seen["end_unix_ms"].get<double>() - seen["start_unix_ms"].get<double>();
    const double expected_us = recorded_ms / whole.count() * used;
    std::cout << "recorded " << seen["total_us"] << " us of " << expected_us << " us\n";
    EXPECT_NEAR(seen["total_us"].get<double>() / expected_us, 1, 0.15);
}

TEST_F(Machine, knows_processes_that_are_gone_soon) {
    const Beside shell{{"/bin/sh", "-c",
                        "while :; do " + target("exit_code") + " 0; " + target("three_leaves") +
                            " 0.02 >/dev/null; done"},
                       file("out")};
    ASSERT_EQ(record_all({"--time", "2s", "--no-symbols"}).exit_code, 0);
    const Outcome report = sample({"report", "--view", "stats", "--json", recording()});
    const auto seen = nlohmann::json::parse(report.out, nullptr, false);
    ASSERT_FALSE(seen.is_discarded()) << report.err;
    std::size_t named = 0;
    for (const auto& process : seen["process_list"]) {
        const std::string program = process.value("executable", "");
        named += program.ends_with("three_leaves") ? 1 : 0;
    }
    EXPECT_GT(named, 0U) << seen["process_list"];
}

TEST_F(Machine, refuses_what_only_a_command_has) {
    for (const Words& options :
         {Words{"--trace", "default"}, Words{"--clock", "wall"}, Words{"--delay", "1s"},
          Words{"--module", "leaves"}, Words{"--", "true"}}) {
        const Outcome outcome = record_all(options);
        EXPECT_EQ(outcome.exit_code, 2) << options[0];
        EXPECT_NE(outcome.err.find("-a "), std::string::npos) << outcome.err;
    }
}

TEST_F(AttachAsUser, is_refused_the_processes_of_others) {
    const auto program = start({target("three_leaves"), "60"});
    const Outcome outcome = attach_as_user({"--time", "1s", program->pid()});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("belongs to another user"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(file("own/r.utrace")));
}

TEST_F(AttachAsUser, is_told_whose_the_machine_is) {
    const KernelSetting paranoid{"perf_event_paranoid", "2"};
    ASSERT_TRUE(paranoid.is_set()) << paranoid.problem();
    const Outcome outcome = run_here({file("confine"), "--user", "65534", file("sample"), "record",
                                      "-a", "--time", "1s", "-o", file("own/r.utrace")});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("CAP_PERFMON"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(file("own/r.utrace")));
}

TEST_F(AttachAsUser, is_told_what_shows_him_the_kernel) {
    const KernelSetting paranoid{"perf_event_paranoid", "2"};
    ASSERT_TRUE(paranoid.is_set()) << paranoid.problem();
    Beside program{{file("confine"), "--user", "65534", file("three_leaves"), "60"}, file("out")};
    program.await_exec("three_leaves");
    const Outcome outcome = attach_as_user({"--kernel", "on", "--time", "1s", program.pid()});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("kernel.perf_event_paranoid=1"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(file("own/r.utrace")));
}

TEST_F(AttachAsUser, records_his_own) {
    Beside program{{file("confine"), "--user", "65534", file("three_leaves"), "60"}, file("out")};
    program.await_exec("three_leaves");
    const Outcome outcome = attach_as_user({"--freq", "2k", "--time", "1500ms", program.pid()});
    if (outcome.err.find("kernel.perf_event_paranoid is") != std::string::npos) {
        GTEST_SKIP() << outcome.err;
    }
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{file("own/r.utrace")};
    expect_leaves(seen);
    expect_complete(seen);
}

// Half of its time is in reads. An expiry there is no sample for him.
TEST_F(AttachAsUser, is_shown_the_kernels_time_as_such) {
    const KernelSetting paranoid{"perf_event_paranoid", "2"};
    ASSERT_TRUE(paranoid.is_set()) << paranoid.problem();
    install(target("syscalls"), "syscalls");
    Beside program{{file("confine"), "--user", "65534", file("syscalls"), "file", "60"},
                   file("out")};
    program.await_exec("syscalls");
    const Outcome outcome = attach_as_user({"--time", "2s", program.pid()});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{file("own/r.utrace")};
    EXPECT_NEAR(seen.roots_us(), seen.stat("process_cpu_us"), 2);
    EXPECT_GT(seen.total_us("[kernel, caller unseen]"), 0.25 * seen.roots_us());
    EXPECT_GT(seen.total_us("burn"), 0.25 * seen.roots_us());
}

}  // namespace
}  // namespace sample::e2e
