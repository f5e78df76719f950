// The loop over instructions; the contracts are in the header.
#include "tests/unwind/truth/session.h"

#include "unwind/walk/walk.h"

#include <elf.h>
#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

namespace sample::unwind::truth {

namespace {

constexpr std::size_t kAx = 0;
constexpr std::size_t kDx = 1;
// Where a signal's frame has its ucontext, and in it the interrupted pc; see shadow_stack.cpp.
constexpr std::uint64_t kUcontext = 8;
constexpr std::uint64_t kInterruptedPc = 8 + 40 + 16 * 8;
constexpr std::uint64_t kSyscallBytes = 2;

// The stack pointer at the first instruction, within its page.
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kFirstSp = 0xe00;

/// Starts the program twice, the second time with a variable of such a length that its stack begins
/// at kFirstSp. Else the lengths of its path and of what the kernel says would decide how its
/// frames are aligned, and with that what a guess meets there.
Result<Tracee> start_aligned(const Options& options) {
    std::vector<std::string> environment = options.environment;
    environment.emplace_back("PADDING=");
    auto first = Tracee::start(options.command, environment);
    if (!first) {
        return first;
    }
    const auto registers = first->registers();
    if (!registers) {
        return unexpected(registers.error());
    }
    environment.back().append((registers->sp() - kFirstSp) % kPage, '.');
    return Tracee::start(options.command, environment);
}

bool changes_mappings(std::uint64_t number) noexcept {
    return number == SYS_mmap || number == SYS_munmap || number == SYS_mprotect ||
           number == SYS_mremap || number == SYS_brk;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::start(const Options& options) {
    auto tracee = start_aligned(options);
    if (!tracee) {
        return unexpected(tracee.error());
    }
    const std::string program = std::filesystem::canonical(options.command[0]).string();
    std::unique_ptr<Session> session{new Session{
        std::move(*tracee), program, options.symbol_file.empty() ? program : options.symbol_file}};
    const std::uint64_t entry = session->tracee_.auxiliary(AT_ENTRY);
    const auto at_start = session->tracee_.registers();
    if (!at_start) {
        return unexpected(at_start.error());
    }
    if (!options.from_loader && at_start->pc() != entry) {
        if (auto ran = session->tracee_.run_to(entry); !ran) {
            return unexpected(ran.error());
        }
    }
    if (auto read = session->space_.refresh(); !read) {
        return unexpected(read.error());
    }
    if (auto looked = session->look(); !looked) {
        return unexpected(looked.error());
    }
    session->shadow_ = std::make_unique<ShadowStack>(session->now_.standing.stack);
    return session;
}

Result<Report> Session::run() {
    for (;;) {
        if (auto checked = check(); !checked) {
            return unexpected(checked.error());
        }
        const Now before = now_;
        bool may_be_signal = false;
        // Until something has happened: a stop may only announce a signal, or end one of the
        // rounds of a repeated string instruction.
        do {
            may_be_signal = may_be_signal || tracee_.has_signal();
            const auto stop = tracee_.step();
            if (!stop) {
                return unexpected(stop.error());
            }
            if (stop->event == Tracee::Event::exited || stop->event == Tracee::Event::killed) {
                report_.end = *stop;
                report_.counts = shadow_->counts();
                return std::move(report_);
            }
            if (auto looked = look(); !looked) {
                return unexpected(looked.error());
            }
        } while (now_.standing.pc == before.standing.pc && now_.standing.sp == before.standing.sp);
        if (auto followed = follow(before, may_be_signal); !followed) {
            return unexpected(followed.error());
        }
    }
}

Result<void> Session::look() {
    const auto registers = tracee_.registers();
    if (!registers) {
        return unexpected(registers.error());
    }
    const auto stack = space_.stack_of(registers->sp());
    if (!stack) {
        return unexpected(stack.error());
    }
    now_ = Now{
        *registers, {registers->pc(), registers->sp(), *stack}, instruction_at(registers->pc())};
    return {};
}

Instruction Session::instruction_at(std::uint64_t pc) {
    const auto known = instructions_.find(pc);
    if (known != instructions_.end()) {
        return known->second;
    }
    std::array<std::byte, kMaxInstructionBytes> bytes{};
    std::size_t got = bytes.size();
    while (got != 0 && !tracee_.read(pc, std::span{bytes}.first(got))) {
        --got;
    }
    return instructions_[pc] = classify(std::span{bytes}.first(got));
}

ShadowStack::Reader Session::reader() {
    return
        [this](std::uint64_t address, std::uint64_t& value) { return stack_.word(address, value); };
}

Result<void> Session::check() {
    const std::vector<AddressRange> needed = shadow_->needed(now_.standing);
    if (auto taken = stack_.take(tracee_, needed); !taken) {
        return taken;
    }
    auto truth = shadow_->frames(now_.standing, reader());
    if (!truth) {
        return unexpected(truth.error());
    }
    StackMemory memory = stack_.memory();
    const WalkResult result = walk(space_.modules(), cache_, now_.registers, memory, walked_);
    const std::span walked = std::span{walked_}.first(result.depth);
    for (Memo& memo : memos_) {
        if (steps_ % memo.stride == 0) {
            check_memo(*memo.memo, result, walked);
        }
    }
    ++steps_;
    if (shadow_->awaiting()) {
        deferred_.push_back(
            {now_.standing.pc, std::move(*truth), {walked.begin(), walked.end()}, result.reason});
        return {};
    }
    count(now_.standing.pc, *truth, walked, result.reason, false);
    return {};
}

void Session::check_memo(StackMemo& memo, const WalkResult& result,
                         std::span<const FrameAddress> walked) {
    StackMemory memory = stack_.memory();
    const WalkResult by_memo =
        walk(space_.modules(), cache_, now_.registers, memory, memo, kMaxDepth);
    const auto root_first = memo.root_first();
    report_.taken_over += memo.joined();
    report_.frames += walked.size();
    if (by_memo.reason == result.reason && by_memo.guessed == result.guessed &&
        std::equal(walked.rbegin(), walked.rend(), root_first.begin(), root_first.end())) {
        return;
    }
    Mismatch& mismatch = report_.mismatches["memo " + space_.place_of(now_.standing.pc)];
    if (mismatch.count++ == 0) {
        const std::vector<FrameAddress> frames{root_first.rbegin(), root_first.rend()};
        mismatch.is_wrong = true;
        mismatch.example = describe(now_.standing.pc, {}, walked, result.reason) +
                           describe(now_.standing.pc, {}, frames, by_memo.reason);
    }
}

Result<void> Session::follow(const Now& before, bool may_be_signal) {
    Transition transition;
    transition.before = before.standing;
    transition.after = now_.standing;
    transition.instruction = before.instruction;
    transition.syscall_number = before.registers.value[kAx];
    std::uint64_t interrupted = 0;
    const std::uint64_t sp = now_.standing.sp;
    const auto read = [this](std::uint64_t address, std::uint64_t& value) {
        return tracee_.read(address, std::as_writable_bytes(std::span{&value, 1}));
    };
    if (may_be_signal && now_.registers.value[kDx] == sp + kUcontext &&
        read(sp + kInterruptedPc, interrupted)) {
        // A system call that will be repeated is interrupted before itself.
        transition.signal_delivered =
            before.standing.pc == interrupted || before.standing.pc - kSyscallBytes == interrupted;
    }
    transition.top_is_code = read(sp, transition.top) && space_.is_code(transition.top);
    if (before.instruction == Instruction::syscall && !transition.signal_delivered &&
        changes_mappings(transition.syscall_number)) {
        if (auto refreshed = space_.refresh(); !refreshed) {
            return refreshed;
        }
        instructions_.clear();
        now_.instruction = instruction_at(now_.standing.pc);
    }
    if (auto advanced = shadow_->advance(transition); !advanced) {
        return advanced;
    }
    if (shadow_->returned_without_call()) {
        ++report_.mismatches["truth/return_without_call " + space_.place_of(before.standing.pc)]
              .count;
    }
    return shadow_->told() ? check_deferred() : Result<void>{};
}

Result<void> Session::check_deferred() {
    const std::vector<AddressRange> needed = shadow_->needed(now_.standing);
    if (auto taken = stack_.take(tracee_, needed); !taken) {
        return taken;
    }
    const auto resumed = shadow_->resumed_frames(now_.standing, reader());
    if (!resumed) {
        return unexpected(resumed.error());
    }
    for (Deferred& deferred : deferred_) {
        deferred.known.push_back({*shadow_->told(), Frame::Kind::either});
        deferred.known.insert(deferred.known.end(), resumed->begin(), resumed->end());
        count(deferred.pc, deferred.known, deferred.walked, deferred.reason, true);
    }
    deferred_.clear();
    return {};
}

void Session::count(std::uint64_t pc, std::span<const Frame> truth,
                    std::span<const FrameAddress> walked, StopReason reason, bool resumes) {
    ++report_.instructions;
    if (visited_.insert(pc).second) {
        report_.visited.insert(space_.place_of(pc));
    }
    const Verdict verdict = judge(truth, walked, reason);
    if (verdict.kind == Verdict::Kind::equal) {
        ++report_.equal;
        report_.guessed += verdict.has_guess ? 1 : 0;
        return;
    }
    ++(verdict.is_wrong()                          ? report_.wrong
       : verdict.kind == Verdict::Kind::misguessed ? report_.misguessed
                                                   : report_.incomplete);
    const Frame& blamed = truth[resumes ? 0 : verdict.blamed];
    const bool is_exact = blamed.kind == Frame::Kind::exact;
    const std::string place = space_.place_of(is_exact ? blamed.address : blamed.address - 1);
    Mismatch& mismatch = report_.mismatches[verdict.name() + " " + place];
    std::vector<std::uint64_t> stack;
    const auto add = [&](std::uint64_t address) {
        if (!space_.is_vdso(address)) {
            stack.push_back(address);
        }
    };
    add(pc);
    for (const Frame& frame : truth) {
        add(frame.address);
    }
    if (mismatch.stacks.insert(std::move(stack)).second && mismatch.count++ == 0) {
        mismatch.is_wrong = verdict.is_wrong();
        mismatch.example = describe(pc, truth, walked, reason);
    }
}

std::string Session::describe(std::uint64_t pc, std::span<const Frame> truth,
                              std::span<const FrameAddress> walked, StopReason reason) {
    constexpr std::size_t kShown = 12;
    std::array<std::byte, kMaxInstructionBytes> bytes{};
    std::ostringstream text;
    text << std::hex << "  at " << space_.offset_of(pc) << " (" << space_.place_of(pc)
         << "), bytes";
    if (tracee_.read(pc, bytes)) {
        for (const std::byte byte : bytes) {
            text << ' ' << (std::to_integer<unsigned>(byte) < 16 ? "0" : "")
                 << std::to_integer<unsigned>(byte);
        }
    }
    text << "\n  truth:";
    for (std::size_t i = 0; i < truth.size() && i < kShown; ++i) {
        text << ' ' << space_.offset_of(truth[i].address);
    }
    text << "\n  walk: ";
    for (std::size_t i = 0; i < walked.size() && i < kShown; ++i) {
        const std::uint64_t lookup = walked[i].lookup_pc().value;
        text << ' ' << space_.offset_of(walked[i].is_exact() ? lookup : lookup + 1)
             << (walked[i].is_guessed() ? "?" : "");
    }
    text << ' ' << name_of(reason) << '\n';
    return text.str();
}

}  // namespace sample::unwind::truth
