#include "symbolize/symbolizer.h"

#include "core/mapped_reading.h"
#include "symbolize/dwarf/debug_info.h"
#include "symbolize/dwarf/debug_names.h"
#include "symbolize/elf/module_image.h"
#include "symbolize/elf/plt.h"
#include "symbolize/elf/symbol_table.h"
#include "symbolize/names/demangle.h"
#include "symbolize/runtime/runtime_code.h"
#include "symbolize/symbols_builder.h"

#include <gelf.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

namespace sample::symbolize {
namespace {

/// The frames of one module's addresses: its symbols, its debug information and the rules of
/// docs/symbolization.md put together. What is made of a symbol or an entry is made once, not once
/// an address.
class Namer {
public:
    /// All must outlive this. `dwarf` is nullptr if the module has no debug information; its
    /// addresses plus `bias` are the module's.
    Namer(const ModuleImage& image, std::string path, Dwarf* dwarf, Dwarf_Addr bias,
          SplitDwarf& split)
        : image_{image},
          module_path_{std::move(path)},
          extents_{image.unwind_path()},
          table_{image.module()},
          debug_{dwarf, bias, split} {}

    /// Adds the frames of `address` and what they need; the run that they are. Addresses are best
    /// asked in ascending order.
    FrameRun name(std::uint64_t address) {
        frames_.clear();
        SourceLocation location = debug_.location(address);
        for (const InlinedFrame& inlined : debug_.inlined(address)) {
            frames_.push_back({inlined_function(inlined.callee), file(location), location.line});
            location = inlined.call;
        }
        frames_.push_back({outer_function(address), file(location), location.line});
        return symbols_.run(frames_);
    }

    /// What was added, with the run of each address.
    Symbols take(std::vector<FrameRun> runs) { return symbols_.take(std::move(runs)); }

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

    std::uint32_t outer_function(std::uint64_t address) {
        const std::span<const ElfSymbol> aliases = table_.find(address);
        const DebugFunction* const function = debug_.function(address);
        if (aliases.empty() && function == nullptr) {
            return stub_or_unnamed(address);
        }
        const Key key{aliases.data(), function != nullptr ? function->die.addr : nullptr,
                      function == nullptr && is_guess(aliases.front(), address)};
        const auto [place, is_new] = functions_.try_emplace(key);
        if (is_new) {
            FunctionSymbol described = describe(aliases, function);
            described.origin = key.guessed ? NameOrigin::guessed : NameOrigin::known;
            place->second = described.name.empty() ? stub_or_unnamed(address)
                                                   : symbols_.function(std::move(described));
        }
        return place->second;
    }

    /// A symbol without a size reaches so far only if the unwind tables say it, or nothing else
    /// can.
    bool is_guess(const ElfSymbol& symbol, std::uint64_t address) {
        return !symbol.sized && !symbol.alone && symbol.start != address &&
               extents_.start_of(address) != symbol.start;
    }

    FunctionSymbol describe(std::span<const ElfSymbol> aliases, const DebugFunction* function) {
        FunctionSymbol result;
        // A symbol without a size is a guess, if a good one: what DWARF says goes first.
        if (function != nullptr && (aliases.empty() || !aliases.front().sized)) {
            set_name(result, function->die);
            result.start = function->start;
        }
        if (result.name.empty() && !aliases.empty()) {
            const std::string_view hint =
                function != nullptr ? linkage_name_of(function->die) : std::string_view{};
            set_linkage_name(result, best_alias(aliases, hint));
            result.start = aliases.front().start;
        }
        SourceLocation location =
            function != nullptr ? declaration_of(function->die) : SourceLocation{};
        if (location.line == 0 || location.file.empty()) {
            location = debug_.location(result.start);  // Assembly, and what the compiler made up.
        }
        if (location.line != 0) {
            result.source = location.path();
            result.line = location.line;
        }
        return result;
    }

    std::uint32_t inlined_function(const Dwarf_Die& callee) {
        const auto [place, is_new] = functions_.try_emplace({nullptr, callee.addr});
        if (is_new) {
            place->second = symbols_.function(describe_inlined(callee));
        }
        return place->second;
    }

    FunctionSymbol describe_inlined(const Dwarf_Die& callee) {
        FunctionSymbol result;
        const std::string_view symbol =
            linkage_name_of(callee).empty() ? symbol_of_copy(callee) : std::string_view{};
        if (symbol.empty()) {
            set_name(result, callee);
        } else {
            set_linkage_name(result, symbol);
        }
        if (result.name.empty()) {
            result.name = "[inlined]";
        }
        result.origin = NameOrigin::known;
        const SourceLocation location = declaration_of(callee);
        result.source = location.path();
        result.line = location.line;
        return result;
    }

    /// The name of the function that is also there for itself, or in part; empty if none is.
    [[nodiscard]] std::string_view symbol_of_copy(const Dwarf_Die& callee) const {
        for (const std::uint64_t start : debug_.copies(callee)) {
            const std::span<const ElfSymbol> aliases = table_.find(start);
            if (!aliases.empty() && aliases.front().sized && aliases.front().start == start) {
                const std::string_view name = best_alias(aliases, {});
                return name.substr(0, name.find('.', 1));  // "foo" of "foo.part.0".
            }
        }
        return {};
    }

    static void set_linkage_name(FunctionSymbol& function, std::string_view name) {
        function.linkage_name = name;
        function.name = demangle(name);
    }

    void set_name(FunctionSymbol& function, const Dwarf_Die& entry) {
        set_linkage_name(function, linkage_name_of(entry));
        if (function.linkage_name.empty()) {
            function.name = names_.function(entry);
            function.linkage_name = function.name == plain_name_of(entry) ? function.name : "";
        }
    }

    std::uint32_t stub_or_unnamed(std::uint64_t address) {
        if (!plt_) {
            plt_.emplace(image_.elf());
        }
        if (const auto stub = plt_->find(address)) {
            FunctionSymbol function;
            function.name = demangle(stub->target) + "@plt";
            function.linkage_name = stub->target + "@plt";
            function.start = stub->start;
            function.origin = NameOrigin::known;
            return symbols_.function(std::move(function));
        }
        return symbols_.function(
            unnamed_function(module_path_, extents_.start_of(address).value_or(address)));
    }

    std::uint32_t file(const SourceLocation& location) {
        if (location.file.empty()) {
            return 0;
        }
        const auto [known, is_new] = files_.try_emplace(location.file.data());
        if (is_new) {
            known->second = symbols_.file(location.path());
        }
        return known->second;
    }

    const ModuleImage& image_;
    SymbolsBuilder symbols_;
    std::string module_path_;
    FrameExtents extents_;
    SymbolTable table_;
    DebugInfo debug_;
    DebugNames names_;
    std::optional<PltTable> plt_;
    std::unordered_map<Key, std::uint32_t, KeyHash> functions_;
    std::unordered_map<const void*, std::uint32_t> files_;  ///< By where their names lie.
    std::vector<SymbolFrame> frames_;                       ///< Of one address.
};

/// Each address a function of its own.
ModuleSymbols unread(const ModuleIdentity& module, std::span<const std::uint64_t> addresses,
                     std::string problem) {
    SymbolsBuilder builder;
    std::vector<FrameRun> runs;
    for (const std::uint64_t address : addresses) {
        const SymbolFrame frame{builder.function(unnamed_function(module.path, address)), 0, 0};
        runs.push_back(builder.run({&frame, 1}));
    }
    return {builder.take(std::move(runs)), std::move(problem)};
}

ModuleSymbols name_all(const ModuleImage& image, const ModuleIdentity& module,
                       std::span<const std::uint64_t> addresses) {
    ModuleSymbols result;
    Dwarf_Addr bias = 0;
    Dwarf* const dwarf = image.debug_info(bias, result.problem);
    SplitDwarf split = image.split_dwarf(dwarf);
    Namer namer{image, module.path, dwarf, bias, split};
    std::vector<std::size_t> ascending(addresses.size());
    std::iota(ascending.begin(), ascending.end(), std::size_t{0});
    std::sort(ascending.begin(), ascending.end(),
              [&](std::size_t a, std::size_t b) { return addresses[a] < addresses[b]; });
    std::vector<FrameRun> runs(addresses.size());
    for (const std::size_t i : ascending) {
        runs[i] = namer.name(addresses[i]);
    }
    result.symbols = namer.take(std::move(runs));
    result.file = image.path();
    result.debug_paths = image.debug_paths();
    if (result.problem.empty()) {
        result.problem = image.cut_off_text();
    }
    if (result.problem.empty()) {
        result.problem = split.problem();
    }
    if (namer.is_damaged() && result.problem.empty()) {
        result.problem = "part of the debug information of " + module.path +
                         " does not parse: source lines may be missing; build it again";
    }
    return result;
}

}  // namespace

std::uint64_t first_address(const ModuleIdentity& module, const Options& options) {
    const MappedReading reading;
    const auto image = ModuleImage::open(module, options);
    std::size_t count = 0;
    if (!image || elf_getphdrnum(image->elf(), &count) != 0) {
        return 0;
    }
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr segment{};
        // They are in the order of their addresses.
        if (gelf_getphdr(image->elf(), static_cast<int>(i), &segment) != nullptr &&
            segment.p_type == PT_LOAD) {
            constexpr std::uint64_t kPage = 4096;
            return reading.is_broken() ? 0 : segment.p_vaddr / kPage * kPage;
        }
    }
    return 0;
}

ModuleSymbols symbolize(const ModuleIdentity& module, std::span<const std::uint64_t> addresses,
                        const Options& options) {
    if (addresses.empty()) {
        return {};
    }
    if (module.kind != CodeKind::elf) {
        return module.kind == CodeKind::jit ? symbolize_jit(module, addresses)
                                            : symbolize_kernel(module, addresses);
    }
    const MappedReading reading;
    const auto image = ModuleImage::open(module, options);
    ModuleSymbols result = image ? name_all(*image, module, addresses)
                                 : unread(module, addresses, image.error().message());
    const std::string changed = changed_text(reading, image ? &*image : nullptr, module.path);
    if (!changed.empty()) {
        return unread(module, addresses, changed);
    }
    if (options.kept != nullptr && result.problem.empty()) {
        image->keep_unpacked(*options.kept, reading);
    }
    return result;
}

}  // namespace sample::symbolize
