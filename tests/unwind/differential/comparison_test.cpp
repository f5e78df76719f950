// The comparison on this program's own stack, whole and damaged: a tool that finds no difference
// must be able to.
#include "tests/unwind/differential/comparison.h"

#include "unwind/walk/ucontext.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace sample::unwind::differential {
namespace {

/// What the kernel would have told of this process's mapping, one a line of /proc/self/maps.
struct OwnMapping {
    CodeMapping mapping;
    std::string path;
};

std::vector<OwnMapping> own_mappings() {
    std::vector<OwnMapping> mappings;
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        std::istringstream fields{line};
        std::string access;
        std::string device;
        std::string inode;
        OwnMapping own;
        char dash = 0;
        std::uint64_t end = 0;
        fields >> std::hex >> own.mapping.address >> dash >> end >> access >>
            own.mapping.file_offset >> device >> inode >> own.path;
        own.mapping.size = end - own.mapping.address;
        if (access[2] == 'x') {
            mappings.push_back(own);
        }
    }
    return mappings;
}

std::uint64_t own_stack_end() {
    pthread_attr_t attributes;
    void* low = nullptr;
    std::size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    return reinterpret_cast<std::uint64_t>(low) + size;
}

class OwnStack : public ::testing::Test {
protected:
    void SetUp() override {
        for (OwnMapping& own : own_mappings()) {
            own.mapping.path = own.path;
            comparison.on_mapping(getpid(), own.mapping);
        }
    }

    /// Registers and stack of here, with the callers' frames in it.
    [[gnu::noinline]] void take() {
        ucontext_t context;
        getcontext(&context);
        sample.pid = sample.tid = getpid();
        sample.registers = registers_of(context);
        const std::uint64_t sp = sample.registers.sp();
        bytes.resize(std::min<std::uint64_t>(own_stack_end() - sp, 60000));
        std::memcpy(bytes.data(), reinterpret_cast<const void*>(sp), bytes.size());
        sample.stack = bytes;
    }

    /// The sample with another word where its copy holds `word`.
    StackSample damaged(std::uint64_t word, std::uint64_t other) {
        damaged_bytes = bytes;
        for (std::size_t at = 0; at + 8 <= damaged_bytes.size(); at += 8) {
            std::uint64_t found = 0;
            std::memcpy(&found, &damaged_bytes[at], sizeof(found));
            if (found == word) {
                std::memcpy(&damaged_bytes[at], &other, sizeof(other));
            }
        }
        StackSample copy = sample;
        copy.stack = damaged_bytes;
        return copy;
    }

    Comparison comparison;
    StackSample sample;
    std::vector<std::byte> bytes;
    std::vector<std::byte> damaged_bytes;
};

/// Tells where it was called, so that a test knows a return address that is on its stack.
[[gnu::noinline]] std::uint64_t call(const std::function<void()>& function) {
    function();
    return reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}

TEST_F(OwnStack, is_equal_by_both_walkers_up_to_the_root) {
    take();
    const Difference difference = comparison.compare_walks(sample, sample);
    EXPECT_EQ(difference.kind, Kind::equal);
    EXPECT_EQ(comparison.tally().equal, 1U);
    EXPECT_EQ(comparison.tally().root, 1U);
    EXPECT_GT(comparison.tally().frames, 5U);
    EXPECT_TRUE(comparison.tally().differences.empty());
}

TEST_F(OwnStack, differs_if_ours_reads_a_damaged_return_address) {
    const std::uint64_t address = call([this] { take(); });
    const Difference difference = comparison.compare_walks(damaged(address, address + 1), sample);
    EXPECT_EQ(difference.kind, Kind::other_frame);
    EXPECT_EQ(difference.verdict, Verdict::theirs);
    EXPECT_EQ(comparison.tally().unexplained(), 1U);
    EXPECT_EQ(comparison.tally().with(Verdict::theirs), 1U);
    EXPECT_EQ(comparison.tally().uncalled.size(), 1U);
}

// libunwind sees the same: only the calls tell that both are wrong.
TEST_F(OwnStack, counts_frames_that_nobody_called_though_both_walks_have_them) {
    const std::uint64_t address = call([this] { take(); });
    const StackSample wrong = damaged(address, address + 1);
    comparison.compare_walks(sample, sample);
    EXPECT_TRUE(comparison.tally().uncalled.empty());
    comparison.compare_walks(wrong, wrong);
    EXPECT_EQ(comparison.tally().uncalled.size(), 1U);
}

TEST_F(OwnStack, differs_in_our_favour_if_libunwind_reads_the_damaged_one) {
    const std::uint64_t address = call([this] { take(); });
    const Difference difference = comparison.compare_walks(sample, damaged(address, address + 1));
    EXPECT_EQ(difference.verdict, Verdict::ours);
    EXPECT_EQ(comparison.tally().unexplained(), 0U);
}

TEST_F(OwnStack, differs_if_ours_ends_early) {
    const std::uint64_t address = call([this] { take(); });
    const Difference difference = comparison.compare_walks(damaged(address, 0), sample);
    EXPECT_EQ(difference.kind, Kind::beyond_root);
    EXPECT_EQ(difference.verdict, Verdict::theirs);
}

TEST_F(OwnStack, differs_if_ours_starts_with_other_registers) {
    take();
    StackSample other = sample;
    other.registers.value[Registers::kSp] += 8;
    other.stack = other.stack.subspan(8);
    EXPECT_EQ(comparison.compare_walks(other, sample).verdict, Verdict::theirs);
}

TEST_F(OwnStack, says_that_a_short_copy_is_no_fault_of_the_walk) {
    take();
    sample.stack = sample.stack.first(256);
    sample.full = true;
    EXPECT_EQ(comparison.compare_walks(sample, sample).kind, Kind::equal);
    EXPECT_EQ(comparison.tally().lacking(Missing::rest), 1U);
    // As long as nobody has seen that the stack goes on, it is a fault.
    sample.full = false;
    comparison.compare_walks(sample, sample);
    EXPECT_EQ(comparison.tally().lacking(Missing::page), 0U);
    EXPECT_EQ(comparison.tally().lacking(Missing::nothing), 1U);
    sample.stack = bytes;
    comparison.compare_walks(sample, sample);
    EXPECT_EQ(comparison.tally().lacking(Missing::page), 1U);
    EXPECT_EQ(comparison.tally().lacking(Missing::nothing), 0U);
    sample.stack = sample.stack.first(256);
    comparison.compare_walks(sample, sample);
    EXPECT_EQ(comparison.tally().lacking(Missing::page), 2U);
}

TEST_F(OwnStack, counts_a_sample_without_a_stack_apart) {
    take();
    sample.stack = {};
    comparison.on_sample(sample);
    EXPECT_EQ(comparison.tally().samples, 1U);
    EXPECT_EQ(comparison.tally().no_stack, 1U);
    EXPECT_EQ(comparison.tally().equal, 0U);
}

TEST_F(OwnStack, has_no_rules_after_an_exec) {
    take();
    comparison.on_exec(getpid());
    comparison.compare_walks(sample, sample);
    EXPECT_EQ(comparison.tally().root, 0U);
    ASSERT_EQ(comparison.tally().stops.size(), 1U);
    EXPECT_EQ(comparison.tally().stops.begin()->first.reason, StopReason::no_module);
}

TEST_F(OwnStack, is_found_in_a_forked_child_too) {
    take();
    comparison.on_fork(getpid(), 1);
    sample.pid = sample.tid = 1;
    EXPECT_EQ(comparison.compare_walks(sample, sample).kind, Kind::equal);
    EXPECT_EQ(comparison.tally().root, 1U);
}

// The rules of one place applied at another: what a module at a wrong address does.
TEST_F(OwnStack, ends_elsewhere_by_the_rules_of_a_shifted_module) {
    take();
    ASSERT_EQ(comparison.compare_walks(sample, sample).kind, Kind::equal);
    const auto own = own_mappings();
    const auto self = std::find_if(own.begin(), own.end(), [this](const OwnMapping& mapping) {
        return sample.registers.pc() - mapping.mapping.address < mapping.mapping.size;
    });
    ASSERT_NE(self, own.end());
    OwnMapping shifted = *self;
    shifted.mapping.path = shifted.path;
    shifted.mapping.address += 4096;
    comparison.on_mapping(getpid(), shifted.mapping);
    comparison.compare_walks(sample, sample);
    EXPECT_EQ(comparison.tally().root, 1U);
}

}  // namespace
}  // namespace sample::unwind::differential
