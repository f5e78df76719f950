// The walk itself: a hot loop over cached rows, and around it what is rare. Private to walk.cpp and
// memo_walk.cpp, which give it a sink: where frames go, and whether the rest of the stack is known
// already.
//
// A sink is copied into the hot loop and back, so that it lives in machine registers there. It has
//
//     bool push(FrameAddress)     the next frame, leaf first; false: no room
//     void pop()                  takes the last one back
//     FrameAddress& last()
//     void leave(FrameState)      the state from which the last frame's caller is looked for
//     bool joins(frame, sp, bp)   the way from this state on is known: the walk is over
//     void restart()              forgets the frames
//     void change_stack()         rsp may have gone down
//
// Async-signal-safe.
#pragma once

#include "unwind/walk/guess.h"
#include "unwind/walk/stack_memo.h"
#include "unwind/walk/step.h"
#include "unwind/walk/walk.h"

namespace sample::unwind {

// Spreads generations over all bits of a key; odd, so that no generation is lost.
inline constexpr std::uint64_t kGenerationFactor = 0x9e3779b97f4a7c15;

/// Sets the key of a pc itself apart from that of the byte before a return address: the two may
/// have different rows (see is_written()). No user address has this bit.
inline constexpr std::uint64_t kExactKey = std::uint64_t{1} << 63;

/// Compiles the row of `lookup`, which lies in `module`; `exact` says that it is the pc itself, not
/// the byte before a return address.
template <class Arch>
[[nodiscard]] cfi::Row compile_row(const Module& module, std::uint64_t lookup, bool exact) noexcept;

[[nodiscard]] inline std::uint64_t salt_of(const ModuleTable& modules) noexcept {
    return modules.generation() * kGenerationFactor;
}

/// What a walk says of itself, its sink's frames apart.
struct Ended {
    StopReason reason = StopReason::root;
    bool joined = false;
};

/// One step by a row of the two hot kinds, inside verified memory: rsp and rbp become the caller's.
/// False, and nothing changed: it is a rarer one.
template <class Arch>
[[gnu::always_inline]] inline bool hot_step(cfi::Row row, const StackMemory::Verified& stack,
                                            std::uint64_t& sp, std::uint64_t& bp,
                                            std::uint64_t& return_address) noexcept {
    std::uint64_t cfa = 0;
    if (row.kind() == cfi::RowKind::cfa_sp) [[likely]] {
        cfa = sp + row.offset();
    } else if (row.kind() == cfi::RowKind::cfa_bp) {
        cfa = bp + row.offset();
    } else {
        return false;
    }
    const std::uint64_t return_slot = cfa + cfi::return_offset<Arch>(row);
    if (cfa <= sp || !stack.contains(return_slot)) [[unlikely]] {
        return false;
    }
    if (row.bp() != cfi::BpRule::same) {
        const std::uint64_t slot = cfi::bp_slot<Arch>(row, cfa);
        if (!stack.contains(slot)) [[unlikely]] {
            return false;
        }
        bp = stack.at(slot);
    }
    return_address = Arch::code_address(stack.at(return_slot));
    sp = cfa;
    return true;
}

template <class Arch, class Sink>
class Walker {
    using Registers = BasicRegisters<Arch>;
    using KnownRegisters = BasicKnownRegisters<Arch>;
    using Row = cfi::Row;
    using RowKind = cfi::RowKind;

public:
    Walker(const ModuleTable& modules, RowCache& cache, const BasicRegisters<Arch>& registers,
           StackMemory& memory, const Sink& sink) noexcept
        : modules_{modules},
          cache_{cache},
          registers_{registers},
          memory_{memory},
          sink_{sink},
          salt_{salt_of(modules)} {}

    Ended run() noexcept {
        Ended ended = follow_rows();
        if (needs_all_registers_) {
            restart();
            ended = Ended{follow_rules(), false};
        }
        return ended;
    }

    [[nodiscard]] Sink& sink() noexcept { return sink_; }
    [[nodiscard]] bool restored_all() const noexcept { return needs_all_registers_; }
    [[nodiscard]] std::uint32_t rows_compiled() const noexcept { return rows_compiled_; }
    [[nodiscard]] std::uint32_t guessed() const noexcept { return guessed_; }

private:
    void restart() noexcept {
        take_start_registers();
        sink_.restart();
        signal_frames_ = 0;
        guessed_ = 0;
        without_rules_ = 0;
    }
    void take_start_registers() noexcept {
        frame_.value = registers_;
        frame_.known = KnownRegisters::kAll;
        lookup_ = registers_.pc();
        exact_ = true;
    }

    /// The hot loop: pc, rsp and rbp in machine registers, frame_ and lookup_ out of date.
    Ended follow_rows() noexcept {
        Sink sink = sink_;
        const RowCache cache = cache_;
        StackMemory::Verified stack = memory_.around(registers_.sp());
        const std::uint64_t salt = salt_;
        std::uint64_t lookup = registers_.pc();
        std::uint64_t sp = registers_.sp();
        std::uint64_t bp = registers_.bp();
        if (!sink.push(FrameAddress{Pc{lookup}})) {
            return {StopReason::depth_limit, false};
        }
        bool started = false;
        RowCache::Entry* entry = &cache.home(lookup ^ salt ^ kExactKey);
        Row row = cache.find(lookup ^ salt ^ kExactKey);
        for (;;) {
            const FrameState state{sp, bp, row};
            std::uint64_t return_address = 0;
            if (!hot_step<Arch>(row, stack, sp, bp, return_address)) {
                leave_hot_loop(lookup, sp, bp, started);
                started = true;
                sink_ = sink;
                if (!follow_rare(row)) {
                    return {stop_, false};
                }
                sink = sink_;
                lookup = lookup_;
                sp = frame_.value.sp();
                bp = frame_.value.bp();
                stack = memory_.around(sp);
                if (sink.joins(sink.last(), sp, bp)) {
                    break;
                }
                entry = &cache.home(key());
                row = cache.find(key());
                continue;
            }
            sink.leave(state);
            lookup = return_address - 1;
            if (lookup >= Arch::kUserEnd) [[unlikely]] {
                sink_ = sink;
                return {return_address == 0 ? StopReason::root : StopReason::no_module, false};
            }
            const auto frame = FrameAddress::from_bits(return_address);
            if (!sink.push(frame)) [[unlikely]] {
                sink_ = sink;
                return {StopReason::depth_limit, false};
            }
            if (sink.joins(frame, sp, bp)) {
                break;
            }
            entry = &cache.find_caller(*entry, lookup ^ salt, row);
        }
        sink_ = sink;
        return {StopReason::root, true};
    }

    /// Every frame by full rules; rows only tell which frames are special.
    StopReason follow_rules() noexcept {
        sink_.push(FrameAddress{Pc{lookup_}});
        for (;;) {
            Row row = cache_.find(key());
            if (row.kind() == RowKind::empty) {
                row = compile();
            }
            if (!follow_rare(cfi::is_equation(row.kind()) ? Row{RowKind::complex} : row)) {
                return stop_;
            }
        }
    }

    void leave_hot_loop(std::uint64_t lookup, std::uint64_t sp, std::uint64_t bp,
                        bool started) noexcept {
        if (!started) {
            take_start_registers();
        }
        // Every hot step moves rsp: if it has not moved, no other register has been lost.
        if (sp != frame_.value.sp()) {
            frame_.known = KnownRegisters::kFrame;
            exact_ = false;
        }
        frame_.value.value[Registers::kSp] = sp;
        frame_.value.value[Registers::kBp] = bp;
        frame_.value.value[Registers::kPc] = exact_ ? lookup : lookup + 1;
        lookup_ = lookup;
    }

    /// One step by a row that is not hot (or not compiled yet). False: the walk is over, for the
    /// reason in stop_.
    [[gnu::noinline]] bool follow_rare(Row row) noexcept {
        if (row.kind() == RowKind::empty) {
            row = compile();
        }
        sink_.leave(FrameState{frame_.value.sp(), frame_.value.bp(), row});
        switch (row.kind()) {
            case RowKind::empty:
                return is_cut_ ? stop(StopReason::unreadable_memory)
                               : follow_guess(row, StopReason::no_module);
            case RowKind::none:
                return follow_guess(row, StopReason::no_cfi);
            case RowKind::unsupported:
                return stop(StopReason::unsupported_rule);
            case RowKind::root:
                return stop(StopReason::root);
            case RowKind::start:
                // The byte before it may belong to another function, or to none.
                if (!sink_.last().is_guessed()) {
                    sink_.last() = FrameAddress{Pc{lookup_ + 1}};
                }
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
        cfi::BasicFrameRules<Arch> found;
        const Module* module = module_of(storage);
        if (is_cut_) {
            return stop(StopReason::unreadable_memory);
        }
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
        sink_.last() = FrameAddress{Pc{trampoline}};
        sink_.change_stack();
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
        if (pc - 1 >= Arch::kUserEnd) {
            return stop(StopReason::no_module);
        }
        if (!sink_.push(exact ? FrameAddress{Pc{pc}} : FrameAddress{ReturnAddress{pc}})) {
            return stop(StopReason::depth_limit);
        }
        exact_ = exact;
        lookup_ = exact ? pc : pc - 1;
        return true;
    }

    /// No rule covers the pc: a guess, or the walk is over for `reason`.
    bool follow_guess(Row row, StopReason reason) noexcept {
        Module storage;
        const Module* module = reason == StopReason::no_cfi ? module_of(storage) : nullptr;
        if (is_cut_) {
            return stop(StopReason::unreadable_memory);
        }
        GuessHint hint{row};
        const GuessResult result =
            without_rules_ == kMaxGuesses
                ? GuessResult::none
                : guess_caller(modules_, module, exact_, hint, frame_, memory_);
        if (result == GuessResult::none) {
            return reason == StopReason::no_module ? stop_without_module() : stop(reason);
        }
        if (module != nullptr && hint.row() != row) {
            cache_.insert(key(), hint.row());
        }
        ++without_rules_;
        guessed_ += result == GuessResult::guessed ? 1 : 0;
        const ReturnAddress caller{frame_.value.pc()};
        if (!sink_.push(result == GuessResult::guessed ? FrameAddress::guessed(caller)
                                                       : FrameAddress{caller})) {
            return stop(StopReason::depth_limit);
        }
        exact_ = false;
        lookup_ = caller.call_site().value;
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
        if (!exact_ && lookup_ < Arch::kUserBegin) {
            sink_.pop();
        }
        return stop(StopReason::no_module);
    }

    /// Of lookup_ in the cache.
    [[nodiscard]] std::uint64_t key() const noexcept {
        return lookup_ ^ salt_ ^ (exact_ ? kExactKey : 0);
    }

    /// The module of lookup_, perhaps in `storage`; null if there is none, or if its file has been
    /// cut since it was loaded (is_cut_): what it has lost raises SIGBUS.
    const Module* module_of(Module& storage) noexcept {
        const Module* module = loaded_module(storage);
        is_cut_ = module != nullptr && !is_whole(*module, memory_);
        return is_cut_ ? nullptr : module;
    }
    const Module* loaded_module(Module& storage) const noexcept {
        const Pc pc{lookup_};
        const Module* module = modules_.find(pc);
        if (modules_.loader() == LoaderLookup::off) {
            return module;
        }
        if (module != nullptr && is_still_loaded(*module, pc)) {
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
        const Row row = compile_row<Arch>(*module, lookup_, exact_);
        cache_.insert(key(), row);
        return row;
    }

    const ModuleTable& modules_;
    RowCache& cache_;
    const Registers& registers_;
    StackMemory& memory_;
    Sink sink_;
    std::uint64_t salt_;
    KnownRegisters frame_;
    std::uint64_t lookup_ = 0;  ///< The pc by which the current frame's rule is found.
    std::uint32_t signal_frames_ = 0;
    std::uint32_t rows_compiled_ = 0;
    std::uint32_t guessed_ = 0;
    std::uint32_t without_rules_ = 0;  ///< Frames, guessed or certain.
    bool exact_ = true;  ///< lookup_ is the pc itself, not the byte before a return address.
    bool needs_all_registers_ = false;
    bool is_cut_ = false;
    StopReason stop_ = StopReason::root;
};

}  // namespace sample::unwind
