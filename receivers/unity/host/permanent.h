// Memory that is never given back: descriptions of markers, categories and threads, which plug-ins
// may keep for as long as the process lives.
//
// Async-signal-safe, thread-safe, no lock: a zone of a signal handler may be the first of its kind.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace sample::unity {

/// Zeroed, aligned to 16. Null: there is no memory.
[[nodiscard]] void* keep_bytes(std::size_t bytes) noexcept;

/// A copy, cut to `most` bytes; null is empty. Null only if there is no memory.
[[nodiscard]] const char* keep_text(const char* text, std::size_t most = 1024) noexcept;

template <class T, class... Arguments>
[[nodiscard]] T* keep(Arguments&&... arguments) noexcept {
    void* const memory = keep_bytes(sizeof(T));
    return memory == nullptr ? nullptr : new (memory) T(std::forward<Arguments>(arguments)...);
}

}  // namespace sample::unity
