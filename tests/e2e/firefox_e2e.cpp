// Firefox exports of whole runs: the validator has nothing to say, and what a reader adds up is
// what `sample report` shows.
#include "reported.h"
#include "session.h"
#include "tests/export/firefox_checker.h"

#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace sample::e2e {
namespace {

using Json = nlohmann::json;

class Firefox : public Session {
protected:
    /// Exported with `options`, and valid.
    [[nodiscard]] Json exported(const std::filesystem::path& from,
                                const Words& options = {}) const {
        Words words{"export", "--force", "--format", "firefox", "-o", file("r.json")};
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(from);
        const Outcome outcome = sample(words);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        std::ifstream stream{file("r.json")};
        Json profile = Json::parse(stream);
        for (const std::string& problem : exports::firefox_problems(profile)) {
            ADD_FAILURE() << problem;
        }
        return profile;
    }

    /// By name and source file, or else module: as the report names them.
    [[nodiscard]] static Shown shown(const Json& profile) {
        const Json& shared = profile["shared"];
        const auto text = [&](const Json& index) {
            return shared["stringArray"][index.get<std::size_t>()].get<std::string>();
        };
        Shown functions;
        for (const auto& [index, totals] : exports::firefox_totals(profile)) {
            const Json& source = shared["funcTable"]["source"][index];
            const auto resource = shared["funcTable"]["resource"][index].get<int>();
            std::string name = text(shared["funcTable"]["name"][index]) + " ";
            if (!source.is_null()) {
                name += text(shared["sources"]["filename"][source.get<std::size_t>()]);
            } else if (resource >= 0) {
                name += text(shared["resourceTable"]["name"][static_cast<std::size_t>(resource)]);
            }
            auto& [self, total] = functions[name];
            self += static_cast<std::uint64_t>(totals.self);
            total += static_cast<std::uint64_t>(totals.total);
        }
        return functions;
    }

    static std::string name_of(const Json& function) {
        return label_of(function) + " " + function.at("source").get<std::string>();
    }

    void expect_reports_figures(const Words& options = {}) const {
        expect_same_figures(shown(exported(recording(), options)),
                            reported_functions(recording(), options, name_of), 1000,
                            is_averaged(options));
    }
};

TEST_F(Firefox, has_the_reports_figures) {
    ASSERT_EQ(record({target("threads"), "2", "0.2"}).exit_code, 0);
    expect_reports_figures();
    expect_reports_figures({"--fold", "inlined"});
    expect_reports_figures({"--average", "1m"});
}

TEST_F(Firefox, has_a_track_for_each_thread_with_its_samples_in_the_session) {
    ASSERT_EQ(record({target("threads"), "2", "0.2"}).exit_code, 0);
    const Recording seen{recording()};
    const Json profile = exported(recording());
    std::set<std::string> names;
    std::size_t rows = 0;
    for (const Json& thread : profile["threads"]) {
        names.insert(thread["name"]);
        EXPECT_EQ(thread["processName"], "threads");
        for (std::size_t i = 0; i < thread["samples"]["length"]; ++i) {
            rows += thread["samples"]["stack"][i].is_null() ? 0 : 1;
        }
        EXPECT_LE(thread["samples"]["time"].back(), seen.stat("wall_us") / 1000 + 1);
        EXPECT_EQ(thread["samples"]["threadCPUDelta"].size(), thread["samples"]["length"]);
    }
    EXPECT_TRUE(names.contains("threads"));
    EXPECT_TRUE(names.contains("worker-1"));
    EXPECT_GE(static_cast<double>(rows), seen.stat("samples"));
    EXPECT_EQ(profile["meta"]["interval"], 0.1);
}

TEST_F(Firefox, tells_processes_apart) {
    ASSERT_EQ(record({target("children"), "fork", "kept", target("fib"), "27", "40"}).exit_code, 0);
    const Json profile = exported(recording());
    std::map<std::string, std::string> programs;
    for (const Json& thread : profile["threads"]) {
        programs[thread["pid"]] = thread["processName"];
    }
    std::set<std::string> names;
    for (const auto& [pid, name] : programs) {
        names.insert(name);
    }
    EXPECT_TRUE(names.contains("children"));
    EXPECT_TRUE(names.contains("fib"));
    expect_reports_figures();
}

TEST_F(Firefox, counts_page_faults) {
    ASSERT_EQ(sample({"--quiet", "--event", "page-faults", "-o", recording(), "--",
                      target("faults"), "touch", "500"})
                  .exit_code,
              0);
    const Json profile = exported(recording());
    EXPECT_EQ(profile["threads"][0]["samples"]["weightType"], "samples");
    expect_same_figures(shown(profile), reported_functions(recording(), {}, name_of), 1);
}

TEST_F(Firefox, takes_a_profile_without_times) {
    ASSERT_EQ(record({target("threads"), "1", "0.1"}).exit_code, 0);
    ASSERT_EQ(sample({"export", "--format", "json", "-o", file("p.json"), recording()}).exit_code,
              0);
    const Json profile = exported(file("p.json"));
    EXPECT_NE(profile["meta"]["extra"].dump().find("time axis"), std::string::npos);
    EXPECT_GE(profile["threads"].size(), 2);
}

}  // namespace
}  // namespace sample::e2e
