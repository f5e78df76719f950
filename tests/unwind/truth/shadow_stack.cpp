// Following calls and returns; the contracts are in the header.
#include "tests/unwind/truth/shadow_stack.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sample::unwind::truth {

namespace {

constexpr std::uint64_t kRedZone = 128;
constexpr std::uint64_t kRtSigreturn = 15;
// The frame of a signal is {return address, ucontext, …}; rip is the 17th register in it, and those
// begin 40 bytes into the ucontext. Source: Linux asm/sigframe.h, uapi/asm/ucontext.h.
constexpr std::uint64_t kInterruptedPc = 8 + 40 + 16 * 8;

std::string hex(std::uint64_t value) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    do {
        text.insert(text.begin(), kDigits[value & 15]);
        value >>= 4;
    } while (value != 0);
    return "0x" + text;
}

}  // namespace

Result<void> ShadowStack::advance(const Transition& transition) {
    told_.reset();
    returned_without_call_ = false;
    const Standing& before = transition.before;
    const Standing& after = transition.after;
    if (transition.instruction == Instruction::far_transfer) {
        return unexpected(ErrorCode::unsupported, "far transfer at " + hex(before.pc));
    }
    if (transition.signal_delivered) {
        deliver(transition);
        return {};
    }
    if (transition.instruction == Instruction::syscall &&
        transition.syscall_number == kRtSigreturn) {
        return return_from_signal(transition);
    }
    Entries& entries = of(after.stack);
    const std::size_t had = entries.size();
    const bool top_returns = !entries.empty() && entries.back().place == before.sp;
    while (!entries.empty() && entries.back().place < after.sp) {
        entries.pop_back();
    }
    const std::size_t dropped = had - entries.size();
    const bool switched = before.stack.end != after.stack.end;
    switch (transition.instruction) {
        case Instruction::call:
            ++counts_.calls;
            entries.push_back(Entry{after.sp, Entry::Kind::call, {}});
            counts_.deepest = std::max(counts_.deepest, entries.size());
            return {};
        case Instruction::ret:
            ++counts_.returns;
            if (dropped != (top_returns ? 1 : 0)) {
                return unexpected(ErrorCode::unsupported,
                                  "return that skips a call at " + hex(before.pc));
            }
            returned_without_call_ = !awaiting_ && !top_returns;
            break;
        case Instruction::indirect_jump:
            break;
        default:
            if (dropped != 0 || switched) {
                note_departure(transition, dropped);
            }
            return {};
    }
    if (awaiting_ && entries.size() <= resumed_entries_) {
        awaiting_ = false;
        told_ = after.pc;
        if (entries.empty() && transition.top_is_code && after.stack.end != first_end_) {
            entries.push_back(Entry{after.sp, Entry::Kind::written, {}});
        }
    }
    return {};
}

void ShadowStack::note_departure(const Transition& transition, std::size_t dropped) {
    const bool switched = transition.before.stack.end != transition.after.stack.end;
    const Entries& entries = of(transition.after.stack);
    Entries& left = of(transition.before.stack);
    const bool left_handler =
        switched && !left.empty() && left.front().kind == Entry::Kind::interrupted;
    if (left_handler) {
        left.clear();
    }
    ++(switched && !left_handler ? counts_.switches : counts_.jumps);
    // A switch to a stack that holds the return address of its own switch needs no telling.
    if (dropped != 0 || entries.empty() || left_handler) {
        awaiting_ = true;
        resumed_entries_ = entries.size();
    }
}

void ShadowStack::deliver(const Transition& transition) {
    const Standing& before = transition.before;
    const Standing& after = transition.after;
    ++counts_.signals;
    Entries& entries = of(after.stack);
    if (before.stack.end != after.stack.end) {
        // The kernel begins an alternate stack afresh; what was left there is gone.
        entries.clear();
    }
    entries.push_back(Entry{after.sp + kInterruptedPc, Entry::Kind::interrupted, before});
    entries.push_back(Entry{after.sp, Entry::Kind::trampoline, {}});
}

Result<void> ShadowStack::return_from_signal(const Transition& transition) {
    Entries& entries = of(transition.before.stack);
    if (entries.empty() || entries.back().kind != Entry::Kind::interrupted) {
        return unexpected(ErrorCode::unsupported,
                          "signal return without a signal at " + hex(transition.before.pc));
    }
    entries.pop_back();
    return {};
}

Frame::Kind ShadowStack::kind_of(Entry::Kind entry) noexcept {
    switch (entry) {
        case Entry::Kind::call:
            return Frame::Kind::return_address;
        case Entry::Kind::written:
            return Frame::Kind::either;
        default:
            return Frame::Kind::exact;
    }
}

const ShadowStack::Entries* ShadowStack::find(const AddressRange& stack) const {
    const auto found = stacks_.find(stack.end);
    return found == stacks_.end() ? nullptr : &found->second;
}

std::vector<ShadowStack::Entry> ShadowStack::chain(const Standing& now) const {
    std::vector<Entry> chain;
    Standing at = now;
    for (const Entries* entries = find(at.stack); entries != nullptr;) {
        const Entries* next = nullptr;
        for (auto entry = entries->rbegin(); entry != entries->rend(); ++entry) {
            if (entry->place < at.sp) {
                continue;
            }
            chain.push_back(*entry);
            if (entry->kind == Entry::Kind::interrupted &&
                entry->interrupted.stack.end != at.stack.end) {
                at = entry->interrupted;
                next = find(at.stack);
                break;
            }
        }
        entries = next;
    }
    return chain;
}

Result<std::vector<Frame>> ShadowStack::resumed_frames(const Standing& now,
                                                       const Reader& read) const {
    std::vector<Frame> frames;
    for (const Entry& entry : chain(now)) {
        Frame frame{0, kind_of(entry.kind)};
        if (!read(entry.place, frame.address)) {
            return unexpected(ErrorCode::corrupt, "no word at " + hex(entry.place));
        }
        frames.push_back(frame);
    }
    return frames;
}

Result<std::vector<Frame>> ShadowStack::frames(const Standing& now, const Reader& read) const {
    auto rest = resumed_frames(now, read);
    if (!rest) {
        return rest;
    }
    if (awaiting_) {
        const Entries* entries = find(now.stack);
        rest->resize(entries->size() - std::min(entries->size(), resumed_entries_));
    }
    rest->insert(rest->begin(), Frame{now.pc, Frame::Kind::exact});
    return rest;
}

std::vector<AddressRange> ShadowStack::needed(const Standing& now) const {
    std::vector<AddressRange> ranges;
    const auto add = [&ranges](const Standing& standing) {
        const std::uint64_t low = standing.sp - kRedZone;
        ranges.push_back({std::max(low, standing.stack.begin), standing.stack.end});
    };
    add(now);
    for (const Entry& entry : chain(now)) {
        if (entry.kind == Entry::Kind::interrupted &&
            entry.interrupted.stack.end != ranges.back().end) {
            add(entry.interrupted);
        }
    }
    return ranges;
}

}  // namespace sample::unwind::truth
