// Code of Go's runtime.
//
// In a program with libc (cgo, c-shared) it sets its handlers by libc's sigaction, but asks for the
// alternate stack by a system call of its own, and so finds ours where nobody set another one. It
// ends the program when a handler then runs elsewhere. Source: Go runtime/signal_unix.go,
// minitSignalStack, adjustSignalStack.
#pragma once

#include <cstdint>

namespace sample::agent {

/// Whether `address` lies in a module that Go's linker made. Async-signal-safe.
[[nodiscard]] bool is_go_code(std::uint64_t address) noexcept;

}  // namespace sample::agent
