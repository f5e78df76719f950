// The modules that the program started with: the table that the walk reads, and the records that
// tell the collector of them.
//
// Built once, when the process joins; these modules never go away. Libraries that come later are
// found by the handler itself (_dl_find_object), so dlopen needs no wrapper, which would change how
// the loader looks a library up (by its caller). An unload makes a new generation, so that no row
// of a gone library is used again.
//
// A module whose .eh_frame_hdr is missing or too small for its code gets an index, from its file
// (unwind/index/). The executable's file is always looked at; a library's only then.
#pragma once

#include "unwind/index/frame_index_builder.h"
#include "unwind/walk/module_table.h"

#include <cstdint>

namespace sample::agent {

/// The current table, built at the first call. Not async-signal-safe.
[[nodiscard]] const unwind::ModuleTable* module_table() noexcept;

/// The calling thread is about to unload a library: the same modules go on under a new generation,
/// and behind it under another one, if it has read libraries meanwhile.
void begin_unload() noexcept;
void end_unload() noexcept;

/// What the modules' indexes take, and what did not fit, since the table was built.
[[nodiscard]] const unwind::IndexBudget& index_budget() noexcept;

/// Writes one record a module into the area. Safe in a forked child.
void report_modules() noexcept;

/// Whether the program was run by naming the loader (`ld-linux-x86-64.so.2 PROGRAM`). Then the
/// process's file is the loader's, and the program's is what the loader says. Async-signal-safe.
[[nodiscard]] bool is_run_by_loader() noexcept;

/// Whether `address` lies in a module that Go's linker made.
///
/// In a program with libc (cgo, c-shared) Go's runtime sets its handlers by libc's sigaction, but
/// asks for the alternate stack by a system call of its own, and so finds ours where nobody set
/// another one. It ends the program when a handler then runs elsewhere. Async-signal-safe.
/// Source: Go runtime/signal_unix.go, minitSignalStack, adjustSignalStack.
[[nodiscard]] bool is_go_code(std::uint64_t address) noexcept;

}  // namespace sample::agent
