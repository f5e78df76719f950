// A walk judged by the truth.
#pragma once

#include "tests/unwind/stop_reason_name.h"
#include "tests/unwind/truth/shadow_stack.h"
#include "unwind/walk/walk.h"

#include <cstddef>
#include <span>
#include <string>

namespace sample::unwind::truth {

struct Verdict {
    enum class Kind : std::uint8_t {
        equal,       ///< Every frame, and the root.
        incomplete,  ///< Right frames, from the leaf on, and a reason that says that some are
                     ///< missing.
        misguessed,  ///< Wrong in one of the ways below, after a frame that the walk calls a guess.
        wrong_frame,   ///< A frame that is not there.
        wrong_root,    ///< Right frames, but the last one is called the outermost, which it is not.
        wrong_beyond,  ///< All frames, and more beyond the outermost.
    };
    Kind kind = Kind::equal;
    StopReason reason = StopReason::root;
    std::size_t blamed = 0;  ///< The frame, by index, whose caller was not found: its rule failed.
    bool has_guess = false;  ///< Among the frames up to the first that is not right.

    [[nodiscard]] bool is_wrong() const noexcept { return kind >= Kind::wrong_frame; }
    /// One word: "incomplete/no_cfi", "wrong/frame", "misguessed".
    [[nodiscard]] std::string name() const;
};

/// Compares frames by address, and by whether they are exact pcs or return addresses. A guess that
/// is right counts as a frame like others. `truth` is not empty. O(depth).
[[nodiscard]] Verdict judge(std::span<const Frame> truth, std::span<const FrameAddress> walked,
                            StopReason reason) noexcept;

using testing::name_of;  ///< Of stop reasons.

}  // namespace sample::unwind::truth
