// Strong indices: a NodeId cannot be passed where a FunctionId is wanted.
//
// Ids of a recording are dense and start at 1; 0 is "none" (for nodes: the root, the empty stack).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace sample {

template <class Tag>
struct Id {
    std::uint32_t value = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): misread by clang-tidy 14
    constexpr auto operator<=>(const Id&) const = default;
    [[nodiscard]] constexpr bool is_none() const noexcept { return value == 0; }
};

using ProcessId = Id<struct ProcessTag>;    ///< One image of one process: an exec makes a new one.
using ThreadId = Id<struct ThreadTag>;      ///< One thread of the recording, not the kernel's tid.
using ModuleId = Id<struct ModuleTag>;      ///< One file (path and build-id) of code.
using NodeId = Id<struct NodeTag>;          ///< One stack: a parent stack and one address more.
using MetricId = Id<struct MetricTag>;      ///< One quantity that samples are weighed by.
using FunctionId = Id<struct FunctionTag>;  ///< One function of a Profile.

}  // namespace sample

template <class Tag>
struct std::hash<sample::Id<Tag>> {
    std::size_t operator()(sample::Id<Tag> id) const noexcept { return id.value; }
};
