// Whether a thread was interrupted where a function of libc may be called in its name.
//
// It may, if the thread holds no lock that the function takes, as it can't give it back meanwhile,
// and if nothing is half done that the function works on: libc's and the loader's tables, and the
// memory that malloc manages, whoever's malloc that is. So its whole stack must be known, and be
// the program's own code but for
//   - the functions of libc that have started the thread, at its root;
//   - at its end, the functions of libc that wait for something that is no lock, or the one that
//     has made a system call for the program, and is about to return.
// A handler that has interrupted anything else, a thread in the loader, one whose thread register
// is not libc's: they are not at such a place.
#pragma once

#include "sampler/attach/code_images.h"
#include "sampler/attach/code_map.h"
#include "sampler/inject/held_thread.h"
#include "unwind/walk/row_cache.h"

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace sample::inject {

/// The system calls that a thread may wait in at such a place: those that wait for an event, a
/// time, a child or another thread's word. Not those that wait for a lock: libc's mutexes, which
/// malloc has, too, wait otherwise than its condition variables. Source: glibc
/// sysdeps/nptl/lowlevellock.h and nptl/futex-internal.c.
[[nodiscard]] bool waits_for_no_lock(long call, std::uint64_t second_argument) noexcept;

class SafePlaces {
public:
    /// Looks at what the process has mapped. `memory`: its /proc/PID/mem; `libc`: an address in its
    /// libc.
    SafePlaces(pid_t pid, int memory, std::uint64_t libc);

    [[nodiscard]] bool is_safe(const HeldThread& thread);

private:
    [[nodiscard]] bool has_libcs_thread_register(const user_regs_struct& registers) const;
    /// The frames of its stack, leaf first; none if its root is not reached.
    [[nodiscard]] std::vector<std::uint64_t> stack_of(const user_regs_struct& registers);
    [[nodiscard]] const attach::CodeImage* image_at(std::uint64_t pc) const;

    static constexpr std::size_t kRows = 1024;

    int memory_;
    std::uint64_t entry_;  ///< Of the program.
    attach::CodeImages images_;
    attach::CodeMap code_;
    const attach::CodeImage* libc_ = nullptr;
    /// Where no thread may be: the loader, malloc's, the kernel's page.
    std::set<const attach::CodeImage*> avoided_;
    std::unique_ptr<std::array<unwind::RowCache::Entry, kRows>> storage_;
    unwind::RowCache rows_;
    std::vector<std::byte> stack_;
};

}  // namespace sample::inject
