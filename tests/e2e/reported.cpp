#include "reported.h"

#include <algorithm>

namespace sample::e2e {
namespace {

void expect_within(std::uint64_t shown, std::uint64_t reported, std::uint64_t off,
                   const std::string& name) {
    EXPECT_LE(std::max(shown, reported) - std::min(shown, reported), off)
        << name << ": " << shown << " for " << reported;
}

}  // namespace

std::map<std::string, Reported> reported_functions(const std::filesystem::path& file,
                                                   const Words& options, ReaderName name) {
    Words words{sample_path(), "report", "--view", "functions", "--json"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(file);
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto report = nlohmann::json::parse(outcome.out, nullptr, false);
    std::map<std::string, Reported> functions;
    if (!report.is_object()) {
        ADD_FAILURE() << "no report: " << outcome.out;
        return functions;
    }
    const bool is_time = report.at("unit") == "us";
    for (const auto& function : report.at("functions")) {
        Reported& entry = functions[name(function)];
        entry.self += function.at(is_time ? "self_us" : "self_count").get<std::uint64_t>();
        entry.total = function.at(is_time ? "total_us" : "total_count").get<std::uint64_t>();
        ++entry.functions;
    }
    EXPECT_GT(functions.size(), 3U) << "too few to tell anything";
    return functions;
}

std::string label_of(const nlohmann::json& function) {
    auto name = function.at("name").get<std::string>();
    const auto source = function.at("source").get<std::string>();
    const auto line = function.at("line").get<unsigned>();
    if (!name.empty()) {
        return name;
    }
    if (source.empty()) {
        return "<anonymous>";
    }
    return line == 0 ? source : source + ":" + std::to_string(line);
}

bool is_averaged(const Words& options) {
    return std::find(options.begin(), options.end(), "--average") != options.end();
}

void expect_same_figures(const Shown& shown, const std::map<std::string, Reported>& reported,
                         std::uint64_t divisor, bool averaged) {
    const std::uint64_t off = averaged ? 1 : 0;
    int compared = 0;
    for (const auto& [name, figures] : reported) {
        const auto found = shown.find(name);
        if (found == shown.end()) {
            // pprof leaves out what has no value; a sample that came with another's has no time.
            EXPECT_EQ(figures.total, 0U) << name << " is not shown";
            continue;
        }
        const auto [self, total] = found->second;
        if (figures.functions == 1) {
            expect_within(self / divisor, figures.self, off, name);
            expect_within(total / divisor, figures.total, off, name);
            ++compared;
        } else {  // The floored parts lose less than one each.
            EXPECT_GE(self / divisor + off, figures.self) << name;
            EXPECT_LT(self / divisor, figures.self + off + static_cast<unsigned>(figures.functions))
                << name;
        }
    }
    for (const auto& [name, figures] : shown) {
        EXPECT_TRUE(reported.contains(name)) << name << " is not reported";
    }
    EXPECT_GT(compared, 3);
}

}  // namespace sample::e2e
