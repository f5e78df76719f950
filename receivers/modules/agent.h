// The agent, as the host of profiler modules sees it, and lines for people.
#pragma once

#include "sample/profiler_module_abi.h"

namespace sample::modules {

/// Looks for the agent: once, before anything else is called.
void find_agent() noexcept;
/// Null: it is not there, or of another version.
[[nodiscard]] const sample_module_agent* agent() noexcept;

/// "sample: module NAME: TEXT", or without a name (null) "sample: TEXT", on standard error.
/// Async-signal-safe.
void complain(const char* module, const char* text, const char* reason = nullptr) noexcept;

/// When it goes, errno is as it was when it came.
class KeptErrno {
public:
    KeptErrno() noexcept;
    ~KeptErrno();
    KeptErrno(const KeptErrno&) = delete;
    KeptErrno& operator=(const KeptErrno&) = delete;

private:
    int value_;
};

}  // namespace sample::modules
