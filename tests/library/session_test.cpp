// The analysis library as its users see it: nothing of the project but the public header.
#include "sample/analysis.hpp"
#include "tests/trace/foreign_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sample::analysis {
namespace {

namespace foreign = trace::foreign;
using foreign::Out;
using Lines = std::vector<std::string>;

constexpr unsigned kZippy = 50;
constexpr unsigned kBark = 51;

/// The events of the developer guide's examples.
foreign::Stream a_stream() {
    using namespace foreign;  // NOLINT(google-build-using-namespace)
    Stream stream;
    stream.begin(1000, 1'000'000'000);
    stream.thread(7, 4321, "rainbow \xe2\x82\xac");
    stream.declare(kZippy, kHasAux, "RainbowLogger", "ZippyEvent",
                   {{"Field0", kU32},
                    {"Field1", kF32},
                    {"Small", kI8},
                    {"Cycle", kU64},
                    {"Field2", kArray | kI16},
                    {"Field3", kWide},
                    {"Field4", kArray | kI64},
                    {"Field5", kArray | kF64}});
    stream.declare(kBark, kImportant | kNoSync | kHasAux, "BoniLogger", "BarkEvent",
                   {{"WoofString", kWide}, {"DratField", kArray | kI64}});
    return stream;
}

Out zippy(unsigned serial, unsigned number) {
    return Out{}
        .event(kZippy, serial)
        .number(number, 4)
        .real(0.5F)
        .number(0xfe, 1)
        .number(1000 + number, 8)
        .thread_aux(4, Out{}.number(1, 2).number(0xffff, 2))
        .thread_aux(5, foreign::wide(u"wei\u00df"))
        .thread_aux(6, Out{}.number(static_cast<std::uint64_t>(-9), 8))
        .thread_aux(7, Out{}.real(2.5))
        .thread_end();
}

/// Calls a function for each event.
class Each : public Analyzer {
public:
    using OnEvent = std::function<bool(std::uint16_t, Style, const Event&)>;
    Each(std::string logger, std::string event, OnEvent on_event, int* ends = nullptr)
        : logger_{std::move(logger)},
          event_{std::move(event)},
          on_event_{std::move(on_event)},
          ends_{ends} {}

    void on_analysis_begin(Subscriptions& subscriptions) override {
        subscriptions.route_event(3, logger_, event_);
    }
    bool on_event(std::uint16_t route, Style style, const Event& event) override {
        return on_event_(route, style, event);
    }
    void on_analysis_end() override { *(ends_ != nullptr ? ends_ : &unused_) += 1; }

private:
    std::string logger_;
    std::string event_;
    OnEvent on_event_;
    int* ends_;
    int unused_ = 0;
};

class File {
public:
    File() {
        std::string pattern = testing::TempDir() + "sample-library-XXXXXX";
        fd_ = mkstemp(pattern.data());
        path_ = pattern;
    }
    explicit File(const foreign::Stream& stream) : File{} { append(stream.bytes()); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        close(fd_);
        unlink(path_.c_str());
    }
    void append(std::span<const std::byte> bytes) const {
        ASSERT_EQ(write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    [[nodiscard]] const char* path() const { return path_.c_str(); }

private:
    int fd_ = -1;
    std::string path_;
};

TEST(AnalysisSession, gives_an_event_of_which_every_field_is_equal) {
    foreign::Stream stream = a_stream();
    stream.packet(7, zippy(5, 200));
    const File file{stream};
    int calls = 0;
    int ends = 0;
    Session session;
    session.add_analyzer(std::make_unique<Each>(
        "RainbowLogger", "ZippyEvent",
        [&](std::uint16_t route, Style style, const Event& event) {
            ++calls;
            EXPECT_EQ(route, 3);
            EXPECT_EQ(style, Style::plain);
            EXPECT_EQ(event.logger(), "RainbowLogger");
            EXPECT_EQ(event.name(), "ZippyEvent");
            EXPECT_EQ(event.thread().id, 7U);
            EXPECT_EQ(event.thread().system_id, 4321U);
            EXPECT_EQ(event.thread().name, "rainbow \xe2\x82\xac");
            EXPECT_TRUE(event.has_time());
            EXPECT_EQ(event.time_ns(), 200U);
            EXPECT_EQ(event.serial(), 5);
            EXPECT_EQ(event.value<std::uint32_t>("Field0"), 200U);
            EXPECT_EQ(event.value<double>("Field0"), 200.0);
            EXPECT_TRUE(event.value<bool>("Field0"));
            EXPECT_EQ(event.value<float>("Field1"), 0.5F);
            EXPECT_EQ(event.value<int>("Field1", -1), -1) << "no integer";
            EXPECT_EQ(event.value<int>("Small"), -2);
            EXPECT_EQ(event.value<double>("Small"), -2.0);
            EXPECT_EQ(event.value<int>("Nothing", 77), 77);
            EXPECT_EQ(event.value<int>("Field3", 77), 77) << "a text";
            EXPECT_EQ(event.string("Field3"), "wei\xc3\x9f");
            EXPECT_EQ(event.string("Field0"), "");
            EXPECT_EQ(event.array<int>("Field2"), (std::vector<int>{1, -1}));
            EXPECT_EQ(event.array<double>("Field2"), (std::vector<double>{1, -1}));
            EXPECT_EQ(event.array<std::int64_t>("Field4"), std::vector<std::int64_t>{-9});
            EXPECT_EQ(event.array<double>("Field5"), std::vector<double>{2.5});
            EXPECT_TRUE(event.array<int>("Field5").empty()) << "no integers";
            EXPECT_TRUE(event.array<int>("Field3").empty()) << "a text";
            EXPECT_EQ(event.field_count(), 8U);
            EXPECT_EQ(event.field(4).name, "Field2");
            EXPECT_TRUE(event.field(4).is_array);
            EXPECT_EQ(event.field(4).kind, FieldKind::signed_integer);
            EXPECT_EQ(event.field(4).element_bytes, 2);
            EXPECT_EQ(event.field("Field3").kind, FieldKind::text);
            EXPECT_FALSE(event.field("Field3").is_array);
            EXPECT_EQ(event.field(8).kind, FieldKind::none);
            return true;
        },
        &ends));
    const Outcome outcome = session.analyze_file(file.path());
    EXPECT_TRUE(outcome.is_whole()) << outcome.problem();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(outcome.bytes_read(), stream.bytes().size());
}

TEST(AnalysisSession, gives_scopes_with_their_times) {
    foreign::Stream stream = a_stream();
    stream.packet(7, Out{}.timed_scope(6, 1500).add(zippy(5, 1)).timed_scope(7, 1750));
    Lines seen;
    Session session;
    session.add_analyzer(std::make_unique<Each>(
        "RainbowLogger", "ZippyEvent", [&](std::uint16_t, Style style, const Event& event) {
            seen.push_back((style == Style::enter ? "enter " : "leave ") +
                           std::to_string(event.time_ns()) + " " +
                           std::to_string(event.value<int>("Field0")) + event.string("Field3"));
            return true;
        }));
    EXPECT_TRUE(session.feed(stream.bytes().data(), stream.bytes().size()));
    EXPECT_TRUE(session.finish().is_whole());
    EXPECT_EQ(seen, (Lines{"enter 500 1wei\xc3\x9f", "leave 750 0"}));
}

TEST(AnalysisSession, stops_reading_once_no_analyzer_wants_more) {
    foreign::Stream stream = a_stream();
    stream.important(kBark, Out{}
                                .important_aux(0, foreign::wide(u"Woof"))
                                .important_aux(1, Out{}.number(5, 8))
                                .important_end());
    const std::size_t needed = stream.bytes().size();
    for (unsigned i = 0; i < 20'000; ++i) {
        stream.packet(7, zippy(i, i));
        if (i > 0 && i < 4) {
            stream.sync();  // Now it is known that no earlier one comes.
        }
    }
    const File file{stream};
    int zippies = 0;
    int ends_of_bark = 0;
    Session session;
    session.add_analyzer(std::make_unique<Each>(
        "BoniLogger", "BarkEvent",
        [&](std::uint16_t, Style, const Event& event) {
            EXPECT_EQ(event.string("WoofString"), "Woof");
            EXPECT_EQ(event.array<int>("DratField"), std::vector<int>{5});
            return false;
        },
        &ends_of_bark));
    session.add_analyzer(std::make_unique<Each>("RainbowLogger", "ZippyEvent",
                                                [&](std::uint16_t, Style, const Event&) {
                                                    EXPECT_EQ(ends_of_bark, 1);
                                                    return ++zippies < 10;
                                                }));
    const Outcome outcome = session.analyze_file(file.path());
    EXPECT_TRUE(outcome.is_whole()) << outcome.problem();
    EXPECT_EQ(zippies, 10);
    EXPECT_EQ(ends_of_bark, 1);
    EXPECT_LT(needed, std::size_t{1} << 16);
    EXPECT_LE(outcome.bytes_read(), 2 * 65'536U);
    EXPECT_GT(stream.bytes().size(), 1'000'000U);
}

TEST(AnalysisSession, reads_nothing_for_nobody) {
    const File file{a_stream()};
    Session session;
    const Outcome outcome = session.analyze_file(file.path());
    EXPECT_TRUE(outcome.is_whole());
    EXPECT_EQ(outcome.bytes_read(), 0U);
}

TEST(AnalysisSession, says_what_is_wrong_with_a_file) {
    const auto problem_of = [](const char* path) {
        Session session;
        int ends = 0;
        session.add_analyzer(std::make_unique<Each>(
            "A", "B", [](std::uint16_t, Style, const Event&) { return true; }, &ends));
        const Outcome outcome = session.analyze_file(path);
        EXPECT_FALSE(outcome.is_whole());
        EXPECT_EQ(ends, 1);
        EXPECT_FALSE(session.analyze_file(path).is_whole()) << "a second time";
        return std::string{outcome.problem()};
    };
    EXPECT_NE(problem_of("/nowhere/at/all").find("No such file"), std::string::npos);
    EXPECT_NE(problem_of("/dev/null").find("no regular file"), std::string::npos);
    const File empty;
    EXPECT_NE(problem_of(empty.path()).find("nothing in it"), std::string::npos);
    const File text;
    text.append(Out{}.text("#!/bin/sh").bytes());
    EXPECT_NE(problem_of(text.path()).find("not a recording"), std::string::npos);
    const File cut;
    const foreign::Stream stream = a_stream();
    cut.append(std::span{stream.bytes()}.first(stream.bytes().size() - 1));
    EXPECT_EQ(problem_of(cut.path()), "the file ends in the middle of a packet");
}

TEST(AnalysisSession, names_what_it_has_passed_over) {
    foreign::Stream stream = a_stream();
    stream.packet(7, zippy(5, 1));
    stream.packet(7, zippy(8, 2));
    const File file{stream};
    Session session;
    session.add_analyzer(std::make_unique<Each>(
        "BoniLogger", "BarkEvent", [](std::uint16_t, Style, const Event&) { return true; }));
    const Outcome outcome = session.analyze_file(file.path());
    EXPECT_EQ(outcome.lost_events(), 2U);
    std::string names;
    for (std::size_t i = 0; i < outcome.skipped_count(); ++i) {
        names += std::string{outcome.skipped(i).what} + "=" +
                 std::to_string(outcome.skipped(i).count) + " ";
    }
    EXPECT_EQ(names,
              "$Trace.NewTrace=1 $Trace.ThreadInfo=1 (events in order that never came)=2 "
              "RainbowLogger.ZippyEvent=2 ");
    EXPECT_EQ(outcome.skipped(99).count, 0U);
}

TEST(AnalysisSession, reads_a_pipe_to_its_end) {
    foreign::Stream stream = a_stream();
    stream.packet(7, zippy(5, 1));
    int ends[2] = {};
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    std::thread writer{[&] {
        for (const std::byte& byte : stream.bytes()) {
            ASSERT_EQ(write(ends[1], &byte, 1), 1);
        }
        close(ends[1]);
    }};
    int calls = 0;
    Session session;
    session.add_analyzer(std::make_unique<Each>("RainbowLogger", "ZippyEvent",
                                                [&](std::uint16_t, Style, const Event&) {
                                                    ++calls;
                                                    return true;
                                                }));
    EXPECT_TRUE(session.analyze_descriptor(ends[0]).is_whole());
    writer.join();
    close(ends[0]);
    EXPECT_EQ(calls, 1);
}

TEST(AnalysisSession, follows_a_file_that_grows_until_it_is_told_to_stop) {
    foreign::Stream stream = a_stream();
    const File file{stream};
    std::atomic<unsigned> calls{0};
    Session session;
    session.add_analyzer(std::make_unique<Each>("RainbowLogger", "ZippyEvent",
                                                [&](std::uint16_t, Style, const Event&) {
                                                    ++calls;
                                                    return true;
                                                }));
    std::thread writer{[&] {
        std::size_t written = stream.bytes().size();
        for (unsigned i = 0; i < 20; ++i) {
            stream.packet(7, zippy(i, i));
            const std::span<const std::byte> bytes{stream.bytes()};
            file.append(bytes.subspan(written, (bytes.size() - written) / 2));
            written += (bytes.size() - written) / 2;
            file.append(bytes.subspan(written));
            written = bytes.size();
        }
        while (calls < 20) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        session.stop();
    }};
    // The events are handed out when the file pauses: before, an earlier one might come.
    const Outcome outcome = session.follow_file(file.path(), 1, 0);
    writer.join();
    EXPECT_TRUE(outcome.is_whole()) << outcome.problem();
    EXPECT_EQ(calls, 20U);
}

TEST(AnalysisSession, follows_no_longer_than_a_pause) {
    const File file{a_stream()};
    Session session;
    session.add_analyzer(
        std::make_unique<Each>("A", "B", [](std::uint16_t, Style, const Event&) { return true; }));
    EXPECT_TRUE(session.follow_file(file.path(), 1, 20).is_whole());
}

/// The sum of two numbers that are always equal.
class Pair : public Provider {
public:
    void add(unsigned number) {
        const EditScope edit{*this};
        first_ += number;
        second_ += number;
    }
    [[nodiscard]] bool is_equal() const {
        const ReadScope read{*this};
        return first_ == second_;
    }
    [[nodiscard]] unsigned sum() const {
        const ReadScope read{*this};
        return first_;
    }

private:
    unsigned first_ = 0;
    unsigned second_ = 0;
};

TEST(AnalysisProvider, is_read_by_many_threads_while_the_analysis_goes_on) {
    constexpr unsigned kEvents = 20'000;
    foreign::Stream stream = a_stream();
    for (unsigned i = 0; i < kEvents; ++i) {
        stream.packet(7, zippy(i, 1));
    }
    const File file{stream};
    Session session;
    session.add_provider("Pair", std::make_shared<Pair>());
    const auto pair = session.provider<Pair>("Pair");
    ASSERT_NE(pair, nullptr);
    EXPECT_EQ(session.provider("Other"), nullptr);
    session.add_analyzer(std::make_unique<Each>("RainbowLogger", "ZippyEvent",
                                                [&](std::uint16_t, Style, const Event& event) {
                                                    pair->add(event.value<unsigned>("Field0"));
                                                    return true;
                                                }));
    std::atomic<bool> is_over{false};
    std::vector<std::thread> readers;
    readers.reserve(3);
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&] {
            while (!is_over) {
                ASSERT_TRUE(session.provider<Pair>("Pair")->is_equal());
            }
        });
    }
    EXPECT_TRUE(session.analyze_file(file.path()).is_whole());
    is_over = true;
    for (std::thread& reader : readers) {
        reader.join();
    }
    EXPECT_EQ(pair->sum(), kEvents);
}

}  // namespace
}  // namespace sample::analysis
