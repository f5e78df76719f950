// What a process knows of itself and a child must not take over, on a page of its own that the
// kernel empties in every forked child, however it was made.
//
// Fork handlers do not see children of _Fork(), clone() or a system call of the program's own. Such
// a child has copies of all pointers and locks of its parent, but neither the memory they lead to
// nor the threads that hold them. On this page it finds zeros: no session, no lock that is held. A
// vfork child, which shares its parent's memory, sees what its parent does.
//
// Lies in the library's zeroed data, which is anonymous memory as the kernel asks for it.
// Source: madvise(2), MADV_WIPEONFORK (Linux 4.14; before it, only what fork handlers reset is).
#pragma once

#include "sampler/capture/raw_syscall.h"

#include <sys/mman.h>

#include <cstddef>

namespace sample::capture {

template <class T>
class WipedOnFork {
public:
    /// To be called once, before there is anything to be wiped. Async-signal-safe.
    void set_up() noexcept {
        raw_syscall(SYS_madvise, as_argument(this), sizeof *this, MADV_WIPEONFORK);
    }
    constexpr T* operator->() noexcept { return &value_; }
    constexpr T& operator*() noexcept { return value_; }

private:
    static constexpr std::size_t kPageBytes = 4096;
    static_assert(sizeof(T) <= kPageBytes);

    alignas(kPageBytes) T value_{};
};

}  // namespace sample::capture
