// Recordings that version 0.1.0 made open with the totals that it showed: tests/data/recordings,
// where totals.json is what its own views said of them. As they are of real programs, they also
// show that an export with samples as timers has the totals of the callgraph.
#include "sample_program.h"
#include "tests/built.h"
#include "tests/trace/plain_reader.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sample::cli {
namespace {

using Json = nlohmann::json;

class OldRecordings : public SampleProgram {
protected:
    [[nodiscard]] Json view(const std::string& name, const std::string& file) const {
        const Outcome outcome =
            run("report --view " + name + " --json '" + built::kOldRecordings + "/" + file + "'");
        EXPECT_EQ(outcome.code, 0) << file << ": " << outcome.err;
        return Json::parse(outcome.out);
    }
};

TEST_F(OldRecordings, have_the_totals_that_they_had) {
    std::ifstream stream{std::string{built::kOldRecordings} + "/totals.json"};
    const Json totals = Json::parse(stream);
    ASSERT_GE(totals.size(), 5U);
    for (const auto& [file, expected] : totals.items()) {
        SCOPED_TRACE(file);
        const Json stats = view("stats", file);
        const std::string unit = stats.at("unit") == "us" ? "_us" : "_count";
        for (const char* figure : {"samples", "threads", "processes", "lost"}) {
            EXPECT_EQ(stats.at(figure), expected.at(figure)) << figure;
        }
        EXPECT_EQ(stats.at("sampled" + unit), expected.at("sampled"));
        EXPECT_EQ(stats.at("booked" + unit), expected.at("booked"));
        EXPECT_EQ(stats.at("whole"), expected.at("whole"));
        if (!expected.contains("functions")) {
            continue;  // It carries no names.
        }
        const Json functions = view("functions", file).at("functions");
        for (const auto& item : expected.at("functions").items()) {
            const std::string& name = item.key();
            const Json& figures = item.value();
            const auto found =
                std::find_if(functions.begin(), functions.end(),
                             [&](const Json& one) { return one.at("name") == name; });
            ASSERT_NE(found, functions.end()) << name;
            EXPECT_EQ(found->at("total" + unit), figures.at(0)) << name;
            EXPECT_EQ(found->at("self" + unit), figures.at(1)) << name;
        }
    }
}

/// What the timers of the threads behind "(sampled)" add up to by name, recursion counted once, as
/// another program reads them; of those that are not balanced, nothing.
std::map<std::string, std::uint64_t> timers_of(const std::string& file) {
    std::ifstream stream{file, std::ios::binary};
    const std::vector<char> bytes{std::istreambuf_iterator<char>{stream}, {}};
    const trace::plain::File plain = trace::plain::read(std::as_bytes(std::span{bytes}));
    std::map<std::uint64_t, std::string> names;
    std::map<unsigned, trace::plain::Bytes> batches;  // by thread
    std::map<unsigned, std::string> threads;
    for (const trace::plain::Event& event : plain.events) {
        if (event.name == "CpuProfiler.EventSpec") {
            names[event.numbers.at("Id")] = event.text("Name");
        } else if (event.name == "$Trace.ThreadInfo") {
            threads[static_cast<unsigned>(event.numbers.at("ThreadId"))] = event.text("Name");
        } else if (event.name == "CpuProfiler.EventBatchV3") {
            const trace::plain::Bytes& data = event.arrays.at("Data");
            batches[event.tid].insert(batches[event.tid].end(), data.begin(), data.end());
        }
    }
    std::map<std::string, std::uint64_t> totals;
    for (const auto& [thread, data] : batches) {
        if (!threads[thread].ends_with(" (sampled)")) {
            continue;
        }
        std::size_t at = 0;
        const auto number = [&data = data, &at] {
            std::uint64_t value = 0;
            for (unsigned shift = 0;; shift += 7) {
                value |= std::uint64_t{data.at(at) & 0x7fU} << shift;
                if ((data[at++] & 0x80U) == 0) {
                    return value;
                }
            }
        };
        std::uint64_t time = 0;
        std::vector<std::pair<std::string, std::uint64_t>> open;
        while (at < data.size()) {
            const std::uint64_t word = number();
            time += word >> 2;
            if ((word & 3U) == 1) {
                open.emplace_back(names.at(number() >> 1), time);
                continue;
            }
            EXPECT_FALSE(open.empty());
            const auto [name, begin] = open.back();
            open.pop_back();
            if (std::none_of(open.begin(), open.end(),
                             [&name = name](const auto& each) { return each.first == name; })) {
                totals[name] += time - begin;
            }
        }
        EXPECT_TRUE(open.empty()) << threads[thread];
    }
    return totals;
}

TEST_F(OldRecordings, have_memory_management_wherever_it_is_named) {
    const std::string file = std::string{" '"} + built::kOldRecordings + "/cpu.utrace'";
    const auto total_of = [&](const std::string& view) -> Json {
        const Outcome outcome =
            run("report --json --focus '[memory]' --view " + view + " --min 0" + file);
        return outcome.code == 0 ? Json::parse(outcome.out).at("total_us") : Json(outcome.err);
    };
    EXPECT_EQ(total_of("callers"), total_of("callgraph"));
    const Outcome diff = run("diff --json --normalize-by '[memory]'" + file + file);
    ASSERT_EQ(diff.code, 0) << diff.err;
    EXPECT_EQ(Json::parse(diff.out).at("normalized_by"), "[memory]");
}

TEST_F(OldRecordings, are_exported_with_their_samples_as_timers) {
    constexpr double kNanoseconds = 1000;
    for (const std::string file : {"cpu.utrace", "wall.utrace"}) {
        SCOPED_TRACE(file);
        std::string command = "export --format utrace -o copy-";
        command.append(file)
            .append(" '")
            .append(built::kOldRecordings)
            .append("/")
            .append(file)
            .append("'");
        const Outcome outcome = run(command);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const Json functions = view("functions", file).at("functions");
        const Json copied =
            Json::parse(run("report --view functions --json copy-" + file).out).at("functions");
        EXPECT_EQ(copied, functions) << "the samples are in the copy as they were";
        const Json report = Json::parse(run("report --view zones --json copy-" + file).out);
        std::map<std::string, std::uint64_t> zones;
        for (const Json& zone : report.at("zones")) {
            EXPECT_EQ(zone.at("category"), "sampled");
            EXPECT_EQ(zone.at("open"), 0);
            zones[zone.at("name")] = zone.at("total_ns");
        }
        EXPECT_EQ(zones, timers_of(path("copy-" + file)));
        std::map<std::string, double> totals;
        std::map<std::string, int> times;
        for (const Json& function : functions) {
            totals[function.at("name")] += function.at("total_us").get<double>() * kNanoseconds;
            ++times[function.at("name")];
        }
        std::size_t compared = 0;
        for (const auto& [name, total] : totals) {
            // Functions that are called alike have different names in the export.
            if (times[name] == 1 && !name.empty()) {
                EXPECT_NEAR(static_cast<double>(zones[name]), total, kNanoseconds) << name;
                ++compared;
            }
        }
        EXPECT_GE(compared, 5U);
    }
    const Outcome counted = run(std::string{"export --format utrace -o no.utrace '"} +
                                built::kOldRecordings + "/event.utrace'");
    EXPECT_EQ(counted.code, 1);
    EXPECT_NE(counted.err.find("is no time"), std::string::npos) << counted.err;
}

}  // namespace
}  // namespace sample::cli
