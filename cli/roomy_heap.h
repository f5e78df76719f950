// A heap for those who are about to read a whole recording: in large pages where the kernel has
// them, and it gives nothing back meanwhile. On a virtual machine the kernel takes longer to hand
// out a tenth of a gigabyte in pages of 4 KiB than a recording takes to be read.
#pragma once

namespace sample::cli {

/// Of this process, from here on. Nothing where its memory is limited. Costs some microseconds;
/// room that is not used is address space alone. Not thread-safe against itself. Source:
/// mallopt(3), madvise(2).
void make_heap_roomy();

/// Of this process, from here on: what is freed is used again, up to 64 MiB of it, and not given
/// back to the kernel: for work that is done anew each second. Costs nothing. Not thread-safe
/// against itself. Source: mallopt(3).
void keep_freed_memory();

/// Whether this process may use less memory than there is (RLIMIT_AS, RLIMIT_DATA).
[[nodiscard]] bool is_memory_limited();

}  // namespace sample::cli
