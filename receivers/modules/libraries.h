// Libraries that come and go. libraries.cpp stands before dlopen and dlclose.
#pragma once

namespace sample::modules {

/// Tells of libraries that have come or gone since the last look; the first look tells of none. One
/// at a time: where another thread looks, this one does not. Not async-signal-safe.
void look_at_libraries() noexcept;

/// In a forked child, where nobody else looks.
void forget_looking() noexcept;

}  // namespace sample::modules
