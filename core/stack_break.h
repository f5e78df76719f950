// Why a stack ends before the thread's start. The numbers stand in recordings: none is ever used
// for something else.
#pragma once

#include <cstdint>

namespace sample {

enum class StackBreak : std::uint8_t {
    unknown = 0,            ///< The recording does not say.
    no_cfi = 1,             ///< Code without unwind tables.
    no_module = 2,          ///< Code that lies in no module, or an address that is no code.
    unreadable_memory = 3,  ///< The next word lies outside the stack.
    depth_limit = 4,        ///< Deeper than what is kept of a stack.
    no_progress = 5,        ///< The tables lead nowhere, or in circles.
    unsupported_rule = 6,   ///< A rule that the walker does not evaluate.
    no_room = 7,            ///< The recording has as many different stacks as it may.
};
inline constexpr StackBreak kLastStackBreak = StackBreak::no_room;

/// The reason that a recording's number stands for; unknown for numbers of later versions.
[[nodiscard]] constexpr StackBreak stack_break_of(std::uint64_t number) noexcept {
    return number <= static_cast<std::uint64_t>(kLastStackBreak) ? static_cast<StackBreak>(number)
                                                                 : StackBreak::unknown;
}

}  // namespace sample
