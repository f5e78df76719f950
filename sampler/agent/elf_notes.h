// What the notes of a module say, as they lie in memory. Async-signal-safe. Source: gABI, Note
// Section.
#pragma once

#include <link.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace sample::agent {

/// What the first note of that owner and type says; empty, without an address, if there is none.
[[nodiscard]] std::span<const std::uint8_t> find_note(std::span<const ElfW(Phdr)> headers,
                                                      std::uint64_t bias, std::string_view owner,
                                                      std::uint32_t type) noexcept;

/// Whether `address` lies in a module that Go's linker made.
///
/// In a program with libc (cgo, c-shared) Go's runtime sets its handlers by libc's sigaction, but
/// asks for the alternate stack by a system call of its own, and so finds ours where nobody set
/// another one. It ends the program when a handler then runs elsewhere. Source: Go
/// runtime/signal_unix.go, minitSignalStack, adjustSignalStack.
[[nodiscard]] bool is_go_code(std::uint64_t address) noexcept;

}  // namespace sample::agent
