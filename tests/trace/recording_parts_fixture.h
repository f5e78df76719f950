// A recording in parts as tests make it: files of their own, a clock of their own, and what is read
// back from each part.
#pragma once

#include "tests/trace/recording_fixture.h"
#include "trace/recording_parts.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sample::trace {

inline constexpr std::uint64_t kFirstStart = 1'000'000'000'000;
inline constexpr std::uint64_t kOneSecond = 1'000'000'000;

/// Parts of ten seconds by a clock of the test's own.
class TestParts : public PartFiles {
public:
    TestParts() : TestParts{a_session_of(Clock::cpu)} {}
    explicit TestParts(const SessionStart& session, PartLimits limits = {10 * kOneSecond}) {
        sink.emplace(files_.emplace_back().open(), limits, *this, [this] {
            return PartMoment{now_ns, now_ns + 7};
        });
        sink->record(session);
    }

    static SessionStart a_session_of(Clock clock) {
        SessionStart session = a_session();
        session.start_ns = kFirstStart;
        session.clock = clock;
        return session;
    }

    Result<Fd> make_next() override {
        if (fails) {
            return unexpected(ErrorCode::system, "no room");
        }
        return files_.emplace_back().open();
    }
    Result<void> put_in_place() override {
        if (cannot_place) {
            files_.pop_back();
            return unexpected(ErrorCode::system, "no such folder");
        }
        return {};
    }
    void ended(std::span<const ModuleId> its_modules) override {
        modules.emplace_back(its_modules.begin(), its_modules.end());
    }
    void trouble(const Error& error) override { troubles.push_back(error.message()); }

    /// The parts that there are, read as any other file.
    [[nodiscard]] std::vector<KeepingSink> read() const {
        std::vector<KeepingSink> parts;
        for (const TemporaryFile& file : files_) {
            parts.push_back(read_whole(file.bytes()));
        }
        return parts;
    }
    /// The session ends.
    std::vector<KeepingSink> finish() {
        sink->record(SessionEnd{now_ns, false, ""});
        const auto flushed = sink->flush(FlushMode::everything);
        EXPECT_TRUE(flushed) << flushed.error().message();
        return read();
    }
    /// The part is full.
    void turn() {
        now_ns += 10 * kOneSecond;
        const auto flushed = sink->flush(FlushMode::worthwhile);
        EXPECT_TRUE(flushed) << flushed.error().message();
    }
    void define_one_of_each() {
        sink->record(Process{ProcessId{1}, 10, 1, kFirstStart, "/bin/a", "a", "perf", ""});
        sink->record(Module{ModuleId{1}, ModuleKind::elf, false, "/bin/a", {1}});
        sink->record(Thread{ThreadId{1}, ProcessId{1}, 10, kFirstStart, "a"});
    }
    NodeId node(NodeId parent, ModuleId module, std::uint64_t address) {
        const NodeId id{++nodes_};
        sink->node({id, parent, module, address});
        return id;
    }
    void sample(NodeId node, std::uint64_t weight, ThreadId thread = ThreadId{1}) {
        sink->sample({thread, now_ns, node, weight});
    }

    std::uint64_t now_ns = kFirstStart;
    bool fails = false;
    bool cannot_place = false;
    std::vector<std::vector<ModuleId>> modules;
    std::vector<std::string> troubles;
    std::optional<RecordingParts> sink;

private:
    std::deque<TemporaryFile> files_;
    std::uint32_t nodes_ = 0;
};

inline std::uint64_t weight_of(const KeepingSink& part) {
    std::uint64_t sum = 0;
    for (const Sample& sample : part.samples) {
        sum += sample.weight;
    }
    return sum;
}

template <class Said>
std::vector<Said> all_of(const KeepingSink& part) {
    std::vector<Said> all;
    for (const Instrumentation& said : part.said) {
        if (const Said* const one = std::get_if<Said>(&said)) {
            all.push_back(*one);
        }
    }
    return all;
}

}  // namespace sample::trace
