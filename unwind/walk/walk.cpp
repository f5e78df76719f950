// The walk: a hot loop over cached rows, and around it what is rare; the contract is in the header.
#include "unwind/walk/walk.h"

#include "unwind/walk/step.h"

namespace sample::unwind {

namespace {

using cfi::Row;
using cfi::RowKind;

constexpr std::uint64_t kUserBegin = 4096;
constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 47;

// Spreads generations over all bits of a key; odd, so that no generation is lost.
constexpr std::uint64_t kGenerationFactor = 0x9e3779b97f4a7c15;

// Start code without CFI (the loader's, musl's) is a short run of instructions at the entry point.
constexpr std::uint64_t kStartCodeBytes = 256;

// mov $15, %rax; syscall: rt_sigreturn, as every C library's trampoline has it.
constexpr std::uint64_t kSigreturnMov = 0x0f0000000fc0c748;
constexpr std::uint64_t kSigreturnEnd = 0x05;
constexpr std::uint64_t kSigreturnBytes = 9;
constexpr std::uint64_t kSyscallOffset = 7;

bool is_equation(RowKind kind) noexcept {
    return kind == RowKind::cfa_sp || kind == RowKind::cfa_bp || kind == RowKind::cfa_register ||
           kind == RowKind::deref;
}

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

class Walker {
public:
    Walker(const ModuleTable& modules, RowCache& cache, StackMemory& memory,
           std::span<FrameAddress> out) noexcept
        : modules_{modules},
          cache_{cache},
          memory_{memory},
          out_{out},
          salt_{modules.generation() * kGenerationFactor} {}

    WalkResult run(const Registers& registers) noexcept {
        WalkResult result;
        start(registers);
        result.reason = follow_rows();
        if (needs_all_registers_) {
            result.restored_all = true;
            start(registers);
            result.reason = follow_rules();
        }
        result.depth = depth_;
        result.rows_compiled = rows_compiled_;
        return result;
    }

private:
    void start(const Registers& registers) noexcept {
        frame_.value = registers;
        frame_.known = KnownRegisters::kAll;
        depth_ = 0;
        signal_frames_ = 0;
        lookup_ = registers.pc();
        exact_ = true;
    }

    /// The hot loop: pc, rsp and rbp in machine registers.
    StopReason follow_rows() noexcept {
        if (out_.empty()) {
            return StopReason::depth_limit;
        }
        std::uint64_t lookup = lookup_;
        std::uint64_t sp = frame_.value.sp();
        std::uint64_t bp = frame_.value.bp();
        std::size_t depth = 0;
        out_[depth++] = FrameAddress{Pc{lookup}};
        for (;;) {
            Row row = cache_.find(lookup ^ salt_);
            std::uint64_t cfa = 0;
            if (row.kind() == RowKind::cfa_sp) [[likely]] {
                cfa = sp + row.offset();
            } else if (row.kind() == RowKind::cfa_bp) {
                cfa = bp + row.offset();
            } else {
                leave_hot_loop(lookup, sp, bp, depth);
                if (!follow_rare(row)) {
                    return stop_;
                }
                lookup = lookup_;
                sp = frame_.value.sp();
                bp = frame_.value.bp();
                depth = depth_;
                continue;
            }
            depth_ = static_cast<std::uint32_t>(depth);
            if (cfa <= sp) [[unlikely]] {
                return StopReason::no_progress;
            }
            std::uint64_t return_address = 0;
            if (!memory_.read(cfa - 8, return_address) || !restore_bp(row, cfa, sp, bp))
                [[unlikely]] {
                return StopReason::unreadable_memory;
            }
            if (return_address == 0) [[unlikely]] {
                return StopReason::root;
            }
            if (depth == out_.size()) [[unlikely]] {
                return StopReason::depth_limit;
            }
            out_[depth++] = FrameAddress{ReturnAddress{return_address}};
            lookup = return_address - 1;
            sp = cfa;
        }
    }

    [[nodiscard]] bool restore_bp(Row row, std::uint64_t cfa, std::uint64_t sp,
                                  std::uint64_t& bp) noexcept {
        if (row.bp() == cfi::BpRule::same) {
            return true;
        }
        const std::uint64_t slot = cfa + row.bp_offset();
        return memory_.read(slot, bp) || is_popped(slot, sp);
    }

    /// Every frame by full rules; rows only tell which frames are special.
    StopReason follow_rules() noexcept {
        out_[depth_++] = FrameAddress{Pc{lookup_}};
        for (;;) {
            Row row = cache_.find(lookup_ ^ salt_);
            if (row.kind() == RowKind::empty) {
                row = compile();
            }
            if (!follow_rare(is_equation(row.kind()) ? Row{RowKind::complex} : row)) {
                return stop_;
            }
        }
    }

    void leave_hot_loop(std::uint64_t lookup, std::uint64_t sp, std::uint64_t bp,
                        std::size_t depth) noexcept {
        // Every hot step moves rsp: if it has not moved, no other register has been lost.
        if (sp != frame_.value.sp()) {
            frame_.known = KnownRegisters::kFrame;
            exact_ = false;
        }
        frame_.value.value[Registers::kSp] = sp;
        frame_.value.value[Registers::kBp] = bp;
        frame_.value.value[Registers::kPc] = exact_ ? lookup : lookup + 1;
        lookup_ = lookup;
        depth_ = static_cast<std::uint32_t>(depth);
    }

    /// One step by a row that is not hot (or not compiled yet). False: the walk is over, for the
    /// reason in stop_.
    [[gnu::noinline]] bool follow_rare(Row row) noexcept {
        if (row.kind() == RowKind::empty) {
            row = compile();
        }
        switch (row.kind()) {
            case RowKind::empty:
                return stop_without_module();
            case RowKind::none:
                return stop(StopReason::no_cfi);
            case RowKind::unsupported:
                return stop(StopReason::unsupported_rule);
            case RowKind::root:
                return stop(StopReason::root);
            case RowKind::signal:
                return cross_signal_frame(step_by_ucontext(frame_, memory_));
            case RowKind::complex:
                return follow_complex();
            default:
                return enter(step_by_row(row, frame_, memory_), false);
        }
    }

    bool follow_complex() noexcept {
        Module storage;
        cfi::FrameRules found;
        const Module* module = module_of(storage);
        if (module == nullptr ||
            cfi::find_rules(module->local_tables(), lookup_ + module->image_delta, found) !=
                cfi::Found::yes) {
            return stop(StopReason::unsupported_rule);
        }
        const Step step = step_by_rules(found.rules, frame_, memory_);
        return found.signal_frame ? cross_signal_frame(step) : enter(step, false);
    }

    bool cross_signal_frame(Step step) noexcept {
        if (++signal_frames_ > kMaxSignalFrames) {
            return stop(StopReason::no_progress);
        }
        // The kernel put the trampoline's own address there: no call precedes it.
        const std::uint64_t trampoline = exact_ ? lookup_ : lookup_ + 1;
        out_[depth_ - 1] = FrameAddress{Pc{trampoline}};
        return enter(step, true);
    }

    /// Makes the caller, to which frame_ was just moved, the current frame, and writes it out.
    bool enter(Step step, bool exact) noexcept {
        if (step != Step::taken) {
            return stop_for(step);
        }
        const std::uint64_t pc = frame_.value.pc();
        if (pc == 0) {
            return stop(StopReason::root);
        }
        if (depth_ == out_.size()) {
            return stop(StopReason::depth_limit);
        }
        exact_ = exact;
        lookup_ = exact ? pc : pc - 1;
        out_[depth_++] = exact ? FrameAddress{Pc{pc}} : FrameAddress{ReturnAddress{pc}};
        return true;
    }

    bool stop(StopReason reason) noexcept {
        stop_ = reason;
        return false;
    }

    bool stop_for(Step step) noexcept {
        switch (step) {
            case Step::root:
                return stop(StopReason::root);
            case Step::unreadable:
                return stop(StopReason::unreadable_memory);
            case Step::no_progress:
                return stop(StopReason::no_progress);
            case Step::unknown_register:
                needs_all_registers_ = true;
                return stop(StopReason::unsupported_rule);
            default:
                return stop(StopReason::unsupported_rule);
        }
    }

    /// A word that no code address can be was not a return address.
    bool stop_without_module() noexcept {
        if (depth_ > 1 && (lookup_ < kUserBegin || lookup_ >= kUserEnd)) {
            --depth_;
        }
        return stop(StopReason::no_module);
    }

    /// The module of lookup_, perhaps in `storage`; null if there is none.
    const Module* module_of(Module& storage) const noexcept {
        const Pc pc{lookup_};
        const Module* module = modules_.find(pc);
        if (modules_.loader() == LoaderLookup::off) {
            return module;
        }
        if (module != nullptr && (module->header == 0 || is_still_loaded(*module, pc))) {
            return module;
        }
        return find_by_loader(pc, storage) ? &storage : nullptr;
    }

    /// The row of lookup_, which goes into the cache; an empty one if there is no module.
    [[gnu::noinline]] Row compile() noexcept {
        Module storage;
        const Module* module = module_of(storage);
        if (module == nullptr) {
            return Row{};
        }
        ++rows_compiled_;
        const std::uint64_t pc = lookup_ + module->image_delta;
        cfi::FrameRules found;
        Row row{RowKind::unsupported};
        switch (cfi::find_rules(module->local_tables(), pc, found)) {
            case cfi::Found::yes:
                row = cfi::pack_rules(found, pc);
                break;
            case cfi::Found::no:
                row = row_without_rules(*module);
                break;
            default:
                break;
        }
        cache_.insert(lookup_ ^ salt_, row);
        return row;
    }

    [[nodiscard]] Row row_without_rules(const Module& module) const noexcept {
        if (module.entry != 0 && lookup_ - module.entry < kStartCodeBytes) {
            return Row{RowKind::root};
        }
        const std::uint64_t pc = exact_ ? lookup_ : lookup_ + 1;
        if (is_sigreturn(module, pc) || (exact_ && is_sigreturn(module, pc - kSyscallOffset))) {
            return Row{RowKind::signal};
        }
        return Row{RowKind::none};
    }

    const ModuleTable& modules_;
    RowCache& cache_;
    StackMemory& memory_;
    std::span<FrameAddress> out_;
    std::uint64_t salt_;
    KnownRegisters frame_;
    std::uint64_t lookup_ = 0;  ///< The pc by which the current frame's rule is found.
    std::uint32_t depth_ = 0;
    std::uint32_t signal_frames_ = 0;
    std::uint32_t rows_compiled_ = 0;
    bool exact_ = true;  ///< lookup_ is the pc itself, not the byte before a return address.
    bool needs_all_registers_ = false;
    StopReason stop_ = StopReason::root;
};

}  // namespace

WalkResult walk(const ModuleTable& modules, RowCache& cache, const Registers& registers,
                StackMemory& memory, std::span<FrameAddress> out) noexcept {
    return Walker{modules, cache, memory, out}.run(registers);
}

}  // namespace sample::unwind
