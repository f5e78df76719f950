// Zones of the channel `openmp`, and what each thread has open.
#pragma once

#include "receivers/shared/names.h"

#include <cstdint>

// The channel `openmp`.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): zero.
SAMPLE_TRACE_CHANNEL_EXTERN(openmp);

namespace sample::ompt {

/// What a zone stands for.
enum class ZoneKind : std::uint64_t {
    parallel = 1,
    implicit_task,
    explicit_task,
    sync,
    wait,
    work,
    masked,
    mutex,
    reduction
};

/// Until end_zone() of the same kind and `key`. `name`: a literal. `code`: from where the program's
/// code has called; null: it is not known.
void begin_zone(ZoneKind kind, const void* key, const char* name, const void* code) noexcept;
/// Nothing if there is no such zone: what began before the tool was there has none.
void end_zone(ZoneKind kind, const void* key) noexcept;
[[nodiscard]] bool is_open(ZoneKind kind, const void* key) noexcept;

}  // namespace sample::ompt
