// What stands in names but belongs to no language: marks at their ends, among them those of the
// parts and copies that compilers make of a function, and names that are no function's at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sample::symbolize {

/// Whether nothing of `name` can be left out: "[not sampled]", "module+0xoffset", Objective-C.
[[nodiscard]] bool is_opaque_name(std::string_view name);

/// Where "@plt", " [clone …]" and " [guessed]" begin, which belong to no language.
[[nodiscard]] std::size_t ending_of(std::string_view name);

/// The name of the function that `name` is a part or a copy of: without the endings ".cold",
/// ".warm", ".part.0", ".constprop.0", ".isra.0", ".lto_priv.0", ".localalias", ".llvm.123",
/// ".__uniq.123", and without those written as " [clone .cold]". Other endings stay ("._omp_fn.0",
/// ".resolver", ".avx2"): what bears them is called as a function of its own. `name` itself if it
/// has none. Thread-safe.
[[nodiscard]] std::string without_part(std::string_view name);

/// True for a part that its own function calls (g++'s ".part.0", clang's ".cold.1"). False for one
/// that it jumps to, whose frame takes the place of the function's (g++'s ".cold"), and for a copy,
/// which others call instead of it. Thread-safe.
[[nodiscard]] bool is_called_part(std::string_view name) noexcept;

}  // namespace sample::symbolize
