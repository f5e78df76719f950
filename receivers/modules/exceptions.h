// C++ exceptions. exceptions.cpp stands before the C++ runtime's functions.
#pragma once

namespace sample::modules {

/// Whether the program's exceptions come by here: not where the host was loaded late.
[[nodiscard]] bool sees_exceptions() noexcept;

}  // namespace sample::modules
