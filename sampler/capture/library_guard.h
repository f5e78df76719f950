// Keeps the handler from reading tables of a library while it is unloaded, and tells when no thread
// is inside the handler any more.
//
// Libraries outside the module table are read only while no unload is under way, and an unload
// waits for whoever reads: at most as long as a handler takes. Async-signal-safe.
#pragma once

#include <cstddef>

namespace sample::capture {

/// Holds off unloads while it lives, if none is under way. The first thing that a sample makes:
/// what is read after it is not older than a guard that was closed before.
class LibraryReader {
public:
    LibraryReader() noexcept;
    ~LibraryReader();
    LibraryReader(const LibraryReader&) = delete;
    LibraryReader& operator=(const LibraryReader&) = delete;
    /// False: an unload is under way; only modules that stay may be read.
    [[nodiscard]] bool allowed() const noexcept { return allowed_; }

private:
    std::size_t index_;
    bool allowed_ = false;
};

/// New readers are refused; returns when no old one is left.
void close_library_guard() noexcept;
void open_library_guard() noexcept;
/// Returns when none of those who were inside is left, readers or refused. Whoever comes later sees
/// what was written before the call.
void wait_until_all_are_out() noexcept;
/// In a forked child: readers and unloads of other threads do not exist.
void reset_library_guard() noexcept;

}  // namespace sample::capture
