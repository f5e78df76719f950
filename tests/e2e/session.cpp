#include "session.h"

#include "tests/built.h"
#include "tests/export/script_profiler_faults.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

namespace sample::e2e {
namespace {

std::string path_from(const char* variable, const char* built) {
    const char* given = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
    return given != nullptr ? given : built;
}

/// What a `sample` verb prints as JSON; records a failure and returns null if it does not.
nlohmann::json json_of(const Words& arguments) {
    Words words = {sample_path()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    auto parsed = nlohmann::json::parse(outcome.out, nullptr, false);
    if (parsed.is_discarded()) {
        ADD_FAILURE() << arguments[0] << " printed no JSON:\n" << outcome.out << outcome.err;
        return nullptr;
    }
    return parsed;
}

bool names(const nlohmann::json& function, std::string_view name) {
    return function.value("Name", "").find(name) != std::string::npos;
}

}  // namespace

std::string sample_path() {
    return path_from("SAMPLE_BIN", built::kSample);
}

std::string agent_path() {
    return path_from("SAMPLE_AGENT", built::kAgent);
}

std::string target(std::string_view name) {
    return std::string{built::kTargets} + "/" + std::string{name};
}

double told(const std::string& out, std::string_view key) {
    const std::string start = std::string{key} + "=";
    const std::size_t found = out.find(start);
    return found == std::string::npos ? -1 : std::atof(out.c_str() + found + start.size());
}

Recording::Recording(const std::filesystem::path& file)
    : stats_(json_of({"report", "--view", "stats", "--json", file})),
      exported_(json_of({"export", "--format", "json", "--fold", "inlined", "-o", "-", file})) {
    EXPECT_EQ(exports::script_profiler_faults(exported_), std::vector<std::string>{});
}

double Recording::stat(const char* name) const {
    if (!stats_.is_object() || !stats_.contains(name) || !stats_[name].is_number()) {
        ADD_FAILURE() << "no figure " << name << " in " << stats_.dump();
        return std::nan("");
    }
    return stats_[name].get<double>();
}

std::string Recording::text_stat(const char* name) const {
    return stats_.is_object() && stats_.contains(name) && stats_[name].is_string()
               ? stats_[name].get<std::string>()
               : "";
}

double Recording::total_us(std::string_view name) const {
    double total = 0;
    for (const auto& function : exported_["Functions"]) {
        total += names(function, name) ? function["TotalDuration"].get<double>() : 0;
    }
    return total;
}

double Recording::self_us(std::string_view name) const {
    const auto& nodes = exported_["Nodes"];
    const auto& functions = exported_["Functions"];
    double self = 0;
    for (const auto& parent : nodes) {
        const auto children = parent.value("NodeIds", std::vector<std::size_t>{});
        const auto ids = parent.value("FunctionIds", std::vector<std::size_t>{});
        for (std::size_t child = 0; child < children.size(); ++child) {
            if (!names(functions.at(ids.at(child) - 1), name)) {
                continue;
            }
            const auto& node = nodes.at(children[child] - 1);
            self += node["TotalDuration"].get<double>();
            for (const std::size_t below : node.value("NodeIds", std::vector<std::size_t>{})) {
                self -= nodes.at(below - 1)["TotalDuration"].get<double>();
            }
        }
    }
    return self;
}

double Recording::roots_us() const {
    double sum = 0;
    for (const auto& category : exported_["Categories"]) {
        const auto node = category["NodeId"].get<std::size_t>();
        sum += exported_["Nodes"].at(node - 1)["TotalDuration"].get<double>();
    }
    return sum;
}

unsigned Recording::flags(std::string_view name) const {
    unsigned bits = 0;
    for (const auto& function : exported_["Functions"]) {
        bits |= names(function, name) ? function.value("Flags", 0U) : 0U;
    }
    return bits;
}

double six_sigma(double p, double samples) {
    return 6 * std::sqrt(p * (1 - p) / samples);
}

void expect_share(double part, double whole, double share, double samples) {
    EXPECT_NEAR(part / whole, share, six_sigma(share, samples) + 0.01);
}

Session::Session() {
    std::string name = std::filesystem::temp_directory_path() / "sample-e2e-XXXXXX";
    folder_ = mkdtemp(name.data());
}

Session::~Session() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

Outcome Session::run_here(const Words& words, RunOptions options) const {
    options.directory = folder_;
    Outcome outcome = run(words, options);
    EXPECT_FALSE(outcome.hung) << words[0];
    return outcome;
}

Outcome Session::sample(const Words& arguments, RunOptions options) const {
    Words words = {sample_path()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_here(words, std::move(options));
}

Outcome Session::record(const Words& command, RunOptions options) const {
    Words arguments = {"--quiet", "--freq", "10k", "--force", "-o", recording(), "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return sample(arguments, std::move(options));
}

Outcome Session::preload(const Words& command, RunOptions options) const {
    std::filesystem::remove(recording());
    options.settings.emplace_back("LD_PRELOAD", agent_path());
    options.settings.emplace_back("SAMPLE_FREQ", "10k");
    options.settings.emplace_back("SAMPLE_OUTPUT", recording());
    return run_here(command, std::move(options));
}

Recording Session::whole_recording() const {
    constexpr int kTries = 1200;
    for (int tries = 0; tries < kTries; ++tries) {
        const Outcome stats =
            run({sample_path(), "report", "--view", "stats", "--json", recording()});
        if (stats.out.find("\"whole\": true") != std::string::npos) {
            return Recording{recording()};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
    ADD_FAILURE() << recording() << " never became whole";
    return Recording{recording()};
}

void Session::expect_same_behaviour(const Words& command, const std::string& input) {
    const Outcome bare = run_here(command, {.input = input});
    for (const bool alone : {false, true}) {
        SCOPED_TRACE(alone ? "the agent alone" : "under sample");
        const Outcome profiled =
            alone ? preload(command, {.input = input}) : record(command, {.input = input});
        EXPECT_EQ(profiled.out, bare.out);
        EXPECT_EQ(profiled.err, bare.err);
        EXPECT_EQ(profiled.exit_code, bare.exit_code);
        EXPECT_EQ(profiled.signal, bare.signal);
        EXPECT_TRUE(std::filesystem::exists(recording()));
    }
}

}  // namespace sample::e2e
