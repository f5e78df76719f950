#include "symbolize/symbolizer.h"

#include "symbolize/debug_info.h"
#include "symbolize/demangle.h"
#include "symbolize/frame_extents.h"
#include "symbolize/module_image.h"
#include "symbolize/plt.h"
#include "symbolize/symbol_table.h"
#include "symbolize/symbols_builder.h"
#include "symbolize/told_files.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>

namespace sample::symbolize {
namespace {

std::string base_name(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    return name.empty() ? "[no name]" : name;
}

FunctionSymbol unnamed(const std::string& module_name, std::uint64_t address) {
    char offset[24] = {};
    std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(address));
    FunctionSymbol symbol;
    symbol.name = module_name + offset;
    symbol.start = address;
    return symbol;
}

/// Names the addresses of one module, best asked in ascending order: neighbours share their answer.
class Namer {
public:
    Namer(const ModuleImage& image, const std::string& path, Dwarf* dwarf, Dwarf_Addr bias)
        : image_{image},
          module_name_{base_name(path)},
          extents_{image.unwind_path()},
          table_{image.module()},
          debug_{dwarf, bias} {}

    FrameRun name(std::uint64_t address) {
        const std::span<const ElfSymbol> aliases = table_.find(address);
        const DebugFunction* const function = debug_.function(address);
        const bool known = !aliases.empty() || function != nullptr;
        const void* const entry = function != nullptr ? function->die.addr : nullptr;
        if (!known || aliases.data() != last_aliases_ || entry != last_entry_) {
            last_function_ = names_.function(describe(address, aliases, function));
            last_aliases_ = aliases.data();
            last_entry_ = entry;
        }
        const SourcePlace place = debug_.place(address);
        const SymbolFrame frame{last_function_, names_.file(place.file), place.line};
        return names_.run({&frame, 1});
    }

    [[nodiscard]] bool is_damaged() const { return debug_.is_damaged(); }
    [[nodiscard]] Symbols take() { return names_.take(); }

private:
    FunctionSymbol describe(std::uint64_t address, std::span<const ElfSymbol> aliases,
                            const DebugFunction* function) {
        const std::string debug_name = function != nullptr ? function->linkage_name() : "";
        FunctionSymbol symbol;
        // A symbol without a size is a guess, if a good one: what DWARF says goes first.
        if (!aliases.empty() && (aliases.front().sized || debug_name.empty())) {
            symbol.linkage_name = best_alias(aliases, debug_name);
            symbol.start = aliases.front().start;
        } else if (!debug_name.empty()) {
            symbol.linkage_name = debug_name;
            symbol.start = function->start;
        } else {
            return stub_or_unnamed(address);
        }
        symbol.origin = NameOrigin::known;
        symbol.name = demangle(symbol.linkage_name);
        SourcePlace place = function != nullptr ? function->declaration() : SourcePlace{};
        if (place.line == 0 || place.file.empty()) {
            place = debug_.place(symbol.start);  // Assembly, and what the compiler made up.
        }
        symbol.source = std::move(place.file);
        symbol.line = place.line;
        return symbol;
    }

    FunctionSymbol stub_or_unnamed(std::uint64_t address) {
        if (!plt_) {
            plt_ = std::make_unique<PltTable>(image_.elf());
        }
        FunctionSymbol symbol = unnamed(module_name_, extents_.start_of(address).value_or(address));
        if (const auto stub = plt_->find(address)) {
            symbol.name = demangle(stub->target) + "@plt";
            symbol.linkage_name = stub->target + "@plt";
            symbol.start = stub->start;
            symbol.origin = NameOrigin::known;
        }
        return symbol;
    }

    const ModuleImage& image_;
    std::string module_name_;
    FrameExtents extents_;
    SymbolTable table_;
    DebugInfo debug_;
    std::unique_ptr<PltTable> plt_;
    SymbolsBuilder names_;
    const ElfSymbol* last_aliases_ = nullptr;
    const void* last_entry_ = nullptr;
    std::uint32_t last_function_ = 0;
};

std::vector<std::size_t> ascending(std::span<const std::uint64_t> addresses) {
    std::vector<std::size_t> order(addresses.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return addresses[a] < addresses[b]; });
    return order;
}

}  // namespace

ModuleSymbols symbolize(const ModuleFile& module, std::span<const std::uint64_t> addresses,
                        const Options& options) {
    ModuleSymbols result;
    if (addresses.empty()) {
        return result;
    }
    if (module.kind != CodeKind::elf) {
        return module.kind == CodeKind::jit ? symbolize_jit(module, addresses)
                                            : symbolize_kernel(module, addresses);
    }
    const std::string module_name = base_name(module.path);
    const auto image = ModuleImage::open(module, options);
    if (!image) {
        result.problem = image.error().message();
        SymbolsBuilder names;
        std::vector<FrameRun> runs;
        for (const std::uint64_t address : addresses) {
            const SymbolFrame frame{names.function(unnamed(module_name, address)), 0, 0};
            runs.push_back(names.run({&frame, 1}));
        }
        result.symbols = names.take();
        result.symbols.runs = std::move(runs);
        return result;
    }
    Dwarf_Addr bias = 0;
    Dwarf* const dwarf = image->debug_info(bias, result.problem);
    Namer namer{*image, module.path, dwarf, bias};
    std::vector<FrameRun> runs(addresses.size());
    for (const std::size_t i : ascending(addresses)) {
        runs[i] = namer.name(addresses[i]);
    }
    result.symbols = namer.take();
    result.symbols.runs = std::move(runs);
    if (namer.is_damaged() && result.problem.empty()) {
        result.problem = "part of the debug information of " + module.path +
                         " does not parse: source lines may be missing; build it again";
    }
    return result;
}

}  // namespace sample::symbolize
