// Names of domains, categories and threads, and what each thread has open.
#pragma once

#include "receivers/nvtx/abi.h"
#include "receivers/shared/names.h"
#include "receivers/shared/thread_state.h"

#include <cstdint>

// clang-tidy 14 does not see constinit.
// NOLINTBEGIN(bugprone-dynamic-static-initializers)

// The channel `nvtx`.
SAMPLE_TRACE_CHANNEL_EXTERN(nvtx);

namespace sample::nvtx {

using receivers::Name;

/// What a program's handle of a domain points to: its name. Null: the default domain.
using DomainHandle = Name*;

extern constinit receivers::Unmatched g_unmatched;
// NOLINTEND(bugprone-dynamic-static-initializers)

[[nodiscard]] inline const sample_trace_functions& agent() noexcept {
    return *sample_trace_module.functions;
}

/// Whether what the thread says is recorded. Says its name, if another thread has given it one.
[[nodiscard]] bool is_on() noexcept;

/// The text of a message of any type.
[[nodiscard]] Name& name_of(MessageType type, const void* message) noexcept;

/// What stands as the category of the recording: the domain, the category, or both. Category 0:
/// none.
[[nodiscard]] Name& category_of(DomainHandle domain, std::uint32_t category) noexcept;
void name_category(DomainHandle domain, std::uint32_t category, const Name& name) noexcept;

/// By the kernel's number of a thread, which may be another one.
void name_thread(std::uint32_t tid, const Name& name) noexcept;

}  // namespace sample::nvtx
