// What the code proves of a caller; the contract is in the header.
#include "unwind/arch/x86_64_proof.h"

#include "unwind/arch/x86_64_code.h"

namespace sample::unwind {
namespace {

/// Whether one of the bytes of mov %rsp, %rbp may be in a word: 0xe5 or 0xec.
bool may_set_bp(std::uint64_t word) noexcept {
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    const std::uint64_t first = word ^ (kOnes * 0xe5);
    const std::uint64_t second = word ^ (kOnes * 0xec);
    return (((first - kOnes) & ~first) | ((second - kOnes) & ~second)) & (kOnes * 0x80);
}

class CallerProof {
public:
    explicit CallerProof(const FrameWithoutRule& frame) noexcept : frame_{frame} {}

    bool passes_no_frame(const Candidate& caller) noexcept {
        return is_returned_to(caller.pc) &&
               ((frame_.module == nullptr && holds_no_return_address(caller.pc)) ||
                has_made_frame());
    }

    /// Whether the code from the pc on only leaves its function, and so says where the return
    /// address is: CPython's trampolines, and any function's last instructions.
    bool is_leaving(Candidate& out) noexcept {
        constexpr unsigned kMostInstructions = 12;
        return in_code_of(frame_.module, frame_.memory, [&](const auto& code) {
            std::uint64_t at = frame_.registers.value.pc();
            out.sp = frame_.registers.value.sp();
            out.bp = frame_.registers.value.bp();
            for (unsigned i = 0; i < kMostInstructions; ++i) {
                const auto bytes = code.template at<std::uint32_t>(at);
                if (is_return(bytes)) {
                    return leave_by(bytes, out);
                }
                const std::uint64_t length =
                    restore_by(bytes, code.template at<std::int32_t>(at + 3), out);
                if (length == 0) {
                    return false;
                }
                at += length;
            }
            return false;
        });
    }

    /// Whether the return address is where rsp points, as the function has not made a frame and was
    /// called by that call.
    bool is_just_called(Candidate& out) noexcept {
        constexpr std::uint64_t kLongestLeaf = 1024;
        if (!frame_.leaf || !frame_.take(frame_.registers.value.sp(), out) ||
            !is_near_code(out.pc, out.pc) || !is_returned_to(out.pc)) {
            return false;
        }
        const std::uint64_t pc = frame_.registers.value.pc();
        const Call call = in_code_of(frame_.module_at(out.pc - 1), frame_.memory,
                                     [&](const auto& code) { return call_before(code, out.pc); });
        if (call.kind != CallKind::direct || pc - call.target > kLongestLeaf) {
            return false;
        }
        return in_code_of(frame_.module, frame_.memory, [&](const auto& code) {
            for (std::uint64_t at = call.target; at < pc; ++at) {
                const auto bytes = code.template at<std::uint32_t>(at);
                if (sets_bp(bytes) || subtracts_from_sp(bytes)) {
                    return false;
                }
            }
            return true;
        });
    }

private:
    /// False, too, of a frame without words.
    bool holds_no_return_address(std::uint64_t caller) noexcept {
        const std::uint64_t sp = frame_.registers.value.sp();
        for (std::uint64_t slot = sp; slot < frame_.registers.value.bp(); slot += 8) {
            std::uint64_t word = 0;
            if (!frame_.memory.scan(slot, word) ||
                (is_near_code(word, caller) && is_returned_to(word) && !is_local_call(word))) {
                return false;
            }
        }
        return sp != frame_.registers.value.bp();
    }

    /// Whether the frame's own function has made this frame: it goes on by it, or the nearest
    /// instruction before the pc that sets rbp is followed by those that make one of this size, or
    /// that push the constant which is in it.
    bool has_made_frame() noexcept {
        constexpr std::uint64_t kLongestFunction = 16384;
        const std::uint64_t pc = frame_.registers.value.pc();
        return in_code_of(frame_.module, frame_.memory, [&](const auto& code) {
            if (!frame_.leaf && takes_sp(code, pc)) {
                return true;
            }
            std::uint64_t ahead = 0;
            for (std::uint64_t at = pc & ~std::uint64_t{7}; at > pc - kLongestFunction; at -= 8) {
                const auto word = code.template at<std::uint64_t>(at);
                // Its last byte may be in the word behind.
                const bool is_candidate = may_set_bp(word) || may_set_bp(ahead);
                for (std::uint64_t i = 8; i-- > 0 && is_candidate;) {
                    const std::uint64_t bytes =
                        i == 0 ? word : word >> (8 * i) | ahead << (64 - 8 * i);
                    if (at + i + kSetBpBytes <= pc && sets_bp(bytes)) {
                        return made_frame(code, at + i + kSetBpBytes);
                    }
                }
                ahead = word;
            }
            return false;
        });
    }

    static constexpr std::uint64_t kSetBpBytes = 3;
    /// mov %rsp, %rbp, in either encoding.
    static bool sets_bp(std::uint64_t bytes) noexcept {
        return (bytes & 0xffffff) == 0xe58948 || (bytes & 0xffffff) == 0xec8b48;
    }

    /// sub $n, %rsp, of one byte or of four.
    static bool subtracts_from_sp(std::uint32_t bytes) noexcept {
        return (bytes & 0xffffff) == 0xec8348 || (bytes & 0xffffff) == 0xec8148;
    }

    /// Whether what follows mov %rsp, %rbp, at `at`, made a frame as this one is.
    template <class Bytes>
    bool made_frame(const Bytes& code, std::uint64_t at) noexcept {
        constexpr std::uint8_t kPushBp = 0x55;
        constexpr std::uint8_t kPushByte = 0x6a;
        constexpr std::uint32_t kPushThree = 0x505756;  // %rsi, %rdi, %rax: V8's functions
        constexpr std::uint64_t kMostArguments = 512;
        const std::uint64_t bytes = frame_.registers.value.bp() - frame_.registers.value.sp();
        const std::uint32_t add = code.template at<std::uint32_t>(at) & 0xffffff;
        if (add == 0xc58348 || add == 0xc58148) {
            // add $n, %rbp: it pointed to the frame's other end.
        } else if (code.byte(at - kSetBpBytes - 1) != kPushBp) {
            return false;
        }
        if (code.byte(at) == kPushByte) {
            std::uint64_t pushed = 0;
            const auto constant = static_cast<std::int8_t>(code.byte(at + 1));
            return bytes >= 8 && frame_.memory.read(frame_.registers.value.bp() - 8, pushed) &&
                   pushed == static_cast<std::uint64_t>(std::int64_t{constant});
        }
        const bool pushes = (code.template at<std::uint32_t>(at) & 0xffffff) == kPushThree;
        std::uint64_t made = pushes ? 24 : 0;
        at += pushes ? 3 : 0;
        // sub from rsp, or add to rbp.
        const std::uint32_t next = code.template at<std::uint32_t>(at);
        if ((next & 0xffffff) == 0xec8348 || (next & 0xffffff) == 0xc58348) {
            made += next >> 24;
        } else if ((next & 0xffffff) == 0xec8148 || (next & 0xffffff) == 0xc58148) {
            made += code.template at<std::uint32_t>(at + 3);
        }
        // What is called has been pushed its arguments.
        const std::uint64_t arguments = !frame_.leaf && pushes ? kMostArguments : 0;
        return bytes >= made && bytes - made <= arguments;
    }

    static bool is_return(std::uint32_t bytes) noexcept {
        return (bytes & 0xff) == 0xc3 || (bytes & 0xff) == 0xc2;  // ret, ret $n
    }
    bool leave_by(std::uint32_t bytes, Candidate& out) noexcept {
        const bool is_read = frame_.memory.read(out.sp, out.pc);
        out.sp += 8 + ((bytes & 0xff) == 0xc2 ? (bytes >> 8 & 0xffff) : 0);
        return is_read && is_user_address(out.pc) && is_returned_to(out.pc);
    }
    /// Carries out an instruction of an epilogue; `number` is what stands in it from its fourth
    /// byte on. Its length; 0: it is none, or the stack cannot be read.
    std::uint64_t restore_by(std::uint32_t bytes, std::int32_t number, Candidate& out) noexcept {
        const auto operation = static_cast<std::uint8_t>(bytes);
        if (operation == 0xc9 || operation == 0x5d) {  // leave, pop %rbp
            out.sp = operation == 0xc9 ? out.bp : out.sp;
            const bool is_read = frame_.memory.read(out.sp, out.bp);
            out.sp += 8;
            return is_read ? 1 : 0;
        }
        if ((operation & 0xf8) == 0x58 && operation != 0x5c) {  // pop
            out.sp += 8;
            return 1;
        }
        if ((bytes & 0xf8ff) == 0x5841) {  // pop %r8 to %r15
            out.sp += 8;
            return 2;
        }
        const std::uint32_t three = bytes & 0xffffff;
        if (three == 0xc48348) {  // add $n, %rsp
            out.sp += static_cast<std::uint64_t>(static_cast<std::int8_t>(bytes >> 24));
            return 4;
        }
        if (three == 0xc48148) {
            out.sp += static_cast<std::uint64_t>(std::int64_t{number});
            return 7;
        }
        if (three == 0xec8948 || three == 0xe58b48) {  // mov %rbp, %rsp
            out.sp = out.bp;
            return 3;
        }
        return 0;
    }

    /// Whether the call before `address` leads just beyond itself, to this pc: no function's, but a
    /// way to push an address.
    bool is_local_call(std::uint64_t address) noexcept {
        constexpr std::uint64_t kNear = 256;
        return in_code_of(frame_.module_at(address - 1), frame_.memory, [&](const auto& code) {
            const Call call = call_before(code, address);
            return call.kind == CallKind::direct && call.target - address < kNear &&
                   frame_.registers.value.pc() - call.target < kNear;
        });
    }

    /// Whether `word` may lie in code: of a module, or so near to the two frames that calls between
    /// them and it reach.
    [[nodiscard]] bool is_near_code(std::uint64_t word, std::uint64_t caller) const noexcept {
        constexpr std::uint64_t kReach = std::uint64_t{1} << 31;
        const auto is_near = [word](std::uint64_t pc) { return word - pc + kReach < 2 * kReach; };
        return is_user_address(word) &&
               !frame_.memory.verified().contains(word & ~std::uint64_t{7}) &&
               (is_near(frame_.registers.value.pc()) || is_near(caller) ||
                frame_.modules.find(Pc{word - 1}) != nullptr);
    }

    /// Whether code may return to `address`: it is behind a call, or takes rsp from its frame.
    bool is_returned_to(std::uint64_t address) noexcept {
        return in_code_of(
            frame_.module_at(address - 1), frame_.memory, [address](const auto& code) {
                return call_before(code, address).kind != CallKind::none || takes_sp(code, address);
            });
    }

    /// Whether rbp gives rsp, as where an interpreter is returned to that has pushed the address
    /// and jumped. Source: HotSpot, TemplateInterpreterGenerator::generate_return_entry_for, of JDK
    /// 8 to 20, and of JDK 21.
    template <class Bytes>
    static bool takes_sp(const Bytes& code, std::uint64_t address) noexcept {
        constexpr std::uint32_t kLoad = 0xf0658b48;       // mov -16(%rbp), %rsp
        constexpr std::uint32_t kLoadIndex = 0xf04d8b48;  // mov -16(%rbp), %rcx
        constexpr std::uint32_t kIndexed = 0xcd648d48;    // lea (%rbp, %rcx, 8), %rsp
        const auto first = code.template at<std::uint32_t>(address);
        return first == kLoad ||
               (first == kLoadIndex && code.template at<std::uint32_t>(address + 4) == kIndexed);
    }

    const FrameWithoutRule& frame_;
};

}  // namespace

bool code_tells_caller(const FrameWithoutRule& frame, Candidate& out) noexcept {
    CallerProof proof{frame};
    return proof.is_leaving(out) || proof.is_just_called(out);
}

bool passes_no_frame(const FrameWithoutRule& frame, const Candidate& caller) noexcept {
    return CallerProof{frame}.passes_no_frame(caller);
}

}  // namespace sample::unwind
