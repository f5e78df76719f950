// Blocks of names for tests: made up, and compared by what they say.
#pragma once

#include "trace/symbol_codec.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace sample::trace {

/// Everything that a block says, an address a line.
inline std::vector<std::string> said_by(const std::vector<std::uint64_t>& addresses,
                                        const Symbols& symbols) {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        std::string line = std::to_string(addresses[i]);
        for (const SymbolFrame& frame : symbols.frames_of(i)) {
            const FunctionSymbol& function = symbols.functions[frame.function];
            line += " | " + function.name + " " + function.linkage_name + " " + function.source +
                    ":" + std::to_string(function.line) + " " + std::to_string(function.start) +
                    " " + std::to_string(static_cast<int>(function.origin)) + " at " +
                    symbols.files[frame.file] + ":" + std::to_string(frame.line);
        }
        if (!symbols.frames_of(i).empty()) {
            lines.push_back(std::move(line));
        }
    }
    return lines;
}

inline std::vector<std::string> said_by(const SymbolBlock& block) {
    return said_by(block.addresses, block.symbols);
}

inline std::vector<std::byte> encode(const SymbolBlock& block) {
    return encode_symbols(block.addresses, block.symbols.runs, block.symbols);
}

/// Some addresses with runs of up to `depth` frames; a seed makes always the same.
inline SymbolBlock made_up_block(std::uint32_t seed, std::size_t addresses, std::uint32_t depth) {
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t limit) {
        return static_cast<std::uint32_t>(random()) % limit;
    };
    SymbolBlock block;
    Symbols& symbols = block.symbols;
    for (std::uint32_t i = 0; i < 1 + addresses / 8; ++i) {
        symbols.files.push_back("/src/part" + std::to_string(below(9)) + "/file" +
                                std::to_string(i) + ".cpp");
    }
    for (std::uint32_t i = 0; i < 1 + addresses / 2; ++i) {
        const std::string name = "ns::Class" + std::to_string(below(5)) + "<int>::method" +
                                 std::to_string(i) + "(char const*)";
        const std::string link = below(3) == 0 ? "" : below(2) == 0 ? name : "_ZN" + name;
        const auto file = static_cast<std::uint32_t>(
            below(3) == 0 ? 0 : below(static_cast<std::uint32_t>(symbols.files.size())));
        symbols.functions.push_back({name, link, symbols.files[file], below(5000),
                                     below(4) == 0 ? 0 : std::uint64_t{random()} << below(32),
                                     static_cast<NameOrigin>(below(3))});
    }
    std::uint64_t address = below(1000);
    for (std::size_t i = 0; i < addresses; ++i) {
        block.addresses.push_back(address);
        address += 1 + (below(3) == 0 ? std::uint64_t{random()} << below(20) : below(9));
        if (below(3) == 0 && !symbols.runs.empty()) {
            symbols.runs.push_back(
                symbols.runs[below(static_cast<std::uint32_t>(symbols.runs.size()))]);
            continue;
        }
        const FrameRun run{static_cast<std::uint32_t>(symbols.frames.size()),
                           below(8) == 0 ? 0 : 1 + below(depth)};
        for (std::uint32_t k = 0; k < run.count; ++k) {
            symbols.frames.push_back({below(static_cast<std::uint32_t>(symbols.functions.size())),
                                      below(static_cast<std::uint32_t>(symbols.files.size())),
                                      below(8) == 0 ? 0xffffffffU : below(9000)});
        }
        symbols.runs.push_back(run);
    }
    return block;
}

}  // namespace sample::trace
