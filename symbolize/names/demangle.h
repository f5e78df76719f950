// Names for people out of names for linkers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sample::symbolize {

/// Names that are longer, as they are given or as they would be shown, stay as they are.
inline constexpr std::size_t kLongestName = std::size_t{64} << 10;

/// The C++ (Itanium), Rust (legacy and v0) or D name that `linkage_name` stands for, with
/// arguments; `linkage_name` itself if it stands for none. Suffixes that compilers add to parts and
/// copies of a function (".cold", ".constprop.0") are shown as " [clone .cold]".
///
/// Hostile names are bounded: one that is longer than kLongestName, or whose readable form would
/// be, is returned as it stands. Never fails. Thread-safe.
[[nodiscard]] std::string demangle(std::string_view linkage_name);

}  // namespace sample::symbolize
