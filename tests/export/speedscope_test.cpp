#include "export/formats.h"
#include "random_profile.h"
#include "threads_profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace sample::exports {
namespace {

using callgraph::Profile;
using Json = nlohmann::json;

std::string speedscope_text(const Profile& profile) {
    std::string text;
    EXPECT_TRUE(write_speedscope(profile, to_string_sink(text)).has_value());
    return text;
}

/// Each function's total and self as a reader of events gets them, recursion counted once.
using Totals = std::map<std::size_t, std::pair<std::int64_t, std::int64_t>>;

void add_up(const Json& events, Totals& totals) {
    std::vector<std::size_t> stack;
    std::map<std::size_t, int> on_stack;
    std::int64_t now = events.empty() ? 0 : events.front()["at"].get<std::int64_t>();
    for (const Json& event : events) {
        const std::int64_t spent = event["at"].get<std::int64_t>() - now;
        ASSERT_GE(spent, 0);
        now += spent;
        for (const auto& [frame, count] : on_stack) {
            totals[frame].first += count == 0 ? 0 : spent;
        }
        if (!stack.empty()) {
            totals[stack.back()].second += spent;
        }
        const auto frame = event["frame"].get<std::size_t>();
        if (event["type"] == "O") {
            stack.push_back(frame);
            ++on_stack[frame];
        } else {
            ASSERT_FALSE(stack.empty());
            ASSERT_EQ(stack.back(), frame);
            stack.pop_back();
            --on_stack[frame];
        }
    }
    EXPECT_TRUE(stack.empty());
}

void expect_the_functions_totals(const Profile& profile) {
    const Json file = Json::parse(speedscope_text(profile));
    Totals totals;
    for (const Json& track : file["profiles"]) {
        add_up(track["events"], totals);
    }
    for (std::size_t i = 0; i < profile.functions.size(); ++i) {
        const callgraph::Function& function = profile.functions[i];
        EXPECT_EQ(totals[i].first, static_cast<std::int64_t>(function.total)) << function.name;
        EXPECT_EQ(totals[i].second, static_cast<std::int64_t>(function.self)) << function.name;
    }
}

TEST(Speedscope, opens_and_closes_frames_along_time) {
    const Json file = Json::parse(speedscope_text(threads_profile()));
    const Json& first = file["profiles"][0];
    EXPECT_EQ(first["name"], "app, app (pid 100, tid 100)");
    EXPECT_EQ(first["unit"], "nanoseconds");
    EXPECT_EQ(first["startValue"], 0);
    EXPECT_EQ(first["endValue"], 10'000);
    std::string events;
    for (const Json& event : first["events"]) {
        events += event["type"].get<std::string>() + std::to_string(event["frame"].get<int>()) +
                  "@" + std::to_string(event["at"].get<int>()) + " ";
    }
    EXPECT_EQ(events,
              "O6@100 C6@400 O0@1000 O1@1000 O2@1000 C2@3000 C1@3000 O2@3000 C2@4000 C0@4000 "
              "O0@8000 O1@8000 O1@8000 O3@8000 C3@9000 C1@9000 C1@9000 C0@10000 ");
    EXPECT_EQ(file["activeProfileIndex"], 1);
    EXPECT_EQ(file["name"], "./app --fast");
}

TEST(Speedscope, says_where_functions_are_and_how_far_to_trust) {
    const Json file = Json::parse(speedscope_text(threads_profile()));
    EXPECT_EQ(file["shared"]["frames"][0],
              Json::parse(R"({"name":"main","file":"/src/main.cpp","line":10,"module":1})"));
    EXPECT_EQ(file["shared"]["frames"][6], Json::parse(R"({"name":"[before sampling]"})"));
    const Json& facts = file["sample"];
    EXPECT_EQ(facts["lost"], 3);
    EXPECT_EQ(facts["whole"], true);
    EXPECT_EQ(facts["requested_hz"], 1'000'000);
    EXPECT_EQ(facts["modules"][1]["build_id"], "0123abcd");
    EXPECT_EQ(facts["modules"][1]["path"], "/usr/bin/app");
}

TEST(Speedscope, says_what_it_is_restricted_to) {
    Profile profile = threads_profile();
    EXPECT_TRUE(Json::parse(speedscope_text(profile))["sample"]["restriction"].is_null());
    profile.restriction = "from 1.000 s";
    EXPECT_EQ(Json::parse(speedscope_text(profile))["sample"]["restriction"], "from 1.000 s");
}

TEST(Speedscope, has_the_functions_totals_to_the_nanosecond) {
    expect_the_functions_totals(threads_profile());
}

TEST(Speedscope, has_them_without_times_and_for_events) {
    Profile profile = threads_profile();
    profile.timeline.reset();
    expect_the_functions_totals(profile);
    const Json file = Json::parse(speedscope_text(profile));
    EXPECT_EQ(file["profiles"][0]["name"], "worker (no times)");
    profile = threads_profile();
    profile.event = profile.metric.unit = "page-faults";
    expect_the_functions_totals(profile);
    EXPECT_EQ(Json::parse(speedscope_text(profile))["profiles"][0]["unit"], "none");
}

TEST(Speedscope, has_them_for_random_profiles) {
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(seed);
        Profile profile = random_profile(seed);
        expect_the_functions_totals(profile);
        profile.timeline.reset();
        expect_the_functions_totals(profile);
        ASSERT_FALSE(HasFailure());
    }
}

TEST(Speedscope, has_profiles_of_each_metric) {
    for (std::uint32_t seed = 1; seed <= 2; ++seed) {
        for (const SeveralMetrics& metrics : random_metrics(seed)) {
            SCOPED_TRACE(metrics.name + " " + std::to_string(seed));
            const Json file = Json::parse(speedscope_text(metrics.all));
            for (const callgraph::Profile& alone : metrics.alone) {
                const std::string& name = alone.metric.name;
                Totals totals;
                for (const Json& track : file["profiles"]) {
                    if (track.value("metric", "cpu") == name) {
                        EXPECT_EQ(track["unit"], name == "allocated" ? "bytes" : "nanoseconds");
                        EXPECT_EQ(track["name"].get<std::string>().ends_with(": " + name),
                                  name != "cpu");
                        add_up(track["events"], totals);
                    }
                }
                EXPECT_EQ(function_totals(metrics.all, totals), function_totals(alone)) << name;
            }
            const std::size_t active = file["activeProfileIndex"];
            EXPECT_FALSE(file["profiles"][active].contains("metric"));
            ASSERT_FALSE(HasFailure());
        }
    }
}

TEST(Speedscope, gives_time_without_a_stack_a_frame_of_its_own) {
    ThreadsProfileMaker maker;
    const auto app = maker.category("app");
    const auto node = maker.child(app, maker.function("f"));
    const auto thread = maker.thread("app", "app", 1, 1);
    maker.sample(thread, 10, node, 10);
    maker.sample(thread, 20, app, 10);
    maker.sample(thread, 30, node, 10);
    const Json file = Json::parse(speedscope_text(maker.finish()));
    EXPECT_EQ(file["shared"]["frames"][1]["name"], "[no stack]");
    EXPECT_EQ(file["profiles"][0]["events"].size(), 6U);
    EXPECT_EQ(file["profiles"][0]["events"][2], Json::parse(R"({"type":"O","frame":1,"at":10})"));
}

TEST(Speedscope, has_one_empty_profile_where_there_are_no_samples) {
    const Json file = Json::parse(speedscope_text(Profile{}));
    EXPECT_EQ(file["profiles"].size(), 1U);
    EXPECT_TRUE(file["profiles"][0]["events"].empty());
}

TEST(Speedscope, passes_a_sinks_failure_on) {
    const Sink full = [](std::string_view) -> Result<void> {
        return unexpected(ErrorCode::system, "full");
    };
    EXPECT_FALSE(write_speedscope(threads_profile(), full).has_value());
}

}  // namespace
}  // namespace sample::exports
