// Compares our rules with libdw's for many pcs of real binaries.
//
//     cfi_oracle [--stride N] FILE...
//
// For every FDE of each file, at its first and last byte, and at every N-th byte between (default
// 7), the rules of the CFA, the return address, rbp, rsp and the other callee-saved registers are
// found by both, and written in one notation. FDEs come from .eh_frame_hdr, or from our index of
// .eh_frame, and, where those cover nothing, from our index of .debug_frame. Prints the share that
// agrees, a line for each class of difference, and what kinds of rows came out. Exits 1 if any file
// agrees in less than 99.99 %, or has no FDE.
#include "unwind/cfi/byte_reader.h"
#include "unwind/cfi/row.h"
#include "unwind/host/elf_image.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace sample;          // NOLINT(google-build-using-namespace): a program of one file
using namespace sample::unwind;  // NOLINT(google-build-using-namespace)

constexpr std::array<const char*, 12> kRowNames{"empty", "none",   "unsupported", "root",
                                                "start", "cfa_sp", "cfa_bp",      "cfa_register",
                                                "deref", "signal", "complex",     "link"};

// The notation: "r7+16" a register plus an offset, "[cfa-16]" a saved value, "cfa+0", "same",
// "undefined", "r5", and "expr:" with the operations in hexadecimal.

std::string signed_text(std::int64_t value) {
    return (value < 0 ? "" : "+") + std::to_string(value);
}

std::string hex_byte(std::uint64_t value) {
    std::array<char, 4> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(value & 0xff));
    return hex.data();
}

std::string our_block(std::uint64_t block) {
    cfi::ByteReader length{block, block + 10};
    const std::uint64_t size = length.uleb();
    std::string text;
    for (std::uint64_t i = 0; i < size; ++i) {
        text += hex_byte(*reinterpret_cast<const std::uint8_t*>(length.position() + i));
    }
    return text;
}

std::string our_cfa(const cfi::Rules& rules) {
    if (rules.cfa.reg == cfi::CfaRule::kExpression) {
        return "expr:" + our_block(rules.cfa.value);
    }
    return "r" + std::to_string(rules.cfa.reg) +
           signed_text(static_cast<std::int64_t>(rules.cfa.value));
}

std::string our_rule(const cfi::Rule& rule, std::uint64_t reg) {
    switch (rule.kind()) {
        case cfi::RuleKind::undefined:
            return "undefined";
        case cfi::RuleKind::same:
            return "same";
        case cfi::RuleKind::offset:
            return "[cfa" + signed_text(rule.signed_payload()) + "]";
        case cfi::RuleKind::val_offset:
            return "cfa" + signed_text(rule.signed_payload());
        case cfi::RuleKind::reg:
            return "r" + std::to_string(rule.payload());
        case cfi::RuleKind::expression:
            return "[expr:" + our_block(rule.payload()) + "]";
        case cfi::RuleKind::val_expression:
            return "expr:" + our_block(rule.payload());
        default:
            return reg == Registers::kSp ? "cfa+0" : reg == Registers::kPc ? "[cfa-8]" : "same";
    }
}

std::string hex_sleb(std::int64_t value) {
    std::string text;
    for (;;) {
        const auto low = static_cast<std::uint64_t>(value) & 0x7f;
        value >>= 7;
        if ((value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40) != 0)) {
            return text + hex_byte(low);
        }
        text += hex_byte(low | 0x80);
    }
}

std::string hex_uleb(std::uint64_t value) {
    std::string text;
    for (; value >= 0x80; value >>= 7) {
        text += hex_byte((value & 0x7f) | 0x80);
    }
    return text + hex_byte(value);
}

/// The bytes that libdw decoded, as far as frame expressions use operations.
std::string their_operations(const Dwarf_Op* ops, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        const Dwarf_Op& op = ops[i];
        text += hex_byte(op.atom);
        if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
            text += hex_sleb(static_cast<std::int64_t>(op.number));
        } else if (op.atom == DW_OP_plus_uconst) {
            text += hex_uleb(op.number);
        }
    }
    return text;
}

std::string their_cfa(Dwarf_Frame* frame) {
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_cfa(frame, &ops, &count) != 0) {
        return "error";
    }
    if (count == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
        return "r" + std::to_string(ops[0].atom - DW_OP_breg0) +
               signed_text(static_cast<std::int64_t>(ops[0].number));
    }
    if (count == 1 && ops[0].atom == DW_OP_bregx) {
        return "r" + std::to_string(ops[0].number) +
               signed_text(static_cast<std::int64_t>(ops[0].number2));
    }
    return "expr:" + their_operations(ops, count);
}

std::string their_rule(Dwarf_Frame* frame, int reg) {
    std::array<Dwarf_Op, 3> memory{};
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_register(frame, reg, memory.data(), &ops, &count) != 0) {
        return "error";
    }
    if (count == 0) {
        return ops == nullptr ? "same" : "undefined";
    }
    const bool is_value = ops[count - 1].atom == DW_OP_stack_value;
    count -= is_value ? 1 : 0;
    std::string text;
    if (count == 1 && (ops[0].atom == DW_OP_regx || ops[0].atom <= DW_OP_reg31) &&
        ops[0].atom >= DW_OP_reg0) {
        return "r" +
               std::to_string(ops[0].atom == DW_OP_regx ? ops[0].number : ops[0].atom - DW_OP_reg0);
    }
    if (ops[0].atom == DW_OP_call_frame_cfa && count <= 2 &&
        (count == 1 || ops[1].atom == DW_OP_plus_uconst)) {
        const auto offset = static_cast<std::int64_t>(count == 2 ? ops[1].number : 0);
        text = "cfa" + signed_text(offset);
    } else {
        // An expression rule starts with the CFA on the stack, which libdw spells out.
        const std::size_t skip = ops[0].atom == DW_OP_call_frame_cfa ? 1 : 0;
        text = "expr:" + their_operations(ops + skip, count - skip);
    }
    return is_value ? text : "[" + text + "]";
}

struct Tally {
    std::uint64_t fdes = 0;
    std::uint64_t pcs = 0;
    std::uint64_t equal = 0;
    std::map<std::string, std::uint64_t> differences;
    std::array<std::uint64_t, kRowNames.size()> kinds{};
};

struct Freed {
    void operator()(Dwarf_Frame* frame) const noexcept {
        std::free(frame);  // NOLINT(cppcoreguidelines-no-malloc): libdw's contract
    }
};

/// One line naming how the two differ, with the places' numbers left in; empty if they agree.
std::string difference(const cfi::FrameRules& ours, Dwarf_Frame* theirs) {
    bool is_signal = false;
    dwarf_frame_info(theirs, nullptr, nullptr, &is_signal);
    if (is_signal != ours.signal_frame) {
        return "signal frame or not";
    }
    if (const std::string a = our_cfa(ours.rules), b = their_cfa(theirs); a != b) {
        return "cfa: ours " + a + ", libdw " + b;
    }
    for (const std::uint64_t reg : cfi::Rules::kRegisters) {
        const std::string a = our_rule(ours.rules.of(reg), reg);
        const std::string b = their_rule(theirs, static_cast<int>(reg));
        // What no instruction mentions, libdw calls undefined; by the psABI it is unchanged.
        const bool both_silent = ours.rules.of(reg) == cfi::Rule{} && b == "undefined";
        if (a != b && !both_silent) {
            return std::string{"r"}
                .append(std::to_string(reg))
                .append(": ours ")
                .append(a)
                .append(", libdw ")
                .append(b);
        }
    }
    return {};
}

void compare_at(const cfi::Tables& tables, std::uint64_t delta, std::uint64_t address,
                Dwarf_CFI* cfi, Tally& tally) {
    Dwarf_Frame* raw = nullptr;
    const bool theirs_found = dwarf_cfi_addrframe(cfi, address, &raw) == 0;
    const std::unique_ptr<Dwarf_Frame, Freed> theirs{raw};
    cfi::FrameRules ours;
    const cfi::Found found = cfi::find_rules(tables, address + delta, ours);
    ++tally.pcs;
    std::string why;
    if ((found == cfi::Found::yes) != theirs_found) {
        why = theirs_found ? "ours finds nothing (" + std::to_string(static_cast<int>(found)) + ")"
                           : std::string{"libdw finds nothing: "} + dwarf_errmsg(-1);
    } else if (theirs_found) {
        why = difference(ours, theirs.get());
        ++tally.kinds[static_cast<std::size_t>(cfi::pack_rules(ours, address + delta).kind())];
    }
    if (why.empty()) {
        ++tally.equal;
    } else {
        ++tally.differences[why];
    }
}

/// The FDEs' ranges, by the search table itself.
template <class Visit>
void for_each_fde(const cfi::Tables& tables, Visit visit) {
    std::uint64_t count = 0;
    if (!cfi::has_search_table(tables, count)) {
        return;
    }
    cfi::ByteReader header{tables.header + 12, tables.header + tables.header_size};
    for (std::uint64_t i = 0; i < count; ++i) {
        header.skip(4);
        const auto offset = static_cast<std::int64_t>(header.fixed<std::int32_t>());
        cfi::Fde fde;
        if (header.ok() &&
            cfi::parse_fde(tables, tables.header + static_cast<std::uint64_t>(offset), fde) ==
                cfi::Found::yes) {
            visit(fde);
        }
    }
}

template <class Visit>
void for_each_fde(const cfi::IndexedSection& indexed, Visit visit) {
    const std::span entries{reinterpret_cast<const cfi::IndexEntry*>(indexed.entries),
                            indexed.count};
    for (const cfi::IndexEntry& entry : entries) {
        const std::uint64_t at = indexed.section.begin + static_cast<std::uint32_t>(entry.fde);
        cfi::Fde fde;
        if (cfi::parse_fde(indexed.section, at, fde) == cfi::Found::yes) {
            visit(fde);
        }
    }
}

bool report(const std::string& path, const Tally& tally) {
    const double share =
        tally.pcs == 0 ? 0 : static_cast<double>(tally.equal) / static_cast<double>(tally.pcs);
    std::printf("%s: %lu FDEs, %lu pcs, %.5f %% equal\n  rows:", path.c_str(), tally.fdes,
                tally.pcs, 100 * share);
    for (std::size_t kind = 0; kind < kRowNames.size(); ++kind) {
        if (tally.kinds[kind] != 0) {
            std::printf(" %s %lu", kRowNames[kind], tally.kinds[kind]);
        }
    }
    std::printf("\n");
    unsigned lines = 0;
    for (const auto& [why, count] : tally.differences) {
        if (++lines <= 20) {
            std::printf("  %8lu  %s\n", count, why.c_str());
        }
    }
    return share >= 0.9999 && tally.fdes != 0;
}

/// What libdw knows of a file's frames; either may be null.
struct Theirs {
    explicit Theirs(const std::string& path)
        : fd{open(path.c_str(), O_RDONLY | O_CLOEXEC)},
          elf{elf_begin(fd, ELF_C_READ_MMAP, nullptr)},
          eh_frame{elf == nullptr ? nullptr : dwarf_getcfi_elf(elf)},
          dwarf{elf == nullptr ? nullptr : dwarf_begin_elf(elf, DWARF_C_READ, nullptr)},
          debug_frame{dwarf == nullptr ? nullptr : dwarf_getcfi(dwarf)} {}
    ~Theirs() {
        dwarf_cfi_end(eh_frame);
        dwarf_end(dwarf);  // Takes debug_frame with it.
        elf_end(elf);
        close(fd);
    }
    Theirs(const Theirs&) = delete;
    Theirs& operator=(const Theirs&) = delete;

    int fd;
    Elf* elf;
    Dwarf_CFI* eh_frame;
    Dwarf* dwarf;
    Dwarf_CFI* debug_frame;
};

bool compare_file(const std::string& path, std::uint64_t stride) {
    auto image = ElfImage::map(path);
    if (!image) {
        std::fprintf(stderr, "%s: %s\n", path.c_str(), image.error().message().c_str());
        return false;
    }
    const Theirs theirs{path};
    const Module module = image->module_at(0);
    const cfi::Tables tables = module.local_tables();
    const std::uint64_t delta = module.image_delta;
    Tally tally;
    const auto compare = [&](const cfi::Fde& fde, Dwarf_CFI* cfi) {
        ++tally.fdes;
        for (std::uint64_t pc = fde.pc_begin; pc < fde.pc_end; pc += stride) {
            compare_at(tables, delta, pc - delta, cfi, tally);
        }
        compare_at(tables, delta, fde.pc_end - 1 - delta, cfi, tally);
    };
    const auto compare_eh_frame = [&](const cfi::Fde& fde) { compare(fde, theirs.eh_frame); };
    for_each_fde(tables, compare_eh_frame);
    if (tables.index != nullptr) {
        for_each_fde(tables.index->eh_frame, compare_eh_frame);
        for_each_fde(tables.index->debug_frame, [&](const cfi::Fde& fde) {
            cfi::Fde first;
            // What .eh_frame covers too is found there.
            if (cfi::find_fde(tables, fde.pc_begin, first) == cfi::Found::yes &&
                first.address_bias == delta) {
                compare(fde, theirs.debug_frame);
            }
        });
    }
    return report(path, tally);
}

}  // namespace

int main(int argc, char** argv) {
    elf_version(EV_CURRENT);
    std::vector<std::string_view> files(argv + 1, argv + argc);
    std::uint64_t stride = 7;
    if (files.size() >= 2 && files[0] == "--stride") {
        std::from_chars(files[1].data(), files[1].data() + files[1].size(), stride);
        files.erase(files.begin(), files.begin() + 2);
    }
    if (files.empty() || stride == 0) {
        std::fprintf(stderr, "usage: cfi_oracle [--stride N] FILE...\n");
        return 2;
    }
    bool all_agree = true;
    for (const std::string_view file : files) {
        all_agree = compare_file(std::string{file}, stride) && all_agree;
    }
    return all_agree ? 0 : 1;
}
