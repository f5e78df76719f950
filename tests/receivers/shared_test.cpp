// What the receivers share, with functions in the agent's place that keep what they are told.
#include "receivers/shared/arena.h"
#include "receivers/shared/key_table.h"
#include "receivers/shared/names.h"
#include "receivers/shared/text.h"
#include "receivers/shared/thread_state.h"
#include "receivers/shared/thread_zones.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace sample::receivers {
namespace {

std::string text_of(const Text& text) {
    EXPECT_EQ(text.view(), text.c_str());
    return std::string{text.view()};
}

TEST(ReceivedText, is_cut_where_a_letter_begins) {
    EXPECT_EQ(text_of(Text{"abc"}), "abc");
    EXPECT_EQ(text_of(Text{"abc", 2}), "ab");
    EXPECT_EQ(text_of(Text{"abc", 9}), "abc");
    EXPECT_EQ(text_of(Text{static_cast<const char*>(nullptr)}), "");
    const std::string most(kMostNameBytes, 'a');
    EXPECT_EQ(text_of(Text{(most + "b").c_str()}), most);
    const std::string less(kMostNameBytes - 1, 'a');
    EXPECT_EQ(text_of(Text{(less + "\xc3\xa4").c_str()}), less);
    EXPECT_EQ(text_of(Text::joined({less, "\xc3\xa4"})), less);
    EXPECT_EQ(text_of(Text::joined({"a", "", "bc"})), "abc");
}

TEST(ReceivedText, of_wide_characters_is_utf8) {
    const wchar_t letters[] = {L'a',     0xe4, 0x20ac, 0x1f600, static_cast<wchar_t>(0xd800),
                               0x110000, -1,   0};
    EXPECT_EQ(text_of(Text{static_cast<const wchar_t*>(letters)}),
              "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(text_of(Text{letters, 2}), "a\xc3\xa4");
    EXPECT_EQ(text_of(Text{static_cast<const wchar_t*>(nullptr)}), "");
    const std::wstring huge(10'000, L'\x20ac');
    EXPECT_EQ(Text{huge.c_str()}.view().size(), kMostNameBytes);
}

TEST(ReceiversArena, gives_zeroed_memory_that_nobody_else_has) {
    std::vector<std::thread> threads;
    threads.reserve(4);
    std::vector<std::vector<unsigned char*>> given(4);
    for (std::size_t t = 0; t < given.size(); ++t) {
        threads.emplace_back([&mine = given[t], t] {
            for (std::size_t i = 0; i < 3000; ++i) {
                auto* const bytes = static_cast<unsigned char*>(keep(1 + i % 700));
                ASSERT_NE(bytes, nullptr);
                ASSERT_EQ(*bytes, 0);
                *bytes = static_cast<unsigned char>(t + 1);
                mine.push_back(bytes);
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    for (std::size_t t = 0; t < given.size(); ++t) {
        for (const unsigned char* bytes : given[t]) {
            ASSERT_EQ(*bytes, t + 1);
        }
    }
    EXPECT_EQ(keep(std::size_t{1} << 30U), nullptr);
}

TEST(KeyTable, keys_depend_on_the_order_of_what_they_are_made_of) {
    std::set<std::uint64_t> keys;
    for (std::uint64_t a = 0; a < 100; ++a) {
        for (std::uint64_t b = 0; b < 100; ++b) {
            keys.insert(mix(a, b));
        }
    }
    EXPECT_EQ(keys.size(), 10'000U);
    EXPECT_NE(hash_of("ab"), hash_of("ba"));
    EXPECT_NE(hash_of(""), hash_of({"\0", 1}));
}

TEST(KeyTable, keeps_finds_and_takes) {
    const auto table = std::make_unique<KeyTable<64>>();
    EXPECT_EQ(table->find(5), 0U);
    EXPECT_TRUE(table->put(5, 50));
    EXPECT_TRUE(table->put(5, 51));
    EXPECT_EQ(table->find(5), 51U);
    EXPECT_EQ(table->take(5), 51U);
    EXPECT_EQ(table->take(5), 0U);
    // What its own words mean is a key like others.
    EXPECT_TRUE(table->put(0, 1));
    EXPECT_TRUE(table->put(1, 2));
    EXPECT_EQ(table->take(0), 1U);
    EXPECT_EQ(table->take(1), 2U);
    std::size_t kept = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        kept += table->put(mix(1, i), i + 1) ? 1 : 0;
    }
    EXPECT_LE(kept, 64U);
    EXPECT_GE(kept, 32U);
}

TEST(KeyTable, of_several_threads_gives_each_its_own) {
    const auto table = std::make_unique<KeyTable<1024>>();
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (std::uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&table, t] {
            for (std::uint64_t i = 1; i < 20'000; ++i) {
                const std::uint64_t key = mix(t, i);
                if (table->put(key, i)) {
                    ASSERT_EQ(table->find(key), i);
                    ASSERT_EQ(table->take(key), i);
                }
                ASSERT_EQ(table->find(key), 0U);
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
}

TEST(ReceivedNames, are_one_a_text) {
    std::vector<std::set<const Name*>> seen(4);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (std::set<const Name*>& mine : seen) {
        threads.emplace_back([&mine] {
            for (int i = 0; i < 2000; ++i) {
                const std::string text = "name " + std::to_string(i);
                const Name* const name = name_of(text);
                ASSERT_EQ(name->text(), text);
                mine.insert(name);
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    EXPECT_EQ(seen[0].size(), 2000U);
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_EQ(seen[0], seen[3]);
    EXPECT_EQ(name_of("a")->text(), std::string{"a"});
    EXPECT_NE(name_of(""), name_of("a"));
}

TEST(ReceivedNames, at_an_address_are_those_of_its_text) {
    std::array<char, 600> text{};
    std::memcpy(text.data(), "first", 6);
    EXPECT_EQ(name_at(text.data()), name_of("first"));
    EXPECT_EQ(name_at(text.data()), name_of("first"));
    std::memcpy(text.data(), "firstborn", 10);
    EXPECT_EQ(name_at(text.data()), name_of("firstborn"));
    std::memcpy(text.data(), "first", 6);
    EXPECT_EQ(name_at(text.data()), name_of("first"));
    std::memset(text.data(), 'a', text.size() - 1);
    EXPECT_EQ(name_at(text.data()), name_of(std::string(kMostNameBytes, 'a')));
}

TEST(ReceivedNames, have_a_definition_for_each_kind_category_and_colour) {
    static std::uint32_t defined = 0;
    sample_trace_functions functions{};
    functions.define = [](const sample_trace_place* /*place*/) { return ++defined; };
    sample_trace_module.functions = &functions;
    const Name* const name = name_of("defined");
    const Name* const other = name_of("other category");
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(definition_of(SAMPLE_TRACE_KIND_ZONE, *name, nullptr), 1U);
        EXPECT_EQ(definition_of(SAMPLE_TRACE_KIND_ZONE, *name, nullptr), 1U);
        EXPECT_EQ(definition_of(SAMPLE_TRACE_KIND_ZONE, *name, other), 2U);
        EXPECT_EQ(definition_of(SAMPLE_TRACE_KIND_ZONE, *name, name), 3U);
        EXPECT_EQ(definition_of(SAMPLE_TRACE_KIND_REGION, *name, name), 4U);
        EXPECT_EQ(definition_of(SAMPLE_TRACE_KIND_ZONE, *name, name, 0xffffff), 5U);
        EXPECT_EQ(definition_of(SAMPLE_TRACE_KIND_ZONE, *name, name, 0), 6U);
    }
    EXPECT_EQ(defined, 6U);
    sample_trace_module.functions = nullptr;
}

TEST(ReceivedThreads, have_a_state_each_and_leave_it_to_the_next) {
    std::set<const ThreadState*> seen;
    for (int round = 0; round < 50; ++round) {
        std::vector<const ThreadState*> now(4);
        std::vector<std::thread> threads;
        threads.reserve(now.size());
        for (const ThreadState*& mine : now) {
            threads.emplace_back([&mine] {
                ThreadState* const state = thread_state();
                ASSERT_EQ(state->zones.open(1), 0U);
                ASSERT_FALSE(state->is_ignored);
                static_cast<void>(state->zones.begin(1, false));
                state->is_ignored = true;
                mine = state;
                ASSERT_EQ(thread_state(), state);
            });
        }
        for (std::thread& each : threads) {
            each.join();
        }
        seen.insert(now.begin(), now.end());
    }
    EXPECT_LE(seen.size(), 8U);
    EXPECT_EQ(seen.count(nullptr), 0U);
}

// ---- Zones: what the agent would be told.

int g_ends = 0;

class ReceivedZones : public testing::Test {
public:
    ReceivedZones(const ReceivedZones&) = delete;
    ReceivedZones& operator=(const ReceivedZones&) = delete;

protected:
    ReceivedZones() {
        g_ends = 0;
        functions_.end_zone = [] { ++g_ends; };
        sample_trace_module.functions = &functions_;
    }
    ~ReceivedZones() override { sample_trace_module.functions = nullptr; }

    ThreadZones zones_{};

private:
    sample_trace_functions functions_{};
};

TEST_F(ReceivedZones, end_in_any_order) {
    EXPECT_TRUE(zones_.begin(1, true));
    EXPECT_TRUE(zones_.begin(2, true));
    EXPECT_TRUE(zones_.begin(1, true));
    EXPECT_EQ(zones_.open(1), 2U);
    EXPECT_TRUE(zones_.end(2));
    EXPECT_EQ(g_ends, 0);
    EXPECT_EQ(zones_.open(2), 0U);
    EXPECT_FALSE(zones_.end(2));
    EXPECT_TRUE(zones_.end(1));
    EXPECT_EQ(g_ends, 2);
    EXPECT_TRUE(zones_.end(1));
    EXPECT_EQ(g_ends, 3);
    EXPECT_FALSE(zones_.end(1));
    EXPECT_EQ(g_ends, 3);
}

TEST_F(ReceivedZones, that_were_not_written_do_not_end) {
    EXPECT_TRUE(zones_.begin(1, true));
    EXPECT_FALSE(zones_.begin(1, false));
    EXPECT_TRUE(zones_.end(1));
    EXPECT_EQ(g_ends, 0);
    EXPECT_TRUE(zones_.end(1));
    EXPECT_EQ(g_ends, 1);
}

TEST_F(ReceivedZones, below_the_last_level_are_not_written_and_end_by_their_keys) {
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(zones_.begin(1, true), i < 128);
    }
    EXPECT_FALSE(zones_.end(2));
    EXPECT_EQ(zones_.open(1), 300U);
    for (int i = 0; i < 300; ++i) {
        EXPECT_TRUE(zones_.end(1));
    }
    EXPECT_EQ(g_ends, 128);
    EXPECT_FALSE(zones_.end(1));
}

TEST_F(ReceivedZones, below_those_are_counted) {
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(zones_.begin(1, true), i < 128);
    }
    for (int i = 0; i < 1000; ++i) {
        EXPECT_TRUE(zones_.end(1));
    }
    EXPECT_EQ(g_ends, 128);
    EXPECT_FALSE(zones_.end(1));
}

}  // namespace
}  // namespace sample::receivers
