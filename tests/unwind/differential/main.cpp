// Samples a program from outside and walks each stack twice, by ours and by libunwind's unw_step.
//
//     unwind_differential [--samples N] [--hz N] [--json FILE] [--examples N]
//         [--strict] [--called] [--root PERCENT] -- CMD...
//
// The command is run again until there are enough samples, then its process group gets SIGTERM.
// Exit code: 0; 1 if --strict and a difference is not explained or a walk with the thread's memo
// differs from one without, --called and a frame of ours has no call before it, or fewer walks
// reach the root than --root says; 2 for anything that went wrong; 77 if perf_event_open is
// refused. docs/unwinding-differential.md tells how differences are judged.
#include "tests/unwind/differential/capture.h"
#include "tests/unwind/differential/comparison.h"
#include "tests/unwind/differential/report.h"

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace sample;                        // NOLINT(google-build-using-namespace): a program
using namespace sample::unwind::differential;  // NOLINT(google-build-using-namespace)

constexpr int kFailed = 2;
constexpr int kRefused = 77;
constexpr int kExecFailed = 127;
constexpr int kDrainMilliseconds = 20;
constexpr int kPatienceMilliseconds = 10000;

struct Options {
    std::uint64_t samples = 100000;
    CaptureOptions capture;
    std::string json;
    std::size_t examples = 0;
    bool strict = false;
    bool called = false;
    double least_root = 0;
    std::vector<std::string> command;
};

/// A child that execs the command once it is told to.
class Child {
public:
    explicit Child(std::vector<std::string> command) {
        std::vector<char*> arguments;
        arguments.reserve(command.size() + 1);
        for (std::string& argument : command) {
            arguments.push_back(argument.data());
        }
        arguments.push_back(nullptr);
        int ends[2] = {-1, -1};
        pid_ = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
        if (pid_ < 0) {
            std::perror("unwind_differential: fork");
            std::exit(kFailed);
        }
        if (pid_ == 0) {
            char go = 0;
            setpgid(0, 0);
            if (read(ends[0], &go, 1) != 1) {
                _exit(kExecFailed);
            }
            execvp(arguments[0], arguments.data());
            std::perror(arguments[0]);
            _exit(kExecFailed);
        }
        close(ends[0]);
        gate_.reset(ends[1]);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        gate_.reset();
        stop();
    }

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void start() const { static_cast<void>(!write(gate_.get(), "g", 1)); }
    /// Whether it has ended; by itself with 0 or not.
    [[nodiscard]] bool has_ended() {
        if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) {
            ended_ = true;
        }
        return ended_;
    }
    [[nodiscard]] bool succeeded() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
    /// Asks the process group to end, and makes it, if it does not.
    void stop() {
        kill(-pid_, SIGTERM);
        for (int waited = 0; !has_ended() && waited < kPatienceMilliseconds; waited += 10) {
            usleep(10'000);
        }
        kill(-pid_, SIGKILL);
        while (!has_ended()) {
            usleep(10'000);
        }
    }

private:
    Fd gate_;
    pid_t pid_ = -1;
    int status_ = 0;
    bool ended_ = false;
};

/// One run of the command. Returns an exit code.
int run_once(const Options& options, Comparison& comparison, std::uint64_t& lost) {
    Child child{options.command};
    auto capture = Capture::open(child.pid(), options.capture);
    if (!capture) {
        std::fprintf(stderr, "unwind_differential: %s\n", capture.error().message().c_str());
        return kRefused;
    }
    child.start();
    const std::uint64_t before = comparison.tally().samples;
    bool ended = false;
    while (!ended && comparison.tally().samples < options.samples) {
        capture->wait(kDrainMilliseconds);
        ended = child.has_ended();
        capture->drain(comparison);
    }
    if (ended) {
        capture->finish(comparison);
    }
    lost += capture->lost();
    if (ended && !child.succeeded()) {
        std::fprintf(stderr, "unwind_differential: %s failed\n", options.command[0].c_str());
        return kFailed;
    }
    if (comparison.tally().samples == before) {
        std::fprintf(stderr, "unwind_differential: no sample of %s: let it run longer\n",
                     options.command[0].c_str());
        return kFailed;
    }
    return 0;
}

int run(const Options& options) {
    Comparison comparison;
    RunFigures figures;
    figures.examples = options.examples;
    for (const std::string& word : options.command) {
        figures.command += (figures.command.empty() ? "" : " ") + word;
    }
    while (comparison.tally().samples < options.samples) {
        if (const int code = run_once(options, comparison, figures.lost); code != 0) {
            return code;
        }
    }
    const Tally& tally = comparison.tally();
    print_report(tally, figures, stderr);
    if (!options.json.empty()) {
        std::FILE* out = std::fopen(options.json.c_str(), "we");
        if (out == nullptr) {
            std::perror(options.json.c_str());
            return kFailed;
        }
        write_json(tally, figures, out);
        std::fclose(out);
    }
    const bool failed = (options.strict && tally.unexplained() + tally.memo_different != 0) ||
                        (options.called && !tally.uncalled.empty()) ||
                        root_percent(tally) < options.least_root;
    return failed ? 1 : 0;
}

int main_without_exceptions(int argc, char** argv) {
    Options options;
    CLI::App app{"Walks the stacks of a program by ours and by libunwind, and compares."};
    app.add_option("--samples", options.samples, "How many are wanted")->capture_default_str();
    app.add_option("--hz", options.capture.hz, "Samples a second of CPU time")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    app.add_option("--json", options.json, "Where the figures go, too");
    app.add_option("--examples", options.examples, "Stacks printed of each class of difference");
    app.add_flag("--strict", options.strict,
                 "Fail if a difference is not explained, or a walk by the memo differs");
    app.add_flag("--called", options.called, "Fail if no call precedes a frame of ours");
    app.add_option("--root", options.least_root,
                   "Fail if less per cent reach the root, of those whose copy suffices");
    app.add_option("command", options.command, "What to sample")->required();
    CLI11_PARSE(app, argc, argv);
    return run(options);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return main_without_exceptions(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "unwind_differential: cannot go on: %s\n", error.what());
        return kFailed;
    }
}
