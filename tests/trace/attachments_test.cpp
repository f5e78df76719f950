// What a recording carries behind its end: it comes back whole or not at all, and costs the
// recording nothing.
#include "tests/trace/file_size_limit.h"
#include "tests/trace/recording_fixture.h"
#include "trace/event_encoder.h"
#include "trace/event_writer.h"
#include "trace/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <random>

namespace sample::trace {
namespace {

std::vector<std::byte> some_bytes(std::size_t size, std::uint32_t seed) {
    std::mt19937 random{seed};
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(random());
    }
    return bytes;
}

std::vector<Attachment> some_attachments() {
    std::vector<Attachment> attachments;
    attachments.push_back({AttachmentKind::symbols, ModuleId{1}, some_bytes(100, 1)});
    attachments.push_back({AttachmentKind::code, ModuleId{2}, some_bytes(9'000, 2)});
    attachments.push_back({AttachmentKind::source_text, ModuleId{}, some_bytes(4096, 3)});
    attachments.push_back({AttachmentKind::symbols, ModuleId{2}, some_bytes(1, 4)});
    return attachments;
}

void put(const TemporaryFile& file, std::span<const std::byte> bytes) {
    const Fd fd = file.open();
    ASSERT_EQ(write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

Fd for_writing(const TemporaryFile& file) {
    return Fd{::open(file.path().c_str(), O_WRONLY | O_CLOEXEC)};
}

std::vector<std::byte> recording_with(std::span<const Attachment> attachments) {
    const TemporaryFile file;
    put(file, small_recording());
    const auto appended = append_attachments(for_writing(file), attachments);
    EXPECT_TRUE(appended) << appended.error().message();
    return file.bytes();
}

void expect_equal(const std::vector<Attachment>& read, std::span<const Attachment> written) {
    ASSERT_EQ(read.size(), written.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
        EXPECT_EQ(read[i].kind, written[i].kind);
        EXPECT_EQ(read[i].module, written[i].module);
        EXPECT_EQ(read[i].packed, written[i].packed);
    }
}

TEST(Attachments, come_back_behind_an_unchanged_recording) {
    const auto attachments = some_attachments();
    const auto file = recording_with(attachments);
    const auto plain = small_recording();
    ASSERT_GT(file.size(), plain.size());
    EXPECT_TRUE(std::equal(plain.begin(), plain.end(), file.begin()));
    KeepingSink kept;
    const auto outcome = read_recording(file, kept);
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->whole);
    EXPECT_EQ(outcome->attachments_problem, "");
    EXPECT_EQ(outcome->unknown_events, 0U);
    expect_equal(kept.attachments, attachments);
}

TEST(Attachments, can_be_added_more_than_once) {
    const TemporaryFile file;
    put(file, small_recording());
    const auto attachments = some_attachments();
    ASSERT_TRUE(append_attachments(for_writing(file), std::span{attachments}.first(1)));
    ASSERT_TRUE(append_attachments(for_writing(file), std::span{attachments}.subspan(1)));
    KeepingSink kept;
    const auto outcome = read_recording(file.bytes(), kept);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->attachments_problem, "");
    expect_equal(kept.attachments, attachments);
}

TEST(Attachments, cost_the_recording_nothing_wherever_it_is_cut) {
    const auto attachments = some_attachments();
    const auto file = recording_with(attachments);
    const std::size_t plain = small_recording().size();
    std::size_t said = 0;
    for (std::size_t size = plain; size < file.size(); ++size) {
        KeepingSink kept;
        const auto outcome = read_recording(std::span{file}.first(size), kept);
        ASSERT_TRUE(outcome);
        ASSERT_TRUE(outcome->whole) << size;
        ASSERT_EQ(kept.samples.size(), 40U) << size;
        ASSERT_LT(kept.attachments.size(), attachments.size()) << size;
        said += outcome->attachments_problem.empty() ? 0 : 1;
    }
    // But for a cut right behind the end of the session, or behind the declarations.
    EXPECT_EQ(said, file.size() - plain - 2);
}

TEST(Attachments, survive_every_flipped_bit) {
    const auto attachments =
        std::vector<Attachment>{{AttachmentKind::symbols, ModuleId{1}, some_bytes(60, 1)},
                                {AttachmentKind::code, ModuleId{2}, some_bytes(60, 2)}};
    auto file = recording_with(attachments);
    for (std::size_t bit = 8 * small_recording().size(); bit < 8 * file.size(); ++bit) {
        const auto mask = std::byte{1} << (bit % 8);
        file[bit / 8] ^= mask;
        KeepingSink kept;
        const auto outcome = read_recording(file, kept);
        ASSERT_TRUE(outcome) << bit;
        EXPECT_TRUE(outcome->whole) << bit;
        EXPECT_EQ(kept.samples.size(), 40U) << bit;
        file[bit / 8] ^= mask;
    }
}

/// A recording behind which events say what they like.
class Forgery {
public:
    Forgery() {
        put(file_, small_recording());
        Fd fd = for_writing(file_);
        lseek(fd.get(), 0, SEEK_END);
        events_.emplace(PacketWriter::append(std::move(fd)).value());
        events_->declare(std::to_array({AttachmentJoiner::spec(AttachmentKind::symbols),
                                        AttachmentJoiner::spec(AttachmentKind::code)}));
    }
    Forgery& piece(const EventSpec& spec, std::uint32_t module, std::uint32_t left,
                   std::uint32_t size, std::uint32_t offset, std::size_t bytes) {
        const std::vector<std::byte> data(bytes, std::byte{'x'});
        events_->add(AttachmentPiece{ModuleId{module}, left, size, offset, data}, spec);
        return *this;
    }
    /// The sizes of what is read, and whether something is said to be missing.
    std::pair<std::vector<std::size_t>, bool> read() {
        events_->close_all();
        EXPECT_TRUE(events_->packets().flush());
        KeepingSink kept;
        const auto outcome = read_recording(file_.bytes(), kept);
        EXPECT_TRUE(outcome);
        EXPECT_TRUE(outcome->whole);
        std::vector<std::size_t> sizes;
        for (const Attachment& attachment : kept.attachments) {
            sizes.push_back(attachment.packed.size());
        }
        return {sizes, !outcome->attachments_problem.empty()};
    }

private:
    TemporaryFile file_;
    std::optional<EventWriter> events_;
};

using Read = std::pair<std::vector<std::size_t>, bool>;

TEST(Attachments, are_dropped_where_their_pieces_do_not_fit) {
    const EventSpec& symbols = AttachmentJoiner::spec(AttachmentKind::symbols);
    const EventSpec& code = AttachmentJoiner::spec(AttachmentKind::code);
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 0, 8, 0, 5).piece(symbols, 1, 0, 8, 5, 3).read(),
              (Read{{8}, false}));
    // A piece too long, a gap, an overlap, one without a beginning, of another kind or module, an
    // empty one, a beginning too many, an end too few.
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 0, 8, 0, 9).read(), (Read{{}, true}));
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 0, 8, 0, 5).piece(symbols, 1, 0, 8, 6, 2).read(),
              (Read{{}, true}));
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 0, 8, 0, 5).piece(symbols, 1, 0, 8, 4, 4).read(),
              (Read{{}, true}));
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 0, 8, 5, 3).read(), (Read{{}, true}));
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 0, 8, 0, 5).piece(code, 1, 0, 8, 5, 3).read(),
              (Read{{}, true}));
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 0, 8, 0, 5).piece(symbols, 2, 0, 8, 5, 3).read(),
              (Read{{}, true}));
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 0, 8, 0, 0).read(), (Read{{}, true}));
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 0, 8, 0, 5).piece(symbols, 1, 0, 4, 0, 4).read(),
              (Read{{4}, true}));
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 1, 4, 0, 4).read(), (Read{{4}, true}));
    EXPECT_EQ(Forgery{}.piece(symbols, 1, 0, 3, 4'000'000'000, 3).read(), (Read{{}, true}));
}

TEST(Attachments, leave_the_file_as_it_was_where_there_is_no_room) {
    const TemporaryFile file;
    const auto plain = small_recording();
    put(file, plain);
    {
        const FileSizeLimit limit{plain.size() + 6'000};
        const auto appended = append_attachments(for_writing(file), some_attachments());
        ASSERT_FALSE(appended);
        EXPECT_EQ(appended.error().errno_value, EFBIG);
    }
    EXPECT_EQ(file.bytes(), plain);
}

TEST(Attachments, are_refused_by_what_is_no_regular_file) {
    EXPECT_FALSE(append_attachments(Fd{::open("/dev/null", O_WRONLY | O_CLOEXEC)}, {}));
    EXPECT_FALSE(append_attachments(Fd{}, {}));
}

}  // namespace
}  // namespace sample::trace
