// What the end-to-end tests share: a folder of their own, the paths of what is tested, and what a
// recording says, read by the same commands a user has.
#pragma once

#include "run.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sample::e2e {

using Words = std::vector<std::string>;

/// The command, from SAMPLE_BIN or the build; likewise SAMPLE_AGENT.
[[nodiscard]] std::string sample_path();
[[nodiscard]] std::string agent_path();
/// A program of tests/targets.
[[nodiscard]] std::string target(std::string_view name);

/// The number after `key=` in what a target told, or -1.
[[nodiscard]] double told(const std::string& out, std::string_view key);

/// What `sample report --view stats --json` and `sample export --format json` say of a recording.
/// Inlined calls are folded: the truth that targets tell is of functions with code of their own.
class Recording {
public:
    /// Records a test failure if the file cannot be reported or exported.
    explicit Recording(const std::filesystem::path& file);

    [[nodiscard]] double stat(const char* name) const;
    /// It is there, and not null.
    [[nodiscard]] bool has_stat(const char* name) const {
        return stats_.contains(name) && !stats_.at(name).is_null();
    }
    [[nodiscard]] bool flag(const char* name) const { return stats_.value(name, false); }
    [[nodiscard]] double effective_samples() const { return stat("effective_samples"); }
    /// The part of its samples whose signal came late, as on a busy machine: each may stand where
    /// the thread was in the kernel next.
    [[nodiscard]] double late_share() const {
        return has_stat("late_samples") ? stat("late_samples") / stat("samples") : 0;
    }
    /// Empty if it is null or not there.
    [[nodiscard]] std::string text_stat(const char* name) const;
    /// Microseconds of the functions whose name contains `name`, recursion counted once.
    [[nodiscard]] double total_us(std::string_view name) const;
    /// Microseconds in which such a function was the leaf.
    [[nodiscard]] double self_us(std::string_view name) const;
    /// Microseconds that have no stack: in the kernel, where the source cannot see who called it,
    /// or not sampled. On a busy machine and where a sample is dear there are many, which is no
    /// fault.
    [[nodiscard]] double unseen_us() const {
        return total_us("[kernel, caller unseen]") + total_us("[not sampled");
    }
    /// The sum over the roots.
    [[nodiscard]] double roots_us() const;
    /// With what the agent's own thread used: the CPU time that processes see of themselves.
    [[nodiscard]] double used_us() const { return roots_us() + stat("agent_cpu_us"); }
    /// All bits of the flags of the functions whose name contains `name`.
    [[nodiscard]] unsigned flags(std::string_view name) const;
    [[nodiscard]] const nlohmann::json& exported() const { return exported_; }
    [[nodiscard]] const nlohmann::json& stats() const { return stats_; }

private:
    nlohmann::json stats_;
    nlohmann::json exported_;
};

/// Six standard deviations of a share `p` that was estimated from `samples` samples of one weight:
/// of a recording its effective_samples(), as on a busy machine a few may stand for much.
[[nodiscard]] double six_sigma(double p, double samples);

/// `part` of `whole` is `share`, but for chance and one point of startup and rounding.
void expect_share(double part, double whole, double share, double samples);

class Session : public testing::Test {
protected:
    Session();
    ~Session() override;

    [[nodiscard]] std::filesystem::path file(std::string_view name) const { return folder_ / name; }
    /// Runs in this test's folder.
    [[nodiscard]] Outcome run_here(const Words& words, RunOptions options = {}) const;
    /// `sample ARGUMENTS`.
    [[nodiscard]] Outcome sample(const Words& arguments, RunOptions options = {}) const;
    /// `sample --quiet --freq 10k -o FILE -- COMMAND`, FILE being recording().
    [[nodiscard]] Outcome record(const Words& command, RunOptions options = {}) const;
    /// COMMAND with the agent preloaded and no front end.
    [[nodiscard]] Outcome preload(const Words& command, RunOptions options = {}) const;
    [[nodiscard]] std::filesystem::path recording() const { return file("r.utrace"); }

    /// What recording() says once it is whole. A program that dies of a signal cannot wait for the
    /// collector that the agent started; gives up after two minutes.
    [[nodiscard]] Recording whole_recording() const;

    /// The command prints, says and ends the same bare, under `sample`, and with the agent alone.
    void expect_same_behaviour(const Words& command, const std::string& input = {});

private:
    std::filesystem::path folder_;
};

}  // namespace sample::e2e
