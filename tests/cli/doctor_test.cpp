// What the doctor says of machines that are not this one.
#include "cli/views/doctor.h"

#include "sampler/source/capabilities.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <string>

namespace sample::cli {
namespace {

source::Capabilities good_machine() {
    source::Capabilities machine;
    machine.kernel_release = "6.1.0";
    machine.perf_event_paranoid = 1;
    machine.perf_event_max_sample_rate = 100'000;
    machine.perf_cpu_time_max_percent = 25;
    machine.sigtrap.works = true;
    machine.perf = {true, 0, true};
    machine.timer.works = true;
    machine.sample_cost = source::SignalCost{4'200, 3'900, 4'600};
    return machine;
}

NameCacheState good_names() {
    return {"/home/me/.cache/sample", true, 3, 1'500'000};
}

TEST(Doctor, says_why_no_names_are_kept) {
    const source::Capabilities machine = good_machine();
    EXPECT_NE(doctor_view(machine, {}, {}).find("neither XDG_CACHE_HOME nor HOME names a folder"),
              std::string::npos);
    EXPECT_NE(doctor_view(machine, {"/x", false, 0, 0}, {}).find("/x can't be used"),
              std::string::npos);
}

TEST(Doctor, has_no_advice_where_all_is_well) {
    const source::Capabilities machine = good_machine();
    EXPECT_EQ(source::choose_source(machine).source, control::Source::sigtrap);
    EXPECT_TRUE(source::choose_source(machine).reason.empty());
    EXPECT_TRUE(source::advise(machine).empty());
    EXPECT_EQ(doctor_view(machine, good_names(), {}), R"(kernel                      6.1.0
perf_event_paranoid         1
perf_event_max_sample_rate  100000
perf_cpu_time_max_percent   25
capabilities                none of CAP_PERFMON, CAP_SYS_ADMIN
seccomp                     off
traced by                   nobody
source sigtrap              works
  misses                    threads that live less than a period; Go programs and programs under a debugger, which get the next source
source perf                 works, but not for time inside the kernel
  misses                    who called into the kernel; threads that were not made by pthread_create
source thread               works
  misses                    where inside a system call time went: it shows at the call's end
  disturbs the program      has one more thread, which uses CPU time of its own; a few blocking calls return EINTR; long reads and writes past libc come back short
source timer                works
  misses                    as perf and thread do
  disturbs the program      sleeping calls return EINTR at every sample, and blocking reads and writes come back short: a program that does not expect that fails or loses data, so auto never takes it
--source auto takes         sigtrap
a sample costs              4.2 us (3.9 to 4.6) and its stack's walk: 0.42 % of the CPU time at 1 kHz, 4.2 % at 10 kHz
kept names                  /home/me/.cache/sample: 3 modules, 1.5 MB
)");
}

TEST(Doctor, gives_the_command_that_unlocks_sampling) {
    source::Capabilities machine = good_machine();
    machine.perf_event_paranoid = 3;
    machine.sigtrap = {false, EACCES, false};
    machine.perf = {false, EACCES, false};
    EXPECT_EQ(source::choose_source(machine).source, control::Source::thread);
    ASSERT_FALSE(source::advise(machine).empty());
    EXPECT_EQ(source::advise(machine)[0].command, "sudo sysctl kernel.perf_event_paranoid=1");
    EXPECT_NE(doctor_view(machine, good_names(), {})
                  .find("  try: sudo sysctl kernel.perf_event_paranoid=1\n"),
              std::string::npos);
}

TEST(Doctor, says_that_kernel_time_is_not_sampled) {
    source::Capabilities machine = good_machine();
    machine.perf_event_paranoid = 2;
    machine.sigtrap = {true, EACCES, true};
    machine.perf = {true, EACCES, true};
    EXPECT_EQ(source::choose_source(machine).source, control::Source::sigtrap);
    const std::string text = doctor_view(machine, good_names(), {});
    EXPECT_NE(text.find("works, but not for time inside the kernel"), std::string::npos);
    EXPECT_NE(text.find("sudo sysctl kernel.perf_event_paranoid=1"), std::string::npos);
}

TEST(Doctor, falls_back_to_perf_on_an_old_kernel) {
    source::Capabilities machine = good_machine();
    machine.sigtrap = {false, EINVAL, false};
    const source::SourceChoice choice = source::choose_source(machine);
    EXPECT_EQ(choice.source, control::Source::perf);
    EXPECT_NE(choice.reason.find("Linux 5.13"), std::string::npos);
}

TEST(Doctor, knows_containers) {
    source::Capabilities machine = good_machine();
    machine.perf_event_paranoid = 1;
    machine.process.seccomp_mode = 2;
    machine.sigtrap = {false, EPERM, false};
    machine.perf = {false, EPERM, false};
    ASSERT_FALSE(source::advise(machine).empty());
    EXPECT_NE(source::advise(machine)[0].command.find("--cap-add PERFMON"), std::string::npos);
}

TEST(Doctor, falls_back_to_the_thread_where_perf_is_forbidden) {
    source::Capabilities machine = good_machine();
    machine.process.seccomp_mode = 2;
    machine.sigtrap = {false, ENOSYS, false};
    machine.perf = {false, ENOSYS, false};
    const source::SourceChoice choice = source::choose_source(machine);
    EXPECT_EQ(choice.source, control::Source::thread);
    EXPECT_EQ(choice.reason, "no perf events: a seccomp filter hides perf_event_open");
    const std::string text = doctor_view(machine, good_names(), {});
    EXPECT_NE(text.find("source perf                 does not work (ENOSYS): a seccomp filter"),
              std::string::npos)
        << text;
}

TEST(Doctor, gives_sigtrap_way_to_a_debugger) {
    source::Capabilities machine = good_machine();
    machine.process.tracer_pid = 42;
    EXPECT_EQ(source::choose_source(machine).source, control::Source::perf);
    EXPECT_NE(source::choose_source(machine).reason.find("debugger"), std::string::npos);
    ASSERT_EQ(source::advise(machine).size(), 1U);
    EXPECT_NE(source::advise(machine)[0].problem.find("process 42"), std::string::npos);
    machine.perf = {false, EPERM, false};
    EXPECT_EQ(source::choose_source(machine).source, control::Source::thread);
}

TEST(Doctor, never_takes_the_timer_unasked_and_says_what_it_does) {
    source::Capabilities machine = good_machine();
    machine.sigtrap = {false, EPERM, false};
    machine.perf = {false, EPERM, false};
    EXPECT_EQ(source::choose_source(machine).source, control::Source::thread);
    const auto findings = source::judge_sources(machine);
    ASSERT_EQ(findings.size(), 4U);
    EXPECT_EQ(findings[3].source, control::Source::timer);
    EXPECT_NE(control::describe(findings[3].source).disturbs.find("EINTR"), std::string_view::npos);
    machine.timer = {false, EAGAIN, false};
    EXPECT_NE(source::judge_sources(machine)[3].why_not, "");
}

TEST(Doctor, does_not_blame_a_setting_that_allows_it) {
    source::Capabilities machine = good_machine();
    machine.perf_event_paranoid = 2;  // refuses the kernel's part only
    machine.process.seccomp_mode = 2;
    machine.sigtrap = {false, EACCES, false};
    machine.perf = {false, EACCES, false};
    ASSERT_EQ(source::advise(machine).size(), 1U);
    EXPECT_NE(source::advise(machine)[0].problem.find("seccomp"), std::string::npos);
}

TEST(Doctor, advises_a_higher_sample_rate) {
    source::Capabilities machine = good_machine();
    machine.perf_event_max_sample_rate = 2'000;
    ASSERT_EQ(source::advise(machine).size(), 1U);
    EXPECT_EQ(source::advise(machine)[0].command,
              "sudo sysctl kernel.perf_event_max_sample_rate=100000");
}

TEST(Doctor, speaks_json) {
    source::Capabilities machine = good_machine();
    machine.perf_event_paranoid.reset();
    machine.sigtrap = {false, EINVAL, false};
    const nlohmann::json json = nlohmann::json::parse(doctor_json(machine, good_names()));
    EXPECT_EQ(json.at("auto_source"), "perf");
    EXPECT_TRUE(json.at("perf_event_paranoid").is_null());
    EXPECT_EQ(json.at("sigtrap").at("refusal"), "EINVAL");
    EXPECT_TRUE(json.at("thread").at("works"));
    EXPECT_NE(json.at("timer").at("disturbs"), "");
    EXPECT_EQ(json.at("advice").size(), 1U);
    EXPECT_EQ(json.at("sample_cost").at("ns"), 4'200);
    machine.sample_cost.reset();
    EXPECT_TRUE(nlohmann::json::parse(doctor_json(machine, {})).at("sample_cost").is_null());
    EXPECT_NE(doctor_view(machine, {}, {}).find("a sample costs              not measured"),
              std::string::npos);
}

TEST(ProcessStatus, reads_what_proc_says) {
    const source::ProcessStatus status = source::parse_process_status(
        "Name:\tx\nTracerPid:\t42\nCapInh:\tffffffffffffffff\nCapEff:\t0000004000000000\n"
        "NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n");
    EXPECT_EQ(status.tracer_pid, 42U);
    EXPECT_TRUE(status.cap_perfmon);
    EXPECT_FALSE(status.cap_sys_admin);
    EXPECT_EQ(status.seccomp_mode, 2);
    EXPECT_TRUE(source::parse_process_status("CapEff:\t0000000000200000").cap_sys_admin);
    EXPECT_FALSE(source::parse_process_status("CapEff\nCapEff:\n:\n").cap_sys_admin);
}

}  // namespace
}  // namespace sample::cli
