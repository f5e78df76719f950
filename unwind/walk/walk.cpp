// The walk into a span, and what every walk shares; the contracts are in the headers.
#include "unwind/walk/walk.h"

#include "unwind/walk/walker.h"

namespace sample::unwind {

using cfi::Row;
using cfi::RowKind;

namespace {

/// Leaf first; nothing is known beforehand.
class SpanSink {
public:
    explicit SpanSink(std::span<FrameAddress> out) noexcept
        : begin_{out.data()}, at_{out.data()}, end_{out.data() + out.size()} {}

    bool push(FrameAddress frame) noexcept {
        if (at_ == end_) [[unlikely]] {
            return false;
        }
        *at_++ = frame;
        return true;
    }
    void pop() noexcept { --at_; }
    [[nodiscard]] FrameAddress& last() noexcept { return at_[-1]; }
    void leave(const FrameState& /*state*/) noexcept {}
    [[nodiscard]] bool joins(FrameAddress /*frame*/, std::uint64_t /*sp*/,
                             std::uint64_t /*bp*/) noexcept {
        return false;
    }
    void restart() noexcept { at_ = begin_; }
    void change_stack() noexcept {}

    [[nodiscard]] std::uint32_t depth() const noexcept {
        return static_cast<std::uint32_t>(at_ - begin_);
    }

private:
    FrameAddress* begin_;
    FrameAddress* at_;
    FrameAddress* end_;
};

// Start code without CFI (the loader's, musl's) is a short run of instructions at the entry point;
// Free Pascal's calls its main program 80 bytes behind it. Others' may be over by then.
constexpr std::uint64_t kStartCodeBytes = 64;
constexpr std::uint64_t kStartCodesCallBytes = 96;

template <class Arch>
bool is_sigreturn(const Module& module, std::uint64_t pc) noexcept {
    return module.code.contains(pc) && module.code.end - pc >= Arch::kSigreturnBytes &&
           Arch::is_sigreturn(reinterpret_cast<const void*>(pc + module.image_delta));
}

template <class Arch>
Row row_without_rules(const Module& module, std::uint64_t lookup, bool exact) noexcept {
    // Behind a _start that has a rule lie other functions that have none (__do_global_dtors_aux).
    cfi::Fde start;
    if (module.entry != 0 &&
        lookup - module.entry < (exact ? kStartCodeBytes : kStartCodesCallBytes) &&
        cfi::find_fde(module.local_tables(), module.entry + module.image_delta, start) ==
            cfi::Found::no) {
        return Row{RowKind::root};
    }
    const std::uint64_t pc = exact ? lookup : lookup + 1;
    if (is_sigreturn<Arch>(module, pc) ||
        (exact && is_sigreturn<Arch>(module, pc - Arch::kSigreturnSyscall))) {
        return Row{RowKind::signal};
    }
    if (!exact) {
        return Row{may_follow_call<Arch>(module, pc) ? RowKind::none : RowKind::start};
    }
    if constexpr (Arch::kHasLinkRegister) {
        return row_of_stub<Arch>(module, pc);
    }
    return Row{RowKind::none};
}

/// Whether a return address, whose lookup `found` covers, was not left by a call of that function:
/// it is the next function's first byte, or so near to the function's own beginning that no call
/// lies between. Programs that make stacks write such addresses (makecontext, libco, Go).
template <class Arch>
bool is_written(const cfi::BasicFrameRules<Arch>& found, const Module& module,
                std::uint64_t lookup) noexcept {
    const std::uint64_t pc = lookup + module.image_delta;
    return !found.signal_frame && (pc == found.pc_begin || pc + 1 == found.pc_end) &&
           !may_follow_call<Arch>(module, lookup + 1);
}

}  // namespace

template <class Arch>
Row compile_row(const Module& module, std::uint64_t lookup, bool exact) noexcept {
    // A handler returns to the trampoline, and the byte before it belongs to whatever is there.
    if (Arch::kHasLinkRegister && !exact && is_sigreturn<Arch>(module, lookup + 1)) {
        return Row{RowKind::signal};
    }
    const std::uint64_t pc = lookup + module.image_delta;
    cfi::BasicFrameRules<Arch> found;
    switch (cfi::find_rules(module.local_tables(), pc, found)) {
        case cfi::Found::yes:
            return !exact && is_written(found, module, lookup)
                       ? row_without_rules<Arch>(module, lookup, exact)
                       : cfi::pack_rules(found, pc);
        case cfi::Found::no:
            return row_without_rules<Arch>(module, lookup, exact);
        default:
            return Row{RowKind::unsupported};
    }
}

template <class Arch>
WalkResult walk(const ModuleTable& modules, RowCache& cache, const BasicRegisters<Arch>& registers,
                StackMemory& memory, std::span<FrameAddress> out) noexcept {
    Walker walker{modules, cache, registers, memory, SpanSink{out}};
    const Ended ended = walker.run();
    WalkResult result;
    result.depth = walker.sink().depth();
    result.reason = ended.reason;
    result.guessed = walker.guessed();
    result.restored_all = walker.restored_all();
    result.rows_compiled = walker.rows_compiled();
    return result;
}

template Row compile_row<arch::Built>(const Module& module, std::uint64_t lookup,
                                      bool exact) noexcept;
template WalkResult walk(const ModuleTable& modules, RowCache& cache,
                         const BasicRegisters<arch::Built>& registers, StackMemory& memory,
                         std::span<FrameAddress> out) noexcept;

}  // namespace sample::unwind
