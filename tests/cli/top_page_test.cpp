#include "cli/top/top_page.h"

#include "core/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sample::cli {
namespace {

constexpr std::uint64_t kStart = 5 * kNsPerSecond;

/// A session of a second with a stack of `depth` functions without names.
analysis::RecordBatch made_up_batch(std::uint32_t depth, const std::string& command_line) {
    analysis::RecordBatch batch;
    batch.begin_ns = batch.end_ns = kStart + kNsPerSecond;
    trace::SessionStart start;
    start.start_ns = kStart;
    start.command_line = command_line;
    batch.records.emplace_back(start);
    trace::Process process;
    process.id = ProcessId{1};
    process.pid = 100;
    process.executable = "/nonexistent/app";
    batch.records.emplace_back(process);
    batch.records.emplace_back(trace::Thread{ThreadId{1}, ProcessId{1}, 100, kStart, "app"});
    trace::Module module;
    module.id = ModuleId{1};
    module.path = "/nonexistent/app";
    batch.records.emplace_back(module);
    for (std::uint32_t id = 1; id <= depth; ++id) {
        batch.nodes.push_back(
            {NodeId{id}, NodeId{id - 1}, ModuleId{1}, std::uint64_t{0x1000} * id});
        batch.add({ThreadId{1}, batch.end_ns, NodeId{id}, id * kNsPerMs});
    }
    batch.lost = 7;
    return batch;
}

/// A page of `live`, on which nothing happens for a while.
std::string page_of(const analysis::LiveRecording& live, TopState state, const PageSize& size) {
    return top_page(live, state, size);
}

class TopPage : public testing::Test {
protected:
    TopPage() {
        live_.add(made_up_batch(30, "./app \x1b[31mred"));
        live_.advance(kStart + 2 * kNsPerSecond);
    }

    analysis::LiveRecording live_{{}};
    TopState state_;
    PageSize size_{{false, true, 80}, 12};
};

TEST_F(TopPage, has_as_many_lines_as_the_terminal) {
    for (const std::size_t lines : {1U, 2U, 5U, 12U, 40U}) {
        for (const std::size_t width : {8U, 40U, 80U, 200U}) {
            size_.lines = lines;
            size_.terminal.width = width;
            const std::string page = page_of(live_, state_, size_);
            EXPECT_LT(std::count(page.begin(), page.end(), '\n'), lines) << page;
        }
    }
}

TEST_F(TopPage, says_how_the_session_goes) {
    const std::string page = page_of(live_, state_, size_);
    for (const char* const part : {"00:00:02", "30 samples/s", "46.5 % CPU", "30 samples", "7 lost",
                                   "1 process", "total, by self", "q end"}) {
        EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
    }
}

TEST_F(TopPage, says_the_rate_of_a_session_shorter_than_a_second) {
    analysis::RecordBatch batch = made_up_batch(1, "./app");
    batch.begin_ns = batch.end_ns = kStart + kNsPerSecond / 4;
    for (int i = 1; i < 50; ++i) {
        batch.add({ThreadId{1}, batch.end_ns, NodeId{1}, kNsPerMs});
    }
    analysis::LiveRecording live{{}};
    live.add(batch);
    const std::string page = page_of(live, state_, size_);
    for (const char* const part : {"200 samples/s", "20.0 % CPU", "50 samples"}) {
        EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
    }
}

TEST_F(TopPage, sends_a_terminal_nothing_that_a_program_chose) {
    state_.search = "\x1b]0;title\x07";
    state_.prompt = Prompt::focus;
    state_.typed = "\x1b[2J";
    const std::string page = page_of(live_, state_, size_);
    EXPECT_EQ(page.find('\x1b'), std::string::npos) << page;
    EXPECT_NE(page.find("\\x1b[31mred"), std::string::npos) << page;
}

TEST_F(TopPage, scrolls_as_far_as_there_are_rows) {
    EXPECT_NE(page_of(live_, state_, size_).find("app+0x1e000"), std::string::npos);
    state_.first_row = SIZE_MAX;
    const std::string page = top_page(live_, state_, size_);
    EXPECT_EQ(page.find("app+0x1e000"), std::string::npos) << page;
    EXPECT_NE(page.find("app+0x1000"), std::string::npos) << page;
    EXPECT_EQ(state_.first_row, 30 - list_rows_of(size_));
}

TEST_F(TopPage, searches_and_sorts) {
    state_.search = "app+0x5";
    const std::string found = page_of(live_, state_, size_);
    EXPECT_NE(found.find("app+0x5000"), std::string::npos) << found;
    EXPECT_EQ(found.find("app+0x6000"), std::string::npos) << found;
    state_.search.clear();
    state_.sort = SortKey::total;
    const std::string sorted = page_of(live_, state_, size_);
    EXPECT_NE(sorted.find("app+0x1000\n"), std::string::npos) << sorted;
    EXPECT_NE(sorted.find("by total"), std::string::npos) << sorted;
}

TEST_F(TopPage, says_what_a_choice_does_not_find) {
    state_.thread = "nobody";
    EXPECT_NE(page_of(live_, state_, size_).find("nobody"), std::string::npos);
    state_.thread.clear();
    state_.focus = "no_such_function";
    EXPECT_NE(page_of(live_, state_, size_).find("no function is called"), std::string::npos);
}

TEST_F(TopPage, shows_the_callgraph_in_a_narrow_window) {
    state_.view = TopView::callgraph;
    size_.terminal.width = 40;
    const std::string page = page_of(live_, state_, size_);
    EXPECT_NE(page.find("total %"), std::string::npos) << page;
    EXPECT_NE(page.find("<root>"), std::string::npos) << page;
    EXPECT_EQ(page.find("total ms"), std::string::npos) << page;
}

TEST_F(TopPage, is_printed_with_as_many_rows_as_asked_for) {
    const std::string page = page_of(live_, state_, {{false, true, 0}, 0, 3});
    EXPECT_EQ(std::count(page.begin(), page.end(), '\n'), 3 + 3) << page;
    EXPECT_EQ(page.find("q end"), std::string::npos) << page;
}

TEST(EmptyTopPage, waits_for_the_first_record) {
    const analysis::LiveRecording nothing{{}};
    const std::string page = page_of(nothing, {}, {{false, true, 80}, 24});
    EXPECT_NE(page.find("nothing was recorded yet"), std::string::npos) << page;
}

}  // namespace
}  // namespace sample::cli
