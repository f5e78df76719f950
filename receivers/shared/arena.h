// Memory for what is kept as long as the process: names, handles, what threads have open. Not
// malloc's: the program may be inside its own, count what it gives out, or have replaced it. No
// system call either: the program may have forbidden itself some.
#pragma once

#include <cstddef>

namespace sample::receivers {

/// `bytes` zeroed bytes, for 16-byte alignment, that are never given back. Null: there are none
/// left. Thread-safe, without a lock; async-signal-safe.
[[nodiscard]] void* keep(std::size_t bytes) noexcept;

/// A T of zero bytes. Null: there is no memory.
template <class T>
[[nodiscard]] T* keep_new() noexcept {
    static_assert(alignof(T) <= 16);
    return static_cast<T*>(keep(sizeof(T)));
}

}  // namespace sample::receivers
