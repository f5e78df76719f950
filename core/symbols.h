// What the addresses of a program are called. Made by symbolize/, kept by trace/, read by
// callgraph/.
//
// One address has a run of frames: where code was inlined, several functions are at work in it at
// once. Millions of addresses share few functions and files, so these are kept once and named by
// index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sample {

/// How sure a function's name is.
enum class NameOrigin : std::uint8_t {
    none,     ///< Nothing names the address: the name is "module+0xoffset".
    guessed,  ///< The nearest symbol before it, which does not say that it reaches so far.
    known,
};

/// What the shown names of guessed functions end in.
inline constexpr std::string_view kGuessMark = " [guessed]";

struct FunctionSymbol {
    std::string
        name;  ///< Demangled, with arguments; "module+0xoffset" where nothing names it:
               ///< of the function's start where unwind tables tell it, else of the address.
    std::string linkage_name;  ///< As the linker knows it, e.g. "_ZN3foo3barEi"; empty if unknown.
    std::string source;        ///< Source file in which it begins; empty if unknown.
    std::uint32_t line = 0;    ///< Line where it begins; 0 if unknown.
    /// Where its code begins, in the module's own (ELF virtual) addresses; 0 if it was inlined.
    std::uint64_t start = 0;
    NameOrigin origin = NameOrigin::none;
};

/// One function at work in an address, and where in it. In an outer frame the line is the one at
/// which the next inner function was inlined.
struct SymbolFrame {
    std::uint32_t function = 0;  ///< Index into Symbols::functions.
    std::uint32_t file = 0;      ///< Index into Symbols::files: where `line` is.
    std::uint32_t line = 0;      ///< 0 if unknown.
};

/// frames[first … first + count); count 0: the address was not looked up.
struct FrameRun {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// The names of some addresses. Plain data: whoever makes it keeps the indices in range.
struct Symbols {
    std::vector<std::string> files{std::string{}};  ///< files[0] is the unknown one.
    std::vector<FunctionSymbol> functions;
    /// Of one run: innermost first; all but the last were inlined.
    std::vector<SymbolFrame> frames;
    std::vector<FrameRun> runs;  ///< By address, in the order of whoever asked.

    /// Empty for an address that was not looked up, or is past the end.
    [[nodiscard]] std::span<const SymbolFrame> frames_of(std::size_t address) const {
        if (address >= runs.size()) {
            return {};
        }
        return std::span{frames}.subspan(runs[address].first, runs[address].count);
    }
};

/// Takes over files, functions and frames of `more`, and gives its addresses' runs to
/// `symbols.runs[places[i]]`, for each i; `symbols.runs` must be long enough. At most 2^32 frames.
void merge(Symbols& symbols, Symbols&& more, std::span<const std::size_t> places);

}  // namespace sample
