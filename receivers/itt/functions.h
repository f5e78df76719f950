// The functions that programs reach by the static part's table, as groups of (name, function): the
// name is without its "__itt_". What the lists leave out does nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sample::itt {

struct Function {
    const char* name;
    void* function;
    void* wide;  ///< Null: it has but one form.
};

/// `function`: of any type. It is called as what its name says.
template <class Type>
[[nodiscard]] Function entry(const char* name, Type* function) noexcept {
    return {name, reinterpret_cast<void*>(function), nullptr};
}
/// Of a name, which with A behind it is the same, and with W that of wide characters.
template <class Type, class Wide>
[[nodiscard]] Function entry(const char* name, Type* function, Wide* wide) noexcept {
    return {name, reinterpret_cast<void*>(function), reinterpret_cast<void*>(wide)};
}

[[nodiscard]] std::span<const Function> task_functions() noexcept;    // Zones, regions, relations.
[[nodiscard]] std::span<const Function> handle_functions() noexcept;  // Domains, texts, control.
[[nodiscard]] std::span<const Function> figure_functions() noexcept;  // Counters, frames.
[[nodiscard]] std::span<const Function> word_functions() noexcept;    // Markers, metadata, events.
[[nodiscard]] std::span<const Function> sync_functions() noexcept;    // Waiting for objects.

/// Nanoseconds; what frame_submit_v3() is told.
[[nodiscard]] std::uint64_t get_timestamp() noexcept;

}  // namespace sample::itt
