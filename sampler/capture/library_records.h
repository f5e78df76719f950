// Tells the collector which module lies where: those of the table when a process joins, and
// libraries that came later from the handler that meets them. Async-signal-safe.
#pragma once

#include "core/address.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/thread_state.h"
#include "unwind/walk/module_table.h"

#include <cstdint>
#include <span>

namespace sample::capture {

/// One module record in the thread's chunk. False: no room anywhere.
bool write_module(Area& area, ThreadState& thread, const ModuleDescription& module) noexcept;

/// If libraries may have gone since the thread's last sample: it has reported none.
void forget_unloaded_libraries(Area& area, ThreadState& thread, std::uint64_t generation) noexcept;

/// Writes a record for every library that one of the frames lies in, that is
/// not in the table and that this thread has not reported yet. Reads the loader's
/// tables: hold a LibraryReader.
void report_new_libraries(Area& area, ThreadState& thread, const unwind::ModuleTable& modules,
                          std::span<const FrameAddress> frames) noexcept;

}  // namespace sample::capture
