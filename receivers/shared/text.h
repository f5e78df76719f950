// Texts of other people's interfaces as UTF-8 that the trace interface takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <cwchar>
#include <initializer_list>
#include <span>
#include <string_view>

namespace sample::receivers {

/// What a name has at most (docs/trace.md): the rest is cut.
inline constexpr std::size_t kMostNameBytes = 480;

/// UTF-8 of a letter, or of U+FFFD for what is none, to the begin of `out`. Returns how many bytes;
/// 0: there is no room for all of it. Source: Unicode 15, 3.9, table 3-6.
std::size_t put_utf8(char32_t letter, std::span<char> out) noexcept;

/// A copy that ends with a 0, cut where a letter begins. On the stack: nothing is allocated.
class Text {
public:
    /// Null is empty.
    explicit Text(const char* text) noexcept;
    /// At most `count` bytes, or up to a 0 among them.
    Text(const char* text, std::size_t count) noexcept;
    /// UTF-32, as wide characters are here; what is no character becomes U+FFFD. Null is empty.
    explicit Text(const wchar_t* text) noexcept;
    /// At most `count` of them.
    Text(const wchar_t* text, std::size_t count) noexcept;

    /// All of them, one after the other.
    [[nodiscard]] static Text joined(std::initializer_list<std::string_view> parts) noexcept;

    [[nodiscard]] const char* c_str() const noexcept { return bytes_.data(); }
    [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }

private:
    Text() noexcept = default;
    void add(std::string_view text) noexcept;
    void end() noexcept;

    std::size_t size_ = 0;
    std::array<char, kMostNameBytes + 1> bytes_;
};

}  // namespace sample::receivers
