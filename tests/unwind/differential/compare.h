// Where two walks of one stack part, and which of them is right, by what the code itself says.
//
// The judge of a frame is the instruction before its return address: it must be a call, and if it
// is a direct one its target tells which function it called (Link). A walk whose links hold, and
// which ends at a proven root, is right; one with a refuted link is wrong. Without either there is
// no verdict, and the difference is counted as open.
#pragma once

#include "tests/unwind/differential/reference.h"
#include "tests/unwind/stop_reason_name.h"
#include "unwind/walk/walk.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::unwind::differential {

/// What the code before a return address says about it.
enum class Link : std::uint8_t {
    refuted,   ///< No call is there.
    unknown,   ///< Code that is in no file, or an interrupted frame, which needs no call.
    possible,  ///< A call through a pointer, or of a function that may have jumped to the callee.
    proven,    ///< A call of the very function that the callee's pc is in.
};

/// Judges frames. An interface, so that tests can be judges.
class Evidence {
public:
    Evidence() = default;
    Evidence(const Evidence&) = delete;
    Evidence& operator=(const Evidence&) = delete;
    virtual ~Evidence() = default;
    /// Whether the frame with return address `caller` called what runs at `callee`, the next frame
    /// inwards as the walk gave it.
    [[nodiscard]] virtual Link link(std::uint64_t callee, std::uint64_t caller) const = 0;
};

struct OurWalk {
    std::span<const std::uint64_t> frames;  ///< Leaf first; pcs and return addresses as they are.
    StopReason reason = StopReason::root;
};

enum class Kind : std::uint8_t {
    equal,
    beyond_root,  ///< Ours stopped at a root, libunwind went on.
    goes_on,      ///< Ours went on where libunwind stopped.
    stops_short,  ///< Ours stopped without a root, libunwind went on.
    other_frame,  ///< They went different ways.
};

enum class Verdict : std::uint8_t {
    equal,
    ours,         ///< Ours is right.
    their_guess,  ///< Ours stopped; libunwind has no rule either, guessed, and its guess holds.
    theirs,       ///< Ours is wrong: a bug.
    open,         ///< Nothing proves either.
};

/// What happened to libunwind where they part.
enum class Cause : std::uint8_t {
    none,
    cache,         ///< Its cache: without it the walks are equal.
    no_rule,       ///< It has no rule there and guessed, or gave up.
    below_stack,   ///< It wants a register that is popped already from its old slot.
    beyond_stack,  ///< It read above the copied stack.
    bad_read,      ///< It read where neither stack nor file is.
    refused,       ///< It has a rule, and an error.
    ended,         ///< It took the frame for the outermost one.
    other_rule,    ///< It followed a rule, another way.
};

struct Difference {
    Kind kind = Kind::equal;
    Verdict verdict = Verdict::equal;
    Cause cause = Cause::none;
    std::size_t at = 0;  ///< The first frame that differs, or that only one has.
};

/// Whether a walker without bugs may differ so: it is right, or says that it has no rule to go by.
[[nodiscard]] bool is_explained(const Difference& difference) noexcept;

/// O(depth). A zero frame at the reference's end is not counted as one: it is how it says root.
[[nodiscard]] Difference compare(const OurWalk& ours, const ReferenceWalk& theirs,
                                 const Evidence& evidence);

[[nodiscard]] const char* name_of(Kind kind) noexcept;
[[nodiscard]] const char* name_of(Verdict verdict) noexcept;
[[nodiscard]] const char* name_of(Cause cause) noexcept;
using testing::name_of;  ///< Of stop reasons.

}  // namespace sample::unwind::differential
