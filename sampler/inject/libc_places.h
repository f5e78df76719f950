// Where functions of libc are in another process, which has the same libc as this one.
#pragma once

#include "core/result.h"

#include <sys/types.h>

#include <cstdint>

namespace sample::inject {

class LibcPlaces {
public:
    /// Errors: unsupported (it has none, or another one than this process).
    static Result<LibcPlaces> of(pid_t pid);

    /// 0: there is no such function.
    [[nodiscard]] std::uint64_t function(const char* name) const;
    /// An instruction that makes a system call.
    [[nodiscard]] std::uint64_t syscall_instruction() const;

private:
    LibcPlaces(void* handle, std::uint64_t distance) : handle_{handle}, distance_{distance} {}

    void* handle_;            ///< Ours, which is never given back.
    std::uint64_t distance_;  ///< From ours to that one.
};

}  // namespace sample::inject
