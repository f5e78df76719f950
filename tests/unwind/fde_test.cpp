#include "unwind/cfi/fde.h"

#include "tests/unwind/cfi_builder.h"

#include <gtest/gtest.h>

namespace sample::unwind::cfi {
namespace {

using testing::Bytes;
using testing::CfiBuilder;
using testing::le;
using testing::operator+;  // NOLINT(misc-unused-using-decls): used below

TEST(FindFde, finds_each_of_many_and_none_between_them) {
    CfiBuilder builder;
    for (std::int32_t i = 0; i < 9; ++i) {
        builder.fde(i * 32, 16, {0x0e, static_cast<std::uint8_t>(16 + i)});
    }
    const Tables tables = builder.tables();
    Fde fde;
    for (std::uint64_t i = 0; i < 9; ++i) {
        ASSERT_EQ(find_fde(tables, builder.pc(i * 32), fde), Found::yes);
        EXPECT_EQ(fde.pc_begin, builder.pc(i * 32));
        ASSERT_EQ(find_fde(tables, builder.pc(i * 32 + 15), fde), Found::yes);
        EXPECT_EQ(fde.pc_end, builder.pc(i * 32 + 16));
        EXPECT_EQ(find_fde(tables, builder.pc(i * 32 + 16), fde), Found::no);
    }
    EXPECT_EQ(find_fde(tables, builder.pc(0) - 1, fde), Found::no);
}

TEST(FindFde, finds_each_in_a_table_of_any_size) {
    for (std::int32_t count = 1; count <= 90; ++count) {
        CfiBuilder builder;
        for (std::int32_t i = 0; i < count; ++i) {
            builder.fde(i * 32, 16, {0x0e, 16});
        }
        const Tables tables = builder.tables();
        Fde fde;
        EXPECT_EQ(find_fde(tables, builder.pc(0) - 1, fde), Found::no);
        for (std::int32_t i = 0; i < count; ++i) {
            const auto begin = static_cast<std::uint64_t>(i) * 32;
            for (const std::uint64_t inside : {begin, begin + 15}) {
                ASSERT_EQ(find_fde(tables, builder.pc(inside), fde), Found::yes) << i << count;
                ASSERT_EQ(fde.pc_begin, builder.pc(begin)) << count;
            }
            ASSERT_EQ(find_fde(tables, builder.pc(begin + 16), fde), Found::no) << i << count;
        }
    }
}

TEST(FindFde, reads_a_cie_alike_whether_it_is_the_usual_one_or_not) {
    CfiBuilder usual;
    usual.fde(0, 16, {0});
    CfiBuilder unusual;
    unusual.version = 3;
    unusual.alignment = {0x81, 0x00, 0x78};  // The same numbers, in more bytes.
    unusual.fde(0, 16, {0});
    Fde fast;
    Fde slow;
    ASSERT_EQ(find_fde(usual.tables(), usual.pc(0), fast), Found::yes);
    ASSERT_EQ(find_fde(unusual.tables(), unusual.pc(0), slow), Found::yes);
    EXPECT_EQ(fast.code_align, slow.code_align);
    EXPECT_EQ(fast.data_align, slow.data_align);
    EXPECT_EQ(fast.pointer_encoding, slow.pointer_encoding);
    EXPECT_EQ(fast.signal_frame, slow.signal_frame);
    EXPECT_EQ(fast.pc_begin - usual.base(), slow.pc_begin - unusual.base());
    EXPECT_EQ(fast.pc_end - fast.pc_begin, slow.pc_end - slow.pc_begin);
    EXPECT_EQ(fast.initial_program_end - fast.initial_program,
              slow.initial_program_end - slow.initial_program);
    EXPECT_EQ(fast.program_end - fast.program, slow.program_end - slow.program);
}

TEST(FindFde, reads_what_the_cie_says) {
    CfiBuilder builder;
    builder.augmentation = "zPLRS";
    builder.augmentation_data = Bytes{0x9b} + le<std::uint32_t>(4) + Bytes{0x1b, 0x1b};
    builder.alignment = {2, 0x7c};
    builder.fde(0, 16, {0});
    const Tables tables = builder.tables();
    Fde fde;
    ASSERT_EQ(find_fde(tables, builder.pc(4), fde), Found::yes);
    EXPECT_TRUE(fde.signal_frame);
    EXPECT_EQ(fde.code_align, 2U);
    EXPECT_EQ(fde.data_align, -4);
    EXPECT_EQ(fde.initial_program_end - fde.initial_program, builder.initial.size());
    EXPECT_EQ(fde.program_end - fde.program, 1U);
}

TEST(FindFde, accepts_a_version_3_cie) {
    CfiBuilder builder;
    builder.version = 3;
    builder.fde(0, 16, {0});
    const Tables tables = builder.tables();
    Fde fde;
    EXPECT_EQ(find_fde(tables, builder.pc(4), fde), Found::yes);
}

TEST(FindFde, says_what_it_does_not_support) {
    Fde fde;
    CfiBuilder other_column;
    other_column.return_column = {5};
    other_column.fde(0, 16, {0});
    EXPECT_EQ(find_fde(other_column.tables(), other_column.pc(0), fde), Found::unsupported);

    CfiBuilder version;
    version.version = 4;
    version.fde(0, 16, {0});
    EXPECT_EQ(find_fde(version.tables(), version.pc(0), fde), Found::unsupported);

    CfiBuilder unknown_table;
    unknown_table.fde(0, 16, {0});
    const Tables tables = unknown_table.tables();
    unknown_table.bytes()[3] = 0x1b;
    EXPECT_EQ(find_fde(tables, unknown_table.pc(0), fde), Found::unsupported);
}

TEST(FindFde, refuses_tables_that_leave_their_module) {
    Fde fde;
    CfiBuilder builder;
    builder.fde(0, 16, {0});
    const Tables tables = builder.tables();

    Tables outside = tables;
    outside.high = tables.header;
    EXPECT_EQ(find_fde(outside, builder.pc(0), fde), Found::corrupt);

    Tables short_table = tables;
    short_table.header_size = 16;
    EXPECT_EQ(find_fde(short_table, builder.pc(0), fde), Found::corrupt);

    builder.bytes()[8] = 0xff;  // A count that is larger than the table.
    EXPECT_EQ(find_fde(tables, builder.pc(0), fde), Found::corrupt);
    builder.bytes()[8] = 1;

    builder.bytes()[18] = 0x7f;  // The FDE's offset points far away.
    EXPECT_EQ(find_fde(tables, builder.pc(0), fde), Found::corrupt);
    builder.bytes()[18] = 0;

    ASSERT_EQ(find_fde(tables, builder.pc(0), fde), Found::yes);
    builder.bytes()[CfiBuilder::kFrames + 2] = 0x10;  // The CIE's length.
    EXPECT_EQ(find_fde(tables, builder.pc(0), fde), Found::corrupt);
}

TEST(FindFde, has_nothing_without_a_header) {
    Fde fde;
    EXPECT_EQ(find_fde(Tables{}, 0x1000, fde), Found::no);
}

TEST(ReadPointer, reads_every_format_relative_to_nothing_itself_or_the_header) {
    const Bytes bytes = le<std::int32_t>(-16);
    const auto at = reinterpret_cast<std::uint64_t>(bytes.data());
    const auto read = [&](std::uint8_t encoding) {
        ByteReader reader{at, at + bytes.size()};
        const std::uint64_t value = read_pointer(reader, encoding, 0x1000);
        return reader.ok() ? value : 0xdead;
    };
    EXPECT_EQ(read(0x0b), ~std::uint64_t{0} - 15);
    EXPECT_EQ(read(0x1b), at - 16);
    EXPECT_EQ(read(0x3b), 0xff0U);
    EXPECT_EQ(read(0x03), 0xfffffff0U);
    EXPECT_EQ(read(0x02), 0xfff0U);
    EXPECT_EQ(read(0x0a), ~std::uint64_t{0} - 15);
    EXPECT_EQ(read(0x9b), 0xdeadU);  // Indirect.
    EXPECT_EQ(read(0x2b), 0xdeadU);  // Relative to the text.
    EXPECT_EQ(read(0x00), 0xdeadU);  // Eight bytes are not there.
    EXPECT_EQ(read(0xff), 0xdeadU);  // Omitted.
}

}  // namespace
}  // namespace sample::unwind::cfi
