// Whoever wants to be told of what the process says: sample_trace_listener.
//
// Programs call through the table each time, so it is the table that changes: an entry that is
// listened to leads to a function here, which does what it did before and tells the listener, and
// any other one to the function itself. Entries are exchanged one by one while others call through
// them. Where zones are concerned, ends are listened to before beginnings are, and for longer, so
// that a listener that hears a beginning hears its end unless it has ended to listen.
//
// The page is made writable when somebody listens for the first time, and stays so: a program whose
// calls are filtered later meets no call of ours in the middle of a frame.
#pragma once

#include "sample/trace_abi.h"

#include <cstddef>

namespace sample::agent {

inline constexpr std::size_t kTablePageBytes = 4096;

/// The table that programs call through, alone on its page.
struct alignas(kTablePageBytes) TablePage {
    sample_trace_functions functions;
    std::byte rest[kTablePageBytes - sizeof(sample_trace_functions)];
};

/// The functions that tell nobody.
[[nodiscard]] const sample_trace_functions& direct_functions() noexcept;

/// `listener`: null, nobody; it is copied. False: the table cannot be written to, and all is as it
/// was. Thread-safe; async-signal-safe, but for who forks in a handler meanwhile.
[[nodiscard]] bool listen(const sample_trace_listener* listener) noexcept;

}  // namespace sample::agent

/// Where the note leads to. Read-only until somebody listens.
// NOLINTNEXTLINE(readability-identifier-naming,bugprone-dynamic-static-initializers): constinit.
extern "C" sample::agent::TablePage sample_agent_trace_functions;
