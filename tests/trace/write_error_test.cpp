// Writes that fail: the error is reported, and what was written stays readable.
#include "tests/trace/file_size_limit.h"
#include "tests/trace/recording_fixture.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

namespace sample::trace {
namespace {

void write_much(TestWriter& writer) {
    write_small_recording(writer);
    for (std::uint32_t i = 0; i < 200'000; ++i) {
        writer.sample(Sample{ThreadId{1}, i * std::uint64_t{100'000}, NodeId{1 + i * i % 5},
                             100'000 + i % 977});
    }
}

TEST(WriteError, full_device_is_reported_at_creation) {
    const auto writer =
        TestWriter::create(Fd{::open("/dev/full", O_WRONLY | O_CLOEXEC)}, a_session());
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().errno_value, ENOSPC);
}

TEST(WriteError, closed_descriptor_is_reported_at_creation) {
    const auto writer = TestWriter::create(Fd{}, a_session());
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().errno_value, EBADF);
}

TEST(WriteError, short_write_leaves_whole_packets_and_an_error_that_stays) {
    constexpr rlim_t kLimit = 100'001;
    const TemporaryFile file;
    {
        const FileSizeLimit limit{kLimit};
        auto writer = TestWriter::create(file.open(), a_session());
        ASSERT_TRUE(writer);
        write_much(*writer);
        for (int call = 0; call < 2; ++call) {
            const auto status = writer->flush(FlushMode::everything);
            ASSERT_FALSE(status);
            EXPECT_EQ(status.error().errno_value, EFBIG);
        }
        const auto finished = writer->finish(SessionEnd{});
        ASSERT_FALSE(finished);
        EXPECT_EQ(finished.error().errno_value, EFBIG);
        EXPECT_EQ(writer->bytes_written(), file.bytes().size());
    }
    const auto bytes = file.bytes();
    EXPECT_LT(bytes.size(), kLimit);
    EXPECT_GT(bytes.size(), kLimit - 5'000);
    KeepingSink kept;
    const auto outcome = read_recording(bytes, kept);
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->whole);
    EXPECT_EQ(outcome->bytes_used, bytes.size());
    EXPECT_GT(kept.samples.size(), 10'000U);
}

TEST(WriteError, short_write_cuts_back_only_to_where_the_recording_began) {
    const TemporaryFile file;
    const FileSizeLimit limit{20};
    Fd descriptor = file.open();
    ASSERT_EQ(write(descriptor.get(), "0123456789", 10), 10);
    ASSERT_FALSE(TestWriter::create(std::move(descriptor), a_session()));
    EXPECT_EQ(file.bytes().size(), 10U);
}

TEST(WriteError, reader_gone_is_epipe_and_no_signal) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    Fd reader{ends[0]};
    auto writer = TestWriter::create(Fd{ends[1]}, a_session());
    ASSERT_TRUE(writer);
    reader.reset();
    writer->record(Process{ProcessId{1}, 1, 0, 0, "", "", "", ""});
    const auto status = writer->finish(SessionEnd{});  // SIGPIPE would end this program.
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().errno_value, EPIPE);
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGPIPE), 0);
}

TEST(WriteError, slow_reader_of_a_nonblocking_socket_loses_nothing) {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const Fd reader{ends[0]};
    ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    std::vector<std::byte> received;
    std::thread consumer{[&] {
        std::array<std::byte, 1000> buffer;
        for (ssize_t size = 1; size > 0;) {
            size = read(reader.get(), buffer.data(), buffer.size());
            received.insert(received.end(), buffer.begin(),
                            buffer.begin() + std::max<ssize_t>(size, 0));
        }
    }};
    std::uint64_t written = 0;
    {
        auto writer = TestWriter::create(Fd{ends[1]}, a_session());
        EXPECT_TRUE(writer);
        write_much(*writer);
        EXPECT_TRUE(writer->finish(SessionEnd{}));
        written = writer->bytes_written();
    }
    consumer.join();
    EXPECT_EQ(received.size(), written);
    KeepingSink kept;
    const auto outcome = read_recording(received, kept);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->whole) << outcome->problem;
    EXPECT_EQ(kept.samples.size(), 200'040U);
}

}  // namespace
}  // namespace sample::trace
