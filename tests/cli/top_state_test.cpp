#include "cli/top/top_state.h"

#include <gtest/gtest.h>

#include <string_view>

namespace sample::cli {
namespace {

constexpr std::size_t kRows = 10;

void type(TopState& state, std::string_view bytes) {
    for (const Key& key : keys_of(bytes)) {
        press(state, key, kRows);
    }
}

TEST(TopState, changes_what_is_shown) {
    TopState state;
    type(state, "vsswpmu");
    EXPECT_EQ(state.view, TopView::callgraph);
    EXPECT_EQ(state.sort, SortKey::samples);
    EXPECT_TRUE(state.only_last_seconds);
    EXPECT_TRUE(state.hide_plugins);
    EXPECT_TRUE(state.hide_memory);
    EXPECT_EQ(state.unit, Unit::percent);
    type(state, "vwpmuss");
    EXPECT_EQ(state.view, TopView::functions);
    EXPECT_EQ(state.sort, SortKey::self);
    EXPECT_FALSE(state.only_last_seconds || state.hide_plugins || state.hide_memory);
    EXPECT_EQ(state.unit, Unit::weight);
}

TEST(TopState, averages_like_the_viewers_button) {
    TopState state;
    for (const std::uint64_t seconds : {1U, 60U, 300U, 600U}) {
        type(state, "a");
        EXPECT_EQ(state.average_s, seconds);
    }
    type(state, "a");
    EXPECT_FALSE(state.average_s.has_value());
}

TEST(TopState, takes_letters_as_text_in_a_prompt) {
    TopState state;
    type(state, "/sort q\r");
    EXPECT_EQ(state.search, "sort q");
    EXPECT_FALSE(state.is_over);
    EXPECT_EQ(state.sort, SortKey::self);
    type(state, "fmain\rtworker\r");
    EXPECT_EQ(state.focus, "main");
    EXPECT_EQ(state.thread, "worker");
    type(state, "r");
    EXPECT_TRUE(state.search.empty() && state.focus.empty() && state.thread.empty());
}

TEST(TopState, corrects_and_gives_up_what_is_typed) {
    TopState state;
    type(state,
         "/a\u00e4\u20ac\x7f\x7f"
         "b\r");
    EXPECT_EQ(state.search, "ab");
    type(state, "/xyz\x1b");
    EXPECT_EQ(state.search, "ab");
    EXPECT_EQ(state.prompt, Prompt::none);
    type(state,
         "/\x15"
         "c\n");
    EXPECT_EQ(state.search, "c");
}

TEST(TopState, ends_and_suspends_also_from_a_prompt) {
    TopState state;
    type(state, "/\x1a");
    EXPECT_TRUE(state.suspends);
    EXPECT_FALSE(state.is_over);
    type(state, "\x03");
    EXPECT_TRUE(state.is_over);
    TopState other;
    type(other, "q");
    EXPECT_TRUE(other.is_over);
}

TEST(TopState, scrolls_by_rows_and_pages) {
    TopState state;
    type(state, "\x1b[B\x1b[Bj");
    EXPECT_EQ(state.first_row, 3);
    type(state, "\x1b[6~\x1bOA");
    EXPECT_EQ(state.first_row, 3 + kRows - 1);
    type(state, "\x1b[5~\x1b[5~");
    EXPECT_EQ(state.first_row, 0);
    type(state, "G");
    EXPECT_GT(state.first_row, 1'000'000);
    type(state, "g");
    EXPECT_EQ(state.first_row, 0);
}

TEST(TopState, ignores_keys_that_it_does_not_know) {
    TopState state;
    type(state, "\x1b[15~\x1b[1;5Cz\x1b[200~\x1b");
    EXPECT_EQ(state.first_row, 0);
    EXPECT_FALSE(state.is_over || state.is_frozen || state.shows_help);
    EXPECT_EQ(keys_of("\x1b[15~x").back().character, 'x');
}

TEST(TopState, shows_help_until_the_next_key) {
    TopState state;
    type(state, "?");
    EXPECT_TRUE(state.shows_help);
    type(state, "q");
    EXPECT_FALSE(state.shows_help || state.is_over);
}

}  // namespace
}  // namespace sample::cli
