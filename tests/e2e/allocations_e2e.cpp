// What a program allocates, as `sample report --view memory` tells it: real programs with the agent
// that stands before malloc, and a truth that is known by their sources.
#include "session.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace sample::e2e {
namespace {

using Json = nlohmann::json;

class Allocations : public Session {
protected:
    [[nodiscard]] Json memory_of(const Words& command, const std::string& channels) {
        Words words{"--quiet", "--force", "--trace", channels,
                    "--freq",  "off",     "-o",      recording().string(),
                    "--"};
        words.insert(words.end(), command.begin(), command.end());
        const Outcome recorded = sample(words);
        EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
        told_ = recorded.out;
        const Outcome shown =
            sample({"report", "--view", "memory", "--json", recording().string()});
        EXPECT_EQ(shown.exit_code, 0) << shown.err;
        return Json::parse(shown.out, nullptr, false);
    }
    /// What the program of memory_of() told.
    [[nodiscard]] double number(std::string_view key) const { return told(told_, key); }

private:
    std::string told_;
};

/// Of all stacks through such a function: the sum of `what`.
std::uint64_t sum_in(const Json& view, const std::string& function, const char* what) {
    std::uint64_t sum = 0;
    for (const Json& stack : view["call_stacks"]) {
        const auto& frames = stack["frames"];
        if (std::any_of(frames.begin(), frames.end(), [&](const Json& frame) {
                return frame.get<std::string>().find(function) != std::string::npos;
            })) {
            sum += stack[what].get<std::uint64_t>();
        }
    }
    return sum;
}

Json named(const Json& rows, const std::string& name) {
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const Json& row) { return row["name"] == name; });
    return found == rows.end() ? Json::object() : *found;
}

TEST_F(Allocations, finds_leaks_by_their_function) {
    const Json view = memory_of({target("allocates")}, "memory");
    EXPECT_EQ(view["memory"]["lost"], 0);
    EXPECT_EQ(sum_in(view, "keeps_blocks", "live_bytes"), 100'000U);
    EXPECT_EQ(sum_in(view, "keeps_blocks", "live_blocks"), 100U);
    EXPECT_EQ(sum_in(view, "gives_back", "live_bytes"), 0U);
    EXPECT_EQ(sum_in(view, "gives_back", "allocations"), 20'000U);
    EXPECT_EQ(sum_in(view, "gives_back", "peak_bytes"), 64U);
    EXPECT_EQ(sum_in(view, "grows", "live_bytes"), 65'536U);
    EXPECT_EQ(sum_in(view, "grows", "live_blocks"), 1U);
    EXPECT_EQ(sum_in(view, "makes_meshes", "live_bytes"), 5'000U);
}

TEST_F(Allocations, gives_tags_to_threads_that_start_inside) {
    const Json view = memory_of({target("allocates")}, "memory");
    const Json meshes = named(view["tags"], "level/meshes");
    ASSERT_FALSE(meshes.empty()) << view["tags"];
    // Beside the blocks of the thread there is what making it takes.
    EXPECT_GE(meshes["live_bytes"].get<std::uint64_t>(), 5'000U);
    EXPECT_GE(meshes["allocations"].get<std::uint64_t>(), 10U);
    EXPECT_EQ(named(view["tags"], "level")["live_bytes"], 77);
}

TEST_F(Allocations, tells_heaps_of_the_program_apart) {
    const Json view = memory_of({target("allocates")}, "memory");
    EXPECT_EQ(named(view["heaps"], "arena")["live_bytes"], 4096);
    const Json cells = named(view["heaps"], "arena/cells");
    EXPECT_EQ(cells["live_bytes"], 300);
    EXPECT_EQ(cells["allocations"], 3);
    EXPECT_EQ(cells["live_blocks"], 1);
    // What lies in the arena is a part of it.
    EXPECT_EQ(sum_in(view, "uses_heaps", "live_bytes"), 4096U);
}

TEST_F(Allocations, leaves_malloc_alone_without_the_channel) {
    const Json view = memory_of({target("allocates")}, "default");
    EXPECT_EQ(view["memory"]["allocations"], 0);
}

TEST_F(Allocations, of_malloc_are_no_part_of_all_channels) {
    const Json view = memory_of({target("allocates")}, "all");
    EXPECT_EQ(named(view["heaps"], "arena")["live_bytes"], 4096);
    EXPECT_EQ(sum_in(view, "keeps_blocks", "allocations"), 0U);
    const Json both = memory_of({target("allocates")}, "all,memory");
    EXPECT_EQ(sum_in(both, "keeps_blocks", "allocations"), 100U);
}

TEST_F(Allocations, have_the_tag_around_a_scope_that_was_left_by_longjmp_once_that_ends) {
    const Json view = memory_of({target("allocates_ways"), "jumps"}, "default,memory");
    EXPECT_EQ(view["memory"]["lost"], 0);
    EXPECT_EQ(named(view["tags"], "inner")["live_bytes"], 10 * 120);
    EXPECT_EQ(sum_in(view, "leaves_by_longjmp", "live_bytes"), 1'000U);
    EXPECT_EQ(sum_in(view, "jumps", "live_bytes"), 10U * 123);
    EXPECT_TRUE(named(view["tags"], "outer").empty()) << view["tags"];
}

TEST_F(Allocations, of_children_are_whole_though_others_allocate_when_they_are_forked) {
    const Json view = memory_of({target("allocates_ways"), "forks"}, "memory");
    EXPECT_EQ(number("children"), 20);
    EXPECT_EQ(number("failed"), 0);
    EXPECT_EQ(sum_in(view, "child_keeps", "live_bytes"), 20U * 500 * 40);
    EXPECT_EQ(sum_in(view, "child_keeps", "live_blocks"), 20U * 500);
}

TEST_F(Allocations, of_a_signal_handler_are_whole_and_harm_none_that_it_interrupts) {
    const Json view = memory_of({target("allocates_ways"), "signals"}, "memory");
    const auto rounds = static_cast<std::uint64_t>(number("rounds"));
    const auto handled = static_cast<std::uint64_t>(number("handled"));
    ASSERT_GE(handled, 2'000U);
    EXPECT_EQ(view["memory"]["lost"], 0);
    const Json arena = named(view["heaps"], "arena");
    EXPECT_EQ(arena["allocations"], rounds);
    EXPECT_EQ(arena["live_blocks"], 0);
    EXPECT_GE(sum_in(view, "signals()", "allocations"), rounds);
    // Those that interrupt a walk have no stack.
    const std::uint64_t with_stack = sum_in(view, "handler_allocates", "allocations");
    EXPECT_GT(with_stack, 0U);
    EXPECT_LE(with_stack, handled);
    EXPECT_GE(named(view["heaps"], "malloc")["allocations"].get<std::uint64_t>(), handled);
}

TEST_F(Allocations, are_named_by_a_library_that_is_gone) {
    const Json view =
        memory_of({target("allocates_ways"), "plugins", target("allocates_plugin.so")}, "memory");
    EXPECT_EQ(view["memory"]["lost"], 0);
    EXPECT_EQ(sum_in(view, "plugin_keeps", "live_bytes"), 500U);
    EXPECT_EQ(named(view["heaps"], "pool")["allocations"], 5);
    EXPECT_EQ(named(view["heaps"], "pool")["live_blocks"], 0);
    EXPECT_GE(named(view["tags"], "of plugin")["live_bytes"].get<std::uint64_t>(), 500U);
    EXPECT_EQ(std::count_if(view["heaps"].begin(), view["heaps"].end(),
                            [](const Json& heap) { return heap["name"] == "pool"; }),
              1);
}

}  // namespace
}  // namespace sample::e2e
