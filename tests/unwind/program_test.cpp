#include "tests/unwind/cfi_builder.h"
#include "unwind/cfi/row.h"
#include "unwind/cfi/rules.h"

#include <gtest/gtest.h>

#include <optional>

namespace sample::unwind::cfi {
namespace {

using testing::Bytes;
using testing::CfiBuilder;
using testing::le;
using testing::operator+;  // NOLINT(misc-unused-using-decls): used below

constexpr std::uint64_t kBx = Registers::kBx;
constexpr std::uint64_t kBp = Registers::kBp;

/// The rules at `offset` of a function with this program, or nothing if it is refused.
class Function {
public:
    explicit Function(const Bytes& program) {
        builder_.fde(0, 0x100000, program);
        tables_ = builder_.tables();
    }
    std::optional<Rules> at(std::uint64_t offset) {
        FrameRules found;
        return find_rules(tables_, builder_.pc(offset), found) == Found::yes
                   ? std::optional{found.rules}
                   : std::nullopt;
    }
    CfaRule cfa(std::uint64_t offset) { return at(offset).value_or(Rules{}).cfa; }
    Row row(std::uint64_t offset) {
        FrameRules found;
        return find_rules(tables_, builder_.pc(offset), found) == Found::yes
                   ? pack_rules(found, builder_.pc(offset))
                   : Row{};
    }

private:
    CfiBuilder builder_;
    Tables tables_;
};

Rule offset_rule(std::int64_t offset) {
    return Rule{RuleKind::offset, static_cast<std::uint64_t>(offset)};
}

TEST(Program, advances_by_every_kind_of_instruction) {
    Function function{Bytes{0x41, 0x0e, 16} +                                   // +1
                      Bytes{0x02, 200, 0x0e, 24} +                              // +200
                      Bytes{0x03} + le<std::uint16_t>(300) + Bytes{0x0e, 32} +  // +300
                      Bytes{0x04} + le<std::uint32_t>(70000) + Bytes{0x0e, 40}};
    EXPECT_EQ(function.cfa(0), (CfaRule{7, 8}));
    EXPECT_EQ(function.cfa(1), (CfaRule{7, 16}));
    EXPECT_EQ(function.cfa(200), (CfaRule{7, 16}));
    EXPECT_EQ(function.cfa(201), (CfaRule{7, 24}));
    EXPECT_EQ(function.cfa(500), (CfaRule{7, 24}));
    EXPECT_EQ(function.cfa(501), (CfaRule{7, 32}));
    EXPECT_EQ(function.cfa(70500), (CfaRule{7, 32}));
    EXPECT_EQ(function.cfa(70501), (CfaRule{7, 40}));
}

TEST(Program, begins_with_what_the_cie_says_whether_it_is_the_usual_or_not) {
    // rbp and the return address are changed at 1, and restored to what the CIE said at 2.
    const Bytes program = Bytes{0x41, 0x86, 2, 0x90, 3} + Bytes{0x41, 0xc6, 0xd0};
    const auto rules_at = [&](const Bytes& initial, std::uint64_t offset) {
        CfiBuilder builder;
        builder.initial = initial;
        builder.fde(0, 256, program);
        FrameRules found;
        EXPECT_EQ(find_rules(builder.tables(), builder.pc(offset), found), Found::yes);
        return found.rules;
    };
    const Bytes usual{0x0c, 7, 8, 0x90, 1, 0, 0};
    for (const Bytes& initial : {usual, Bytes{0x0c, 7, 8, 0x90, 1}, usual + Bytes{0}}) {
        for (const std::uint64_t offset : {0U, 2U}) {
            const Rules rules = rules_at(initial, offset);
            EXPECT_EQ(rules.cfa, (CfaRule{7, 8}));
            EXPECT_EQ(rules.of(Registers::kPc), offset_rule(-8));
            EXPECT_EQ(rules.of(kBp), Rule{});
            EXPECT_EQ(rules.of(kBx), Rule{});
        }
        EXPECT_EQ(rules_at(initial, 1).of(Registers::kPc), offset_rule(-24));
        EXPECT_EQ(rules_at(initial, 1).of(kBp), offset_rule(-16));
    }
    EXPECT_EQ(rules_at({0x0c, 6, 8, 0x90, 1, 0, 0}, 0).cfa, (CfaRule{6, 8}));
    EXPECT_EQ(rules_at({0x0c, 7, 8, 0x90, 2, 0, 0}, 0).of(Registers::kPc), offset_rule(-16));
    EXPECT_EQ(rules_at({0x0c, 7, 8, 0x90, 1, 0x0e, 16}, 0).cfa, (CfaRule{7, 16}));
}

TEST(Program, sets_a_location_outright) {
    CfiBuilder builder;
    builder.fde(0, 256, Bytes{0x01} + le<std::int32_t>(0) + Bytes{0x0e, 16});
    const Tables tables = builder.tables();
    Fde fde;
    ASSERT_EQ(find_fde(tables, builder.pc(0), fde), Found::yes);
    const std::uint64_t field = fde.program + 1;
    const auto distance = static_cast<std::int32_t>(builder.pc(100) - field);
    std::memcpy(reinterpret_cast<void*>(field), &distance, sizeof(distance));
    Rules rules;
    ASSERT_TRUE(run_program(fde, builder.pc(99), rules));
    EXPECT_EQ(rules.cfa, (CfaRule{7, 8}));
    ASSERT_TRUE(run_program(fde, builder.pc(100), rules));
    EXPECT_EQ(rules.cfa, (CfaRule{7, 16}));
}

TEST(Program, defines_the_cfa_in_every_way) {
    EXPECT_EQ(Function(Bytes{0x0c, 6, 32}).cfa(0), (CfaRule{6, 32}));
    EXPECT_EQ(Function(Bytes{0x0d, 10}).cfa(0), (CfaRule{10, 8}));
    EXPECT_EQ(Function(Bytes{0x12, 6, 0x7e}).cfa(0), (CfaRule{6, 16}));  // -2 * -8
    EXPECT_EQ(Function(Bytes{0x13, 0x7d}).cfa(0), (CfaRule{7, 24}));
    EXPECT_EQ(Function(Bytes{0x0f, 2, 0x77, 8}).cfa(0).reg, CfaRule::kExpression);
}

TEST(Program, gives_registers_every_kind_of_rule) {
    const auto rule = [](const Bytes& program, std::uint64_t reg) {
        return Function(program).at(0).value_or(Rules{}).of(reg);
    };
    EXPECT_EQ(rule({0x86, 2}, kBp), offset_rule(-16));
    EXPECT_EQ(rule({0x05, 6, 3}, kBp), offset_rule(-24));
    EXPECT_EQ(rule({0x11, 6, 0x7e}, kBp), offset_rule(16));
    EXPECT_EQ(rule({0x2f, 6, 2}, kBp), offset_rule(16));
    EXPECT_EQ(rule({0x14, 3, 4}, kBx), (Rule{RuleKind::val_offset, std::uint64_t(-32)}));
    EXPECT_EQ(rule({0x15, 3, 0x7f}, kBx), (Rule{RuleKind::val_offset, 8}));
    EXPECT_EQ(rule({0x07, 3}, kBx).kind(), RuleKind::undefined);
    EXPECT_EQ(rule({0x08, 3}, kBx).kind(), RuleKind::same);
    EXPECT_EQ(rule({0x09, 16, 5}, 16), (Rule{RuleKind::reg, 5}));
    EXPECT_EQ(rule({0x10, 6, 2, 0x76, 0}, kBp).kind(), RuleKind::expression);
    EXPECT_EQ(rule({0x16, 6, 2, 0x76, 0}, kBp).kind(), RuleKind::val_expression);
}

TEST(Program, keeps_rules_of_every_callee_saved_register_apart) {
    Function function{{0x83, 2, 0x86, 3, 0x8c, 4, 0x8d, 5, 0x8e, 6, 0x8f, 7, 0x80, 9}};
    const Rules rules = function.at(0).value_or(Rules{});
    EXPECT_EQ(rules.of(3), offset_rule(-16));
    EXPECT_EQ(rules.of(6), offset_rule(-24));
    EXPECT_EQ(rules.of(12), offset_rule(-32));
    EXPECT_EQ(rules.of(13), offset_rule(-40));
    EXPECT_EQ(rules.of(14), offset_rule(-48));
    EXPECT_EQ(rules.of(15), offset_rule(-56));
    EXPECT_EQ(rules.of(16), offset_rule(-8));
    EXPECT_EQ(rules.of(7), Rule{});
}

TEST(Program, remembers_and_restores_states_with_their_cfa) {
    Function function{{0x41, 0x0e, 16,   0x86, 2,        // push rbp
                       0x41, 0x0a, 0x0a,                 // remember twice
                       0x41, 0x0e, 8,    0xc6,           // pop rbp; restore rbp
                       0x41, 0x0b,                       // back
                       0x41, 0x0c, 6,    16,   0x06, 6,  // restore_extended rbp
                       0x41, 0x0b, 0x2e, 0x10, 0x00}};   // back; args_size; nop
    EXPECT_EQ(function.cfa(3), (CfaRule{7, 8}));
    EXPECT_EQ(function.at(3).value_or(Rules{}).of(kBp), Rule{});
    EXPECT_EQ(function.cfa(4), (CfaRule{7, 16}));
    EXPECT_EQ(function.at(4).value_or(Rules{}).of(kBp), offset_rule(-16));
    EXPECT_EQ(function.cfa(5), (CfaRule{6, 16}));
    EXPECT_EQ(function.at(5).value_or(Rules{}).of(kBp), Rule{});
    EXPECT_EQ(function.cfa(6), (CfaRule{7, 16}));
}

TEST(Program, refuses_what_it_cannot_trust) {
    EXPECT_FALSE(Function(Bytes{0x0b}).at(0));             // restore without remember
    EXPECT_FALSE(Function(Bytes{0x0e}).at(0));             // cut off
    EXPECT_FALSE(Function(Bytes{0x0f, 100, 0x77}).at(0));  // a block longer than the program
    EXPECT_FALSE(Function(Bytes{0x17}).at(0));             // an unknown instruction
    EXPECT_FALSE(Function(Bytes{0x0f, 2, 0x77, 8, 0x0e, 16}).at(0));  // offset of an expression
    EXPECT_FALSE(Function(Bytes(kMaxRemembered + 1, 0x0a)).at(0));
    EXPECT_TRUE(Function(Bytes(kMaxRemembered, 0x0a)).at(0));
}

TEST(Row, packs_what_compilers_emit) {
    const Row entry = Function(Bytes{}).row(0);
    EXPECT_EQ(entry.kind(), RowKind::cfa_sp);
    EXPECT_EQ(entry.offset(), 8U);
    EXPECT_EQ(entry.bp(), BpRule::same);

    const Row pushed = Function({0x0e, 16, 0x86, 2, 0x0d, 6}).row(0);
    EXPECT_EQ(pushed.kind(), RowKind::cfa_bp);
    EXPECT_EQ(pushed.offset(), 16U);
    EXPECT_EQ(pushed.bp(), BpRule::at_cfa);
    EXPECT_EQ(pushed.bp_offset(), std::uint64_t(-16));
}

TEST(Row, packs_a_realigned_frame) {
    // cfa = *(rbp - 8); rbp' at *(rbp + 0).
    const Row row = Function({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0}).row(0);
    EXPECT_EQ(row.kind(), RowKind::deref);
    EXPECT_EQ(row.reg(), kBp);
    EXPECT_EQ(row.offset(), std::uint64_t(-8));
    EXPECT_EQ(row.bp(), BpRule::at_bp);
    EXPECT_EQ(row.bp_offset(), 0U);
}

TEST(Row, packs_a_stack_pointer_saved_in_the_frame) {
    // cfa = *(rsp + 200) + 8, as in assembly of OpenSSL.
    const Row row = Function({0x0f, 6, 0x77, 0xc8, 0x01, 0x06, 0x23, 8}).row(0);
    EXPECT_EQ(row.kind(), RowKind::deref);
    EXPECT_EQ(row.reg(), Registers::kSp);
    EXPECT_EQ(row.offset(), 200U);
    EXPECT_EQ(row.offset2(), 8U);
}

TEST(Row, knows_a_lazy_plt_by_the_pc) {
    Function plt{{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}};
    for (std::uint64_t offset = 0; offset < 32; ++offset) {
        const Row row = plt.row(offset);
        ASSERT_EQ(row.kind(), RowKind::cfa_sp);
        // The buffer's code begins at a multiple of 8, not of 16.
        const Row next = plt.row(offset + 16);
        EXPECT_EQ(row.offset(), next.offset());
    }
    std::uint64_t pushed = 0;
    for (std::uint64_t offset = 0; offset < 16; ++offset) {
        pushed += plt.row(offset).offset() == 16 ? 1 : 0;
    }
    EXPECT_EQ(pushed, 5U);  // 11 to 15.
}

TEST(Row, tells_the_root_and_what_it_cannot_hold) {
    EXPECT_EQ(Function({0x07, 16}).row(0).kind(), RowKind::root);
    EXPECT_EQ(Function({0x09, 16, 5}).row(0).kind(), RowKind::complex);  // ra in rdi
    EXPECT_EQ(Function({0x09, 6, 0}).row(0).kind(), RowKind::complex);   // rbp in rax
    EXPECT_EQ(Function({0x14, 7, 2}).row(0).kind(), RowKind::complex);   // rsp moved
    EXPECT_EQ(Function({0x90, 2}).row(0).kind(), RowKind::complex);      // ra at -16
    EXPECT_EQ(Function({0x0c, 12, 16}).row(0).kind(), RowKind::cfa_register);
    EXPECT_EQ(Function({0x0e, 0x80, 0x80, 0x80, 0x04}).row(0).kind(),
              RowKind::complex);                                               // 8 MiB
    EXPECT_EQ(Function({0x0e, 0x80, 0x80, 0x40}).row(0).offset(), 0x100000U);  // 1 MiB
    EXPECT_EQ(Function({0x0c, 40, 16}).row(0).kind(), RowKind::complex);
}

}  // namespace
}  // namespace sample::unwind::cfi
