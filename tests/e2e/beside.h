// Programs that run beside a test, and what records them from outside.
#pragma once

#include "session.h"
#include "tests/built.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sample::e2e {

inline std::string text_of(const std::filesystem::path& file) {
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// A program that runs beside the test, in a process group of its own; its output goes to a file.
class Beside {
public:
    Beside(Words words, std::filesystem::path out) : out_{std::move(out)}, pid_{fork()} {
        if (pid_ == 0) {
            std::vector<char*> arguments;
            for (std::string& word : words) {
                arguments.push_back(word.data());
            }
            arguments.push_back(nullptr);
            const int file = open(out_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
            dup2(file, STDOUT_FILENO);
            dup2(file, STDERR_FILENO);
            setpgid(0, 0);
            execvp(arguments[0], arguments.data());
            _exit(127);
        }
    }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;
    ~Beside() {
        if (!ended_) {
            kill(pid_, SIGKILL);
            static_cast<void>(wait());
        }
    }

    [[nodiscard]] std::string pid() const { return std::to_string(pid_); }
    void signal(int number) const { kill(pid_, number); }
    /// Its wait status.
    int wait() {
        while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
        }
        ended_ = true;
        return status_;
    }
    [[nodiscard]] std::string out() const { return text_of(out_); }
    /// "T" of a stopped one, ...
    [[nodiscard]] char state() const {
        const std::string status = text_of("/proc/" + pid() + "/status");
        const std::size_t at = status.find("State:\t");
        return at == std::string::npos ? '\0' : status[at + 7];
    }
    /// Until it runs its own program, not the test's copy.
    void await_exec(const std::string& program) const {
        std::error_code error;
        while (std::filesystem::read_symlink("/proc/" + pid() + "/exe", error).filename() !=
                   std::filesystem::path{program}.filename() &&
               state() != 'Z') {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
    /// Until it has used the processor for another fifth of a second.
    void await_work() const {
        constexpr std::int64_t kWorkNs = 200'000'000;
        const std::int64_t end = cpu_ns() + kWorkNs;
        while (cpu_ns() < end && state() != 'Z') {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
    /// How many perf events it holds.
    [[nodiscard]] std::size_t events() const {
        std::error_code error;
        std::size_t held = 0;
        for (const auto& each :
             std::filesystem::directory_iterator{"/proc/" + pid() + "/fd", error}) {
            const std::string what = std::filesystem::read_symlink(each, error);
            held += what.find("perf_event") != std::string::npos ? 1 : 0;
        }
        return held;
    }
    /// Until it lets programs go first, as whoever attaches does once all its events are open.
    void await_recording() const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        while (sched_getscheduler(pid_) == SCHED_OTHER && state() != 'Z' &&
               std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }

private:
    [[nodiscard]] std::int64_t cpu_ns() const {
        constexpr std::int64_t kSecond = 1'000'000'000;
        clockid_t clock{};
        timespec used{};
        clock_getcpuclockid(pid_, &clock);
        clock_gettime(clock, &used);
        return used.tv_sec * kSecond + used.tv_nsec;
    }

    std::filesystem::path out_;
    pid_t pid_;
    int status_ = 0;
    bool ended_ = false;
};

class Attach : public Session {
protected:
    /// `sample attach OPTIONS` with a recording in this test's folder.
    [[nodiscard]] Outcome attach(const Words& options) const {
        Words words{"attach", "--quiet", "--freq", "10k", "--force", "-o", recording()};
        words.insert(words.end(), options.begin(), options.end());
        return sample(words);
    }
    [[nodiscard]] std::unique_ptr<Beside> start(const Words& words) const {
        auto program = std::make_unique<Beside>(words, file("out"));
        program->await_exec(words[0]);
        return program;
    }
    /// `sample attach OPTIONS` to `phases`, all of whose phases it sees, and to their end.
    void attach_to_phases(const Words& options) const {
        const auto program = start({target("phases"), "500", "1000", "1500", file("go")});
        Words words{sample_path(), "attach", "--quiet", "--freq", "10k", "-o", recording()};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(program->pid());
        Beside recorder{words, file("told")};
        recorder.await_recording();
        std::ofstream{file("go")};
        EXPECT_EQ(recorder.wait(), 0) << recorder.out();
    }
    void expect_refusal(const Words& options, const std::string& says) const {
        const Outcome outcome = attach(options);
        EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
        EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(recording()));
    }
};

class Machine : public Attach {
protected:
    void SetUp() override {
        if (geteuid() != 0) {
            GTEST_SKIP() << "the machine is root's to record";
        }
    }
    [[nodiscard]] Outcome record_all(const Words& options) const {
        Words words{"record", "-a", "--quiet", "--force", "-o", recording()};
        words.insert(words.end(), options.begin(), options.end());
        return sample(words);
    }
};

class AttachAsUser : public Attach {
protected:
    void SetUp() override {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root can become other users";
        }
        ASSERT_EQ(chmod(file("").c_str(), 0755), 0);
        ASSERT_TRUE(std::filesystem::create_directory(file("own")));
        ASSERT_EQ(chmod(file("own").c_str(), 0777), 0);
        install(built::kConfine, "confine");
        install(sample_path(), "sample");
        install(target("three_leaves"), "three_leaves");
    }
    void install(const std::string& from, const std::string& name) const {
        std::filesystem::copy_file(from, file(name));
        ASSERT_EQ(chmod(file(name).c_str(), 0755), 0);
    }
    [[nodiscard]] Outcome attach_as_user(const Words& options) const {
        Words words{file("confine"), "--user",  "65534", file("sample"),
                    "attach",        "--quiet", "-o",    file("own/r.utrace")};
        words.insert(words.end(), options.begin(), options.end());
        return run_here(words);
    }
};

}  // namespace sample::e2e
