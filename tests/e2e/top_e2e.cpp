// `sample top` on terminals of all kinds and on none: what it shows, and that the terminal is as it
// was, whatever ends it.
#include "beside.h"
#include "session.h"
#include "terminal.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>

namespace sample::e2e {
namespace {

/// What switches to the second screen, and back.
constexpr std::string_view kSecondScreen = "\x1b[?1049h";
constexpr std::string_view kFirstScreen = "\x1b[?1049l";
const Terminal::Settings xterm{{"TERM", "xterm-256color"}, {"LC_ALL", "C.UTF-8"}};

class Top : public Session {
protected:
    [[nodiscard]] static Words top(const Words& options) {
        Words words{sample_path(), "top", "--freq", "10k"};
        words.insert(words.end(), options.begin(), options.end());
        return words;
    }
    /// A terminal with `sample top` of a program that works for a minute.
    [[nodiscard]] static Words top_of_leaves() { return top({"--", target("three_leaves"), "60"}); }

    static void expect_restored(const Terminal& terminal) {
        const std::string& text = terminal.text();
        EXPECT_TRUE(terminal.edits_lines());
        EXPECT_NE(text.rfind(kFirstScreen), std::string::npos) << text;
        EXPECT_GT(text.rfind(kFirstScreen) + 1, text.rfind(kSecondScreen) + 1) << text;
        EXPECT_GT(text.rfind("\x1b[?25h") + 1, text.rfind("\x1b[?25l") + 1) << "no cursor";
        EXPECT_GT(text.rfind("\x1b[?7h") + 1, text.rfind("\x1b[?7l") + 1) << "no wrapping";
    }
    static void expect_no_cursor_control(const std::string& text) {
        EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    }
};

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

TEST_F(Top, prints_pages_where_there_is_no_terminal) {
    const Outcome outcome =
        sample({"top", "--iterations", "2", "--limit", "5", "--", target("three_leaves"), "60"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    expect_no_cursor_control(outcome.out);
    EXPECT_EQ(count_of(outcome.out, "sample top  "), 2) << outcome.out;
    EXPECT_NE(outcome.out.find("three_leaves 60\n"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("total_ns="), std::string::npos) << "the command's output";
}

TEST_F(Top, says_that_its_pages_cannot_be_written) {
    const Outcome outcome = run({"sh", "-c", R"("$@" > /dev/full)", "sh", sample_path(), "top",
                                 "--iterations", "1", "--", target("three_leaves"), "60"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("cannot write to standard output"), std::string::npos)
        << outcome.err;
}

TEST_F(Top, shows_a_process_that_runs_already) {
    const Beside running{{target("three_leaves"), "60"}, file("out")};
    running.await_exec("three_leaves");
    Terminal terminal{top({"--view", "callgraph", "--last", "--limit", "0", running.pid()}),
                      {{"TERM", "dumb"}}};
    EXPECT_TRUE(terminal.wait_for("last 10 s, callgraph")) << terminal.text();
    EXPECT_TRUE(terminal.wait_for("leaf_thirty")) << terminal.text();
    terminal.type("\x03");
    EXPECT_EQ(terminal.finish(), 0) << terminal.text();
}

TEST_F(Top, keeps_a_recording_and_the_output_if_asked_to) {
    const Outcome outcome = sample(
        {"top", "-o", recording(), "--log", file("log").string(), "--", target("exit_code"), "7"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("has ended with 7"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(recording()), std::string::npos) << outcome.err;
    EXPECT_TRUE(std::filesystem::exists(file("log")));
    EXPECT_EQ(sample({"report", recording()}).exit_code, 0);
}

TEST_F(Top, leaves_no_file_unless_asked_to) {
    const Outcome outcome = sample({"top", "--time", "100ms", "--", target("three_leaves"), "60"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const auto& entry : std::filesystem::directory_iterator{file("")}) {
        ADD_FAILURE() << entry.path();
    }
}

TEST_F(Top, obeys_keys_and_gives_the_terminal_back) {
    Terminal terminal{top_of_leaves(), xterm};
    ASSERT_TRUE(terminal.wait_for("leaf_fifty")) << terminal.text();
    EXPECT_FALSE(terminal.edits_lines());
    terminal.type("v");
    ASSERT_TRUE(terminal.wait_for("<root>")) << terminal.text();
    terminal.type("/leaf_tw");
    ASSERT_TRUE(terminal.wait_for("search: leaf_tw_")) << terminal.text();
    terminal.forget();
    terminal.type("\r");
    ASSERT_TRUE(terminal.wait_for("search 'leaf_tw'")) << terminal.text();
    terminal.type("?");
    ASSERT_TRUE(terminal.wait_for("freeze, or go on")) << terminal.text();
    terminal.type("  ");
    ASSERT_TRUE(terminal.wait_for("FROZEN")) << terminal.text();
    terminal.type("q");
    const int status = terminal.finish();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << terminal.text();
    expect_restored(terminal);
}

TEST_F(Top, ends_by_ctrl_c_with_the_last_page_in_place) {
    Terminal terminal{top_of_leaves(), xterm};
    ASSERT_TRUE(terminal.wait_for("leaf_fifty")) << terminal.text();
    terminal.type("\x03");
    const int status = terminal.finish();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << terminal.text();
    expect_restored(terminal);
    const std::string& text = terminal.text();
    EXPECT_NE(text.find("leaf_fifty", text.rfind(kFirstScreen)), std::string::npos) << text;
}

TEST_F(Top, gives_the_terminal_back_whatever_signal_ends_it) {
    for (const int number : {SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT}) {
        Terminal terminal{top_of_leaves(), xterm};
        ASSERT_TRUE(terminal.wait_for(kSecondScreen)) << terminal.text();
        ASSERT_TRUE(terminal.wait_for("q end")) << terminal.text();
        terminal.signal(number);
        const int status = terminal.finish();
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number)
            << number << " " << status << terminal.text();
        expect_restored(terminal);
    }
}

TEST_F(Top, does_not_leave_the_command_behind) {
    Terminal terminal{top({"--log", file("log").string(), "--", "/bin/sh", "-c",
                           "trap 'echo asked; exit' TERM; echo ready; while :; do :; done"}),
                      xterm};
    const auto log = [this] {
        std::ifstream in{file("log")};
        return std::string{std::istreambuf_iterator<char>{in}, {}};
    };
    ASSERT_TRUE(terminal.wait_for("sh -c", 2)) << terminal.text();
    ASSERT_TRUE(terminal.wait_for("q end")) << terminal.text();
    for (int tries = 0; tries < 6000 && log() != "ready\n"; ++tries) {
        usleep(10'000);
    }
    terminal.signal(SIGKILL);
    static_cast<void>(terminal.finish());
    // Once or oftener: the kernel asks whenever one of our threads has ended that the command was
    // the child of, and another one gets it. Source: Linux kernel/exit.c, forget_original_parent.
    const auto was_asked = [&] { return log().rfind("ready\nasked\n", 0) == 0; };
    for (int tries = 0; tries < 6000 && !was_asked(); ++tries) {
        usleep(10'000);
    }
    EXPECT_TRUE(was_asked()) << log();
}

TEST_F(Top, gives_the_terminal_back_when_the_command_crashes) {
    Terminal terminal{top({"--", target("killed"), "segv", "0.3"}), xterm};
    const int status = terminal.finish();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << terminal.text();
    EXPECT_NE(terminal.text().find("the command was ended by signal"), std::string::npos)
        << terminal.text();
    expect_restored(terminal);
}

TEST_F(Top, lends_the_terminal_to_the_shell_while_it_is_stopped) {
    std::string line;
    for (const std::string& word : top_of_leaves()) {
        line += "'" + word + "' ";
    }
    // With -m, jobs are stopped and go on as for a person at a prompt.
    Terminal terminal{{"bash", "-mc", line + "; echo first $?; read; fg; echo second $?; read; fg"},
                      xterm};
    ASSERT_TRUE(terminal.wait_for("leaf_fifty")) << terminal.text();
    terminal.type("\x1a");
    ASSERT_TRUE(terminal.wait_for("first 147")) << terminal.text();
    expect_restored(terminal);
    terminal.forget();
    terminal.type("\n");
    ASSERT_TRUE(terminal.wait_for(kSecondScreen)) << terminal.text();
    ASSERT_TRUE(terminal.wait_for("q end")) << terminal.text();
    EXPECT_FALSE(terminal.edits_lines());
    terminal.forget();
    terminal.signal_job(SIGTSTP);
    ASSERT_TRUE(terminal.wait_for("second 147")) << terminal.text();
    expect_restored(terminal);
    terminal.forget();
    terminal.type("\n");
    ASSERT_TRUE(terminal.wait_for("q end")) << terminal.text();
    terminal.type("q");
    EXPECT_EQ(terminal.finish(), 0) << terminal.text();
}

TEST_F(Top, goes_on_where_no_shell_could_let_it_go_on) {
    Terminal terminal{top_of_leaves(), xterm};
    ASSERT_TRUE(terminal.wait_for("leaf_fifty")) << terminal.text();
    terminal.type("\x1a?");
    ASSERT_TRUE(terminal.wait_for("freeze, or go on")) << terminal.text();
    terminal.type("qq");  // the first one closes the help
    EXPECT_EQ(terminal.finish(), 0) << terminal.text();
}

TEST_F(Top, follows_the_size_of_the_window) {
    Terminal terminal{top_of_leaves(), xterm};
    terminal.resize(24, 80);
    ASSERT_TRUE(terminal.wait_for("total ms")) << terminal.text();
    terminal.forget();
    terminal.resize(6, 30);
    ASSERT_TRUE(terminal.wait_for("total %")) << terminal.text();
    terminal.forget();
    ASSERT_TRUE(terminal.wait_for("\x1b[J")) << terminal.text();
    terminal.forget();
    ASSERT_TRUE(terminal.wait_for("\x1b[J")) << terminal.text();
    const std::string page = terminal.text().substr(0, terminal.text().find("\x1b[J"));
    EXPECT_LE(count_of(page, "\n"), 5) << "more lines than the window has: " << page;
    terminal.resize(40, 120);
    ASSERT_TRUE(terminal.wait_for("total ms")) << terminal.text();
    terminal.type("q");
    EXPECT_EQ(terminal.finish(), 0) << terminal.text();
    expect_restored(terminal);
}

TEST_F(Top, does_without_colours_if_asked_to) {
    Terminal::Settings settings = xterm;
    settings.emplace_back("NO_COLOR", "1");
    Terminal terminal{top_of_leaves(), settings};
    ASSERT_TRUE(terminal.wait_for("leaf_fifty")) << terminal.text();
    EXPECT_EQ(terminal.text().find("\x1b[1m"), std::string::npos) << terminal.text();
    EXPECT_EQ(terminal.text().find("\x1b[31m"), std::string::npos) << terminal.text();
    terminal.type("q");
    EXPECT_EQ(terminal.finish(), 0) << terminal.text();
}

TEST_F(Top, prints_pages_on_a_dumb_terminal) {
    Terminal terminal{top_of_leaves(), {{"TERM", "dumb"}}};
    ASSERT_TRUE(terminal.wait_for("leaf_fifty")) << terminal.text();
    ASSERT_TRUE(terminal.wait_for("sample top  ", 2)) << terminal.text();
    EXPECT_TRUE(terminal.edits_lines());
    terminal.type("\x03");
    EXPECT_EQ(terminal.finish(), 0) << terminal.text();
    expect_no_cursor_control(terminal.text());
}

TEST_F(Top, says_what_cannot_be_watched) {
    EXPECT_EQ(sample({"top"}).exit_code, 2);
    EXPECT_EQ(sample({"top", "1", "--", "true"}).exit_code, 2);
    EXPECT_EQ(sample({"top", "--", "/nonexistent/command"}).exit_code, 127);
    const Outcome fixed = sample({"top", "--", target("hello_static")});
    EXPECT_EQ(fixed.exit_code, 1);
    EXPECT_NE(fixed.err.find("sample top PID"), std::string::npos) << fixed.err;
    EXPECT_EQ(sample({"top", "no-process-has-this-name"}).exit_code, 1);
}

}  // namespace
}  // namespace sample::e2e
