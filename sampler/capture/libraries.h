// Libraries: which lie where, as the collector is told, and what keeps the handler from reading the
// tables of one while it is unloaded.
//
// The modules of the table are told when a process joins, libraries that came later by the handler
// that meets them. Those outside the table are read only while no unload is under way, and an
// unload waits for whoever reads: at most as long as a handler takes. Only the thread that unloads
// goes on reading meanwhile: what it runs, a library's destructors among it, stays until they
// return. The same tells when no thread is inside the handler any more. Async-signal-safe.
#pragma once

#include "core/address.h"
#include "sampler/capture/capture.h"
#include "sampler/capture/thread_state.h"
#include "unwind/walk/module_table.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::capture {

/// Holds off unloads while it lives, if none is under way but the calling thread's own. The first
/// thing that a sample makes: what is read after it is not older than a guard that was closed
/// before.
class LibraryReader {
public:
    /// Whose thread reads: one of ours runs no library, and has no thread-local storage of its own.
    enum class Of : std::uint8_t { program, ours };

    explicit LibraryReader(Of thread = Of::program) noexcept;
    ~LibraryReader();
    LibraryReader(const LibraryReader&) = delete;
    LibraryReader& operator=(const LibraryReader&) = delete;
    /// False: another thread's unload is under way; only modules that stay may be read.
    [[nodiscard]] bool allowed() const noexcept { return allowed_; }

protected:
    /// As the destructor, which then does nothing.
    void leave() noexcept;

private:
    std::size_t index_;
    bool allowed_ = false;
    bool is_inside_ = true;
};

/// One outside of the sampling handler, which signal handlers of the program may interrupt, and
/// leave by a jump.
class InterruptibleReader : public LibraryReader {
public:
    InterruptibleReader() noexcept;
    ~InterruptibleReader();
    InterruptibleReader(const InterruptibleReader&) = delete;
    InterruptibleReader& operator=(const InterruptibleReader&) = delete;

    /// The calling thread's one, if it has any, holds nothing off any more: nobody waits for a
    /// thread that waits itself, or has left it by a jump.
    static void give_up() noexcept;
};

/// New readers are refused, but those of the thread that unloads; returns when no old one is left.
void close_library_guard(Unloader unloader) noexcept;
/// Of the calling thread.
void open_library_guard() noexcept;
/// Whether a thread has read libraries in its own unload since the last call: what is known of them
/// ends with that.
[[nodiscard]] bool was_read_in_unload() noexcept;
/// Returns when none of those who were inside is left, readers or refused. Whoever comes later sees
/// what was written before the call.
void wait_until_all_are_out() noexcept;
/// In a forked child: readers and unloads of other threads do not exist, the calling thread's do.
void reset_library_guard() noexcept;

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
