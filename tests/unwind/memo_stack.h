// A stack as calls and signals leave it: frames of every kind, laid out by their rules, that come
// and go as in a program.
//
// One at a time in a process.
#pragma once

#include "tests/unwind/memo_modules.h"
#include "unwind/walk/ucontext.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace sample::unwind::testing {

class FrameStack {
public:
    struct Frame {
        Kind kind;
        std::uint64_t pc;
        std::uint64_t sp;
        std::uint64_t bp;
        std::uint64_t bx;
    };

    explicit FrameStack(Choices& choices)
        : choices_{choices}, low_{reinterpret_cast<std::uint64_t>(arena())} {
        std::memset(arena(), 0, kBytes);
        start(false);
    }

    [[nodiscard]] std::uint64_t low() const { return low_; }
    [[nodiscard]] std::uint64_t high() const { return low_ + kBytes; }
    [[nodiscard]] const Frame& leaf() const { return frames_.back(); }
    [[nodiscard]] std::uint64_t di() const { return di_; }

    std::uint64_t& word_at(std::uint64_t address) {
        return *reinterpret_cast<std::uint64_t*>(address);
    }
    std::uint64_t any_address() { return low_ + 8 * choices_.below(kBytes / 8); }
    const Frame& any_frame() { return frames_[choices_.below(frames_.size())]; }
    /// What may turn up in a word or a register.
    std::uint64_t anything() {
        switch (choices_.below(9)) {
            case 0:
                return 0;
            case 1:
            case 2:
                return any_site();
            case 3: {
                const std::uint64_t pc = choices_.one_in(2) ? any_site() : any_frame().pc;
                return pc | (1 + choices_.below(3)) << 62;
            }
            case 4:
                return word_at(any_address());
            case 5:
                return choices_.word();
            case 6:
                return any_frame().bp;
            case 7:
                return any_frame().sp;
            default:
                return any_address();
        }
    }

    /// The outermost frame alone. `moved`: as the modules of WorldModules that have moved say.
    void start(bool moved) {
        frames_.clear();
        const std::uint64_t top = alternate() - 64;
        constexpr std::array<Kind, 4> kOutermost{Kind::root, Kind::small, Kind::frame_pointer,
                                                 Kind::deref};
        const Kind kind = kOutermost[choices_.below(kOutermost.size())];
        Frame frame{kind, WorldModules::begin(kind), top - 24, top - 16, choices_.word()};
        if (kind == Kind::small && moved) {
            frame.sp = top - 40;
        }
        word_at(top - 8) = 0;
        word_at(top - 16) = anything_at_root();
        if (kind == Kind::deref) {
            frame.sp = top - 48;
            word_at(frame.sp + 16) = top - 8;
        }
        frames_.push_back(frame);
    }
    /// As a program goes on: some frames end, others begin.
    void move_on(bool moved) {
        const std::uint64_t ends = choices_.below(choices_.one_in(8) ? 40 : 4);
        frames_.resize(std::max<std::size_t>(
            1, frames_.size() - std::min<std::size_t>(frames_.size() - 1, ends)));
        for (std::uint64_t begins = choices_.below(choices_.one_in(8) ? 40 : 4); begins > 0;
             --begins) {
            push(pick_kind(), moved);
        }
        Frame& leaf = frames_.back();
        leaf.pc = WorldModules::begin(leaf.kind) + choices_.below(16);
    }

private:
    static constexpr std::size_t kPage = 4096;
    static constexpr std::size_t kBytes = 5 * kPage;

    /// The stack, between pages that nobody can read.
    static void* arena() {
        static void* const stack = [] {
            void* pages =
                ::mmap(nullptr, kBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            auto* begin = static_cast<std::byte*>(pages) + kPage;
            if (pages == MAP_FAILED || ::mprotect(begin, kBytes, PROT_READ | PROT_WRITE) != 0) {
                std::abort();
            }
            return static_cast<void*>(begin);
        }();
        return stack;
    }

    /// Where the stack ends and another one begins, on which signals may be handled.
    [[nodiscard]] std::uint64_t alternate() const { return high() - kPage; }
    std::uint64_t any_site() {
        return WorldModules::site(static_cast<Kind>(choices_.below(kKinds)), !choices_.one_in(3));
    }
    std::uint64_t anything_at_root() { return choices_.one_in(2) ? 0 : choices_.word(); }

    /// A call from the innermost frame, or a signal. Not where the stack is full.
    void push(Kind kind, bool moved) {
        Frame& outer = frames_.back();
        const std::uint64_t cfa = outer.sp;
        if (cfa < (cfa > alternate() ? alternate() : low_) + 1024) {
            return;
        }
        if (kind != Kind::trampoline && kind != Kind::exact_caller) {
            outer.pc = WorldModules::site(outer.kind, !choices_.one_in(4));
        }
        const std::uint64_t gap = 8 * choices_.below(4);
        Frame inner{kind, WorldModules::begin(kind) + choices_.below(16), cfa, outer.bp, outer.bx};
        word_at(cfa - 8) = outer.pc;
        switch (kind) {
            case Kind::leaf:
                inner.sp = cfa - 8;
                break;
            case Kind::small:
                inner.sp = cfa - (moved ? 40 : 24);
                break;
            case Kind::large:
                inner.sp = cfa - 144;
                break;
            case Kind::saves_bp:
                inner.sp = cfa - 32;
                word_at(cfa - 16) = outer.bp;
                inner.bp = anything();
                break;
            case Kind::frame_pointer:
            case Kind::jit:
                word_at(cfa - 16) = outer.bp;
                [[fallthrough]];
            case Kind::keeps_bp:
                inner.bp = cfa - 16;
                inner.sp = inner.bp - gap;
                break;
            case Kind::bp_above:
                inner.sp = cfa - 16;
                break;
            case Kind::realigned:
                inner.bp = cfa - 32;
                word_at(inner.bp) = outer.bp;
                word_at(inner.bp - 8) = cfa;
                inner.sp = inner.bp - 8 - gap;
                break;
            case Kind::deref:
            case Kind::deref_saves_bp:
            case Kind::deref_at_bp:
                inner.sp = cfa - 48 - gap;
                word_at(inner.sp + 16) = cfa - 8;
                word_at(cfa - 16) = outer.bp;
                word_at(cfa - 24) = outer.bp;
                inner.bp = kind == Kind::deref            ? outer.bp
                           : kind == Kind::deref_saves_bp ? anything()
                                                          : cfa - 24;
                break;
            case Kind::saves_bx:
                inner.sp = cfa - 16;
                word_at(cfa - 16) = outer.bx;
                inner.bx = anything();
                break;
            case Kind::by_bx:
                inner.bx = cfa - 16;
                inner.sp = inner.bx - gap;
                break;
            case Kind::moves_bp:
                inner.sp = cfa - 24;
                break;
            case Kind::in_register:
                di_ = outer.pc;
                break;
            case Kind::popped:
                inner.sp = cfa - 8;
                word_at(cfa - 16) = outer.bp;
                break;
            case Kind::deref_bx:
                inner.bx = cfa - 24;
                word_at(inner.bx) = cfa;
                inner.sp = inner.bx - gap;
                break;
            case Kind::no_rule:
                inner.sp = cfa - 8 - gap;
                break;
            case Kind::exact_caller:
                inner.sp = cfa - 16;
                break;
            case Kind::trampoline:
                // Also on a stack of its own, which lies above.
                inner.sp = (cfa < alternate() && choices_.one_in(2) ? high() : cfa) - 320;
                interrupt(outer, inner.sp);
                break;
            case Kind::root:
                break;
        }
        frames_.push_back(inner);
    }
    void interrupt(const Frame& frame, std::uint64_t sp) {
        std::uint64_t slot = sp + arch::Native::kSigcontextOffset;
        for (const std::uint8_t reg : arch::Native::kSigcontextOrder) {
            word_at(slot) = reg == Registers::kSp   ? frame.sp
                            : reg == Registers::kBp ? frame.bp
                            : reg == Registers::kPc ? frame.pc
                            : reg == Registers::kBx ? frame.bx
                                                    : choices_.word();
            slot += 8;
        }
    }

    Kind pick_kind() {
        // Mostly what compilers make, or few stacks would be whole.
        if (!choices_.one_in(12)) {
            constexpr std::array<Kind, 8> kUsual{
                Kind::leaf,      Kind::small, Kind::large,          Kind::saves_bp,
                Kind::realigned, Kind::deref, Kind::deref_saves_bp, Kind::frame_pointer};
            return kUsual[choices_.below(kUsual.size())];
        }
        return static_cast<Kind>(choices_.below(kKinds));
    }

    Choices& choices_;
    std::uint64_t low_;
    std::vector<Frame> frames_;
    std::uint64_t di_ = 0;
};

}  // namespace sample::unwind::testing
