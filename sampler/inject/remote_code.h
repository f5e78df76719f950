// What runs in the process itself while the agent is brought in: a page of machine code, and the
// data that it works with, both put there from outside.
//
//   an interrupted thread ─▶ call: keeps its registers, makes a thread, goes on as if nothing was
//   the thread made       ─▶ dlopen, which joins; waits to be let go; unmaps it all
//
// The interrupted thread does no more than pthread_create(), on a stack of ours, and is interrupted
// again. If nobody does, as who was to has died, it restores itself after a second. The new thread
// has a table of descriptors of its own, so that the program's gets none.
#pragma once

#include "sampler/control/invitation.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>

namespace sample::inject {

/// In the process, kDataOffset behind the code. The code knows the offsets of its members.
struct RemoteData {
    // Functions of the process's libc.
    std::uint64_t create_thread = 0;
    std::uint64_t detach_thread = 0;
    std::uint64_t open_library = 0;
    std::uint64_t error_text = 0;
    std::uint64_t unmap = 0;
    std::uint64_t errno_place = 0;

    std::uint64_t region = 0;
    std::uint64_t region_bytes = 0;

    // Of the interrupted thread.
    std::uint64_t signal_mask = 0;
    std::uint64_t flags = 0;
    std::uint64_t resume_stack = 0;
    std::uint64_t resume_pc = 0;

    std::uint64_t new_thread = 0;  ///< A pthread_t.
    std::uint64_t refusal = 0;     ///< What pthread_create() has returned.
    std::uint64_t is_called = 0;   ///< Not 0: it has, and the thread waits for whoever holds it.

    /// The kernel counts it down, and keeps nothing of such a wait that the thread's own one, which
    /// was interrupted, has to be gone on with. Source: select(2), restart_syscall(2).
    timespec held_pause{};

    std::uint64_t state = 0;    ///< A RemoteState.
    std::uint64_t problem = 0;  ///< Where the loader's text for people is.
    std::uint64_t let_go = 0;   ///< Not 0: nobody needs the data any more.
    timespec pause = {0, 1'000'000};

    control::ThreadName thread_name{};
    control::Invitation invitation;
    std::array<char, 4096> library{};
};

enum class RemoteState : std::uint64_t {
    at_work = 0,
    not_loaded = 1,  ///< The loader refused the library.
    loaded = 2,
    no_table = 3,  ///< No table of descriptors of its own.
};

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kDataOffset = kPageBytes;
/// Room for what XSAVE writes, and for the stack of the call.
constexpr std::size_t kStateOffset = kDataOffset + 2 * kPageBytes;
constexpr std::size_t kMostStateBytes = 4 * kPageBytes;
constexpr std::size_t kRegionBytes = kStateOffset + kMostStateBytes + 16 * kPageBytes;

/// The code, which runs at any page's beginning.
[[nodiscard]] std::span<const std::byte> remote_code() noexcept;
/// In it: where an interrupted thread is sent, with the stack pointer at the region's end.
[[nodiscard]] std::size_t call_offset() noexcept;

/// Whether this processor and kernel keep a thread's registers as the code does. Source: Intel SDM
/// 1, chapter 13.
[[nodiscard]] bool can_keep_registers() noexcept;

}  // namespace sample::inject
