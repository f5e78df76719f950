#include "sampler/source/thread_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

namespace sample::source {
namespace {

using Tids = std::vector<int>;

class Table : public ::testing::Test {
protected:
    /// Of all that were listed, those for which there was room.
    std::size_t list(const Tids& tids) {
        made.clear();
        gone.clear();
        const auto on_gone = [this](const WatchedThread& thread) { gone.push_back(thread.tid); };
        std::size_t listed = 0;
        table->begin_listing();
        for (const int tid : tids) {
            const bool has_room = table->list(
                tid,
                [this](int tid_made) {
                    made.push_back(tid_made);
                    WatchedThread thread;
                    thread.tid = tid_made;
                    thread.next_look = 7;
                    return thread;
                },
                on_gone);
            if (!has_room) {
                break;
            }
            ++listed;
        }
        table->end_listing(on_gone);
        return listed;
    }
    void TearDown() override { table->release(); }
    [[nodiscard]] Tids tids() const {
        Tids result;
        for (const WatchedThread& thread : table->threads()) {
            result.push_back(thread.tid);
        }
        return result;
    }
    [[nodiscard]] WatchedThread& at(std::size_t index) const { return table->threads()[index]; }

    std::unique_ptr<ThreadTable> table = std::make_unique<ThreadTable>();
    Tids made;
    Tids gone;
};

TEST_F(Table, begins_empty) {
    EXPECT_TRUE(table->threads().empty());
    EXPECT_EQ(list({}), 0U);
    EXPECT_TRUE(table->threads().empty());
}

// The program pays for it, whether it has many threads or not.
TEST_F(Table, holds_no_room_for_threads_that_are_not_there) {
    EXPECT_LT(sizeof(ThreadTable), 4096U);
}

TEST_F(Table, keeps_what_it_knows_when_it_grows) {
    Tids many(1'000);
    std::iota(many.begin(), many.end(), 1);
    list({1, 3});
    at(0).next_look = 11;
    at(1).next_look = 13;
    EXPECT_EQ(list(many), many.size());
    EXPECT_EQ(tids(), many);
    EXPECT_EQ(at(0).next_look, 11U);
    EXPECT_EQ(at(2).next_look, 13U);
    EXPECT_TRUE(gone.empty());
}

TEST_F(Table, makes_what_is_new) {
    EXPECT_EQ(list({10, 11}), 2U);
    EXPECT_EQ(tids(), (Tids{10, 11}));
    EXPECT_EQ(made, (Tids{10, 11}));
    EXPECT_EQ(at(1).next_look, 7U);
}

TEST_F(Table, keeps_what_it_knew) {
    list({10, 11, 12});
    at(0).next_look = 1;
    at(1).next_look = 2;
    at(2).next_look = 3;
    list({10, 11, 12, 13});
    EXPECT_EQ(made, Tids{13});
    EXPECT_TRUE(gone.empty());
    list({10, 12, 13});
    EXPECT_EQ(tids(), (Tids{10, 12, 13}));
    EXPECT_EQ(at(0).next_look, 1U);
    EXPECT_EQ(at(1).next_look, 3U);
    EXPECT_EQ(at(2).next_look, 7U);
    EXPECT_TRUE(made.empty());
}

TEST_F(Table, tells_who_is_gone) {
    list({10, 11, 12, 13, 14});
    list({11, 14, 15});
    EXPECT_EQ(gone, (Tids{10, 12, 13}));
    EXPECT_EQ(made, Tids{15});
    list({11});
    EXPECT_EQ(gone, (Tids{14, 15}));
    list({});
    EXPECT_EQ(gone, Tids{11});
    EXPECT_TRUE(table->threads().empty());
}

TEST_F(Table, takes_all_new_for_all_old) {
    list({10, 11});
    list({20, 21, 22});
    EXPECT_EQ(tids(), (Tids{20, 21, 22}));
    EXPECT_EQ(gone, (Tids{10, 11}));
}

// A listing that threads leave meanwhile may name one twice.
TEST_F(Table, survives_one_that_is_named_twice) {
    list({10, 11});
    at(1).next_look = 5;
    list({10, 11, 11, 12});
    EXPECT_EQ(tids(), (Tids{10, 11, 11, 12}));
    EXPECT_EQ(at(1).next_look, 5U);
    EXPECT_EQ(at(2).next_look, 7U);
    list({10, 11, 12});
    EXPECT_EQ(tids(), (Tids{10, 11, 12}));
    EXPECT_EQ(at(1).next_look, 5U) << "what is known of the thread, not of its double";
    EXPECT_EQ(made, Tids{});
}

TEST_F(Table, takes_one_that_is_out_of_order_for_a_new_one) {
    list({10, 11, 12});
    list({12, 10, 11});
    EXPECT_EQ(tids(), (Tids{12, 10, 11}));
    EXPECT_EQ(gone, (Tids{10, 11}));
    EXPECT_EQ(made, (Tids{10, 11}));
}

TEST_F(Table, refuses_more_than_it_has_room_for) {
    Tids many(ThreadTable::kMaxThreads + 5);
    std::iota(many.begin(), many.end(), 1);
    EXPECT_EQ(list(many), ThreadTable::kMaxThreads);
    EXPECT_EQ(table->threads().size(), ThreadTable::kMaxThreads);
    EXPECT_EQ(tids().back(), static_cast<int>(ThreadTable::kMaxThreads));
    EXPECT_EQ(list(many), ThreadTable::kMaxThreads) << "and again";
    EXPECT_TRUE(made.empty());
    // Where one leaves, another one comes in.
    many.erase(many.begin());
    EXPECT_EQ(list(many), ThreadTable::kMaxThreads);
    EXPECT_EQ(made, Tids{static_cast<int>(ThreadTable::kMaxThreads) + 1});
}

TEST_F(Table, forgets_all_when_released) {
    list({10, 11});
    table->release();
    EXPECT_TRUE(table->threads().empty());
    list({10});
    EXPECT_EQ(made, Tids{10});
    EXPECT_TRUE(gone.empty());
}

}  // namespace
}  // namespace sample::source
