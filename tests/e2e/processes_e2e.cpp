// Processes that come and go: every way to start one, what is left out, and what cannot be
// recorded.
#include "session.h"
#include "tests/built.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <tuple>

namespace sample::e2e {
namespace {

constexpr unsigned kNobody = 65534;

/// Those of the processes of a recording that ran `program` with the agent.
std::vector<nlohmann::json> images_of(const Recording& recording, const std::string& program) {
    std::vector<nlohmann::json> images;
    for (const auto& process : recording.stats()["process_list"]) {
        if (process["executable"].get<std::string>().ends_with("/" + program) &&
            process["source"] != "none") {
            images.push_back(process);
        }
    }
    return images;
}

class Children : public Session,
                 public testing::WithParamInterface<std::tuple<const char*, const char*>> {};

TEST_P(Children, are_recorded_into_the_same_recording) {
    const auto [how, environment] = GetParam();
    const Outcome outcome =
        record({target("children"), how, environment, target("three_leaves"), "0.05"});
    EXPECT_EQ(told(outcome.out, "status"), 0) << outcome.out << outcome.err;
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("leaf_"), 0.8 * told(outcome.out, "work_cpu_ns") / 1000);
    const auto images = images_of(seen, "three_leaves");
    ASSERT_EQ(images.size(), 1U);
    EXPECT_EQ(images[0]["ending"], "exited with 0");
    EXPECT_EQ(seen.stats()["unprofiled"].size(), 0U);
}

using Way = std::tuple<const char*, const char*>;
INSTANTIATE_TEST_SUITE_P(
    Ways, Children,
    testing::Values(Way{"fork", "kept"}, Way{"fork", "empty"}, Way{"vfork", "kept"},
                    Way{"vfork", "empty"}, Way{"spawn", "kept"}, Way{"spawn", "empty"},
                    Way{"spawnp", "kept"}, Way{"spawnp", "empty"}, Way{"system", "kept"},
                    Way{"popen", "kept"}, Way{"daemon", "empty"}),
    [](const auto& way) {
        return std::string{std::get<0>(way.param)} + "_" + std::get<1>(way.param);
    });

class Processes : public Session {
protected:
    /// The programs that a recording lists as not profiled.
    void expect_listed(const Words& command, const std::string& program, const char* reason) {
        const Outcome outcome = record(command);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
        const Recording seen{recording()};
        const auto& listed = seen.stats()["unprofiled"];
        ASSERT_EQ(listed.size(), 1U) << listed;
        EXPECT_EQ(listed[0]["executable"], program);
        EXPECT_NE(listed[0]["reason"].get<std::string>().find(reason), std::string::npos) << listed;
        EXPECT_EQ(images_of(seen, std::filesystem::path{program}.filename()).size(), 0U);
    }
};

TEST_F(Processes, and_threads_can_be_looked_at_one_by_one) {
    const Outcome outcome =
        record({target("children"), "spawn", "kept", target("three_leaves"), "0.1"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto view = [this](Words words) {
        words.insert(words.end(), {"--json", recording()});
        const Outcome shown = sample(words);
        EXPECT_EQ(shown.exit_code, 0) << shown.err;
        return nlohmann::json::parse(shown.out, nullptr, false);
    };
    const auto threads = view({"report", "--view", "threads"});
    double sum = 0;
    for (const auto& thread : threads.at("threads")) {
        if (thread.at("cpu_us") == 0 || thread.at("tid").is_null()) {
            continue;  // nobody's: what ended unseen
        }
        const auto stats = view({"report", "--view", "stats", "--thread", thread.at("tid").dump(),
                                 "--process", thread.at("pid").dump()});
        EXPECT_EQ(stats.at("total_us"), thread.at("cpu_us"));
        EXPECT_EQ(stats.at("samples"), thread.at("samples"));
        EXPECT_EQ(stats.at("threads"), 1);
        sum += stats.at("total_us").get<double>();
    }
    const Recording seen{recording()};
    EXPECT_NEAR(sum + seen.total_us("ended unseen"), threads.at("total_us").get<double>(), 10)
        << "each is floored";
    const auto leaves = view({"report", "--view", "stats", "--process", "three_leaves"});
    EXPECT_GT(leaves.at("total_us"), 0.8 * told(outcome.out, "work_cpu_ns") / 1000);
    EXPECT_EQ(leaves.at("processes"), 1);
    EXPECT_FALSE(leaves.at("process_cpu_us").is_null());
}

TEST_F(Processes, children_are_as_if_we_were_not_there_when_they_are_left_out) {
    for (const char* how : {"fork", "vfork", "spawn"}) {
        const std::string output = file(how);
        const Outcome outcome = sample({"--quiet", "--no-children", "-o", output, "--",
                                        target("children"), how, "kept", "/usr/bin/env"});
        EXPECT_EQ(told(outcome.out, "status"), 0) << outcome.err;
        EXPECT_NE(outcome.out.find("PATH="), std::string::npos) << outcome.out;
        EXPECT_EQ(outcome.out.find("SAMPLE_SESSION="), std::string::npos) << how;
        EXPECT_EQ(outcome.out.find("libsample.so"), std::string::npos) << how;
        const Recording seen{output};
        EXPECT_EQ(seen.stat("processes"), 1) << how;
    }
}

TEST_F(Processes, other_preloaded_libraries_stay_when_ours_goes) {
    const Outcome outcome = sample({"--quiet", "--no-children", "-o", recording(), "--",
                                    target("children"), "spawn", "kept", "/usr/bin/env"},
                                   {.settings = {{"LD_PRELOAD", "libdl.so.2"}}});
    EXPECT_NE(outcome.out.find("LD_PRELOAD=libdl.so.2\n"), std::string::npos) << outcome.out;
}

TEST_F(Processes, are_met_whatever_stands_before_libcs_sockets) {
    const Outcome outcome =
        record({target("three_leaves"), "0.05"}, {{}, {{"LD_PRELOAD", built::kFakeSockets}}, {}});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(images_of(Recording{recording()}, "three_leaves").size(), 1U);
}

TEST_F(Processes, the_next_image_is_recorded_when_children_are_left_out) {
    const Outcome outcome = sample({"--quiet", "--freq", "10k", "--no-children", "-o", recording(),
                                    "--", "env", "-i", target("three_leaves"), "0.05"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_GT(Recording{recording()}.total_us("leaf_"),
              0.8 * told(outcome.out, "work_cpu_ns") / 1000);
}

TEST_F(Processes, a_static_program_is_listed_as_not_profiled) {
    for (const char* how : {"fork", "vfork", "spawnp", "daemon"}) {
        SCOPED_TRACE(how);
        expect_listed({target("children"), how, "kept", target("hello_static")},
                      target("hello_static"), "statically linked");
    }
}

TEST_F(Processes, the_command_may_become_a_static_program) {
    const Outcome outcome = record({"sh", "-c", "exec " + target("hello_static")});
    EXPECT_EQ(outcome.out, "hello\n");
    EXPECT_EQ(outcome.exit_code, 7);
    const Recording seen{recording()};
    EXPECT_EQ(seen.stats()["unprofiled"].size(), 1U);
    EXPECT_TRUE(seen.flag("whole"));
    ASSERT_EQ(seen.stats()["process_list"].size(), 2U);
    EXPECT_EQ(seen.stats()["process_list"][0]["ending"], "replaced by an exec");
    EXPECT_EQ(seen.stats()["process_list"][1]["source"], "none");
    EXPECT_EQ(seen.stats()["process_list"][1]["ending"], "exited with 7");
}

TEST_F(Processes, the_time_of_static_programs_and_of_what_they_start_adds_up) {
    const Outcome outcome =
        record({target("children"), "spawn", "kept", target("children_static"), "fork", "kept",
                target("children"), "spawn", "kept", target("three_leaves_static"), "0.3"});
    ASSERT_EQ(told(outcome.out, "status"), 0) << outcome.out << outcome.err;
    const Recording seen{recording()};
    const auto& list = seen.stats()["process_list"];
    const double children_us =
        told(outcome.out.substr(outcome.out.rfind("children_cpu_ns")), "children_cpu_ns") / 1000;
    const double told_us = told(outcome.out, "work_cpu_ns") / 1000;
    const double recorded_us = seen.roots_us() - list[0]["cpu_us"].get<double>();
    EXPECT_GT(recorded_us, 0.995 * children_us) << list;
    EXPECT_LE(recorded_us, children_us + 2) << "whoever starts it waits for it; " << list;
    EXPECT_GT(seen.total_us("[not profiled: three_leaves_static]"), 0.8 * told_us) << list;
    EXPECT_LT(seen.stat("sampled_us"), 0.5 * told_us);
}

TEST_F(Processes, the_summary_says_what_was_not_profiled) {
    const Outcome outcome = sample(
        {"-o", recording(), "--", target("children"), "fork", "kept", target("hello_static")});
    EXPECT_NE(outcome.err.find("not profiled: it is statically linked"), std::string::npos)
        << outcome.err;
}

TEST_F(Processes, the_loader_as_a_program_is_profiled) {
    // It has no loader of its own, and yet preloads.
    const Outcome outcome = record({target("children"), "fork", "kept",
                                    "/lib64/ld-linux-x86-64.so.2", target("exit_code"), "0"});
    EXPECT_EQ(told(outcome.out, "status"), 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(seen.stats()["unprofiled"].size(), 0U);
    EXPECT_EQ(seen.stat("processes"), 2);
}

TEST_F(Processes, a_program_that_is_run_by_naming_the_loader_is_itself) {
    const std::string loader = file("renamed");
    std::filesystem::copy_file("/lib64/ld-linux-x86-64.so.2", loader);
    for (const char* program : {"three_leaves", "three_leaves_without_id"}) {
        for (const Words& how :
             {Words{loader}, Words{"sh", "-c", "exec \"$0\" --argv0 other \"$@\"", loader}}) {
            Words words{"--quiet", "--force", "--freq", "10k", "-o", recording(), "--"};
            words.insert(words.end(), how.begin(), how.end());
            words.insert(words.end(), {target(program), "0.2"});
            const Outcome outcome = sample(words);
            SCOPED_TRACE(program + outcome.err);
            ASSERT_EQ(outcome.exit_code, 0);
            const Recording seen{recording()};
            EXPECT_GT(seen.total_us("leaf_fifty"), 0.4 * told(outcome.out, "work_cpu_ns") / 1000);
            EXPECT_EQ(seen.stats()["process_list"].back()["executable"], target(program));
        }
    }
}

TEST_F(Processes, children_that_are_turned_away_say_nothing) {
    // The collector has descriptors for some of them, as all are there when the first gets a line.
    const Outcome outcome = run_here(
        {"sh", "-c",
         "mkfifo \"$2\" \"$2.there\"; ulimit -n 64; exec \"$0\" --quiet -o \"$1\" -- sh -c 'i=0; "
         "exec 3<>\"$0\" 4<>\"$0.there\"; "
         "while [ $i -lt 80 ]; do (echo >&4; read line <&3) & i=$((i+1)); done; "
         "while [ $i -gt 0 ]; do read line <&4; i=$((i-1)); done; "
         "while [ $i -lt 80 ]; do echo >&3; i=$((i+1)); done; wait; echo over' \"$2\"",
         sample_path(), recording(), file("lines")});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, "over\n");
    EXPECT_EQ(outcome.err, "");
    EXPECT_LT(Recording{recording()}.stat("processes"), 1 + 80) << "some were turned away";
}

TEST_F(Processes, a_static_program_is_listed_wherever_path_leads_to_it) {
    // The empty folder at the end is the current one; a folder is no program.
    std::filesystem::copy_file(target("hello_static"), file("still"));
    std::filesystem::create_directories(file("folders/still"));
    const Words command{target("children"), "spawnp", "kept", "still"};
    for (const std::string& path : {std::string{"/nowhere:"}, "folders:" + file(".").string()}) {
        SCOPED_TRACE(path);
        Words words{"--quiet", "--force", "-o", recording(), "--", "env", "PATH=" + path};
        words.insert(words.end(), command.begin(), command.end());
        const Outcome outcome = sample(words);
        EXPECT_EQ(told(outcome.out, "status"), 7) << outcome.err;
        const Recording seen{recording()};
        const auto& listed = seen.stats()["unprofiled"];
        ASSERT_EQ(listed.size(), 1U) << listed;
        EXPECT_TRUE(listed[0]["executable"].get<std::string>().ends_with("still")) << listed;
    }
}

TEST_F(Processes, a_setuid_program_is_listed_as_not_profiled) {
    const std::string program = file("setuid_program");
    std::filesystem::copy_file(target("exit_code"), program);
    std::filesystem::permissions(file("."), std::filesystem::perms{0755});
    if (::chown(program.c_str(), kNobody, kNobody) != 0) {
        GTEST_SKIP() << "only root can give a file away";
    }
    ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
    expect_listed({target("children"), "fork", "kept", program, "0"}, program, "setuid");
    expect_listed({target("children"), "spawn", "kept", program, "0"}, program, "setuid");
}

/// The tools where every user may read them.
class OtherUsers : public Processes {
protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "only root can become another user";
        }
        std::filesystem::permissions(file("."), std::filesystem::perms{0755});
        for (const char* folder : {"bin", "lib"}) {
            std::filesystem::create_directory(file(folder));
        }
        std::filesystem::copy_file(sample_path(), file("bin/sample"));
        std::filesystem::copy_file(agent_path(), file("lib/libsample.so"));
        for (const char* name : {"three_leaves", "exit_code", "children"}) {
            std::filesystem::copy_file(target(name), file(name));
        }
    }

    /// The command is root's no more; the collector is.
    [[nodiscard]] Outcome record_as_nobody(const Words& command) const {
        Words words{file("bin/sample"), "--quiet", "--freq",  "10k",           "-o",
                    recording(),        "--",      "setpriv", "--reuid=65534", "--regid=65534",
                    "--clear-groups"};
        words.insert(words.end(), command.begin(), command.end());
        return run_here(words);
    }
};

TEST_F(OtherUsers, processes_are_recorded) {
    const Outcome outcome =
        record_as_nobody({file("children"), "fork", "empty", file("three_leaves"), "0.05"});
    EXPECT_EQ(told(outcome.out, "status"), 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_GT(seen.total_us("leaf_") + seen.unseen_us(),
              0.8 * told(outcome.out, "work_cpu_ns") / 1000);
    EXPECT_GT(seen.total_us("leaf_"), 0);
    EXPECT_EQ(images_of(seen, "three_leaves").size(), 1U);
}

// As the workers of a daemon that has kept a way back to root.
TEST_F(OtherUsers, programs_of_a_process_between_two_users_are_listed_with_their_time) {
    for (const char* half : {"--ruid=65534", "--rgid=65534"}) {
        const Outcome outcome =
            record({"sh", "-c", "setpriv " + std::string{half} + " --clear-groups \"$0\" 0.3",
                    target("three_leaves")});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        const Recording seen{recording()};
        const auto& listed = seen.stats()["unprofiled"];
        ASSERT_EQ(listed.size(), 1U) << listed;
        EXPECT_NE(listed[0]["reason"].get<std::string>().find("another user or group"),
                  std::string::npos)
            << listed;
        EXPECT_EQ(images_of(seen, "three_leaves").size(), 0U);
        EXPECT_GT(seen.total_us("[not profiled: three_leaves]"),
                  0.8 * told(outcome.out, "work_cpu_ns") / 1000);
    }
}

TEST_F(OtherUsers, a_program_with_file_capabilities_is_listed_as_not_profiled) {
    // Version 2, permitted and effective: CAP_NET_RAW. Source: linux/capability.h, vfs_cap_data.
    constexpr std::array<std::uint32_t, 5> kCapabilities{0x02000001, 1U << 13U, 0, 0, 0};
    if (::setxattr(file("exit_code").c_str(), "security.capability", kCapabilities.data(),
                   sizeof kCapabilities, 0) != 0) {
        GTEST_SKIP() << "this file system keeps no capabilities";
    }
    const Outcome outcome =
        record_as_nobody({file("children"), "vfork", "kept", file("exit_code"), "0"});
    EXPECT_EQ(told(outcome.out, "status"), 0) << outcome.err;
    const Recording seen{recording()};
    ASSERT_EQ(seen.stats()["unprofiled"].size(), 1U);
    EXPECT_NE(seen.stats()["unprofiled"][0]["reason"].get<std::string>().find("capabilities"),
              std::string::npos);
    EXPECT_EQ(images_of(seen, "exit_code").size(), 0U);
}

TEST_F(Processes, a_pid_namespace_is_recorded) {
    const Words command{"unshare", "--pid", "--fork", target("three_leaves"), "0.05"};
    if (run_here(command).exit_code != 0) {
        GTEST_SKIP() << "unshare --pid needs CAP_SYS_ADMIN";
    }
    const Outcome outcome = record(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_GT(Recording{recording()}.total_us("leaf_"),
              0.8 * told(outcome.out, "work_cpu_ns") / 1000);
}

// The numbers in such a /proc are other processes'.
TEST_F(Processes, in_a_pid_namespace_with_the_outer_proc_are_nobody_elses) {
    const auto record_inside = [this](const Words& options, const std::string& handlers = "0") {
        Words words{"unshare", "--pid",       "--fork",   built::kConfine, "--dear-handlers",
                    handlers,  sample_path(), "--quiet",  "--force",       "--freq",
                    "10k",     "-o",          recording()};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", target("threads"), "2", "0.3"});
        return run_here(words);
    };
    if (run_here({"unshare", "--pid", "--fork", "true"}).exit_code != 0) {
        GTEST_SKIP() << "unshare --pid needs CAP_SYS_ADMIN";
    }
    const Outcome outcome = record_inside({});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(seen.stats()["process_list"][0]["executable"], target("threads"));
    EXPECT_EQ(seen.stat("threads"), 3);
    EXPECT_EQ(seen.exported().dump().find("kthreadd"), std::string::npos);
    EXPECT_FALSE(record_inside({}, "100").hung) << "its threads are found to be slowed down";
    // This source reads there which threads there are.
    EXPECT_EQ(record_inside({"--source", "thread"}).exit_code, 0);
    const std::string notes = Recording{recording()}.stats()["notes"].dump();
    EXPECT_NE(notes.find("there is no /proc"), std::string::npos) << notes;
}

/// exit(0), as the 32-bit x86 machine writes it.
void write_foreign_program(const std::string& path) {
    constexpr std::array<unsigned char, 12> kCode{0xb8, 1, 0, 0, 0, 0xbb, 0, 0, 0, 0, 0xcd, 0x80};
    constexpr std::uint32_t kBase = 0x8048000;
    constexpr std::uint32_t kCodeAt = sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr);
    Elf32_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS32;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_type = ET_EXEC;
    head.e_machine = EM_386;
    head.e_version = EV_CURRENT;
    head.e_entry = kBase + kCodeAt;
    head.e_phoff = sizeof head;
    head.e_ehsize = sizeof head;
    head.e_phentsize = sizeof(Elf32_Phdr);
    head.e_phnum = 1;
    Elf32_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_vaddr = segment.p_paddr = kBase;
    segment.p_filesz = segment.p_memsz = kCodeAt + kCode.size();
    segment.p_flags = PF_R | PF_X;
    segment.p_align = 4096;
    std::ofstream out{path, std::ios::binary};
    out.write(reinterpret_cast<const char*>(&head), sizeof head);
    out.write(reinterpret_cast<const char*>(&segment), sizeof segment);
    out.write(reinterpret_cast<const char*>(kCode.data()), kCode.size());
    out.close();
    std::filesystem::permissions(path, std::filesystem::perms{0755});
}

TEST_F(Processes, another_machines_program_is_listed_if_the_kernel_runs_it) {
    const std::string program = file("foreign");
    write_foreign_program(program);
    const Outcome bare = run_here({target("children"), "fork", "kept", program});
    const Outcome outcome = record({target("children"), "fork", "kept", program});
    EXPECT_EQ(told(outcome.out, "status"), told(bare.out, "status"));
    EXPECT_EQ(outcome.err, bare.err);
    const Recording seen{recording()};
    // A kernel without 32-bit programs refuses the exec: then nothing ran.
    EXPECT_EQ(seen.stats()["unprofiled"].size(), told(bare.out, "status") == 0 ? 1U : 0U);
}

TEST_F(Processes, a_program_that_could_not_be_started_is_not_listed) {
    // Static, and yet no exec: the file is cut off before its segments.
    const std::string broken = file("broken");
    std::filesystem::copy_file(target("hello_static"), broken);
    std::filesystem::resize_file(broken, 0x1000);
    std::filesystem::permissions(broken, std::filesystem::perms{0755});
    std::fstream file{broken, std::ios::binary | std::ios::in | std::ios::out};
    file.seekp(offsetof(Elf64_Ehdr, e_type));
    file.put(static_cast<char>(ET_REL));
    file.close();
    const Outcome outcome = record({target("children"), "fork", "kept", broken});
    EXPECT_EQ(told(outcome.out, "status"), 127) << outcome.err;
    EXPECT_EQ(Recording{recording()}.stats()["unprofiled"].size(), 0U);
}

TEST_F(Processes, a_thousand_short_commands_have_a_process_each) {
    const Outcome outcome =
        record({"sh", "-c", "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done; echo $i"});
    EXPECT_EQ(outcome.out, "1000\n") << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(seen.stat("processes"), 1001);
    const auto images = images_of(seen, "true");
    EXPECT_EQ(images.size(), 1000U);
    const auto root = images_of(seen, "dash").size() + images_of(seen, "bash").size();
    EXPECT_GE(root, 1U);
    for (const auto& image : images) {
        EXPECT_EQ(image["command"], "/bin/true");
        EXPECT_EQ(image["ending"], "exited with 0");
    }
}

TEST_F(Processes, a_deep_tree_is_recorded_whole) {
    const std::string script = file("deeper");
    std::ofstream{script} << "[ $1 -gt 0 ] && { sh \"$0\" $(($1 - 1)); exit $?; }\n"
                          << "exec " << target("three_leaves") << " 0.05\n";
    const Outcome outcome = record({"sh", script, "30"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    EXPECT_EQ(seen.stat("processes"), 31);
    EXPECT_GT(seen.total_us("leaf_"), 0.8 * told(outcome.out, "work_cpu_ns") / 1000);
}

TEST_F(Processes, a_child_may_outlive_its_parent) {
    const Outcome outcome = record({"sh", "-c",
                                    "sh -c '(sleep 0.2; " + target("three_leaves") +
                                        " 0.05; echo over >&2) & exit 3' | cat; exit 0"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "over\n");
    const Recording seen{recording()};
    EXPECT_EQ(images_of(seen, "three_leaves").size(), 1U);
    EXPECT_GT(seen.total_us("leaf_"), 0.8 * told(outcome.out, "work_cpu_ns") / 1000);
}

TEST_F(Processes, what_the_fork_of_a_big_process_costs_is_where_fork_was_called) {
    const Outcome outcome = record({target("fork_costs"), "400", "6"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Recording seen{recording()};
    const double forks = told(outcome.out, "fork_cpu_us");
    const double after = told(outcome.out, "after_cpu_us");
    EXPECT_GT(seen.total_us("fork_all"), 0.8 * forks) << outcome.out;
    EXPECT_LT(seen.total_us("work_after"), after + 0.2 * forks) << outcome.out;
}

}  // namespace
}  // namespace sample::e2e
