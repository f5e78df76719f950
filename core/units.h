// How much of one unit makes another, and the base of hexadecimal numbers.
#pragma once

#include <cstdint>

namespace sample {

inline constexpr std::uint64_t kNsPerUs = 1'000;
inline constexpr std::uint64_t kNsPerMs = 1'000'000;
inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
inline constexpr double kHundred = 100;  ///< Per cent.
inline constexpr int kHexadecimal = 16;

}  // namespace sample
