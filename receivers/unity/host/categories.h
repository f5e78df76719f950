// The categories that there are, by number: those that Unity has, and those that plug-ins and the
// program have made.
#pragma once

#include "receivers/unity/host/announced.h"
#include "sample/unity/IUnityProfilerTypes.h"

namespace sample::unity {

inline constexpr std::size_t kMostCategories = 1024;

using Categories = Announced<UnityProfilerCategoryDesc, kMostCategories>;
[[nodiscard]] Categories& categories() noexcept;

/// Once, before any other.
void make_builtin_categories() noexcept;

/// The one of that name, made if there is none. `colour`: 0xRRGGBB, or SAMPLE_TRACE_NO_COLOUR, one
/// of ours. kUnityProfilerCategoryOther: there is no room.
[[nodiscard]] UnityProfilerCategoryId find_category(const char* name,
                                                    std::uint32_t colour) noexcept;

/// That of a number that there is none of is Other.
[[nodiscard]] const UnityProfilerCategoryDesc& category_of(UnityProfilerCategoryId id) noexcept;

}  // namespace sample::unity
