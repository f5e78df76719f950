// What is made of allocations and frees: what is live, peaks, tags and heaps.
#include "analysis/instrumentation/memory.h"

#include <gtest/gtest.h>

namespace sample::analysis {
namespace {

using trace::MemoryEvent;
using trace::MemoryKind;

class MemoryProvider : public testing::Test {
protected:
    MemoryProvider() {
        for (std::uint32_t process = 1; process <= 2; ++process) {
            memory_.record(trace::Thread{ThreadId{process}, ProcessId{process}, process, 0, ""});
        }
        memory_.instrumentation(trace::HeapSpec{trace::HeapId{1}, "arena"});
        memory_.instrumentation(trace::HeapSpec{trace::HeapId{2}, "cells", trace::HeapId{1}});
        memory_.instrumentation(trace::MemoryTagSpec{trace::MemoryTagId{1}, "level"});
        memory_.instrumentation(
            trace::MemoryTagSpec{trace::MemoryTagId{2}, "meshes", trace::MemoryTagId{1}});
    }

    void say(MemoryKind kind, std::uint64_t time_ns, std::uint64_t address, std::uint64_t bytes = 0,
             std::uint32_t heap = 0, std::uint32_t tag = 0, std::uint32_t process = 1) {
        MemoryEvent event;
        event.thread = ThreadId{process};
        event.kind = kind;
        event.time_ns = time_ns;
        event.address = address;
        event.bytes = bytes;
        event.heap = trace::HeapId{heap};
        event.tag = trace::MemoryTagId{tag};
        event.call_stack = static_cast<std::uint32_t>(bytes);
        memory_.memory(event);
    }

    Memory memory_;
};

TEST_F(MemoryProvider, knows_the_peak_and_what_is_left) {
    say(MemoryKind::alloc, 10, 0x100, 1'000);
    say(MemoryKind::alloc, 20, 0x200, 500);
    say(MemoryKind::free, 30, 0x100);
    say(MemoryKind::alloc, 5'000'000, 0x100, 400);
    EXPECT_EQ(memory_.total().peak_bytes, 1'500U);
    EXPECT_EQ(memory_.total().peak_ns, 20U);
    EXPECT_EQ(memory_.total().live_bytes, 900U);
    EXPECT_EQ(memory_.total().live, 2U);
    EXPECT_EQ(memory_.total().allocations, 3U);
    EXPECT_EQ(memory_.total().allocated_bytes, 1'900U);
    EXPECT_EQ(memory_.total().short_lived, 1U);
    EXPECT_EQ(memory_.stacks().at(1'000).live_bytes, 0U);
    EXPECT_EQ(memory_.stacks().at(400).live_bytes, 400U);
}

TEST_F(MemoryProvider, tells_processes_and_heaps_apart) {
    say(MemoryKind::alloc, 1, 0x100, 10);
    say(MemoryKind::alloc, 2, 0x100, 20, 0, 0, 2);
    say(MemoryKind::alloc, 3, 0x100, 40, 1);
    say(MemoryKind::alloc, 4, 0x100, 5, 2);
    say(MemoryKind::free, 5, 0x100, 0, 0, 0, 2);
    // What lies in the arena is a part of it.
    EXPECT_EQ(memory_.total().live_bytes, 50U);
    EXPECT_EQ(memory_.heaps().at(2).name, "arena/cells");
    EXPECT_EQ(memory_.heaps().at(2).use.live_bytes, 5U);
    EXPECT_EQ(memory_.heaps().at(1).use.live_bytes, 40U);
    EXPECT_EQ(memory_.unknown_frees(), 0U);
}

TEST_F(MemoryProvider, takes_frees_by_the_tag_of_the_allocation) {
    say(MemoryKind::alloc, 1, 0x100, 10, 0, 2);
    say(MemoryKind::alloc, 2, 0x200, 20, 0, 2);
    say(MemoryKind::free, 3, 0x100);
    EXPECT_EQ(memory_.tags().at(2).name, "level/meshes");
    EXPECT_EQ(memory_.tags().at(2).use.live_bytes, 20U);
    EXPECT_EQ(memory_.tags().at(0).use.allocations, 0U);
}

TEST_F(MemoryProvider, ends_what_is_given_out_anew_and_counts_what_was_never) {
    say(MemoryKind::free, 1, 0x300);
    say(MemoryKind::alloc, 2, 0x100, 10);
    say(MemoryKind::alloc, 3, 0x100, 30);
    EXPECT_EQ(memory_.unknown_frees(), 1U);
    EXPECT_EQ(memory_.total().live, 1U);
    EXPECT_EQ(memory_.total().live_bytes, 30U);
    EXPECT_EQ(memory_.total().peak_bytes, 30U);
}

}  // namespace
}  // namespace sample::analysis
