// Looking for callers without rules on aarch64; the contract is in walk/guess.h.
//
// On aarch64 a saved return address does not say where its frame ends, so that nothing is scanned:
//
// 1. x30 follows a call, in code with rules, and is not what the frame record at x29 holds: a leaf.
// 2. x29 is a frame pointer as above.
//
// Where the caller's rule says how far its frame record is from its sp, sp is known again.
#include "unwind/walk/guess.h"

namespace sample::unwind {

namespace {

using Arch = arch::Aarch64;
using Known = BasicKnownRegisters<Arch>;
using Numbers = Arch::Numbers;

class Guesser {
public:
    Guesser(const ModuleTable& modules, StackMemory& memory) noexcept
        : modules_{modules}, memory_{memory} {}

    bool guess(Known& frame) noexcept {
        const std::uint64_t bp = frame.value.bp();
        if (!frame.knows(Numbers::kBp)) {
            return false;
        }
        std::uint64_t caller_bp = 0;
        std::uint64_t saved = 0;
        const bool has_record =
            bp >= frame.value.sp() && memory_.read(bp, caller_bp) && memory_.read(bp + 8, saved);
        saved = Arch::code_address(saved);
        if (frame.knows(Numbers::kReturn)) {
            const std::uint64_t link = Arch::code_address(frame.value.value[Numbers::kReturn]);
            if (link != saved && follows_call(link) && has_rule(link)) {
                return move(frame, link, frame.value.sp(), bp);
            }
        }
        if (!has_record || (caller_bp != 0 && caller_bp <= bp) || !is_return_address(saved)) {
            return false;
        }
        return move(frame, saved, bp + 16, caller_bp);
    }

private:
    /// `sp`: at or below the caller's.
    bool move(Known& frame, std::uint64_t pc, std::uint64_t sp, std::uint64_t bp) noexcept {
        frame.value.value[Numbers::kPc] = pc;
        frame.value.value[Numbers::kSp] = sp_by_record(pc, sp, bp);
        frame.value.value[Numbers::kBp] = bp;
        frame.known = Known::kFrame;
        return true;
    }

    /// The sp of the frame at a return address, from where its rules have its frame record, to
    /// which bp points; `least` where they don't say.
    [[nodiscard]] std::uint64_t sp_by_record(std::uint64_t return_address, std::uint64_t least,
                                             std::uint64_t bp) const noexcept {
        const std::uint64_t pc = return_address - 1;
        const Module* module = modules_.find(Pc{pc});
        cfi::BasicFrameRules<Arch> found;
        if (module == nullptr || cfi::find_rules(module->local_tables(), pc + module->image_delta,
                                                 found) != cfi::Found::yes) {
            return least;
        }
        const cfi::Rule record = found.rules.of(Numbers::kBp);
        if (found.rules.cfa.reg != Numbers::kSp || record.kind() != cfi::RuleKind::offset) {
            return least;
        }
        const std::uint64_t sp = bp - record.payload() - found.rules.cfa.value;
        return sp > least ? sp : least;
    }

    [[nodiscard]] bool is_return_address(std::uint64_t address) const noexcept {
        if (address < Arch::kUserBegin) {
            return false;
        }
        return modules_.find(Pc{address - 1}) == nullptr || follows_call(address);
    }

    [[nodiscard]] bool follows_call(std::uint64_t address) const noexcept {
        const std::uint64_t call = address - 4;
        const Module* module = modules_.find(Pc{call});
        if (module == nullptr || address % 4 != 0 || !module->code.contains(call)) {
            return false;
        }
        std::uint32_t word = 0;
        __builtin_memcpy(&word, reinterpret_cast<const void*>(call + module->image_delta),
                         sizeof(word));
        return Arch::is_call(word);
    }

    [[nodiscard]] bool has_rule(std::uint64_t return_address) const noexcept {
        const std::uint64_t pc = return_address - 1;
        const Module* module = modules_.find(Pc{pc});
        cfi::Fde fde;
        return module != nullptr && cfi::find_fde(module->local_tables(), pc + module->image_delta,
                                                  fde) == cfi::Found::yes;
    }

    const ModuleTable& modules_;
    StackMemory& memory_;
};

}  // namespace

template <>
GuessResult guess_caller(const ModuleTable& modules, const Module* /*module*/, bool /*leaf*/,
                         GuessHint& /*hint*/, Known& frame, StackMemory& memory) noexcept {
    return Guesser{modules, memory}.guess(frame) ? GuessResult::guessed : GuessResult::none;
}

template <>
bool may_follow_call<Arch>(const Module& module, std::uint64_t address) noexcept {
    const std::uint64_t call = address - 4;
    if (address % 4 != 0 || !module.code.contains(call)) {
        return true;
    }
    std::uint32_t word = 0;
    __builtin_memcpy(&word, reinterpret_cast<const void*>(call + module.image_delta), sizeof(word));
    return Arch::is_call(word);
}

template <>
cfi::Row row_of_stub<Arch>(const Module& module, std::uint64_t pc) noexcept {
    constexpr std::uint64_t kWord = sizeof(std::uint32_t);
    Arch::StubWords words{};
    std::uint64_t address = pc - Arch::kStubContext * kWord;
    for (std::uint32_t& word : words) {
        if (module.code.contains(address) && module.code.end - address >= kWord) {
            __builtin_memcpy(&word, reinterpret_cast<const void*>(address + module.image_delta),
                             kWord);
        }
        address += kWord;
    }
    cfi::Row::Fields fields;
    switch (Arch::stub_around(words)) {
        case Arch::Stub::entry:
            fields.kind = cfi::RowKind::link;
            return cfi::Row::pack(fields);
        case Arch::Stub::header:  // {x16, x30} pushed.
            fields.kind = cfi::RowKind::cfa_sp;
            fields.offset = 16;
            fields.offset2 = -1;
            return cfi::Row::pack(fields);
        default:
            return cfi::Row{cfi::RowKind::none};
    }
}

}  // namespace sample::unwind
