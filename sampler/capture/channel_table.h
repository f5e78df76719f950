// The program's channels, where the collector finds them, which switches them while the program
// runs.
//
// A channel is a word in a module of the program: 0 while it is on. The collector writes it from
// outside, through the process's memory: with all channels off no code of ours runs inside, and
// nobody there would notice. Whoever adds, removes or switches channels holds
// DefinitionStore::channels_holder meanwhile, so that a word is not written to whose module goes.
//
// The table is memory of the process's own, so that a forked child has what it had at the fork. A
// token that the area has, too, tells it from what other images have at its place.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sample::capture {

/// Among the wanted channels: every one is wanted. In place of them: none.
inline constexpr const char* kAllChannels = "all";
inline constexpr const char* kNoChannels = "none";

struct ChannelEntry {
    static constexpr std::uint64_t kUnused = 0;
    static constexpr std::uint64_t kBeingWritten = 1;

    std::atomic<std::uint64_t> word;  ///< Where it is, or one of the above. Released last.
    std::array<char, 56> name;        ///< One that is longer has no entry, and stays as it was.
};

struct ChannelTable {
    static constexpr std::size_t kEntries = 1024;

    std::atomic<std::uint64_t> token;  ///< DefinitionStore::channels_token.
    std::atomic<std::uint64_t> used;   ///< No entry from here on was ever used.
    std::array<ChannelEntry, kEntries> entries;
};

/// DefinitionStore::channels_holder. NOLINTNEXTLINE(readability-identifier-naming): constants
enum : std::uint32_t { kChannelsFree = 0, kChannelsOfAgent = 1, kChannelsOfCollector = 2 };

/// Whether `name` is one of `wanted`, which are separated by commas.
[[nodiscard]] constexpr bool is_among(const char* name, const char* wanted) noexcept {
    while (*wanted != '\0') {
        std::size_t i = 0;
        while (name[i] != '\0' && name[i] == wanted[i]) {
            ++i;
        }
        if (name[i] == '\0' && (wanted[i] == ',' || wanted[i] == '\0')) {
            return true;
        }
        while (*wanted != '\0' && *wanted != ',') {
            ++wanted;
        }
        wanted += *wanted == ',' ? 1 : 0;
    }
    return false;
}

[[nodiscard]] constexpr bool is_channel_wanted(const char* name, const char* wanted) noexcept {
    return is_among(name, wanted) || is_among(kAllChannels, wanted);
}

}  // namespace sample::capture
