// A heap for those who are about to read a whole recording: in large pages where the kernel has
// them, and it gives nothing back meanwhile. On a virtual machine the kernel takes longer to hand
// out a tenth of a gigabyte in pages of 4 KiB than a recording takes to be read.
#pragma once

#include <cstddef>
#include <future>

namespace sample::cli {

/// Of this process, from here on. Nothing where its memory is limited. Costs some microseconds;
/// room that is not used is address space alone. The first `soon` bytes are about to be used: the
/// kernel hands them out to a thread of its own meanwhile, which the future waits for as it ends.
/// Not thread-safe against itself. Source: mallopt(3), madvise(2).
std::future<void> make_heap_roomy(std::size_t soon = 0);

/// Whether this process may use less memory than there is (RLIMIT_AS, RLIMIT_DATA).
[[nodiscard]] bool is_memory_limited();

}  // namespace sample::cli
