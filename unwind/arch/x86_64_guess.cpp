// Looking for callers without rules, and guessing where nothing proves one; the contract is in the
// header.
#include "unwind/arch/x86_64_code.h"
#include "unwind/arch/x86_64_proof.h"
#include "unwind/walk/guess.h"
#include "unwind/walk/step.h"

#include <algorithm>

namespace sample::unwind {

namespace {

using cfi::Row;
using cfi::RowKind;

// A short function may have rules with a hole in them (clone3 after its system call).
constexpr std::uint64_t kShortFunctionBytes = 128;

constexpr std::uint64_t kFunctionBytes = 65536;

// The registers that a function must keep.
constexpr unsigned kMostPushed = 6;

/// What speaks for a return address.
struct Evidence {
    enum class Kind : std::uint8_t {
        none,    ///< Nothing; with a target: a call that leads elsewhere.
        weak,    ///< A call that may have led anywhere.
        proved,  ///< A call to code without rules, shortly before the callee's pc.
    };
    Kind kind = Kind::none;
    std::uint64_t target = 0;  ///< Where the call leads; 0: unknown.
};

class Guesser {
public:
    explicit Guesser(const FrameWithoutRule& frame) noexcept : frame_{frame} {}

    GuessResult guess(GuessHint& hint, Candidate& out) noexcept {
        if (code_tells_caller(frame_, out)) {
            return GuessResult::certain;
        }
        if (frame_.module != nullptr && frame_.leaf && is_about_to_leave() &&
            frame_.take(frame_.registers.value.sp(), out) &&
            evidence_at(out).kind != Evidence::Kind::none) {
            return GuessResult::guessed;
        }
        Candidate by_pointer;
        const Evidence pointer = follow_frame_pointer(by_pointer);
        if (pointer.kind != Evidence::Kind::none && passes_no_frame(frame_, by_pointer)) {
            out = by_pointer;
            return GuessResult::certain;
        }
        return guess(pointer, by_pointer, hint, out) ? GuessResult::guessed : GuessResult::none;
    }

private:
    bool guess(Evidence pointer, const Candidate& by_pointer, GuessHint& hint,
               Candidate& out) noexcept {
        if (pointer.kind == Evidence::Kind::proved ||
            (pointer.kind == Evidence::Kind::weak && hint.is_frame_pointer())) {
            out = by_pointer;
            hint = GuessHint::frame_pointer();
            return true;
        }
        const bool has_pointer = pointer.kind != Evidence::Kind::none;
        // A leaf may not have a frame yet: then rbp is its caller's.
        const Range range{has_pointer ? frame_.registers.value.bp() : UINT64_MAX,
                          !has_pointer || frame_.leaf};
        const Evidence found = frame_.module != nullptr ? scan(hint, range, out) : Evidence{};
        if (found.kind != Evidence::Kind::none) {
            hint = GuessHint::scanned(out.sp - 8 - frame_.registers.value.sp());
            if (found.kind == Evidence::Kind::proved) {
                take_saved_bp(found.target, out);
            }
            return true;
        }
        if (!has_pointer) {
            return false;
        }
        out = by_pointer;
        hint = GuessHint::frame_pointer();
        return true;
    }

    /// At `ret`, or at a jump through a slot as a PLT stub has it, rsp points to the return
    /// address.
    [[nodiscard]] bool is_about_to_leave() const noexcept {
        constexpr std::uint8_t kReturn = 0xc3;
        const Code code{*frame_.module};
        const std::uint64_t pc = frame_.registers.value.pc();
        return code.byte(pc) == kReturn || stub_slot(code, pc) != 0;
    }

    Evidence follow_frame_pointer(Candidate& out) noexcept {
        const std::uint64_t bp = frame_.registers.value.bp();
        if (!frame_.registers.knows(Registers::kBp) || bp < frame_.registers.value.sp() ||
            !frame_.memory.read(bp, out.bp) || !frame_.memory.read(bp + 8, out.pc) ||
            !is_user_address(out.pc)) {
            return {};
        }
        out.sp = bp + 16;
        const Module* caller = frame_.module_at(out.pc - 1);
        // A caller with rules may keep anything in rbp.
        const bool is_chain =
            out.bp == 0 || out.bp > bp + 8 || (caller != nullptr && has_rule(*caller, out.pc - 1));
        if (!is_chain) {
            return {};
        }
        if (caller == nullptr) {
            return {Evidence::Kind::weak, 0};
        }
        // How a stack that a program made begins: no caller's pointer, and no call.
        if (out.bp == 0 && !may_follow_call<arch::X64>(*caller, out.pc)) {
            return {frame_.leaf ? Evidence::Kind::weak : Evidence::Kind::proved, 0};
        }
        return evidence_at(out);
    }

    struct Range {
        std::uint64_t end;
        bool weak_too;
    };

    /// Up the stack to the first frame that was called rightly by a computed call; before that the
    /// proved word whose call leads nearest to the pc: no function begins in between.
    Evidence scan(GuessHint hint, Range range, Candidate& out) noexcept {
        const std::uint64_t sp = frame_.registers.value.sp();
        Candidate found;
        if (hint.is_scanned() && sp + hint.offset() < range.end &&
            frame_.take(sp + hint.offset(), out)) {
            const Evidence evidence = evidence_at(out);
            if (evidence.kind == Evidence::Kind::proved) {
                return evidence;
            }
        }
        std::uint64_t nearest = 0;
        bool is_first = true;  // of the words behind a call: only its frame's rbp is looked for
        for (unsigned word = 0; word < kScannedWords; ++word) {
            const std::uint64_t slot = sp + std::uint64_t{8} * word;
            if (slot >= range.end || !frame_.take(slot, found)) {
                break;
            }
            const Evidence evidence = evidence_at(found);
            if (evidence.kind == Evidence::Kind::proved && evidence.target > nearest) {
                nearest = evidence.target;
                out = found;
            } else if (nearest == 0 && range.weak_too &&
                       (evidence.kind == Evidence::Kind::weak ||
                        (word == 0 && frame_.leaf && may_jump_here(evidence.target))) &&
                       is_called_rightly(found, is_first ? kMostPushed : 0)) {
                out = found;
                return {Evidence::Kind::weak, evidence.target};
            }
            is_first = is_first && evidence.kind == Evidence::Kind::none && evidence.target == 0;
        }
        return nearest != 0 ? Evidence{Evidence::Kind::proved, nearest} : Evidence{};
    }

    /// Where the function, which begins at `begin`, pushes rbp among its first instructions, that
    /// is the caller's.
    void take_saved_bp(std::uint64_t begin, Candidate& caller) noexcept {
        constexpr std::uint32_t kEndbr64 = 0xfa1e0ff3;
        constexpr std::uint8_t kPushBp = 0x55;
        constexpr std::uint64_t kLongestStart = 64;
        const Code code{*frame_.module};
        const std::uint64_t end = std::min(frame_.registers.value.pc(), begin + kLongestStart);
        std::uint64_t slot = caller.sp - 8;
        for (std::uint64_t at = begin; at < end && slot > frame_.registers.value.sp();) {
            const auto bytes = code.at<std::uint32_t>(at);
            const unsigned rex = (bytes & 0xf0) == 0x40 ? 1 : 0;
            const std::uint32_t operation = bytes >> (8 * rex);
            if ((operation & 0xf8) == 0x50) {  // push
                slot -= 8;
                if (bytes % 256 == kPushBp) {
                    std::uint64_t saved = 0;
                    caller.bp = frame_.memory.read(slot, saved) ? saved : caller.bp;
                    return;
                }
                at += rex + 1;
            } else if (bytes == kEndbr64) {
                at += 4;
            } else if (const unsigned length = computing_bytes(operation); length != 0) {
                at += rex + length;
            } else {
                return;
            }
        }
    }

    /// The length of xor, test, mov or lea, which may stand between pushes; 0: it is none of these.
    static unsigned computing_bytes(std::uint32_t operation) noexcept {
        const std::uint32_t what = operation & 0xff;
        return what == 0x31 || what == 0x33 || what == 0x85 || what == 0x89 || what == 0x8b ||
                       what == 0x8d
                   ? operand_end(operation >> 8 & 0xff, operation >> 16 & 0xff)
                   : 0;
    }

    /// What the call before a return address says.
    Evidence evidence_at(const Candidate& frame) noexcept {
        const Call call = call_at(frame.pc);
        if (call.kind == CallKind::none) {
            return {};
        }
        if (call.kind == CallKind::computed) {
            return {Evidence::Kind::weak, 0};
        }
        const std::uint64_t target = call.target;
        const std::uint64_t distance = frame_.registers.value.pc() - target;
        const Module* callee = frame_.module_at(target);
        if (callee == nullptr || !callee->code.contains(target) ||
            (has_rule(*callee, target) &&
             (callee != frame_.module || distance >= kShortFunctionBytes))) {
            return {Evidence::Kind::none, target};
        }
        // Code made at run time is jumped to by stubs, which have no rules either; so is other code
        // by what picks it at run time.
        return {leads_here(call) ? Evidence::Kind::proved : Evidence::Kind::weak, target};
    }

    /// Whether the function at `begin`, which has rules, may end by a jump to the frame's.
    bool may_jump_here(std::uint64_t begin) noexcept {
        constexpr std::uint64_t kMostBytes = 1024;
        constexpr std::uint8_t kGroup5 = 0xff;
        constexpr std::uint8_t kOperation = 0x38;
        constexpr std::uint8_t kJump = 0x20;
        constexpr std::uint8_t kJumpRelative = 0xe9;
        const Module* const callee = begin != 0 ? frame_.module_at(begin) : nullptr;
        cfi::Fde fde;
        if (callee == nullptr || cfi::find_fde(callee->local_tables(), begin + callee->image_delta,
                                               fde) != cfi::Found::yes) {
            return false;
        }
        const Code code{*callee};
        const std::uint64_t end = std::min(fde.pc_end - callee->image_delta, begin + kMostBytes);
        for (std::uint64_t at = begin; at < end; ++at) {
            const std::uint8_t byte = code.byte(at);
            if ((byte == kGroup5 && (code.byte(at + 1) & kOperation) == kJump) ||
                (byte == kJumpRelative && code.relative(at + 1) - begin >= end - begin &&
                 leads_here(resolve({CallKind::direct, code.relative(at + 1)})))) {
                return true;
            }
        }
        return false;
    }

    /// Whether the frame's pc is shortly behind where that leads, in the same module.
    [[nodiscard]] bool leads_here(const Call& call) const noexcept {
        return call.kind == CallKind::direct && frame_.module != nullptr &&
               frame_.module->code.contains(call.target) &&
               frame_.registers.value.pc() - call.target < kFunctionBytes;
    }

    /// Whether the frame at a return address, by its rule, was called by a call to its function:
    /// with the rbp that it has, or one of the `pushed` words below that leads further up the
    /// stack, which then becomes its own.
    bool is_called_rightly(Candidate& frame, unsigned pushed) noexcept {
        const Module* const module = frame_.module_at(frame.pc - 1);
        if (module == nullptr) {
            return false;
        }
        const std::uint64_t pc = frame.pc - 1 + module->image_delta;
        cfi::FrameRules found;
        cfi::Fde fde;
        if (cfi::find_rules(module->local_tables(), pc, found) != cfi::Found::yes ||
            cfi::find_fde(module->local_tables(), pc, fde) != cfi::Found::yes) {
            return false;
        }
        const Row row = cfi::pack_rules(found, pc);
        const std::uint64_t function = fde.pc_begin - module->image_delta;
        if (row.kind() == RowKind::root || is_called_rightly(row, function, frame)) {
            return true;
        }
        if (row.kind() == RowKind::cfa_sp) {
            return false;
        }
        Candidate other = frame;
        std::uint64_t slot = frame.sp - 8;
        while (pushed-- > 0 && slot > frame_.registers.value.sp()) {
            slot -= 8;
            if (frame_.memory.read(slot, other.bp) && other.bp > frame.sp &&
                frame_.memory.verified().contains(other.bp) &&
                is_called_rightly(row, function, other)) {
                frame = other;
                return true;
            }
        }
        return false;
    }
    bool is_called_rightly(Row row, std::uint64_t function, const Candidate& frame) noexcept {
        KnownRegisters caller_frame;
        caller_frame.set(Registers::kPc, frame.pc);
        caller_frame.set(Registers::kSp, frame.sp);
        caller_frame.set(Registers::kBp, frame.bp);
        if (!cfi::is_equation(row.kind()) ||
            step_by_row(row, caller_frame, frame_.memory) != Step::taken) {
            return false;
        }
        const Call call = call_at(caller_frame.value.pc());
        return call.kind == CallKind::computed ||
               (call.kind == CallKind::direct && call.target == function);
    }

    /// The call before a return address; none: it can't be one.
    Call call_at(std::uint64_t address) noexcept {
        const Module* caller = is_user_address(address) ? frame_.module_at(address - 1) : nullptr;
        return caller != nullptr ? resolve(call_before(Code{*caller}, address)) : Call{};
    }

    /// The same call past slots and PLT stubs: direct, or computed if a slot can't be read.
    Call resolve(Call call) noexcept {
        std::uint64_t slot = call.kind == CallKind::slot ? call.target : 0;
        if (call.kind == CallKind::direct) {
            const Module* module = frame_.module_at(call.target);
            slot = module != nullptr ? stub_slot(Code{*module}, call.target) : 0;
        }
        if (slot != 0) {
            call.kind =
                frame_.memory.read(slot, call.target) ? CallKind::direct : CallKind::computed;
        }
        return call;
    }

    static bool has_rule(const Module& module, std::uint64_t pc) noexcept {
        cfi::Fde fde;
        return cfi::find_fde(module.local_tables(), pc + module.image_delta, fde) != cfi::Found::no;
    }

    const FrameWithoutRule& frame_;
};

}  // namespace

template <>
GuessResult guess_caller(const ModuleTable& modules, const Module* module, bool leaf,
                         GuessHint& hint, KnownRegisters& frame, StackMemory& memory) noexcept {
    Candidate caller;
    const FrameWithoutRule searched{modules, module, leaf, frame, memory};
    const GuessResult result = Guesser{searched}.guess(hint, caller);
    if (result == GuessResult::none) {
        return result;
    }
    frame.value.value[Registers::kPc] = caller.pc;
    frame.value.value[Registers::kSp] = caller.sp;
    frame.value.value[Registers::kBp] = caller.bp;
    frame.known = KnownRegisters::kFrame;
    return result;
}

template <>
bool may_follow_call<arch::X64>(const Module& module, std::uint64_t address) noexcept {
    const AddressRange& code = module.code;
    return !code.contains(address - kLongestCall) || !code.contains(address - 1) ||
           call_before(Code{module}, address).kind != CallKind::none;
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
