// What whoever brings the agent into a process (sampler/inject) leaves there for it. The thread
// that loads it is named by where that lies, in hexadecimal digits behind kInvitedThread: nothing
// else of a process is that thread's alone, and known to the agent's constructor.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sample::control {

/// With an address of user space behind it as long as a thread's name may be. Source: prctl(2).
inline constexpr std::string_view kInvitedThread = "si-";
using ThreadName = std::array<char, 16>;

struct Invitation {
    std::uint64_t is_answered = 0;    ///< Not 0: the agent has begun, or says why not.
    std::uint64_t problem = 0;        ///< Where its text for people is; 0: there is none.
    std::array<char, 128> session{};  ///< As kSessionVariable has it.
};

}  // namespace sample::control
