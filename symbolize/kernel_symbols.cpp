#include "symbolize/kernel_symbols.h"

#include "core/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace sample::symbolize {
namespace {

struct KernelSymbol {
    std::uint64_t start = 0;
    char type = 0;
    std::string_view name;
    std::string_view module;  ///< "[ext4]"; empty: the kernel itself.

    [[nodiscard]] bool is_code() const {
        return type == 't' || type == 'T' || type == 'w' || type == 'W';
    }
    /// Lower comes first: global, weak, local; then as of a program's symbols.
    [[nodiscard]] auto rank() const {
        const int binding = type == 'T' ? 0 : type == 't' ? 2 : 1;
        const std::size_t underscores = std::min(name.find_first_not_of('_'), name.size());
        return std::tuple{!is_code(), binding, underscores, name};
    }
};

/// "ffffffff81000000 T _stext" and, of a module, a tab and "[name]".
std::optional<KernelSymbol> parse_line(std::string_view line) {
    KernelSymbol symbol;
    constexpr int kHexadecimal = 16;
    const char* const end = line.data() + line.size();
    const auto [rest, error] = std::from_chars(line.data(), end, symbol.start, kHexadecimal);
    line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
    if (error != std::errc{} || line.size() < 4 || line[0] != ' ' || line[2] != ' ') {
        return std::nullopt;
    }
    symbol.type = line[1];
    line.remove_prefix(3);
    const std::size_t tab = line.find('\t');
    symbol.name = line.substr(0, tab);
    if (tab != std::string_view::npos) {
        symbol.module = line.substr(tab + 1);
    }
    if (symbol.name.empty()) {
        return std::nullopt;
    }
    return symbol;
}

/// Hands every symbol of `text` to `take`.
template <class Take>
void for_each_symbol(std::string_view text, Take take) {
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (const auto symbol = parse_line(text.substr(0, end))) {
            take(*symbol);
        }
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
}

/// The symbols that end where the next one starts: one for each address that has any.
std::vector<KernelSymbol> symbols_in(std::string_view text, bool& is_closed) {
    std::vector<KernelSymbol> symbols;
    is_closed = false;
    for_each_symbol(text, [&](const KernelSymbol& symbol) {
        // Addresses per processor are offsets, and lie far below the kernel's.
        if (symbol.start != 0) {
            symbols.push_back(symbol);
        } else if (symbol.is_code()) {
            is_closed = true;
        }
    });
    is_closed = is_closed && std::none_of(symbols.begin(), symbols.end(),
                                          [](const auto& symbol) { return symbol.is_code(); });
    std::sort(symbols.begin(), symbols.end(), [](const KernelSymbol& a, const KernelSymbol& b) {
        return a.start != b.start ? a.start < b.start : a.rank() < b.rank();
    });
    symbols.erase(std::unique(symbols.begin(), symbols.end(),
                              [](const KernelSymbol& a, const KernelSymbol& b) {
                                  return a.start == b.start;
                              }),
                  symbols.end());
    return symbols;
}

}  // namespace

KernelNames read_kallsyms(std::string_view text, std::span<const std::uint64_t> addresses) {
    KernelNames names;
    const std::vector<KernelSymbol> symbols = symbols_in(text, names.is_closed);
    std::unordered_map<const KernelSymbol*, std::uint32_t> functions;
    for (const std::uint64_t address : addresses) {
        const auto after = std::upper_bound(
            symbols.begin(), symbols.end(), address,
            [](std::uint64_t value, const KernelSymbol& symbol) { return value < symbol.start; });
        // What is above the last symbol has no end.
        if (after == symbols.begin() || after == symbols.end() || !std::prev(after)->is_code()) {
            names.told.places.emplace_back();
            continue;
        }
        const KernelSymbol& symbol = *std::prev(after);
        const auto [at, is_new] =
            functions.try_emplace(&symbol, static_cast<std::uint32_t>(names.told.functions.size()));
        if (is_new) {
            std::string name{symbol.name};
            if (!symbol.module.empty()) {
                name += ' ';
                name += symbol.module;
            }
            names.told.functions.push_back({std::move(name), symbol.start, 0, 0});
        }
        names.told.places.push_back(ToldCode::Place{at->second, 0, 0});
    }
    return names;
}

std::vector<std::uint8_t> boot_id() {
    // Source: random(4). "c0ffee00-…": 32 hexadecimal digits.
    const Fd file{::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)};
    std::array<char, 64> text{};
    const ssize_t size = ::read(file.get(), text.data(), text.size());
    std::vector<std::uint8_t> bytes;
    std::optional<std::uint8_t> high;
    for (ssize_t i = 0; i < size; ++i) {
        std::uint8_t digit = 0;
        const char* const at = text.data() + i;
        constexpr int kHexadecimal = 16;
        if (std::from_chars(at, at + 1, digit, kHexadecimal).ptr == at) {
            continue;
        }
        if (high) {
            bytes.push_back(static_cast<std::uint8_t>(*high << 4U | digit));
            high.reset();
        } else {
            high = digit;
        }
    }
    return bytes;
}

}  // namespace sample::symbolize
