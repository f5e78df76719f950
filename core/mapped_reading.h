// Reading mapped files that somebody may cut off meanwhile: a linker that writes its output in
// place, a `cp` over a library, a file server.
//
// Touching a page that is no longer there raises SIGBUS (mmap(2)), which would end the program. It
// is not enough to look at the file before, and libelf and libdw map files by themselves. So a
// thread says that it reads such files for a while; a fault of it puts zeros where the rest of that
// mapping was, the reading goes on, and its result is thrown away.
//
// What was there is only good for a reader that distrusts it, as all of ours must.
#pragma once

#include "core/result.h"

#include <csignal>
#include <cstdint>
#include <span>
#include <string>

namespace sample {

/// While it lives, faults of this thread in private mappings of files are survived. Of several, one
/// inside the other, the innermost is told. The signal's disposition and the thread's mask are as
/// they were when none lives any more; faults of other kinds and threads go where they went before.
///
/// A few system calls each. Thread-safe; ends on the thread that it began on. Not
/// async-signal-safe.
class MappedReading {
public:
    MappedReading();
    ~MappedReading();
    MappedReading(const MappedReading&) = delete;
    MappedReading& operator=(const MappedReading&) = delete;
    MappedReading(MappedReading&&) = delete;
    MappedReading& operator=(MappedReading&&) = delete;

    /// Something that was read was not there any more: what came of it is worth nothing.
    [[nodiscard]] bool is_broken() const { return broken_; }
    /// The file that it first happened to, as /proc/self/maps calls it; "" where that is not known.
    [[nodiscard]] std::string file() const { return file_; }
    /// Says so, for a reader of nothing but the file at `path`.
    [[nodiscard]] static Error broken(const std::string& path);

private:
    static void on_fault(int signal, siginfo_t* info, void* context);
    bool replace_rest_of_mapping(void* touched) noexcept;

    MappedReading* outer_;
    sigset_t mask_before_{};
    volatile bool broken_ = false;
    char file_[256] = {};
};

/// A mapping of this process.
struct FoundMapping {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    bool is_private = true;
};

/// The mapping that `address` lies in, from /proc/self/maps. False, and `found` left alone, if the
/// address is not mapped or /proc can't be read. The file's name goes to `name`, cut off to fit,
/// with a 0 behind it; "" for anonymous memory. O(mappings). Async-signal-safe.
/// Source: proc_pid_maps(5).
bool find_mapping(std::uintptr_t address, FoundMapping& found, std::span<char> name) noexcept;

}  // namespace sample
