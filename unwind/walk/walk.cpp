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

// Start code without CFI (the loader's, musl's) is a short run of instructions at the entry point.
constexpr std::uint64_t kStartCodeBytes = 64;

// mov $15, %rax; syscall: rt_sigreturn, as every C library's trampoline has it.
constexpr std::uint64_t kSigreturnMov = 0x0f0000000fc0c748;
constexpr std::uint64_t kSigreturnEnd = 0x05;
constexpr std::uint64_t kSigreturnBytes = 9;
constexpr std::uint64_t kSyscallOffset = 7;

bool is_sigreturn(const Module& module, std::uint64_t pc) noexcept {
    if (!module.code.contains(pc) || module.code.end - pc < kSigreturnBytes) {
        return false;
    }
    std::uint64_t mov = 0;
    std::uint8_t end = 0;
    const std::uint64_t address = pc + module.image_delta;
    __builtin_memcpy(&mov, reinterpret_cast<const void*>(address), sizeof(mov));
    __builtin_memcpy(&end, reinterpret_cast<const void*>(address + sizeof(mov)), sizeof(end));
    return mov == kSigreturnMov && end == kSigreturnEnd;
}

Row row_without_rules(const Module& module, std::uint64_t lookup, bool exact) noexcept {
    // Behind a _start that has a rule lie other functions that have none (__do_global_dtors_aux).
    cfi::Fde start;
    if (module.entry != 0 && lookup - module.entry < kStartCodeBytes &&
        cfi::find_fde(module.local_tables(), module.entry + module.image_delta, start) ==
            cfi::Found::no) {
        return Row{RowKind::root};
    }
    const std::uint64_t pc = exact ? lookup : lookup + 1;
    if (is_sigreturn(module, pc) || (exact && is_sigreturn(module, pc - kSyscallOffset))) {
        return Row{RowKind::signal};
    }
    return Row{RowKind::none};
}

}  // namespace

Row compile_row(const Module& module, std::uint64_t lookup, bool exact) noexcept {
    const std::uint64_t pc = lookup + module.image_delta;
    cfi::FrameRules found;
    switch (cfi::find_rules(module.local_tables(), pc, found)) {
        case cfi::Found::yes:
            return cfi::pack_rules(found, pc);
        case cfi::Found::no:
            return row_without_rules(module, lookup, exact);
        default:
            return Row{RowKind::unsupported};
    }
}

WalkResult walk(const ModuleTable& modules, RowCache& cache, const Registers& registers,
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

}  // namespace sample::unwind
