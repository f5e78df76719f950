// The frames of one module's addresses: its symbols, its debug information and the rules of
// docs/symbolization.md put together.
//
// What is made of a symbol or an entry is made once, not once an address.
#pragma once

#include "core/symbols.h"
#include "symbolize/debug_info.h"
#include "symbolize/debug_names.h"
#include "symbolize/frame_extents.h"
#include "symbolize/module_image.h"
#include "symbolize/plt.h"
#include "symbolize/symbol_table.h"
#include "symbolize/symbols_builder.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sample::symbolize {

/// Where a module's debug information is; `dwarf` is nullptr if it has none. Its addresses plus
/// `bias` are the module's.
struct DebugSource {
    Dwarf* dwarf = nullptr;
    Dwarf_Addr bias = 0;
    SplitUnits* split = nullptr;  ///< Where its split units are.
};

/// Not thread-safe: one per module and thread.
class Namer {
public:
    /// `image` and what `debug` points to must outlive this.
    Namer(const ModuleImage& image, const std::string& path, const DebugSource& debug);

    /// Adds the frames of `address` and what they need; the run that they are. Addresses are best
    /// asked in ascending order.
    FrameRun name(std::uint64_t address);
    /// What was added; the runs by address are up to the caller.
    [[nodiscard]] Symbols take() { return symbols_.take(); }

    /// Some of the debug information that was needed does not parse.
    [[nodiscard]] bool is_damaged() const { return debug_.is_damaged(); }

private:
    /// What tells one function from another: the symbol and the entry that cover it.
    struct Key {
        const void* symbol = nullptr;
        const void* entry = nullptr;
        bool guessed = false;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const {
            return std::hash<const void*>{}(key.symbol) * 31 + std::hash<const void*>{}(key.entry);
        }
    };

    std::uint32_t outer_function(std::uint64_t address);
    std::uint32_t inlined_function(const Dwarf_Die& callee);
    bool is_guess(std::span<const ElfSymbol> aliases, std::uint64_t address);
    FunctionSymbol describe(std::span<const ElfSymbol> aliases, const DebugFunction* function);
    FunctionSymbol describe_inlined(const Dwarf_Die& callee);
    std::string_view symbol_of_copy(const Dwarf_Die& callee) const;
    std::uint32_t stub_or_unnamed(std::uint64_t address);
    void set_name(FunctionSymbol& function, const Dwarf_Die& entry);
    void set_declaration(FunctionSymbol& function, SourcePlace place);
    std::uint32_t file(const SourcePlace& place);

    const ModuleImage& image_;
    SymbolsBuilder symbols_;
    std::string module_path_;
    FrameExtents extents_;
    SymbolTable table_;
    DebugInfo debug_;
    DebugNames names_;
    std::unique_ptr<PltTable> plt_;
    std::unordered_map<Key, std::uint32_t, KeyHash> functions_;
    std::unordered_map<const void*, std::uint32_t> files_;  ///< By where their names lie.
    std::vector<SymbolFrame> frames_;                       ///< Of one address.
};

/// "module+0xoffset", known by nothing better.
[[nodiscard]] FunctionSymbol unnamed_function(const std::string& module_path,
                                              std::uint64_t address);

}  // namespace sample::symbolize
