// Looking for callers without rules; the contract is in the header.
#include "unwind/walk/guess.h"
#include "unwind/walk/step.h"

namespace sample::unwind {

namespace {

using cfi::Row;
using cfi::RowKind;

// A short function may have rules with a hole in them (clone3 after its system call).
constexpr std::uint64_t kShortFunctionBytes = 128;

constexpr std::uint64_t kFunctionBytes = 65536;

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

/// The slot that a PLT stub at `pc` jumps through: jmp *slot(%rip), perhaps behind endbr64 and with
/// a bnd prefix. 0: it is none.
std::uint64_t stub_slot(const Code& code, std::uint64_t pc) noexcept {
    constexpr std::uint32_t kEndbr64 = 0xfa1e0ff3;
    constexpr std::uint8_t kBnd = 0xf2;
    constexpr std::uint16_t kJumpSlot = 0x25ff;
    pc += code.at<std::uint32_t>(pc) == kEndbr64 ? 4 : 0;
    pc += code.byte(pc) == kBnd ? 1 : 0;
    return code.at<std::uint16_t>(pc) == kJumpSlot ? code.relative(pc + 2) : 0;
}

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

/// The length of `call *operand` without prefixes, by its ModRM byte and the one behind.
unsigned computed_call_bytes(unsigned modrm, unsigned sib) noexcept {
    const unsigned mod = modrm >> 6;
    const unsigned rm = modrm & 7;
    if (mod == 3) {
        return 2;
    }
    const bool has_sib = rm == 4;
    const bool no_base = mod == 0 && (has_sib ? (sib & 7) == 5 : rm == 5);
    const unsigned displacement = mod == 2 || no_base ? 4 : mod;
    return (has_sib ? 3 : 2) + displacement;
}

/// The call instruction that ends at `end`. Source: Intel SDM volume 2, CALL and table 2-2.
Call call_before(const Code& code, std::uint64_t end) noexcept {
    constexpr std::uint8_t kCallRelative = 0xe8;
    constexpr std::uint8_t kGroup5 = 0xff;
    if (code.byte(end - 5) == kCallRelative) {
        return {CallKind::direct, code.relative(end - 4)};
    }
    for (std::uint64_t length = 2; length <= kLongestCall; ++length) {
        constexpr std::uint8_t kOperation = 0x38;
        constexpr std::uint8_t kCall = 0x10;
        constexpr std::uint8_t kRelativeSlot = 0x15;
        const std::uint8_t modrm = code.byte(end - length + 1);
        if (code.byte(end - length) == kGroup5 && (modrm & kOperation) == kCall &&
            length == computed_call_bytes(modrm, code.byte(end - length + 2))) {
            return modrm == kRelativeSlot ? Call{CallKind::slot, code.relative(end - 4)}
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

/// What speaks for a return address.
struct Evidence {
    enum class Kind : std::uint8_t {
        none,    ///< Nothing, or something against it.
        weak,    ///< A call that may have led anywhere.
        proved,  ///< A call to code without rules, shortly before the callee's pc.
    };
    Kind kind = Kind::none;
    std::uint64_t target = 0;  ///< Where the call leads; 0: unknown.
};

class Guesser {
public:
    Guesser(const ModuleTable& modules, const Module* module, bool leaf,
            const KnownRegisters& frame, StackMemory& memory) noexcept
        : modules_{modules}, module_{module}, leaf_{leaf}, frame_{frame}, memory_{memory} {}

    bool guess(GuessHint& hint, Candidate& out) noexcept {
        if (module_ != nullptr && leaf_ && is_about_to_leave() && take(frame_.value.sp(), out) &&
            evidence_at(out).kind != Evidence::Kind::none) {
            return true;
        }
        Candidate by_pointer;
        const Evidence pointer = follow_frame_pointer(by_pointer);
        if (pointer.kind == Evidence::Kind::proved ||
            (pointer.kind == Evidence::Kind::weak && hint.is_frame_pointer())) {
            out = by_pointer;
            hint = GuessHint::frame_pointer();
            return true;
        }
        const bool has_pointer = pointer.kind != Evidence::Kind::none;
        // A leaf may not have a frame yet: then rbp is its caller's.
        const Range range{has_pointer ? frame_.value.bp() : UINT64_MAX, !has_pointer || leaf_};
        if (module_ != nullptr && scan(hint, range, out)) {
            hint = GuessHint::scanned(out.sp - 8 - frame_.value.sp());
            return true;
        }
        if (!has_pointer) {
            return false;
        }
        out = by_pointer;
        hint = GuessHint::frame_pointer();
        return true;
    }

private:
    /// At `ret`, or at a jump through a slot as a PLT stub has it, rsp points to the return
    /// address.
    [[nodiscard]] bool is_about_to_leave() const noexcept {
        constexpr std::uint8_t kReturn = 0xc3;
        const Code code{*module_};
        const std::uint64_t pc = frame_.value.pc();
        return code.byte(pc) == kReturn || stub_slot(code, pc) != 0;
    }

    Evidence follow_frame_pointer(Candidate& out) noexcept {
        const std::uint64_t bp = frame_.value.bp();
        if (!frame_.knows(Registers::kBp) || bp < frame_.value.sp() || !memory_.read(bp, out.bp) ||
            !memory_.read(bp + 8, out.pc) || !is_user_address(out.pc)) {
            return {};
        }
        out.sp = bp + 16;
        const Module* caller = modules_.find(Pc{out.pc - 1});
        // A caller with rules may keep anything in rbp.
        const bool is_chain =
            out.bp == 0 || out.bp > bp + 8 || (caller != nullptr && has_rule(*caller, out.pc - 1));
        if (!is_chain) {
            return {};
        }
        return caller == nullptr ? Evidence{Evidence::Kind::weak, 0} : evidence_at(out);
    }

    struct Range {
        std::uint64_t end;
        bool weak_too;
    };

    /// Takes the word at `slot` for a return address. False: it can't be read.
    bool take(std::uint64_t slot, Candidate& out) noexcept {
        out.sp = slot + 8;
        out.bp = frame_.value.bp();
        return memory_.scan(slot, out.pc);
    }

    /// Up the stack to the first frame that was called rightly by a computed call; before that the
    /// proved word whose call leads nearest to the pc: no function begins in between.
    bool scan(GuessHint hint, Range range, Candidate& out) noexcept {
        const std::uint64_t sp = frame_.value.sp();
        Candidate found;
        if (hint.is_scanned() && sp + hint.offset() < range.end && take(sp + hint.offset(), out) &&
            evidence_at(out).kind == Evidence::Kind::proved) {
            return true;
        }
        std::uint64_t nearest = 0;
        for (unsigned word = 0; word < kScannedWords; ++word) {
            const std::uint64_t slot = sp + std::uint64_t{8} * word;
            if (slot >= range.end || !take(slot, found)) {
                break;
            }
            const Evidence evidence = evidence_at(found);
            if (evidence.kind == Evidence::Kind::proved && evidence.target > nearest) {
                nearest = evidence.target;
                out = found;
            } else if (evidence.kind == Evidence::Kind::weak && range.weak_too && nearest == 0 &&
                       is_called_rightly(found)) {
                out = found;
                return true;
            }
        }
        return nearest != 0;
    }

    /// What the call before a return address says.
    Evidence evidence_at(const Candidate& frame) noexcept {
        const Module* caller =
            is_user_address(frame.pc) ? modules_.find(Pc{frame.pc - 1}) : nullptr;
        if (caller == nullptr) {
            return {};
        }
        const Call call = resolve(call_before(Code{*caller}, frame.pc));
        if (call.kind == CallKind::none) {
            return {};
        }
        if (call.kind == CallKind::computed) {
            return {Evidence::Kind::weak, 0};
        }
        const std::uint64_t target = call.target;
        const std::uint64_t distance = frame_.value.pc() - target;
        const Module* callee = modules_.find(Pc{target});
        if (callee == nullptr || !callee->code.contains(target) ||
            (has_rule(*callee, target) && (callee != module_ || distance >= kShortFunctionBytes))) {
            return {};
        }
        // Code made at run time is jumped to by stubs, which have no rules either; so is other code
        // by what picks it at run time.
        const bool leads_here = callee == module_ && distance < kFunctionBytes;
        return {leads_here ? Evidence::Kind::proved : Evidence::Kind::weak, target};
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
        const Call call = resolve(call_before(Code{*caller}, above));
        return call.kind == CallKind::computed ||
               (call.kind == CallKind::direct && call.target == fde.pc_begin - module.image_delta);
    }

    /// The same call past slots and PLT stubs: direct, or computed if a slot can't be read.
    Call resolve(Call call) noexcept {
        std::uint64_t slot = call.kind == CallKind::slot ? call.target : 0;
        if (call.kind == CallKind::direct) {
            const Module* module = modules_.find(Pc{call.target});
            slot = module != nullptr ? stub_slot(Code{*module}, call.target) : 0;
        }
        if (slot != 0) {
            call.kind = memory_.read(slot, call.target) ? CallKind::direct : CallKind::computed;
        }
        return call;
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

template <>
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

std::uint64_t find_frame_record(const ModuleTable& modules, std::uint64_t address,
                                StackMemory& memory) noexcept {
    // The ABI keeps rsp a multiple of 16 at calls, so a frame pointer that was pushed first is one.
    const std::uint64_t first = (address + 15) & ~std::uint64_t{15};
    for (std::uint64_t at = first; at < first + std::uint64_t{8} * kScannedWords; at += 16) {
        std::uint64_t above = 0;
        if (!memory.scan(at + 8, above)) {
            return 0;
        }
        const Module* caller = is_user_address(above) ? modules.find(Pc{above - 1}) : nullptr;
        if (caller != nullptr && call_before(Code{*caller}, above).kind != CallKind::none) {
            return at;
        }
    }
    return 0;
}

}  // namespace sample::unwind
