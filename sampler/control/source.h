// The sources of samples: what interrupts the program's threads. The one description that the
// agent, the collector and the command line share; docs/sources.md has the figures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sample::control {

/// Best first; `none`: no source, or the best that works.
enum class Source : std::uint32_t { none = 0, sigtrap = 1, perf = 2, thread = 3, timer = 4 };

struct SourceDescription {
    std::string_view name;      ///< As `--source` spells it.
    std::string_view misses;    ///< What it cannot see.
    std::string_view disturbs;  ///< What the program may notice; empty: nothing.
};

/// By Source.
inline constexpr auto kSources = std::to_array<SourceDescription>({
    {"none", "", ""},
    {"sigtrap",
     "threads that live less than a period; Go programs and programs under a debugger, which get "
     "the next source",
     ""},
    {"perf", "who called into the kernel; threads that were not made by pthread_create", ""},
    {"thread", "where inside a system call time went: it shows at the call's end",
     "has one more thread, which uses CPU time of its own; a few blocking calls return EINTR; long "
     "reads and writes past libc come back short"},
    {"timer", "as perf and thread do",
     "sleeping calls return EINTR at every sample, and blocking reads and writes come back short: "
     "a program that does not expect that fails or loses data, so auto never takes it"},
});
inline constexpr std::size_t kSourceCount = kSources.size();

/// Of a source that is none of these, as of `none`.
[[nodiscard]] constexpr const SourceDescription& describe(Source source) noexcept {
    const auto index = static_cast<std::size_t>(source);
    return kSources[index < kSourceCount ? index : 0];
}

/// `none`: no source is called so.
[[nodiscard]] constexpr Source source_named(std::string_view name) noexcept {
    std::size_t index = kSourceCount - 1;
    while (index != 0 && kSources[index].name != name) {
        --index;
    }
    return static_cast<Source>(index);
}

}  // namespace sample::control
