#include "server/live_state.h"

#include "tests/server/live_reader.h"
#include "tests/server/made_up_tree.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sample::server {
namespace {

LiveFigures figures_at(std::uint64_t second) {
    return {second * 1'000'000'000, 3, 10, 500, false};
}

TEST(LiveState, says_all_first_and_then_what_has_changed) {
    LiveState state;
    EXPECT_EQ(state.update(made_up_tree({{"main;run", 5}, {"main;run;step", 7}}), figures_at(1)),
              R"({"version":1,"sequence":1,"state":"running","elapsed_ns":1000000000,"samples":2,)"
              R"("lost":3,"second":[10,500],"session":{"command":"./app","start_unix_ms":0,)"
              R"("metric":"cpu","unit":"ns","hz":0,"source":""},"modules":["","/bin/app"],)"
              R"("functions":[["run",1,"app.cpp",7],["step",1,"app.cpp",7]],)"
              R"("categories":["main"],"threads":[[0,100,100,"main","app",12,0]],)"
              R"("nodes":[[0,0,0,0,12,2],[1,0,0,0,12,2],[2,1,0,5,12,2],[3,2,1,7,7,1]]})");
    EXPECT_EQ(state.update(made_up_tree({{"main;run", 5}, {"main;run;step", 7}, {"main;end", 1}}),
                           figures_at(2)),
              R"({"version":1,"sequence":2,"state":"running","elapsed_ns":2000000000,"samples":3,)"
              R"("lost":3,"second":[10,500],"functions":[["end",1,"app.cpp",7]],)"
              R"("threads":[[0,100,100,"main","app",13,0]],"nodes":[[4,1,2,1,1,1]],)"
              R"("changed":[[0,0,13,3],[1,0,13,3]]})");
    EXPECT_EQ(state.update(made_up_tree({{"main;run", 5}, {"main;run;step", 7}, {"main;end", 1}}),
                           {2, 3, 0, 0, true}),
              R"({"version":1,"sequence":3,"state":"ended","elapsed_ns":2,"samples":3,)"
              R"("lost":3,"second":[0,0]})");
}

TEST(LiveState, a_function_that_gets_its_name_gets_new_nodes) {
    LiveState state;
    LiveReader reader;
    reader.take(state.update(made_up_tree({{"main;app+0x10", 5}, {"main;app+0x10;leaf", 2}}),
                             figures_at(1)),
                false);
    const std::string delta =
        state.update(made_up_tree({{"main;run", 5}, {"main;run;leaf", 2}}), figures_at(2));
    EXPECT_NE(delta.find(R"("nodes":[[4,1,2,5,7,2],[5,4,1,2,2,1]],"gone":[2,3]})"),
              std::string::npos)
        << delta;
    reader.take(delta, false);
    EXPECT_EQ(reader.self_sum(), 7);
}

/// What a reader of the snapshot alone knows.
nlohmann::json from_snapshot(const LiveState& state) {
    LiveReader reader;
    reader.take(state.snapshot(), true);
    return reader.all();
}

TEST(LiveState, deltas_add_up_to_each_snapshot) {
    constexpr int kUpdates = 300;
    constexpr int kMostStacks = 40;
    std::minstd_rand random{1};  // NOLINT(cert-msc51-cpp): the same each time
    LiveState state;
    LiveReader reader;
    Stacks stacks;
    for (int update = 1; update <= kUpdates; ++update) {
        // Stacks grow, come, go and come again, as names do.
        for (int change = 0; change < 5; ++change) {
            std::string stack = random() % 2 == 0 ? "main" : "worker";
            for (auto depth = random() % 5; depth > 0; --depth) {
                stack.append(";f").append(std::to_string(random() % 4));
            }
            stacks[stack] += 1 + random() % 100;
        }
        while (stacks.size() > kMostStacks) {
            stacks.erase(std::next(stacks.begin(), static_cast<int>(random() % kMostStacks)));
        }
        const callgraph::Profile profile = made_up_tree(stacks);
        reader.take(state.update(profile, figures_at(static_cast<std::uint64_t>(update))), false);
        ASSERT_EQ(reader.all(), from_snapshot(state)) << update;
        ASSERT_EQ(reader.self_sum(), profile.nodes[0].total) << update;
    }
}

TEST(LiveState, names_are_whatever_they_are) {
    LiveState state;
    LiveReader reader;
    reader.take(state.update(made_up_tree({{"a \"thread\"\n;f<\\>\xff", 1}}), figures_at(1)),
                false);
    EXPECT_EQ(reader.all()["functions"][0][0], "f<\\>\uFFFD");
    EXPECT_EQ(reader.all()["categories"][0], "a \"thread\"\n");
}

}  // namespace
}  // namespace sample::server
