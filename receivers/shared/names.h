// Names that come at run time: each text is kept once, and has one address as long as the process
// lives. So whoever frees or changes a text after the call harms nobody, and an address stands for
// a text.
//
// Thread-safe, without a lock; async-signal-safe.
#pragma once

#include "sample/trace.h"

#include <atomic>
#include <cstdint>
#include <string_view>

namespace sample::receivers {

struct Name {
    Name* next;
    std::uint64_t hash;
    std::uint32_t bytes;
    std::uint32_t number;                   ///< No other name's; from 1 on.
    std::atomic<std::uint32_t> bookmark;    ///< Of this category: its definition, or 0.
    std::atomic<std::uint32_t> frame_kind;  ///< 0: none yet.
    /// What was found last: mostly a name has one definition. The number of that, and above it what
    /// it is known by; 0: none yet.
    mutable std::atomic<std::uint64_t> definition;
    /// Followed by the text and a 0.

    [[nodiscard]] const char* text() const noexcept {
        return reinterpret_cast<const char*>(this + 1);
    }
};

/// How many names there are at most: behind them, all have the same.
inline constexpr std::uint32_t kMostNames = 65'535;

/// `text`: at most kMostNameBytes, as receivers::Text has them.
[[nodiscard]] Name* name_of(std::string_view text) noexcept;

/// Of a text that ends with a 0, cut as Text is. Mostly it was said at that address before, and a
/// comparison does.
[[nodiscard]] Name* name_at(const char* text) noexcept;

/// A name that is known when this is compiled.
class FixedName {
public:
    /// `text`: a literal.
    constexpr explicit FixedName(const char* text) noexcept : text_{text} {}
    [[nodiscard]] Name& get() noexcept;

private:
    const char* text_;
    std::atomic<Name*> name_{nullptr};
};

namespace detail {
inline constexpr unsigned kDefinitionBits = 16;
/// What a definition is known by, beside its name: kind, colour, category.
[[nodiscard]] inline std::uint64_t key_of(std::uint8_t kind, const Name* category,
                                          std::uint32_t colour) noexcept {
    constexpr std::uint32_t kNoColour = 1U << 24U;
    return std::uint64_t{kind} << 42U |
           std::uint64_t{colour < kNoColour ? colour : kNoColour} << 17U |
           (category == nullptr ? 0 : category->number);
}
[[nodiscard]] std::uint32_t find_definition(std::uint8_t kind, const Name& name,
                                            const Name* category, std::uint32_t colour) noexcept;
}  // namespace detail

/// The definition of a zone, of a region or of a counter. 0: as sample_trace_functions::define.
/// `kind`: SAMPLE_TRACE_KIND_ZONE, …_REGION, …_INTEGER or …_REAL.
[[nodiscard]] inline std::uint32_t definition_of(
    std::uint8_t kind, const Name& name, const Name* category,
    std::uint32_t colour = SAMPLE_TRACE_NO_COLOUR) noexcept {
    const std::uint64_t last = name.definition.load(std::memory_order_relaxed);
    if (last >> detail::kDefinitionBits == detail::key_of(kind, category, colour)) [[likely]] {
        return static_cast<std::uint32_t>(last & ((1U << detail::kDefinitionBits) - 1));
    }
    return detail::find_definition(kind, name, category, colour);
}

/// A bookmark of this text.
void bookmark(Name& category, const char* text) noexcept;

}  // namespace sample::receivers
