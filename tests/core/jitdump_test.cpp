#include "core/jitdump.h"

#include "core/fd.h"
#include "tests/core/jitdump_builder.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace sample::jitdump {
namespace {

class JitdumpReader : public testing::Test {
protected:
    JitdumpReader() : fd_{::memfd_create("dump", MFD_CLOEXEC)} {}
    void write(const std::string& bytes) {
        ASSERT_EQ(::write(fd_.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
    }
    [[nodiscard]] Result<Reader> open() const { return Reader::open(fd_.get()); }
    [[nodiscard]] int fd() const { return fd_.get(); }

private:
    Fd fd_;
};

TEST_F(JitdumpReader, gives_each_kind_of_record) {
    Builder dump{4711, 99};
    dump.debug_info(5, 0x1000, {{0x1000, 3, "a.js"}, {0x1004, 4, "\xff"}});
    const std::uint64_t code = dump.load(6, "function", 0x1000, "12345678");
    dump.move(7, 0x1000, 0x2000, 8);
    dump.head(4, 20, 8);  // unwinding information
    dump.put<std::uint32_t>(0);
    dump.close(9);
    write(dump.bytes);
    auto reader = open();
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->header().pid, 4711U);
    EXPECT_EQ(reader->header().timestamp, 99U);
    EXPECT_FALSE(reader->header().has_tick_times);
    const auto debug = reader->next();
    ASSERT_TRUE(debug);
    EXPECT_EQ(debug->kind, Kind::debug_info);
    EXPECT_EQ(debug->entries, 2U);
    const auto load = reader->next();
    ASSERT_TRUE(load);
    EXPECT_EQ(load->kind, Kind::load);
    EXPECT_EQ(load->time, 6U);
    EXPECT_EQ(load->address, 0x1000U);
    EXPECT_EQ(load->code_size, 8U);
    EXPECT_EQ(load->code_offset, code);
    std::array<char, 8> bytes{};
    EXPECT_EQ(reader->read(load->code_offset, std::as_writable_bytes(std::span{bytes})), 8U);
    EXPECT_EQ(std::string(bytes.data(), 8), "12345678");
    const auto move = reader->next();
    ASSERT_TRUE(move);
    EXPECT_EQ(move->kind, Kind::move);
    EXPECT_EQ(move->old_address, 0x1000U);
    EXPECT_EQ(move->address, 0x2000U);
    EXPECT_EQ(reader->next()->kind, Kind::other);
    EXPECT_EQ(reader->next()->kind, Kind::other);
    EXPECT_FALSE(reader->next());
    EXPECT_FALSE(reader->is_damaged());
}

TEST_F(JitdumpReader, waits_for_what_is_not_whole_yet) {
    Builder dump;
    dump.load(1, "one", 0x1000, std::string(200'000, 'x'));
    dump.load(2, "two", 0x2000, "yyyy");
    const std::size_t half = 100'000;
    write(dump.bytes.substr(0, half));
    auto reader = open();
    ASSERT_TRUE(reader);
    EXPECT_FALSE(reader->next());
    write(dump.bytes.substr(half, dump.bytes.size() - half - 1));
    EXPECT_EQ(reader->next()->address, 0x1000U);
    EXPECT_FALSE(reader->next());
    write(dump.bytes.substr(dump.bytes.size() - 1));
    EXPECT_EQ(reader->next()->address, 0x2000U);
    EXPECT_FALSE(reader->next());
}

TEST_F(JitdumpReader, waits_where_there_is_room_that_was_not_written_to) {
    const Builder header;
    write(header.bytes);
    auto reader = open();
    ASSERT_TRUE(reader);
    ASSERT_EQ(::ftruncate(fd(), 4096), 0);
    EXPECT_FALSE(reader->next());
    EXPECT_FALSE(reader->is_damaged());
    Builder more;
    more.load(1, "one", 0x1000, "code");
    const std::string record = more.bytes.substr(header.bytes.size());
    ASSERT_EQ(::pwrite(fd(), record.data(), record.size(), static_cast<off_t>(header.bytes.size())),
              static_cast<ssize_t>(record.size()));
    EXPECT_EQ(reader->next()->address, 0x1000U);
}

TEST_F(JitdumpReader, stops_at_what_is_no_record) {
    Builder dump;
    dump.head(0, 15, 1);
    dump.put<std::uint64_t>(0);
    write(dump.bytes);
    auto reader = open();
    ASSERT_TRUE(reader);
    EXPECT_FALSE(reader->next());
    EXPECT_TRUE(reader->is_damaged());
}

TEST_F(JitdumpReader, passes_over_records_that_contradict_themselves) {
    Builder dump;
    const std::size_t first = dump.bytes.size();
    dump.load(1, "more code than record", 0x1000, "code");
    const std::uint64_t huge = ~std::uint64_t{0};
    std::memcpy(dump.bytes.data() + first + 40, &huge, sizeof huge);
    const std::size_t second = dump.bytes.size();
    dump.load(2, "past the last address", 0x1000, "code");
    std::memcpy(dump.bytes.data() + second + 32, &huge, sizeof huge);
    dump.load(3, "sound", 0x3000, "code");
    write(dump.bytes);
    auto reader = open();
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->next()->address, 0x3000U);
}

TEST_F(JitdumpReader, survives_a_file_that_shrinks) {
    Builder dump;
    dump.load(1, "one", 0x1000, std::string(100'000, 'x'));
    dump.load(2, "two", 0x2000, "code");
    write(dump.bytes);
    auto reader = open();
    ASSERT_TRUE(reader);
    ASSERT_TRUE(reader->next());
    ASSERT_EQ(::ftruncate(fd(), 50), 0);
    EXPECT_FALSE(reader->next());
}

TEST_F(JitdumpReader, refuses_what_it_cannot_read) {
    EXPECT_EQ(open().error().code, ErrorCode::corrupt) << "empty";
    write(Builder{7, 1, 0, 0x4454694A}.bytes);
    EXPECT_EQ(open().error().code, ErrorCode::unsupported) << "the other byte order";
    ASSERT_EQ(::ftruncate(fd(), 0) + ::lseek(fd(), 0, SEEK_SET), 0);
    write(Builder{7, 1, 0, 0x4A695444, 2}.bytes);
    EXPECT_EQ(open().error().code, ErrorCode::unsupported) << "a version that is not known";
    ASSERT_EQ(::ftruncate(fd(), 0) + ::lseek(fd(), 0, SEEK_SET), 0);
    write(std::string(100, 'x'));
    EXPECT_EQ(open().error().code, ErrorCode::corrupt) << "something else";
}

TEST_F(JitdumpReader, says_whose_clock_it_is) {
    write(Builder{7, 1, 1}.bytes);
    EXPECT_TRUE(open()->header().has_tick_times);
}

TEST(JitdumpIdentity, differs_by_writer_and_time) {
    EXPECT_NE(identity_of({1, 2, false}), identity_of({1, 3, false}));
    EXPECT_NE(identity_of({1, 2, false}), identity_of({2, 2, false}));
    EXPECT_EQ(identity_of({1, 2, false}), identity_of({1, 2, false}));
}

}  // namespace
}  // namespace sample::jitdump
