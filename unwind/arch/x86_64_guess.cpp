// Looking for callers without rules; the contract is in the header.
#include "unwind/walk/guess.h"
#include "unwind/walk/step.h"

namespace sample::unwind {

namespace {

using cfi::Row;
using cfi::RowKind;

// A short function may have rules with a hole in them (clone3 after its system call).
constexpr std::uint64_t kShortFunctionBytes = 128;

// The longest call instruction: ff /2 with a SIB byte and a 32-bit displacement.
constexpr std::uint64_t kLongestCall = 7;

bool is_user_address(std::uint64_t address) noexcept {
    return address >= arch::X64::kUserBegin && address < arch::X64::kUserEnd;
}

/// Code bytes of a module.
class Code {
public:
    explicit Code(const Module& module) noexcept : module_{module} {}

    /// All zero where [address, address + sizeof(T)) is not in the module's code.
    template <class T>
    [[nodiscard]] T at(std::uint64_t address) const noexcept {
        T value{};
        if (address >= module_.code.begin && address < module_.code.end &&
            module_.code.end - address >= sizeof(T)) {
            __builtin_memcpy(&value, reinterpret_cast<const void*>(address + module_.image_delta),
                             sizeof(T));
        }
        return value;
    }
    [[nodiscard]] std::uint8_t byte(std::uint64_t address) const noexcept {
        return at<std::uint8_t>(address);
    }
    /// What a 32-bit displacement at `address`, which ends its instruction, points to.
    [[nodiscard]] std::uint64_t relative(std::uint64_t address) const noexcept {
        return address + 4 + static_cast<std::uint64_t>(std::int64_t{at<std::int32_t>(address)});
    }

private:
    const Module& module_;
};

enum class CallKind : std::uint8_t {
    none,
    direct,    ///< To `target`.
    slot,      ///< To what the word at `target` holds.
    computed,  ///< Through a register or other memory.
};
struct Call {
    CallKind kind = CallKind::none;
    std::uint64_t target = 0;
};

/// The call instruction that ends at `end`. Source: Intel SDM volume 2, CALL and table 2-2.
Call call_before(const Code& code, std::uint64_t end) noexcept {
    constexpr std::uint8_t kCallRelative = 0xe8;
    constexpr std::uint8_t kGroup5 = 0xff;
    if (code.byte(end - 5) == kCallRelative) {
        return {CallKind::direct, code.relative(end - 4)};
    }
    for (std::uint64_t length = 2; length <= kLongestCall; ++length) {
        const std::uint8_t modrm = code.byte(end - length + 1);
        if (code.byte(end - length) != kGroup5 || (modrm >> 3 & 7) != 2) {
            continue;
        }
        const unsigned mod = modrm >> 6;
        const unsigned rm = modrm & 7;
        const bool disp32 = mod == 2 || (mod == 0 && rm == 5);
        const std::uint64_t sib = mod != 3 && rm == 4 ? 1 : 0;
        const std::uint64_t base32 =
            sib == 1 && mod == 0 && (code.byte(end - length + 2) & 7) == 5 ? 4 : 0;
        if (length == 2 + sib + base32 + (disp32 ? 4U : mod == 1 ? 1U : 0U)) {
            return mod == 0 && rm == 5 ? Call{CallKind::slot, code.relative(end - 4)}
                                       : Call{CallKind::computed, 0};
        }
    }
    return {};
}

struct Candidate {
    std::uint64_t pc = 0;
    std::uint64_t sp = 0;
    std::uint64_t bp = 0;
};

enum class Evidence : std::uint8_t {
    none,    ///< Nothing, or something against it.
    weak,    ///< A call that may have led anywhere.
    proved,  ///< A call to code without rules in the callee's module.
};

class Guesser {
public:
    Guesser(const ModuleTable& modules, const Module* module, bool leaf,
            const KnownRegisters& frame, StackMemory& memory) noexcept
        : modules_{modules}, module_{module}, leaf_{leaf}, frame_{frame}, memory_{memory} {}

    bool guess(GuessHint& hint, Candidate& out) noexcept {
        Candidate by_pointer;
        const Evidence pointer = follow_frame_pointer(by_pointer);
        if (pointer == Evidence::proved || (pointer == Evidence::weak && hint.is_frame_pointer())) {
            out = by_pointer;
            hint = GuessHint::frame_pointer();
            return true;
        }
        const std::uint64_t sp = frame_.value.sp();
        if (module_ != nullptr) {
            // A leaf may not have a frame yet: then rbp is its caller's.
            const Range range{
                pointer == Evidence::none ? UINT64_MAX : frame_.value.bp(),
                pointer == Evidence::none || leaf_ ? Evidence::weak : Evidence::proved};
            if ((hint.is_scanned() && scan(sp + hint.offset(), 1, range, out)) ||
                scan(sp, kScannedWords, range, out)) {
                hint = GuessHint::scanned(out.sp - 8 - sp);
                return true;
            }
        }
        if (pointer == Evidence::none) {
            return false;
        }
        out = by_pointer;
        hint = GuessHint::frame_pointer();
        return true;
    }

private:
    Evidence follow_frame_pointer(Candidate& out) noexcept {
        const std::uint64_t bp = frame_.value.bp();
        if (!frame_.knows(Registers::kBp) || bp < frame_.value.sp() || !memory_.read(bp, out.bp) ||
            !memory_.read(bp + 8, out.pc) || !is_user_address(out.pc) ||
            (out.bp != 0 && out.bp <= bp + 8)) {
            return Evidence::none;
        }
        out.sp = bp + 16;
        return modules_.find(Pc{out.pc - 1}) == nullptr ? Evidence::weak : evidence_at(out.pc);
    }

    struct Range {
        std::uint64_t end;
        Evidence least;
    };
    /// The first of `words` words, from `begin`, for which there is evidence.
    bool scan(std::uint64_t begin, unsigned words, Range range, Candidate& out) noexcept {
        for (unsigned word = 0; word < words; ++word) {
            const std::uint64_t slot = begin + std::uint64_t{8} * word;
            if (slot >= range.end || !memory_.read(slot, out.pc)) {
                return false;
            }
            out.sp = slot + 8;
            out.bp = frame_.value.bp();
            const Evidence evidence =
                is_user_address(out.pc) ? evidence_at(out.pc) : Evidence::none;
            if (evidence == Evidence::proved ||
                (evidence == Evidence::weak && range.least == Evidence::weak &&
                 is_called_rightly(out))) {
                return true;
            }
        }
        return false;
    }

    /// What the call before a return address in a module says.
    Evidence evidence_at(std::uint64_t return_address) noexcept {
        const Module* caller = modules_.find(Pc{return_address - 1});
        if (caller == nullptr) {
            return Evidence::none;
        }
        const Call call = call_before(Code{*caller}, return_address);
        if (call.kind == CallKind::none || call.kind == CallKind::computed) {
            return call.kind == CallKind::none ? Evidence::none : Evidence::weak;
        }
        const std::uint64_t target = resolve(call);
        if (module_ == nullptr) {
            // Code made at run time is jumped to by stubs, which have no rules either.
            return caller->code.contains(target) && !has_rule(*caller, target) ? Evidence::weak
                                                                               : Evidence::none;
        }
        return module_->code.contains(target) && (!has_rule(*module_, target) ||
                                                  frame_.value.pc() - target < kShortFunctionBytes)
                   ? Evidence::proved
                   : Evidence::none;
    }

    /// Whether the frame at a return address, by its rule, was called by a call to its function.
    bool is_called_rightly(const Candidate& frame) noexcept {
        const Module& module = *modules_.find(Pc{frame.pc - 1});
        const std::uint64_t pc = frame.pc - 1 + module.image_delta;
        cfi::FrameRules found;
        cfi::Fde fde;
        if (cfi::find_rules(module.local_tables(), pc, found) != cfi::Found::yes ||
            cfi::find_fde(module.local_tables(), pc, fde) != cfi::Found::yes) {
            return false;
        }
        const Row row = cfi::pack_rules(found, pc);
        if (row.kind() == RowKind::root) {
            return true;
        }
        KnownRegisters caller_frame;
        caller_frame.set(Registers::kPc, frame.pc);
        caller_frame.set(Registers::kSp, frame.sp);
        caller_frame.set(Registers::kBp, frame.bp);
        if (!cfi::is_equation(row.kind()) ||
            step_by_row(row, caller_frame, memory_) != Step::taken) {
            return false;
        }
        const std::uint64_t above = caller_frame.value.pc();
        const Module* caller = is_user_address(above) ? modules_.find(Pc{above - 1}) : nullptr;
        if (caller == nullptr) {
            return false;
        }
        const Call call = call_before(Code{*caller}, above);
        return call.kind == CallKind::computed ||
               (call.kind != CallKind::none && resolve(call) == fde.pc_begin - module.image_delta);
    }

    /// Where a direct call or one through a slot leads, past a PLT stub. 0: unknown.
    std::uint64_t resolve(const Call& call) noexcept {
        if (call.kind == CallKind::slot) {
            return slot_value(call.target);
        }
        const Module* module = modules_.find(Pc{call.target});
        if (module == nullptr) {
            return 0;
        }
        constexpr std::uint32_t kEndbr64 = 0xfa1e0ff3;
        constexpr std::uint8_t kBnd = 0xf2;
        constexpr std::uint16_t kJumpSlot = 0x25ff;
        const Code code{*module};
        std::uint64_t at = call.target;
        at += code.at<std::uint32_t>(at) == kEndbr64 ? 4 : 0;
        at += code.byte(at) == kBnd ? 1 : 0;
        return code.at<std::uint16_t>(at) == kJumpSlot ? slot_value(code.relative(at + 2))
                                                       : call.target;
    }

    /// The word of a global offset table; 0 if it cannot be read.
    std::uint64_t slot_value(std::uint64_t slot) noexcept {
        std::uint64_t value = 0;
        return memory_.read(slot, value) ? value : 0;
    }

    static bool has_rule(const Module& module, std::uint64_t pc) noexcept {
        cfi::Fde fde;
        return cfi::find_fde(module.local_tables(), pc + module.image_delta, fde) != cfi::Found::no;
    }

    const ModuleTable& modules_;
    const Module* module_;  ///< That of the frame, or null.
    bool leaf_;
    const KnownRegisters& frame_;
    StackMemory& memory_;
};

}  // namespace

bool guess_caller(const ModuleTable& modules, const Module* module, bool leaf, GuessHint& hint,
                  KnownRegisters& frame, StackMemory& memory) noexcept {
    Candidate caller;
    if (!Guesser{modules, module, leaf, frame, memory}.guess(hint, caller)) {
        return false;
    }
    frame.value.value[Registers::kPc] = caller.pc;
    frame.value.value[Registers::kSp] = caller.sp;
    frame.value.value[Registers::kBp] = caller.bp;
    frame.known = KnownRegisters::kFrame;
    return true;
}

}  // namespace sample::unwind
