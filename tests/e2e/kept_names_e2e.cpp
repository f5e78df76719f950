// Names that stay: a recording carries them, and programs that are deleted, replaced or in a
// container while they run have them all the same.
#include "session.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace sample::e2e {
namespace {

namespace fs = std::filesystem;

/// For sh: starts ./app in the background, and goes on once it runs.
constexpr const char* kStartApp =
    "./app 2 & until readlink /proc/$!/exe | grep -q '/app$'; do sleep 0.01; done; ";

class KeptNames : public Session {
protected:
    /// three_leaves under the name "app" in this test's folder.
    void copy_app() const {
        fs::copy_file(target("three_leaves"), file("app"), fs::copy_options::overwrite_existing);
    }
    [[nodiscard]] std::string shown(const Words& options = {}) const {
        Words words{"report", "--view", "functions"};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(recording());
        const Outcome outcome = sample(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return outcome.out;
    }
    static void expect_named(const std::string& text) {
        for (const char* name : {"leaf_fifty", "leaf_thirty", "leaf_twenty", "three_leaves.cpp"}) {
            EXPECT_NE(text.find(name), std::string::npos) << name << " in\n" << text;
        }
    }
    static void expect_unnamed(const std::string& text) {
        EXPECT_EQ(text.find("leaf_fifty"), std::string::npos) << text;
        EXPECT_NE(text.find("app+0x"), std::string::npos) << text;
    }
};

TEST_F(KeptNames, go_to_no_other_recording_that_has_the_name_by_now) {
    const fs::path other = file("other.utrace");
    ASSERT_EQ(sample({"--quiet", "--no-symbols", "-o", other, "--", target("three_leaves"), "0.05"})
                  .exit_code,
              0);
    const auto bytes_of = [](const fs::path& path) {
        std::ifstream in{path, std::ios::binary};
        return std::string{std::istreambuf_iterator<char>{in}, {}};
    };
    const std::string before = bytes_of(other);
    const std::string replaces = target("three_leaves") + " 0.05 >/dev/null; rm " +
                                 recording().string() + "; mv " + other.string() + " " +
                                 recording().string();
    const Outcome outcome = record({"/bin/sh", "-c", replaces});
    EXPECT_NE(outcome.err.find("was replaced"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(bytes_of(recording()) == before) << "another recording was written to";
}

TEST_F(KeptNames, are_told_of_no_recording_that_is_gone) {
    const Outcome outcome =
        sample({"-o", recording(), "--", "/bin/sh", "-c",
                "mv " + recording().string() + " " + file("moved.utrace").string() + "; " +
                    target("three_leaves") + " 0.05"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.err.find("was removed or renamed"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("kept"), std::string::npos) << outcome.err;
    EXPECT_GT(Recording{file("moved.utrace")}.stat("samples"), 0);
}

TEST_F(KeptNames, travel_with_the_recording) {
    copy_app();
    ASSERT_EQ(record({file("app"), "0.3"}).exit_code, 0);
    const std::string before = shown();
    expect_named(before);
    fs::remove(file("app"));
    EXPECT_EQ(shown(), before);
    expect_unnamed(shown({"--resymbolize"}));
}

TEST_F(KeptNames, are_found_by_paths_as_long_as_any) {
    fs::path folder = file("deep");
    while (folder.native().size() < 3000) {
        folder /= std::string(100, 'd');
    }
    fs::create_directories(folder);
    fs::copy_file(target("three_leaves"), folder / "app");
    ASSERT_EQ(record({folder / "app", "0.3"}).exit_code, 0);
    expect_named(shown());
}

TEST_F(KeptNames, are_left_out_when_asked) {
    copy_app();
    ASSERT_EQ(sample({"--quiet", "--no-symbols", "--freq", "10k", "-o", recording(), "--",
                      file("app"), "0.3"})
                  .exit_code,
              0);
    expect_named(shown());
    fs::remove(file("app"));
    expect_unnamed(shown());
}

TEST_F(KeptNames, come_from_this_machine_where_the_recording_is_cut) {
    copy_app();
    ASSERT_EQ(record({file("app"), "0.3"}).exit_code, 0);
    const std::string before = shown();
    fs::resize_file(recording(), fs::file_size(recording()) - 1);
    const std::string after = shown();
    expect_named(after);
    const Recording seen{recording()};
    EXPECT_TRUE(seen.flag("whole"));
    const Outcome summary = sample({"report", recording()});
    EXPECT_NE(summary.out.find("names that the recording carries are not all there"),
              std::string::npos)
        << summary.out;
}

TEST_F(KeptNames, are_added_once_a_preloaded_program_is_gone) {
    copy_app();
    ASSERT_EQ(preload({file("app"), "0.3"}).exit_code, 0);
    ASSERT_TRUE(whole_recording().flag("whole"));
    const std::string before = shown();
    expect_named(before);
    // The names come last; they are there once the recording names what is no more.
    fs::rename(file("app"), file("app.away"));
    std::string after = shown();
    for (int tries = 0; tries < 200 && after != before; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
        after = shown();
    }
    EXPECT_EQ(after, before);
}

TEST_F(KeptNames, of_a_program_that_is_deleted_while_it_runs) {
    copy_app();
    const Outcome outcome = record({"sh", "-c", std::string{kStartApp} + "rm app; wait"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_named(shown());
}

TEST_F(KeptNames, of_a_program_that_is_replaced_while_it_runs) {
    copy_app();
    fs::copy_file(target("ten_functions"), file("new"));
    const Outcome outcome = record({"sh", "-c", std::string{kStartApp} + "mv new app; wait"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_named(shown());
    // Later nothing is believed of the other build.
    const std::string later = shown({"--resymbolize"});
    expect_unnamed(later);
    const Outcome summary = sample({"report", "--resymbolize", recording()});
    EXPECT_NE(summary.out.find("its build-id differs"), std::string::npos) << summary.out;
}

TEST_F(KeptNames, of_two_builds_at_one_path_are_each_ones_own) {
    for (const char* id : {"", "_without_id"}) {
        for (const char* way : {"in-place", "rename"}) {
            SCOPED_TRACE(std::string{way} + id);
            const std::string suffix = std::string{id} + ".so";
            const Outcome outcome =
                sample({"--quiet", "--force", "--freq", "10k", "-o", recording(), "--",
                        target("hot_reload"), target("reload_first" + suffix),
                        target("reload_second" + suffix), way, "1"});
            ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
            const Recording seen{recording()};
            EXPECT_NEAR(seen.total_us("hot_first") / (told(outcome.out, "first_ns") / 1000), 1,
                        0.1);
            EXPECT_NEAR(seen.total_us("hot_second") / (told(outcome.out, "second_ns") / 1000), 1,
                        0.1);
        }
    }
}

// Without a build-id only the file itself tells which build ran.
TEST_F(KeptNames, of_a_program_that_is_built_anew_under_its_name_while_a_session_lasts) {
    const auto run_both = [this](const std::string& put) {
        const std::string command = put + target("three_leaves_without_id") + " app; ./app 0.2; " +
                                    put + target("ten_functions_without_id") + " app; ./app 0.2";
        const Outcome outcome = sample(
            {"--quiet", "--force", "--freq", "10k", "-o", recording(), "--", "sh", "-c", command});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return Recording{recording()};
    };
    const double half = 0.5 * 200'000;
    const Recording replaced = run_both("cp --remove-destination ");
    EXPECT_GT(replaced.total_us("leaf_"), half);
    EXPECT_GT(replaced.total_us("equal_"), half);
    const Recording overwritten = run_both("cp ");
    EXPECT_EQ(overwritten.total_us("leaf_"), 0) << "these bytes are nowhere any more";
    EXPECT_GT(overwritten.total_us("app+0x"), half);
}

TEST_F(KeptNames, are_found_again_in_the_cache) {
    copy_app();
    const RunOptions with_cache{{}, {{"XDG_CACHE_HOME", file("home")}, {"SAMPLE_CACHE", "on"}}, {}};
    const RunOptions switched_off{
        {}, {{"XDG_CACHE_HOME", file("home")}, {"SAMPLE_CACHE", "off"}}, {}};
    const Words words{"report", "--resymbolize", "--view", "functions", recording()};
    Words without = words;
    without.insert(without.begin() + 1, "--no-cache");
    ASSERT_EQ(record({file("app"), "0.3"}, switched_off).exit_code, 0);
    const Outcome plain = sample(without, with_cache);
    EXPECT_FALSE(fs::exists(file("home") / "sample") && !fs::is_empty(file("home") / "sample"));
    EXPECT_EQ(sample(words, switched_off).out, plain.out);
    EXPECT_FALSE(fs::exists(file("home")));
    EXPECT_EQ(sample(words, with_cache).out, plain.out);
    EXPECT_FALSE(fs::is_empty(file("home") / "sample"));
    EXPECT_EQ(sample(words, with_cache).out, plain.out);
    const Outcome doctor = sample({"doctor"}, with_cache);
    EXPECT_NE(doctor.out.find((file("home") / "sample").string() + ": "), std::string::npos)
        << doctor.out;
}

/// Copies what `program` loads, and the agent, to the same paths below `root`.
void make_root(const fs::path& root, const std::string& program, const Outcome& ldd) {
    std::istringstream words{ldd.out + " " + agent_path()};
    for (std::string word; words >> word;) {
        if (word.starts_with('/') && !word.ends_with(':') && fs::exists(word)) {
            const fs::path copy = root / fs::path{word}.relative_path();
            fs::create_directories(copy.parent_path());
            fs::copy_file(word, copy, fs::copy_options::overwrite_existing);
        }
    }
    fs::copy_file(program, root / "app");
}

TEST_F(KeptNames, of_a_program_in_a_root_of_its_own) {
    const Words unshare{"unshare", "--mount", "--propagation", "unchanged"};
    Words probe = unshare;
    probe.insert(probe.end(), {"sh", "-c", "mount -t tmpfs none . && chroot / true"});
    if (run_here(probe).exit_code != 0) {
        GTEST_SKIP() << "a mount namespace and chroot need CAP_SYS_ADMIN";
    }
    make_root(file("root"), target("three_leaves"),
              run_here({"ldd", target("three_leaves"), agent_path()}));
    fs::create_directory(file("mounted"));
    // On a filesystem that is gone with its namespace; /app is another file here, or none.
    Words command = unshare;
    command.insert(command.end(), {"sh", "-c",
                                   "mount -t tmpfs none mounted && cp -r root/. mounted && "
                                   "rm -r root && exec chroot mounted /app 0.3"});
    const Outcome outcome = record(command);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_FALSE(fs::exists(file("mounted") / "app"));
    expect_named(shown());
}

}  // namespace
}  // namespace sample::e2e
