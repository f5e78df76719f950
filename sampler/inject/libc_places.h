// Where functions of libc are in another process, which has the same libc as this one.
#pragma once

#include "core/result.h"
#include "sampler/inject/held_thread.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace sample::inject {

class LibcPlaces {
public:
    /// Errors: unsupported (it has none, or another one than this process).
    static Result<LibcPlaces> of(pid_t pid);

    /// 0: there is no such function.
    [[nodiscard]] std::uint64_t function(const char* name) const;
    /// 0: it has no such instructions.
    [[nodiscard]] CallPlaces for_calls() const;

private:
    LibcPlaces(void* handle, std::span<const std::byte> code, std::uint64_t distance)
        : handle_{handle}, code_{code}, distance_{distance} {}

    [[nodiscard]] std::uint64_t code(std::initializer_list<unsigned char> bytes) const;

    void* handle_;                     ///< Ours, which is never given back.
    std::span<const std::byte> code_;  ///< Ours.
    std::uint64_t distance_;           ///< From ours to that one.
};

}  // namespace sample::inject
