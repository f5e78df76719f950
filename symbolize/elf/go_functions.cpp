#include "symbolize/elf/go_functions.h"

#include "symbolize/names/demangle.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace sample::symbolize {
namespace {

constexpr std::uint32_t kMagic18 = 0xfffffff0;
constexpr std::uint32_t kMagic20 = 0xfffffff1;
constexpr std::size_t kPointerSizeAt = 7;
constexpr std::size_t kWordsAt = 8;
enum class Word : std::size_t { function_count = 0, code = 2, names = 3, functions = 7 };

template <class T>
std::optional<T> load_at(std::span<const std::byte> bytes, std::uint64_t at) {
    if (at > bytes.size() || bytes.size() - at < sizeof(T)) {
        return std::nullopt;
    }
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
}

/// What lies from `offset` on; empty if that is outside.
std::span<const std::byte> part(std::span<const std::byte> table, std::uint64_t offset) {
    return offset < table.size() ? table.subspan(offset) : std::span<const std::byte>{};
}

/// The text at `offset`; nullptr if it is empty, or longer than any name: many functions may share
/// one end.
const char* text_at(std::span<const std::byte> names, std::uint32_t offset) {
    const std::span<const std::byte> rest = part(names, offset);
    if (rest.empty() || rest.front() == std::byte{0} ||
        std::memchr(rest.data(), 0, std::min(rest.size(), kLongestName + 1)) == nullptr) {
        return nullptr;
    }
    return reinterpret_cast<const char*>(rest.data());
}

}  // namespace

std::vector<GoFunction> go_functions(std::span<const std::byte> table) {
    const auto word = [&](Word index) {
        return load_at<std::uint64_t>(table, kWordsAt + 8 * static_cast<std::size_t>(index))
            .value_or(0);
    };
    const std::uint32_t magic = load_at<std::uint32_t>(table, 0).value_or(0);
    const bool is_known = magic == kMagic18 || magic == kMagic20;
    if (!is_known || load_at<std::uint8_t>(table, kPointerSizeAt) != sizeof(std::uint64_t)) {
        return {};
    }
    const std::uint64_t code = word(Word::code);
    if (code == 0) {
        return {};
    }
    const std::span<const std::byte> names = part(table, word(Word::names));
    const std::span<const std::byte> functions = part(table, word(Word::functions));
    constexpr std::uint64_t kEntry = 8;
    std::vector<GoFunction> result;
    for (std::uint64_t i = 0; i < word(Word::function_count); ++i) {
        const auto start = load_at<std::uint32_t>(functions, kEntry * i);
        const auto description = load_at<std::uint32_t>(functions, kEntry * i + 4);
        const auto end = load_at<std::uint32_t>(functions, kEntry * (i + 1));
        const auto name = description
                              ? load_at<std::uint32_t>(functions, std::uint64_t{*description} + 4)
                              : std::nullopt;
        if (!end || !name || *end < *start) {
            break;
        }
        if (const char* text = text_at(names, *name); text != nullptr && *start != *end) {
            result.push_back({code + *start, code + *end, text});
        }
    }
    return result;
}

}  // namespace sample::symbolize
