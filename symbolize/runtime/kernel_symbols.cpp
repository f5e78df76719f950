// Names of the running kernel's functions, from /proc/kallsyms.
//
// A function reaches up to the next symbol, as sizes are not given. Where a function has several
// names, the rule for a program's applies (docs/symbolization.md). Functions of kernel modules, and
// of BPF programs, say which: "ext4_read_iter [ext4]".
// Source: proc(5); Linux kernel/kallsyms.c.
#include "core/units.h"
#include "symbolize/runtime/runtime_code.h"

#include <algorithm>
#include <charconv>
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

/// By address, one for each that has any.
std::vector<KernelSymbol> symbols_in(std::string_view text, bool& is_hidden) {
    std::vector<KernelSymbol> symbols;
    bool has_code_at_0 = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view line = text.substr(at, text.find('\n', at) - at);
        const auto symbol = parse_line(line);
        // Addresses per processor are offsets, and lie far below the kernel's.
        if (symbol && symbol->start != 0) {
            symbols.push_back(*symbol);
        }
        has_code_at_0 = has_code_at_0 || (symbol && symbol->start == 0 && symbol->is_code());
        at += line.size() + 1;
    }
    is_hidden = has_code_at_0 && std::none_of(symbols.begin(), symbols.end(),
                                              [](const auto& symbol) { return symbol.is_code(); });
    std::sort(symbols.begin(), symbols.end(), [](const auto& a, const auto& b) {
        return a.start != b.start ? a.start < b.start : a.rank() < b.rank();
    });
    symbols.erase(std::unique(symbols.begin(), symbols.end(),
                              [](const auto& a, const auto& b) { return a.start == b.start; }),
                  symbols.end());
    return symbols;
}

}  // namespace

RuntimeCode read_kallsyms(std::string_view text, std::span<const std::uint64_t> addresses) {
    RuntimeCode code;
    const std::vector<KernelSymbol> symbols = symbols_in(text, code.is_hidden);
    std::unordered_map<const KernelSymbol*, std::uint32_t> functions;
    for (const std::uint64_t address : addresses) {
        const auto after = std::upper_bound(
            symbols.begin(), symbols.end(), address,
            [](std::uint64_t value, const KernelSymbol& symbol) { return value < symbol.start; });
        // What is above the last symbol has no end.
        if (after == symbols.begin() || after == symbols.end() || !std::prev(after)->is_code()) {
            code.locations.emplace_back();
            continue;
        }
        const KernelSymbol& symbol = *std::prev(after);
        const auto [at, is_new] =
            functions.try_emplace(&symbol, static_cast<std::uint32_t>(code.functions.size()));
        if (is_new) {
            std::string name{symbol.name};
            name.append(symbol.module.empty() ? "" : " ").append(symbol.module);
            code.functions.push_back({std::move(name), symbol.start});
        }
        code.locations.push_back(RuntimeCode::Location{at->second});
    }
    return code;
}

}  // namespace sample::symbolize
