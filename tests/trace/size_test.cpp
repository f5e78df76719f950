// How large recordings get, on input that is made up to be like real programs'. A size, not a time:
// it is the same everywhere.
#include "tests/trace/recording_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <vector>

namespace sample::trace {
namespace {

constexpr std::uint32_t kSamples = 50'000;

using Random = std::mt19937;

/// A 10 kHz clock that is some microseconds off now and then, and sometimes off the processor.
class SampleClock {
public:
    std::uint64_t next(Random& random) {
        time_ns_ += 100'000;
        if (random() % 500 == 0) {
            time_ns_ += random() % 4'000'000;
        }
        return time_ns_ + random() % 3'000;
    }

private:
    std::uint64_t time_ns_ = a_session().start_ns;
};

struct Size {
    double bytes_per_sample = 0;
    double nodes_per_sample = 0;
};

/// Records kSamples stacks, as `next_stack` makes them: code addresses, root first.
template <class NextStack>
Size record(Random& random, const NextStack& next_stack) {
    const TemporaryFile file;
    auto writer = TestWriter::create(file.open(), a_session());
    EXPECT_TRUE(writer);
    writer->record(Process{ProcessId{1}, 1, 0, 0, "/bin/program", "program", "sigtrap", ""});
    writer->record(Module{ModuleId{1}, ModuleKind::elf, false, "/bin/program", {}});
    writer->record(Thread{ThreadId{1}, ProcessId{1}, 1, 0, "program"});
    SampleClock clock;
    std::uint32_t nodes = 0;
    for (std::uint32_t i = 0; i < kSamples; ++i) {
        NodeId node;
        for (const std::uint64_t address : next_stack()) {
            node = writer->node(node, ModuleId{1}, address);
            nodes = std::max(nodes, node.value);
        }
        const std::uint64_t weight = random() % 200 == 0 ? random() % 1'000'000 : 100'000;
        writer->sample(Sample{ThreadId{1}, clock.next(random), node, weight});
        if (i % 200 == 0) {
            EXPECT_TRUE(writer->flush());  // As the collector does, every 20 ms.
        }
    }
    EXPECT_TRUE(writer->finish(SessionEnd{}));
    return Size{static_cast<double>(writer->bytes_written()) / kSamples,
                static_cast<double>(nodes) / kSamples};
}

TEST(RecordingSize, few_stacks_take_at_most_6_bytes_a_sample) {
    Random random{1};  // NOLINT(*-msc51-cpp): the same run every time
    const Size size = record(random, [&] {
        const std::uint32_t share = static_cast<std::uint32_t>(random() % 10);
        const std::uint64_t function = share < 5 ? 0x2000 : share < 8 ? 0x3000 : 0x4000;
        return std::vector<std::uint64_t>{0x1000, 0x1040, 0x1100, function + 4 * (random() % 24)};
    });
    RecordProperty("bytes_per_sample", std::to_string(size.bytes_per_sample));
    EXPECT_LE(size.bytes_per_sample, 6.0);
}

TEST(RecordingSize, a_guessed_frame_takes_at_most_4_bytes_more_once) {
    // Half of the callers are guessed.
    constexpr std::uint64_t kCallers = 200;
    const auto stacks = [](std::uint64_t mark) {
        Random random{2};  // NOLINT(*-msc51-cpp): the same run every time
        return record(random, [&] {
            const std::uint64_t caller = 0x2000 + 64 * (random() % kCallers);
            return std::vector<std::uint64_t>{0x1000, caller | (caller % 128 == 0 ? mark : 0),
                                              0x9000 + 4 * (random() % 8)};
        });
    };
    const Size plain = stacks(0);
    const Size guessed = stacks(kGuessedFrame);
    EXPECT_EQ(plain.nodes_per_sample, guessed.nodes_per_sample);
    const double more = (guessed.bytes_per_sample - plain.bytes_per_sample) * kSamples;
    RecordProperty("bytes_per_guess", std::to_string(more / (kCallers / 2.0)));
    EXPECT_GT(more, 0.0);
    EXPECT_LE(more, 4.0 * kCallers / 2);
}

/// A compiler, roughly: thousands of functions, deep stacks, hardly a leaf address twice.
class ManyFunctions {
public:
    explicit ManyFunctions(Random& random) : random_{random} {
        std::uint64_t base = 0x400000;
        for (std::uint32_t i = 0; i < kFunctions; ++i) {
            Function function{base, 64 + random_() % 4000, {}};
            for (auto calls = 2 + random_() % 10; calls > 0; --calls) {
                function.calls.push_back(Call{base + random_() % function.size, callee()});
            }
            base += function.size;
            functions_.push_back(std::move(function));
        }
    }

    std::vector<std::uint64_t> next_stack() {
        const auto pops = std::min<std::size_t>(stack_.size(), random_() % 6);
        stack_.resize(stack_.size() - pops);
        for (auto pushes = random_() % 6; pushes > 0 && stack_.size() < 40; --pushes) {
            const Function& top = functions_[stack_.empty() ? 0 : stack_.back().callee];
            // The first call of a function is its hot one.
            const std::size_t call = random_() % 3 == 0 ? random_() % top.calls.size() : 0;
            stack_.push_back(top.calls[call]);
        }
        std::vector<std::uint64_t> addresses;
        for (const Call& call : stack_) {
            addresses.push_back(call.address);
        }
        const Function& leaf = functions_[stack_.empty() ? 0 : stack_.back().callee];
        addresses.push_back(leaf.base + random_() % leaf.size);
        return addresses;
    }

private:
    static constexpr std::uint32_t kFunctions = 4000;
    struct Call {
        std::uint64_t address;
        std::uint32_t callee;
    };
    struct Function {
        std::uint64_t base;
        std::uint64_t size;
        std::vector<Call> calls;
    };
    /// Some functions are called from everywhere, most from few places.
    std::uint32_t callee() {
        const auto any = static_cast<std::uint32_t>(random_() % kFunctions);
        return random_() % 2 == 0 ? any % 200 : any;
    }

    Random& random_;
    std::vector<Function> functions_;
    std::vector<Call> stack_;
};

TEST(RecordingSize, a_new_leaf_with_nearly_each_sample_takes_at_most_12_bytes) {
    Random random{2};  // NOLINT(*-msc51-cpp): the same run every time
    ManyFunctions program{random};
    const Size size = record(random, [&] { return program.next_stack(); });
    RecordProperty("bytes_per_sample", std::to_string(size.bytes_per_sample));
    RecordProperty("nodes_per_sample", std::to_string(size.nodes_per_sample));
    EXPECT_GE(size.nodes_per_sample, 2.0) << "the input is too easy to prove anything";
    EXPECT_LE(size.bytes_per_sample, 12.0) << size.nodes_per_sample << " nodes a sample";
}

/// A second of `zones` zones of 80 names, on two threads, some of them in others; times have no
/// pattern. Everything else that the file holds is subtracted.
double bytes_per_zone(std::uint32_t zones) {
    const auto size_with = [](std::uint32_t count) {
        Random random{3};  // NOLINT(*-msc51-cpp): the same run every time
        return record(a_session(),
                      [&](TestWriter& writer) {
                          writer.record(
                              Process{ProcessId{1}, 1, 0, 0, "/bin/program", "program", "off", ""});
                          writer.record(Thread{ThreadId{1}, ProcessId{1}, 1, 0, "main"});
                          writer.record(Thread{ThreadId{2}, ProcessId{1}, 2, 0, "worker"});
                          for (std::uint32_t id = 1; id <= 80; ++id) {
                              writer.writer().instrumentation(ZoneSpec{ZoneId{id}, "zone"});
                          }
                          std::array<std::uint64_t, 2> time{a_session().start_ns,
                                                            a_session().start_ns};
                          const std::uint64_t mean_ns = count == 0 ? 0 : 2'000'000'000 / count / 2;
                          const auto next = [&](std::uint32_t thread) {
                              return time.at(thread) += mean_ns / 2 + random() % mean_ns;
                          };
                          for (std::uint32_t i = 0; i < count; i += 2) {
                              const std::uint32_t thread = i / 64 % 2;
                              const auto say = [&](EdgeKind kind, std::uint32_t zone) {
                                  ZoneEdge edge;
                                  edge.thread = ThreadId{thread + 1};
                                  edge.kind = kind;
                                  edge.time_ns = next(thread);
                                  edge.zone = ZoneId{zone};
                                  writer.writer().zone(edge);
                              };
                              const bool is_nested = random() % 2 == 0;
                              for (const int step :
                                   is_nested ? std::array{1, 1, 0, 0} : std::array{1, 0, 1, 0}) {
                                  const std::uint32_t zone =
                                      1 + static_cast<std::uint32_t>(random() % 80);
                                  say(step == 1 ? EdgeKind::begin : EdgeKind::end,
                                      step == 1 ? zone : 0);
                              }
                              if (i % 20'000 == 0) {
                                  EXPECT_TRUE(writer.flush());
                              }
                          }
                      })
            .size();
    };
    return static_cast<double>(size_with(zones) - size_with(0)) / zones;
}

TEST(RecordingSize, a_zone_takes_at_most_6_bytes_at_a_million_a_second) {
    const double bytes = bytes_per_zone(1'000'000);
    RecordProperty("bytes_per_zone", std::to_string(bytes));
    std::printf("%.2f bytes a zone\n", bytes);
    EXPECT_GE(bytes, 3.0) << "the input is too easy to prove anything";
    EXPECT_LE(bytes, 6.0);
}

}  // namespace
}  // namespace sample::trace
