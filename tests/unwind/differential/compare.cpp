// The contracts are in the header.
#include "tests/unwind/differential/compare.h"

#include <algorithm>
#include <array>

namespace sample::unwind::differential {

namespace {

using Frames = std::span<const std::uint64_t>;

/// The weakest link from frame `from` outwards.
Link weakest_link(Frames frames, std::size_t from, const Evidence& evidence) {
    Link weakest = Link::proven;
    for (std::size_t i = std::max<std::size_t>(from, 1); i < frames.size(); ++i) {
        weakest = std::min(weakest, evidence.link(frames[i - 1], frames[i]));
    }
    return weakest;
}

Cause cause_of(const ReferenceWalk& theirs, std::size_t at, bool stopped) {
    if (at >= theirs.first_guess) {
        return Cause::no_rule;
    }
    if (!stopped) {
        return Cause::other_rule;
    }
    switch (theirs.bad_read) {
        case BadRead::below_stack:
            return Cause::below_stack;
        case BadRead::beyond_stack:
            return Cause::beyond_stack;
        case BadRead::elsewhere:
            return Cause::bad_read;
        default:
            return theirs.end < 0 ? Cause::refused : Cause::ended;
    }
}

/// Only libunwind has frames from `at` on.
Verdict judge_their_rest(StopReason reason, Frames theirs, const ReferenceWalk& walk,
                         std::size_t at, const Evidence& evidence) {
    const bool guessed = at >= walk.first_guess;
    if (at == 0 || weakest_link(theirs, at, evidence) == Link::refuted) {
        // A guess that leads to no call is worse than none; so is a rule past the root.
        return guessed || reason == StopReason::root ? Verdict::ours : Verdict::open;
    }
    return guessed && walk.end != 0 ? Verdict::open : Verdict::theirs;
}

/// Only we have frames from `at` on.
Verdict judge_our_rest(const OurWalk& ours, std::size_t at, const Evidence& evidence) {
    const Link weakest = weakest_link(ours.frames, at, evidence);
    if (weakest == Link::refuted) {
        return Verdict::theirs;
    }
    return weakest == Link::proven || ours.reason == StopReason::root ? Verdict::ours
                                                                      : Verdict::open;
}

Verdict judge_both(const OurWalk& ours, Frames theirs, const ReferenceWalk& walk, std::size_t at,
                   const Evidence& evidence) {
    const Link our_weakest = weakest_link(ours.frames, at, evidence);
    const Link their_weakest = weakest_link(theirs, at, evidence);
    const bool ours_hold = our_weakest != Link::refuted;
    if (ours_hold != (their_weakest != Link::refuted)) {
        return ours_hold ? Verdict::ours : Verdict::theirs;
    }
    const Link our_first = at == 0 ? Link::unknown : evidence.link(theirs[at - 1], ours.frames[at]);
    const Link their_first = at == 0 ? Link::unknown : evidence.link(theirs[at - 1], theirs[at]);
    if (our_first != their_first) {
        return our_first > their_first ? Verdict::ours : Verdict::theirs;
    }
    const bool we_end = ours.reason == StopReason::root;
    const bool they_end = walk.end == 0 && walk.first_guess == ReferenceWalk::kNever;
    if (we_end != they_end) {
        return we_end ? Verdict::ours : Verdict::theirs;
    }
    return Verdict::open;
}

}  // namespace

Difference compare(const OurWalk& ours, const ReferenceWalk& theirs, const Evidence& evidence) {
    Frames their_frames = theirs.frames;
    while (!their_frames.empty() && their_frames.back() == 0) {
        their_frames = their_frames.first(their_frames.size() - 1);
    }
    const auto parted = std::mismatch(ours.frames.begin(), ours.frames.end(), their_frames.begin(),
                                      their_frames.end());
    Difference difference;
    difference.at = static_cast<std::size_t>(parted.first - ours.frames.begin());
    const bool we_stopped = parted.first == ours.frames.end();
    const bool they_stopped = parted.second == their_frames.end();
    if (we_stopped && they_stopped) {
        return difference;
    }
    difference.cause = cause_of(theirs, difference.at, they_stopped);
    if (we_stopped) {
        difference.kind = ours.reason == StopReason::root ? Kind::beyond_root : Kind::stops_short;
        difference.verdict =
            judge_their_rest(ours.reason, their_frames, theirs, difference.at, evidence);
    } else if (they_stopped) {
        difference.kind = Kind::goes_on;
        difference.verdict = judge_our_rest(ours, difference.at, evidence);
    } else {
        difference.kind = Kind::other_frame;
        difference.verdict = judge_both(ours, their_frames, theirs, difference.at, evidence);
    }
    return difference;
}

const char* name_of(Kind kind) noexcept {
    constexpr std::array kNames{"equal", "beyond root", "goes on", "stops short", "other frame"};
    return kNames.at(static_cast<std::size_t>(kind));
}

const char* name_of(Verdict verdict) noexcept {
    constexpr std::array kNames{"equal", "ours", "theirs", "open"};
    return kNames.at(static_cast<std::size_t>(verdict));
}

const char* name_of(Cause cause) noexcept {
    constexpr std::array kNames{"none",         "its cache",    "no rule", "below rsp", "beyond copy",
                                "bad read", "refused", "ended",     "other rule"};
    return kNames.at(static_cast<std::size_t>(cause));
}

const char* name_of(StopReason reason) noexcept {
    switch (reason) {
        case StopReason::root:
            return "root";
        case StopReason::depth_limit:
            return "depth_limit";
        case StopReason::no_module:
            return "no_module";
        case StopReason::no_cfi:
            return "no_cfi";
        case StopReason::unsupported_rule:
            return "unsupported_rule";
        case StopReason::unreadable_memory:
            return "unreadable_memory";
        case StopReason::no_progress:
            return "no_progress";
    }
    return "unknown";
}

}  // namespace sample::unwind::differential
