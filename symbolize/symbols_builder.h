// Symbols in the making: keeps each function, file and run of frames once.
#pragma once

#include "core/symbols.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::symbolize {

/// Not thread-safe.
class SymbolsBuilder {
public:
    /// The index of the function equal to `function` by name, start, source and origin, which is
    /// added if there is none.
    std::uint32_t function(FunctionSymbol function);
    /// The index of a file; 0 for an empty name.
    std::uint32_t file(std::string_view name);
    /// The frames as a run. A run equal to the last one added is shared: neighbouring addresses,
    /// mostly of one line.
    FrameRun run(std::span<const SymbolFrame> frames);

    /// What was built, with the run of each address.
    [[nodiscard]] Symbols take(std::vector<FrameRun> runs) {
        symbols_.runs = std::move(runs);
        return std::move(symbols_);
    }

private:
    Symbols symbols_;
    std::unordered_map<std::string, std::uint32_t> files_;
    std::map<std::tuple<std::uint64_t, std::string, std::string, NameOrigin>, std::uint32_t>
        functions_;
    FrameRun last_;
};

/// "module+0xoffset", known by nothing better.
[[nodiscard]] FunctionSymbol unnamed_function(const std::string& module_path,
                                              std::uint64_t address);

}  // namespace sample::symbolize
