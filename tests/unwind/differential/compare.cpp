// The contracts are in the header.
#include "tests/unwind/differential/compare.h"

#include <algorithm>
#include <array>

namespace sample::unwind::differential {

namespace {

using Frames = std::span<const std::uint64_t>;

/// What the links of a walk's rest say of it.
enum class Standing : std::uint8_t {
    refuted,
    unproven,
    proven,  ///< None is refuted, and it ends at a root or has a proven link.
};

/// Of the frames from `from` on. Chance meets neither a root nor a proven link.
Standing standing_of(Frames frames, std::size_t from, bool at_root, const Evidence& evidence) {
    bool proven = at_root;
    for (std::size_t i = std::max<std::size_t>(from, 1); i < frames.size(); ++i) {
        const Link link = evidence.link(frames[i - 1], frames[i]);
        if (link == Link::refuted) {
            return Standing::refuted;
        }
        proven |= link == Link::proven;
    }
    return proven ? Standing::proven : Standing::unproven;
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
    if (at > 0 && evidence.link(theirs[at - 1], theirs[at]) == Link::refuted) {
        // A frame that nobody called is worse than none; but a root that has a rule is none.
        return guessed || reason != StopReason::root ? Verdict::ours : Verdict::open;
    }
    if (!guessed) {
        return Verdict::theirs;
    }
    return standing_of(theirs, at, walk.end == 0, evidence) == Standing::proven
               ? Verdict::their_guess
               : Verdict::open;
}

/// Only we have frames from `at` on.
Verdict judge_our_rest(const OurWalk& ours, std::size_t at, const Evidence& evidence) {
    switch (standing_of(ours.frames, at, ours.reason == StopReason::root, evidence)) {
        case Standing::refuted:
            return Verdict::theirs;
        case Standing::unproven:
            return Verdict::open;
        default:
            return Verdict::ours;
    }
}

Verdict judge_both(const OurWalk& ours, Frames theirs, const ReferenceWalk& walk, std::size_t at,
                   const Evidence& evidence) {
    const bool we_end = ours.reason == StopReason::root;
    // A guessed walk ends wherever it finds a zero.
    const bool they_end = walk.end == 0 && walk.first_guess == ReferenceWalk::kNever;
    const Standing our_standing = standing_of(ours.frames, at, we_end, evidence);
    const Standing their_standing = standing_of(theirs, at, they_end, evidence);
    if (our_standing != their_standing) {
        return our_standing > their_standing ? Verdict::ours : Verdict::theirs;
    }
    return we_end == they_end ? Verdict::open : we_end ? Verdict::ours : Verdict::theirs;
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

bool is_explained(const Difference& difference) noexcept {
    switch (difference.verdict) {
        case Verdict::theirs:
            return false;
        case Verdict::their_guess:
            return difference.kind != Kind::beyond_root;
        case Verdict::open:
            return difference.cause == Cause::no_rule;
        default:
            return true;
    }
}

const char* name_of(Kind kind) noexcept {
    constexpr std::array kNames{"equal", "beyond root", "goes on", "stops short", "other frame"};
    return kNames.at(static_cast<std::size_t>(kind));
}

const char* name_of(Verdict verdict) noexcept {
    constexpr std::array kNames{"equal", "ours", "their guess", "theirs", "open"};
    return kNames.at(static_cast<std::size_t>(verdict));
}

const char* name_of(Cause cause) noexcept {
    constexpr std::array kNames{"none",     "its cache", "no rule", "below rsp", "beyond copy",
                                "bad read", "refused",   "ended",   "other rule"};
    return kNames.at(static_cast<std::size_t>(cause));
}

}  // namespace sample::unwind::differential
