// What the views print for a profile that counts an event instead of time.
#include "cli/views/views.h"
#include "made_up_profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sample::cli {
namespace {

using Json = nlohmann::json;

/// The made-up profile, as if its microseconds were faults.
callgraph::Profile counted_profile() {
    callgraph::Profile profile = made_up_profile();
    profile.event = profile.metric.unit = "page-faults";
    profile.stats.requested_hz = 0;
    profile.stats.period = 100;
    profile.stats.clock = "";
    return profile;
}

TEST(SummaryView, shows_an_events_count) {
    EXPECT_EQ(summary_view(counted_profile(), {kPipe}),
              R"(./app --fast  00:00:01.100  exited with 0
count     1,000,000,000 page-faults in 2 threads, 10,000 samples
where     app 90.0 %, worker 10.0 %
heaviest  app → main → parse(std::string const&)  60.0 %
self       50.0 % 500,000,000  parse(std::string const&)  parse.cpp:20
           29.9 % 299,000,000  print  libprint.so
           10.0 % 100,000,000  /src/app/tree.cpp:7 [jit]
           10.0 % 100,000,000  <anonymous>
           <0.1 %     500,000  main  main.cpp:10
rate      a sample in 100 events by sigtrap, 0 samples lost
stacks    <0.1 % incomplete; 100.0 % of the page-faults have one
)");
    callgraph::Profile empty = counted_profile();
    empty.nodes.resize(1);
    empty.nodes[0] = {};
    empty.stats = {};
    EXPECT_NE(
        summary_view(empty, {kPipe}).find("0 page-faults: the program had none of this event"),
        std::string::npos);
}

TEST(Views, show_an_events_count_and_never_milliseconds) {
    const callgraph::Profile profile = counted_profile();
    const ViewOptions options{kAsciiPipe, Unit::weight, {}};
    EXPECT_NE(callgraph_view(profile, options)
                  .find("total page-faults   share  self page-faults   share\n"
                        "    1,000,000,000 100.0 %                            <root>\n"),
              std::string::npos)
        << callgraph_view(profile, options);
    for (const std::string& text :
         {callgraph_view(profile, options), functions_view(profile, options),
          threads_view(profile, options)}) {
        EXPECT_EQ(text.find(" ms"), std::string::npos) << text;
        EXPECT_NE(text.find("900,000,000"), std::string::npos) << text;
    }
    const ViewOptions shares{kAsciiPipe, Unit::percent, {}};
    EXPECT_NE(functions_view(profile, shares).find("50.000"), std::string::npos);
}

TEST(ViewsJson, calls_an_events_count_a_count) {
    const callgraph::Profile profile = counted_profile();
    const ViewOptions options = ViewOptions{kPipe, Unit::milliseconds, {}};
    for (const std::string& text :
         {as_json(summary_view, profile), as_json(callgraph_view, profile, options),
          as_json(functions_view, profile, options), as_json(threads_view, profile)}) {
        const Json json = Json::parse(text);
        EXPECT_EQ(json["total_count"], 1'000'000'000) << text;
        EXPECT_FALSE(json.contains("total_us"));
        EXPECT_EQ(json["event"], "page-faults");
        EXPECT_EQ(json["unit"], "page-faults");
    }
    const Json stats = Json::parse(as_json(stats_view, profile));
    EXPECT_EQ(stats["period"], 100);
    EXPECT_TRUE(stats["requested_hz"].is_null());
    EXPECT_TRUE(stats["clock"].is_null());
    EXPECT_EQ(stats["total_count"], 1'000'000'000);
    EXPECT_FALSE(stats.contains("sampled_us"));
    EXPECT_GT(stats["wall_us"], 0);
    EXPECT_EQ(Json::parse(as_json(functions_view, profile, options))["functions"][0]["self_count"],
              500'000'000);
    EXPECT_EQ(Json::parse(as_json(threads_view, profile))["threads"][0]["count"], 900'000'000);
}

}  // namespace
}  // namespace sample::cli
