// Hostile files and names: where the profiler looks for a program's files, and where it writes its
// own. Nothing is opened but regular files, nothing waits, nothing is shown raw, and nothing is
// read that the program's own user may not read. Some attempts are root's to make.
#include "core/fd.h"
#include "tests/built.h"
#include "tests/e2e/session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string>

namespace sample::e2e {
namespace {

namespace fs = std::filesystem;

constexpr int kUsageError = 2;
constexpr int kHello = 7;  ///< How the target `hello` ends.

bool is_root() {
    return geteuid() == 0;
}

/// Whether a terminal would do more than show it.
bool has_controls(const std::string& text) {
    return std::any_of(text.begin(), text.end(), [](unsigned char letter) {
        return std::iscntrl(letter) != 0 && letter != '\n';
    });
}

std::string text_of(const fs::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

class HostileFiles : public Session {
protected:
    void expect_whole_recording() const {
        const Recording seen{recording()};
        EXPECT_GT(seen.stat("samples"), 0);
        EXPECT_GT(seen.roots_us(), 0);
    }
    /// `sample ARGUMENTS` ends with `exit_code`, and a message that suggests no --force.
    void expect_refusal(const Words& arguments, int exit_code, const std::string& message) const {
        const Outcome outcome = sample(arguments);
        EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
        EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
        EXPECT_EQ(outcome.err.find("--force"), std::string::npos) << outcome.err;
    }
    [[nodiscard]] mode_t mode_of(const std::string& name) const {
        struct stat info {};
        return lstat(file(name).c_str(), &info) == 0 ? info.st_mode : 0;
    }
    void make_fifo(const std::string& name) const {
        ASSERT_EQ(mkfifo(file(name).c_str(), 0640), 0);
    }
    /// Like /dev/null.
    void make_device(const std::string& name) const {
        ASSERT_EQ(mknod(file(name).c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
        ASSERT_EQ(chmod(file(name).c_str(), 0666), 0);
    }
};

struct Place {
    const char* where;
    const char* what;
    friend std::ostream& operator<<(std::ostream& out, const Place& place) {
        return out << place.where << "_" << place.what;
    }
};

class HostilePlace : public HostileFiles, public testing::WithParamInterface<Place> {};

TEST_P(HostilePlace, neither_stalls_nor_spoils_a_recording) {
    const Place place = GetParam();
    if (std::string{place.what} == "device" && !is_root()) {
        GTEST_SKIP() << "only root can make a device";
    }
    fs::copy_file(target("plugin.so"), file("library.so"));
    const Outcome outcome =
        record({target("hostile_files"), place.where, place.what, file("library.so")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("done"), std::string::npos) << outcome.out;
    expect_whole_recording();
    const std::size_t map = outcome.out.find("map=");
    if (map != std::string::npos) {
        const std::size_t start = map + std::string{"map="}.size();
        fs::remove_all(outcome.out.substr(start, outcome.out.find('\n', start) - start));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, HostilePlace,
    testing::Values(Place{"module", "fifo"}, Place{"module", "device"}, Place{"module", "link"},
                    Place{"module", "folder"}, Place{"module", "sparse"}, Place{"module", "lease"},
                    Place{"module", "gone"}, Place{"mapping", "fifo"}, Place{"mapping", "device"},
                    Place{"mapping", "link"}, Place{"mapping", "folder"},
                    Place{"mapping", "sparse"}, Place{"mapping", "lease"}, Place{"map", "fifo"},
                    Place{"map", "device"}, Place{"map", "link"}, Place{"map", "folder"},
                    Place{"map", "sparse"}, Place{"map", "large"}, Place{"map", "lease"},
                    Place{"dump", "fifo"}, Place{"dump", "device"}, Place{"dump", "link"},
                    Place{"dump", "folder"}, Place{"dump", "sparse"}, Place{"dump", "lease"}),
    testing::PrintToStringParamName());

TEST_F(HostileFiles, a_perf_map_too_large_to_read_is_said_to_be) {
    const Outcome outcome =
        sample({"--freq", "10k", "-o", recording(), "--", target("hostile_files"), "map", "large"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::size_t start = outcome.out.find("map=") + 4;
    fs::remove(outcome.out.substr(start, outcome.out.find('\n', start) - start));
    EXPECT_NE(outcome.err.find("larger than"), std::string::npos) << outcome.err;
}

TEST_F(HostileFiles, names_are_shown_escaped_and_are_no_formulas) {
    const Outcome outcome =
        sample({"--freq", "10k", "-o", recording(), "--", target("hostile_files"), "map", "names"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::size_t start = outcome.out.find("map=") + 4;
    fs::remove(outcome.out.substr(start, outcome.out.find('\n', start) - start));
    EXPECT_FALSE(has_controls(outcome.err)) << outcome.err;
    for (const char* view : {"summary", "functions", "callgraph", "threads", "stats"}) {
        const Outcome report = sample({"report", "--view", view, recording()});
        EXPECT_EQ(report.exit_code, 0) << view << report.err;
        EXPECT_FALSE(has_controls(report.out)) << view << report.out;
    }
    const Outcome functions = sample({"report", "--view", "functions", recording()});
    EXPECT_NE(functions.out.find("=HYPERLINK"), std::string::npos) << functions.out;
    const Outcome csv = sample({"export", "--format", "csv", "-o", "-", recording()});
    EXPECT_NE(csv.out.find("\"'=HYPERLINK"), std::string::npos) << csv.out;
    EXPECT_EQ(csv.out.find("\"=HYPERLINK"), std::string::npos);
}

TEST_F(HostileFiles, names_of_programs_are_shown_escaped) {
    const std::string name = file("ev\x1b[31m\x1b]0;title\x07il\nsample: forged\rline");
    fs::copy_file(target("three_leaves"), name);
    const Outcome outcome = sample({"--freq", "10k", "-o", recording(), "--", name, "0.1"});
    EXPECT_FALSE(has_controls(outcome.err)) << outcome.err;
    EXPECT_EQ(outcome.err.find("\nsample: forged"), std::string::npos) << outcome.err;
    for (const char* view : {"summary", "functions", "callgraph", "threads", "stats"}) {
        const Outcome report = sample({"report", "--view", view, recording()});
        EXPECT_FALSE(has_controls(report.out)) << view << report.out;
        EXPECT_EQ(report.out.find("\nsample: forged"), std::string::npos) << view << report.out;
    }
}

TEST_F(HostileFiles, messages_show_names_escaped) {
    const std::string evil = "no\x1b[31m\nsample: all is well/\xffx";
    for (const Words& words :
         {Words{"-o", evil, "--", target("hello")}, Words{"report", evil},
          Words{"export", "--format", "json", "-o", "x", evil}, Words{"import", evil},
          Words{"annotate", "f", evil}, Words{"--" + evil}, Words{"--", evil},
          Words{"report", "--view", evil, "x"}}) {
        const Outcome outcome = sample(words);
        EXPECT_NE(outcome.exit_code, 0);
        EXPECT_FALSE(has_controls(outcome.err)) << outcome.err;
        EXPECT_EQ(outcome.err.find("\nsample: all is well"), std::string::npos) << outcome.err;
    }
}

TEST_F(HostileFiles, a_pipe_that_nobody_reads_is_refused_at_once_and_stays) {
    make_fifo("fifo");
    const mode_t mode = mode_of("fifo");
    const std::string fifo = file("fifo");
    expect_refusal({"-o", fifo, "--", target("hello")}, kUsageError, "nobody reads");
    expect_refusal({"--force", "-o", fifo, "--", target("hello")}, kUsageError, "nobody reads");
    ASSERT_EQ(record({target("three_leaves"), "0.1"}).exit_code, 0);
    expect_refusal({"export", "--format", "json", "-o", fifo, recording()}, 1, "nobody reads");
    expect_refusal({"export", "--format", "json", "--force", "-o", fifo, recording()}, 1,
                   "nobody reads");
    const std::string folded = file("x.folded");
    std::ofstream{folded} << "a;b 1\n";
    expect_refusal({"import", "-o", fifo, folded}, 1, "nobody reads");
    // A recording is what was asked for first: the command ends as it does.
    expect_refusal(
        {"--quiet", "--export", "json=" + fifo, "-o", file("y.utrace"), "--", target("hello")},
        kHello, "nobody reads");
    EXPECT_EQ(mode_of("fifo"), mode);
}

TEST_F(HostileFiles, a_pipe_whose_reader_sleeps_is_given_up) {
    make_fifo("fifo");
    const Fd reader{open(file("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    const Fd writer{open(file("fifo").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)};
    const std::array<char, 4096> filler{};
    while (write(writer.get(), filler.data(), filler.size()) > 0) {
    }
    const Outcome outcome =
        sample({"--quiet", "-o", file("fifo"), "--", "/bin/sh", "-c", "exit 7"});
    EXPECT_EQ(outcome.exit_code, 7);
    EXPECT_NE(outcome.err.find("nobody reads"), std::string::npos) << outcome.err;
}

TEST_F(HostileFiles, a_device_is_written_to_and_stays_as_it_is) {
    if (!is_root()) {
        GTEST_SKIP() << "only root can make a device";
    }
    make_device("null");
    const mode_t mode = mode_of("null");
    fs::create_symlink(file("null"), file("link"));
    const std::string script = file("no-interpreter");
    std::ofstream{script} << "#!/no/such/interpreter\n";
    ASSERT_EQ(chmod(script.c_str(), 0755), 0);
    for (const char* name : {"null", "link"}) {
        for (const char* force : {"--quiet", "--force"}) {
            EXPECT_EQ(sample({force, "-o", file(name), "--", "/bin/sh", "-c", "exit 7"}).exit_code,
                      7);
            // The recording is given up, and the device is no file of ours to remove.
            EXPECT_EQ(sample({force, "-o", file(name), "--", script}).exit_code, 127);
            EXPECT_EQ(mode_of("null"), mode);
            EXPECT_TRUE(S_ISLNK(mode_of("link")));
        }
    }
    EXPECT_EQ(sample({"--quiet", "--force", "--export", "json=" + file("null").string(), "-o",
                      recording(), "--", target("hello")})
                  .exit_code,
              kHello);
    EXPECT_EQ(mode_of("null"), mode);
}

TEST_F(HostileFiles, a_disk_is_never_written_to) {
    if (!is_root()) {
        GTEST_SKIP() << "only root can make a device";
    }
    ASSERT_EQ(mknod(file("disk").c_str(), S_IFBLK | 0600, makedev(7, 250)), 0);
    expect_refusal({"-o", file("disk"), "--", target("hello")}, kUsageError, "is a disk");
    expect_refusal({"--force", "-o", file("disk"), "--", target("hello")}, kUsageError,
                   "is a disk");
    expect_refusal({"--force", "--export", "json=" + file("disk").string(), "-o", recording(), "--",
                    target("hello")},
                   kUsageError, "is a disk");
    EXPECT_TRUE(S_ISBLK(mode_of("disk")));
}

TEST_F(HostileFiles, force_replaces_a_file_and_not_what_is_linked_to_it) {
    std::ofstream{file("old")} << "kept";
    fs::create_hard_link(file("old"), file("r.utrace"));
    ASSERT_EQ(record({target("hello")}).exit_code, kHello);
    EXPECT_EQ(text_of(file("old")), "kept");
    EXPECT_EQ(mode_of("r.utrace") & 0777U, 0600U);
}

TEST_F(HostileFiles, a_folder_or_a_link_to_nothing_is_refused) {
    expect_refusal({"--force", "-o", file(""), "--", target("hello")}, kUsageError,
                   "is a directory");
    fs::create_symlink(file("no/such"), file("link"));
    EXPECT_EQ(sample({"-o", file("link"), "--", target("hello")}).exit_code, kUsageError);
    EXPECT_TRUE(S_ISLNK(mode_of("link")));
}

TEST_F(HostileFiles, a_debug_link_to_a_device_is_not_followed) {
    fs::copy_file(target("three_leaves"), file("program"));
    std::ofstream{file("zero.debug")} << "x";
    const Outcome linked =
        run_here({"objcopy", "--remove-section=.note.gnu.build-id", "--strip-all",
                  "--add-gnu-debuglink=zero.debug", file("program")});
    ASSERT_EQ(linked.exit_code, 0) << linked.err;
    fs::remove(file("zero.debug"));
    for (const char* what : {"fifo", "link"}) {
        if (std::string{what} == "fifo") {
            make_fifo("zero.debug");
        } else {
            fs::create_symlink("/dev/zero", file("zero.debug"));
        }
        EXPECT_EQ(record({file("program"), "0.2"}).exit_code, 0);
        expect_whole_recording();
        fs::remove(file("zero.debug"));
    }
}

/// A program of another user, whose debug information names files of root's.
class NamedSource : public HostileFiles {
protected:
    void SetUp() override {
        if (!is_root()) {
            GTEST_SKIP() << "only root has more rights than the program";
        }
        ASSERT_EQ(chmod(file("").c_str(), 0755), 0);
        fs::remove_all(named_.parent_path());  // a test that was killed may have left it
        ASSERT_TRUE(fs::create_directory(named_.parent_path()));
        std::ofstream{named_} << "the_secret_line\n"
                              << "another_secret\n"
                              << "a_third\n";
        for (const char* program : {built::kConfine, built::kAgent}) {
            const fs::path copy = file(fs::path{program}.filename().string());
            fs::copy_file(program, copy);
            ASSERT_EQ(chmod(copy.c_str(), 0755), 0);
        }
        fs::copy_file(target("names_source"), file("names_source"));
        ASSERT_EQ(chmod(file("names_source").c_str(), 0755), 0);
        fs::copy_file(sample_path(), file("sample"));
    }
    void TearDown() override {
        std::error_code ignored;
        fs::remove_all(named_.parent_path(), ignored);
    }
    /// Root records a program that is another user's. Whether its source is kept in the recording.
    [[nodiscard]] bool keeps_source(mode_t folder, mode_t source) const {
        EXPECT_EQ(chmod(named_.parent_path().c_str(), folder), 0);
        EXPECT_EQ(chmod(named_.c_str(), source), 0);
        const Outcome outcome =
            run_here({file("sample"), "--quiet", "--freq", "10k", "--force", "-o", recording(),
                      "--", file("confine"), "--user", "65534", file("names_source")});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        expect_whole_recording();
        // What is not kept is not there any more.
        fs::rename(named_, file("away"));
        const Outcome annotated = sample({"annotate", "reads_secrets", recording()});
        fs::rename(file("away"), named_);
        EXPECT_EQ(annotated.exit_code, 0) << annotated.err;
        return annotated.out.find("the_secret_line") != std::string::npos ||
               annotated.out.find("another_secret") != std::string::npos;
    }

    const fs::path named_ = SAMPLE_NAMED_SOURCE;
};

TEST_F(NamedSource, is_kept_where_the_programs_user_may_read_it) {
    EXPECT_TRUE(keeps_source(0755, 0644));
}

TEST_F(NamedSource, of_another_user_alone_is_not_kept) {
    EXPECT_FALSE(keeps_source(0755, 0600));
}

TEST_F(NamedSource, in_a_folder_that_the_programs_user_may_not_enter_is_not_kept) {
    EXPECT_FALSE(keeps_source(0700, 0644));
}

TEST_F(HostileFiles, a_limit_of_the_files_size_ends_the_recording_and_not_the_command) {
    // In blocks of 512 bytes: nothing, a part of the header, some of the samples.
    for (const char* blocks : {"0", "1", "8", "40"}) {
        const Outcome outcome = run_here({"/bin/sh", "-c",
                                          std::string{"ulimit -f "} + blocks +
                                              "; exec \"$0\" --quiet --freq 10k --force -o " +
                                              "limited.utrace -- \"$1\" 0.2",
                                          sample_path(), target("three_leaves")});
        EXPECT_EQ(outcome.exit_code, 0) << blocks << ": " << outcome.signal << outcome.err;
        EXPECT_NE(outcome.out.find("rounds="), std::string::npos) << outcome.out;
    }
}

TEST_F(HostileFiles, a_command_is_ended_by_the_limit_of_a_files_size_as_without_us) {
    const std::string too_large =
        "ulimit -f 1; \"$@\" /bin/sh -c 'head -c 100000 /dev/zero > big; exit $?'";
    const Outcome bare = run_here({"/bin/sh", "-c", too_large, "sh"});
    const Outcome ours = run_here(
        {"/bin/sh", "-c", too_large, "sh", sample_path(), "--quiet", "-o", "/dev/null", "--"});
    EXPECT_EQ(bare.exit_code, 128 + SIGXFSZ);
    EXPECT_EQ(ours.exit_code, bare.exit_code) << ours.err;
}

TEST_F(HostileFiles, a_program_in_another_root_folder_runs_as_without_us) {
    if (!is_root()) {
        GTEST_SKIP() << "only root can change its root folder";
    }
    const fs::path root = file("root");
    const Outcome listed = run_here({"ldd", target("hello")});
    for (const std::string& needed :
         {std::string{"/lib64/ld-linux-x86-64.so.2"},
          listed.out.substr(listed.out.find("/lib", listed.out.find("libc.so")),
                            listed.out.find(" (", listed.out.find("libc.so")) -
                                listed.out.find("/lib", listed.out.find("libc.so")))}) {
        const fs::path place = root / fs::path{needed}.relative_path();
        fs::create_directories(place.parent_path());
        fs::copy_file(needed, place);
    }
    fs::copy_file(target("hello"), root / "hello");
    const Words command = {"chroot", root, "/hello"};
    const Outcome bare = run_here(command);
    ASSERT_EQ(bare.exit_code, kHello) << bare.err;
    const Outcome ours = record(command);
    EXPECT_EQ(ours.exit_code, bare.exit_code);
    EXPECT_EQ(ours.out, bare.out);
    EXPECT_EQ(ours.err, bare.err);
    const Outcome stats = sample({"report", "--view", "stats", recording()});
    EXPECT_NE(stats.out.find("root folder"), std::string::npos) << stats.out;
}

}  // namespace
}  // namespace sample::e2e
