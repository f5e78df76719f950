// Switching a process's channels: this process is the one that is switched.
#include "sampler/collector/process/channel_switch.h"

#include "sampler/capture/channel_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace sample::collector {
namespace {

constexpr std::uint64_t kToken = 7;

class ChannelSwitchTest : public testing::Test {
protected:
    ChannelSwitchTest() {
        table->token = kToken;
        store->channels_token = kToken;
        store->channels = reinterpret_cast<std::uint64_t>(table.get());
    }
    /// One that is off.
    void add(const char* name, volatile std::uint32_t& word) {
        word = 1;
        capture::ChannelEntry& entry = table->entries.at(table->used++);
        std::strncpy(entry.name.data(), name, entry.name.size() - 1);
        entry.word = reinterpret_cast<std::uint64_t>(&word);
    }
    SwitchOutcome switch_to(const std::string& wanted) {
        return switch_channels(*store, ::getpid(), -1, false, wanted);
    }

    std::unique_ptr<capture::ChannelTable> table = std::make_unique<capture::ChannelTable>();
    std::unique_ptr<capture::DefinitionStore> store = std::make_unique<capture::DefinitionStore>();
    volatile std::uint32_t cpu = 0;
    volatile std::uint32_t physics = 0;
};

TEST_F(ChannelSwitchTest, switches_all_that_the_process_has) {
    add("cpu", cpu);
    add("physics", physics);
    ASSERT_EQ(switch_to("physics,other"), SwitchOutcome::done);
    EXPECT_EQ(cpu, 1U);
    EXPECT_EQ(physics, 0U);
    EXPECT_STREQ(store->wanted.data(), "physics,other");
    ASSERT_EQ(switch_to("all"), SwitchOutcome::done);
    EXPECT_EQ(cpu, 0U);
    EXPECT_EQ(physics, 0U);
    ASSERT_EQ(switch_to("none"), SwitchOutcome::done);
    EXPECT_EQ(cpu, 1U);
    EXPECT_EQ(physics, 1U);
    EXPECT_EQ(store->channels_holder, capture::kChannelsFree);
}

TEST_F(ChannelSwitchTest, leaves_alone_what_went) {
    add("cpu", cpu);
    table->entries[0].word = capture::ChannelEntry::kUnused;
    add("physics", physics);
    ASSERT_EQ(switch_to("all"), SwitchOutcome::done);
    EXPECT_EQ(cpu, 1U);
    EXPECT_EQ(physics, 0U);
}

TEST_F(ChannelSwitchTest, comes_back_where_a_library_comes_or_goes) {
    add("cpu", cpu);
    store->channels_holder = capture::kChannelsOfAgent;
    EXPECT_EQ(switch_to("cpu"), SwitchOutcome::later);
    EXPECT_EQ(cpu, 1U);
    EXPECT_STREQ(store->wanted.data(), "");
    EXPECT_EQ(store->channels_holder, capture::kChannelsOfAgent);
}

TEST_F(ChannelSwitchTest, writes_to_no_memory_of_another_image) {
    add("cpu", cpu);
    table->token = kToken + 1;
    EXPECT_EQ(switch_to("cpu"), SwitchOutcome::done) << "it has ended, and nobody follows";
    EXPECT_EQ(cpu, 1U);
    store->channels = 16;  // where there is no memory
    EXPECT_EQ(switch_to("cpu"), SwitchOutcome::done);
    EXPECT_EQ(cpu, 1U);
}

TEST_F(ChannelSwitchTest, believes_no_count_of_the_process) {
    add("cpu", cpu);
    table->used = ~std::uint64_t{0};
    ASSERT_EQ(switch_to("cpu"), SwitchOutcome::done);
    EXPECT_EQ(cpu, 0U);
}

TEST_F(ChannelSwitchTest, only_notes_what_is_wanted_before_the_process_has_joined) {
    store->channels = 0;
    ASSERT_EQ(switch_to("cpu"), SwitchOutcome::done);
    EXPECT_STREQ(store->wanted.data(), "cpu");
}

}  // namespace
}  // namespace sample::collector
