// Runs one command as a user would and keeps what came of it.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace sample::e2e {

struct RunOptions {
    std::string input = {};                                          ///< What stdin holds.
    std::vector<std::pair<std::string, std::string>> settings = {};  ///< Added to the environment.
    std::filesystem::path directory = {};                            ///< Where to run; empty: here.
};

struct Outcome {
    std::string out;
    std::string err;
    int exit_code = -1;  ///< -1 if a signal ended it.
    int signal = 0;      ///< 0 if it exited.
    bool hung = false;   ///< It, or someone who held its stdout or stderr, was still there at the
                         ///< limit of ten minutes; then its process group was killed.
    double cpu_us = 0;   ///< Of it and of those that it waited for.
};

/// Runs `words` with stdin, stdout and stderr on pipes, in a process group of its own, with no
/// other descriptor open and default signal actions; returns when it has ended *and* both outputs
/// are closed, as `$(…)` in a shell does. 127 if it cannot be started.
[[nodiscard]] Outcome run(const std::vector<std::string>& words, const RunOptions& options = {});

/// Whether what this test starts is under somebody's filter of system calls, as in many containers.
[[nodiscard]] bool is_under_seccomp();

}  // namespace sample::e2e
