#include "tests/unwind/debug_frame_builder.h"
#include "unwind/cfi/row.h"
#include "unwind/index/frame_index_builder.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace sample::unwind {
namespace {

using cfi::FrameIndex;
using cfi::FrameSection;
using cfi::IndexedSection;
using cfi::IndexEntry;
using cfi::Tables;
using testing::Bytes;
using testing::CfiBuilder;
using testing::DebugFrameBuilder;
using testing::le;
using testing::operator+;  // NOLINT(misc-unused-using-decls): used below

constexpr std::uint64_t kBias = 0x5550'0000'0000;
constexpr AddressRange kCode{kBias, kBias + 0x100000};

/// An index of sections in memory, as build_index() makes one of a file.
class Index {
public:
    Index& eh_frame(const FrameSection& section, AddressRange code) {
        index_.eh_frame = make(section, code, eh_frame_entries_);
        return *this;
    }
    Index& debug_frame(const FrameSection& section, AddressRange code = kCode) {
        index_.debug_frame = make(section, code, debug_frame_entries_);
        return *this;
    }

    /// The offset of the CFA from rsp, or nothing if no FDE covers the pc.
    [[nodiscard]] std::optional<std::uint64_t> cfa(std::uint64_t pc, Tables tables = {}) const {
        tables.index = &index_;
        cfi::FrameRules found;
        if (cfi::find_rules(tables, pc, found) != cfi::Found::yes ||
            found.rules.cfa.reg != Registers::kSp) {
            return std::nullopt;
        }
        return found.rules.cfa.value;
    }
    [[nodiscard]] std::uint64_t count() const {
        return index_.eh_frame.count + index_.debug_frame.count;
    }

private:
    static IndexedSection make(const FrameSection& section, AddressRange code,
                               std::vector<IndexEntry>& entries) {
        entries.resize(count_fdes(section, code));
        const std::uint64_t listed = list_fdes(section, code, entries);
        EXPECT_EQ(listed, entries.size());
        return {section, code.begin, reinterpret_cast<std::uint64_t>(entries.data()), listed};
    }

    std::vector<IndexEntry> eh_frame_entries_;
    std::vector<IndexEntry> debug_frame_entries_;
    FrameIndex index_;
};

FrameSection eh_frame_of(const CfiBuilder& builder) {
    return {builder.base() + CfiBuilder::kFrames, builder.base() + builder.end(),
            cfi::FrameFormat::eh_frame, 0};
}

AddressRange code_of(const CfiBuilder& builder) {
    return {builder.pc(0), builder.pc(0x10000)};
}

TEST(FrameIndex, reads_every_version_and_format_of_debug_frame) {
    for (const auto version : Bytes{1, 3, 4}) {
        for (const bool wide : {false, true}) {
            DebugFrameBuilder builder;
            builder.version = version;
            builder.wide = wide;
            builder.cie().fde(0x1000, 16, {0x44, 0x0e, 16}).fde(0x2000, 16, {0x44, 0x0e, 32});
            Index index;
            index.debug_frame(builder.section(kBias));
            EXPECT_EQ(index.count(), 2U) << int{version} << wide;
            EXPECT_EQ(index.cfa(kBias + 0x1000), 8U);
            EXPECT_EQ(index.cfa(kBias + 0x1004), 16U);
            EXPECT_EQ(index.cfa(kBias + 0x200f), 32U);
            EXPECT_EQ(index.cfa(kBias + 0x0fff), std::nullopt);
            EXPECT_EQ(index.cfa(kBias + 0x1010), std::nullopt);
            EXPECT_EQ(index.cfa(kBias + 0x2010), std::nullopt);
            EXPECT_EQ(index.cfa(0x1004), std::nullopt) << "a link-time address";
        }
    }
}

TEST(FrameIndex, refers_an_fde_to_its_own_cie) {
    DebugFrameBuilder builder;
    builder.cie().fde(0x1000, 16, {0});
    builder.initial = {0x0c, 7, 24, 0x90, 1};
    builder.cie().fde(0x2000, 16, {0});
    Index index;
    index.debug_frame(builder.section(kBias));
    EXPECT_EQ(index.cfa(kBias + 0x1000), 8U);
    EXPECT_EQ(index.cfa(kBias + 0x2000), 24U);
}

TEST(FrameIndex, moves_locations_that_a_program_sets_with_the_module) {
    DebugFrameBuilder builder;
    builder.cie().fde(0x1000, 64, Bytes{0x01} + le<std::uint64_t>(0x1020) + Bytes{0x0e, 16});
    Index index;
    index.debug_frame(builder.section(kBias));
    EXPECT_EQ(index.cfa(kBias + 0x101f), 8U);
    EXPECT_EQ(index.cfa(kBias + 0x1020), 16U);
}

TEST(FrameIndex, sorts_what_the_linker_did_not) {
    DebugFrameBuilder builder;
    builder.cie();
    for (std::uint64_t i = 0; i < 200; ++i) {
        const std::uint64_t place = i * 73 % 200;
        builder.fde(0x1000 + place * 32, 16, {0x0e, static_cast<std::uint8_t>(8 + place % 100)});
    }
    Index index;
    index.debug_frame(builder.section(kBias));
    for (std::uint64_t place = 0; place < 200; ++place) {
        ASSERT_EQ(index.cfa(kBias + 0x1000 + place * 32), 8 + place % 100);
        ASSERT_EQ(index.cfa(kBias + 0x1010 + place * 32), std::nullopt);
    }
}

TEST(FrameIndex, leaves_out_what_is_no_code_of_the_module) {
    DebugFrameBuilder builder;
    builder.cie()
        .fde(0, 0x2000, {0})               // The linker threw it away.
        .fde(0x1000, 0, {0})               // No code: it would hide what follows.
        .fde(0x1000, 16, {0x0e, 16})       //
        .fde(0xff000, 0x2000, {0})         // Beyond the module's end.
        .fde(~std::uint64_t{0}, 16, {0});  // Thrown away, too.
    Index index;
    index.debug_frame(builder.section(kBias));
    EXPECT_EQ(index.count(), 1U);
    EXPECT_EQ(index.cfa(kBias + 0x1000), 16U);
}

TEST(FrameIndex, passes_over_what_it_does_not_understand) {
    DebugFrameBuilder builder;
    builder.version = 4;
    builder.sizes = {4, 0};
    builder.cie().fde(0x1000, 16, {0});
    builder.sizes = {8, 2};
    builder.cie().fde(0x2000, 16, {0});
    builder.sizes = {8, 0};
    builder.augmentation = {'e', 'h', 0};
    builder.cie().fde(0x3000, 16, {0});
    builder.augmentation = {0};
    builder.version = 5;
    builder.cie().fde(0x4000, 16, {0});
    builder.version = 3;
    builder.cie().fde(0x5000, 16, {0});
    Index index;
    index.debug_frame(builder.section(kBias));
    EXPECT_EQ(index.count(), 1U);
    EXPECT_EQ(index.cfa(kBias + 0x5000), 8U);
}

TEST(FrameIndex, keeps_what_comes_before_damage) {
    DebugFrameBuilder builder;
    builder.cie().fde(0x1000, 16, {0});
    const std::size_t good = builder.bytes.size();
    builder.fde(0x2000, 16, {0});
    for (std::size_t size = good; size < builder.bytes.size(); ++size) {
        DebugFrameBuilder cut = builder;
        cut.bytes.resize(size);
        Index index;
        index.debug_frame(cut.section(kBias));
        ASSERT_EQ(index.count(), 1U) << size;
    }
    DebugFrameBuilder far_cie = builder;
    far_cie.bytes[good + 6] = 0x7f;
    Index index;
    index.debug_frame(far_cie.section(kBias));
    EXPECT_EQ(index.count(), 1U);
}

TEST(FrameIndex, finds_in_eh_frame_what_the_header_would_find) {
    CfiBuilder builder;
    for (std::int32_t i = 0; i < 50; ++i) {
        builder.fde(i * 32, 16 + static_cast<std::uint32_t>(i) % 17,
                    {0x43, 0x0e, static_cast<std::uint8_t>(16 + i)});
    }
    const Tables tables = builder.tables();
    Index index;
    index.eh_frame(eh_frame_of(builder), code_of(builder));
    EXPECT_EQ(index.count(), 50U);
    const Index none;
    for (std::uint64_t offset = 0; offset < 1632; ++offset) {
        const std::uint64_t pc = builder.pc(offset);
        ASSERT_EQ(index.cfa(pc), none.cfa(pc, tables)) << offset;
    }
}

TEST(FrameIndex, stands_in_for_a_header_without_a_table_that_can_be_searched) {
    CfiBuilder builder;
    builder.fde(0, 16, {0x0e, 16});
    const Tables tables = builder.tables();
    std::uint64_t entries = 0;
    EXPECT_TRUE(has_search_table(tables, entries));
    EXPECT_EQ(entries, 1U);
    Index index;
    index.eh_frame(eh_frame_of(builder), code_of(builder));
    const Index none;
    // The count left out, the table left out, pairs of eight bytes.
    for (const auto& [place, encoding] : {std::pair{2, 0xff}, {3, 0xff}, {3, 0x3c}}) {
        std::uint8_t& byte = builder.bytes()[place];
        const std::uint8_t before = byte;
        byte = static_cast<std::uint8_t>(encoding);
        EXPECT_FALSE(has_search_table(tables, entries));
        EXPECT_TRUE(may_need_index(tables, 100));
        EXPECT_EQ(none.cfa(builder.pc(4), tables), std::nullopt);
        EXPECT_EQ(index.cfa(builder.pc(4), tables), 16U);
        byte = before;
    }
}

TEST(FrameIndex, asks_debug_frame_only_where_eh_frame_says_nothing) {
    CfiBuilder builder;
    builder.fde(0x100, 16, {0x0e, 16});
    const Tables tables = builder.tables();
    DebugFrameBuilder debug;
    debug.cie().fde(0x100, 16, {0x0e, 64}).fde(0x200, 16, {0x0e, 32});
    for (const bool has_header : {true, false}) {
        Index index;
        index.debug_frame(debug.section(builder.pc(0)), code_of(builder));
        if (!has_header) {
            index.eh_frame(eh_frame_of(builder), code_of(builder));
        }
        const Tables header = has_header ? tables : Tables{};
        EXPECT_EQ(index.cfa(builder.pc(0x100), header), 16U);
        EXPECT_EQ(index.cfa(builder.pc(0x200), header), 32U);
        EXPECT_EQ(index.cfa(builder.pc(0x300), header), std::nullopt);
    }
}

TEST(FrameIndex, may_be_needed_where_few_entries_stand_for_much_code) {
    CfiBuilder builder;
    for (std::int32_t i = 0; i < 9; ++i) {
        builder.fde(i * 32, 16, {0});
    }
    const Tables tables = builder.tables();
    EXPECT_FALSE(may_need_index(tables, 9000));
    EXPECT_TRUE(may_need_index(tables, 27000));
    EXPECT_TRUE(may_need_index(Tables{}, 1000));
}

}  // namespace
}  // namespace sample::unwind
