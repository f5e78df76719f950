// A recording that goes to a temporary file and is read back.
#pragma once

#include "sampler/collector/recorder.h"
#include "tests/trace/recording_fixture.h"

#include <gtest/gtest.h>

namespace sample::collector {

class RecorderFixture : public ::testing::Test {
protected:
    /// Ends the recording and reads it.
    void read_back() {
        const auto finished = recorder.finish({monotonic_ns(), false, ""});
        ASSERT_TRUE(finished) << finished.error().message();
        const std::vector<std::byte> bytes = file_.bytes();
        const auto outcome = trace::read_recording(bytes, read);
        ASSERT_TRUE(outcome) << outcome.error().message();
        EXPECT_TRUE(outcome->whole) << outcome->problem;
    }
    /// The names of a node's modules with their addresses, root first: "/bin/app+16".
    [[nodiscard]] std::vector<std::string> stack_of(NodeId node) const {
        std::vector<std::string> stack;
        while (!node.is_none()) {
            const trace::StackNode& record = read.nodes.at(node.value - 1);
            stack.insert(
                stack.begin(),
                read.modules.at(record.module.value - 1).path +
                    (record.address == 0 ? std::string{} : "+" + std::to_string(record.address)));
            node = record.parent;
        }
        return stack;
    }
    [[nodiscard]] std::string path_of(ModuleId module) const {
        return read.modules.at(module.value - 1).path;
    }
    /// The weights of everything recorded.
    [[nodiscard]] std::uint64_t recorded_ns() const {
        std::uint64_t sum = 0;
        for (const trace::Sample& sample : read.samples) {
            sum += sample.weight;
        }
        for (const trace::Sample& booking : read.bookings) {
            sum += booking.weight;
        }
        return sum;
    }
    /// What was booked under a pseudo name.
    [[nodiscard]] std::uint64_t booked_ns(const std::string& name) const {
        std::uint64_t sum = 0;
        for (const trace::Sample& booking : read.bookings) {
            sum += stack_of(booking.node) == std::vector{name} ? booking.weight : 0;
        }
        return sum;
    }

private:
    trace::TemporaryFile file_;

protected:
    trace::RecordingWriter sink{file_.open()};
    Recorder recorder{sink, trace::a_session()};
    trace::KeepingSink read;
};

}  // namespace sample::collector
