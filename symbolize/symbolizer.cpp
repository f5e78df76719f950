#include "symbolize/symbolizer.h"

#include "symbolize/debug_info.h"
#include "symbolize/demangle.h"
#include "symbolize/frame_extents.h"
#include "symbolize/module_image.h"
#include "symbolize/plt.h"
#include "symbolize/symbol_table.h"

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

Symbol unnamed(const std::string& module_name, std::uint64_t address) {
    char offset[24] = {};
    std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(address));
    Symbol symbol;
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
          extents_{path},
          table_{image.module()},
          debug_{dwarf, bias} {}

    Symbol name(std::uint64_t address) {
        const std::span<const ElfSymbol> aliases = table_.find(address);
        const DebugFunction* const function = debug_.function(address);
        const bool known = !aliases.empty() || function != nullptr;
        const void* const entry = function != nullptr ? function->die.addr : nullptr;
        if (!known || aliases.data() != last_aliases_ || entry != last_entry_) {
            last_ = describe(address, aliases, function);
            last_aliases_ = aliases.data();
            last_entry_ = entry;
        }
        Symbol symbol = last_;
        symbol.call_line = debug_.place(address).line;
        return symbol;
    }

    [[nodiscard]] bool is_damaged() const { return debug_.is_damaged(); }

private:
    Symbol describe(std::uint64_t address, std::span<const ElfSymbol> aliases,
                    const DebugFunction* function) {
        std::string debug_name;
        if (function != nullptr) {
            debug_name = linkage_name_of(function->die);
            if (debug_name.empty()) {
                debug_name = plain_name_of(function->die);
            }
        }
        Symbol symbol;
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
        symbol.found = true;
        symbol.name = demangle(symbol.linkage_name);
        SourcePlace place = function != nullptr ? declaration_of(function->die) : SourcePlace{};
        if (place.line == 0 || place.file.empty()) {
            place = debug_.place(symbol.start);  // Assembly, and what the compiler made up.
        }
        symbol.source = place.file;
        symbol.line = place.line;
        return symbol;
    }

    Symbol stub_or_unnamed(std::uint64_t address) {
        if (!plt_) {
            plt_ = std::make_unique<PltTable>(image_.elf());
        }
        Symbol symbol = unnamed(module_name_, extents_.start_of(address).value_or(address));
        if (const auto stub = plt_->find(address)) {
            symbol.name = demangle(stub->target) + "@plt";
            symbol.linkage_name = stub->target + "@plt";
            symbol.start = stub->start;
            symbol.found = true;
        }
        return symbol;
    }

    const ModuleImage& image_;
    std::string module_name_;
    FrameExtents extents_;
    SymbolTable table_;
    DebugInfo debug_;
    std::unique_ptr<PltTable> plt_;
    const ElfSymbol* last_aliases_ = nullptr;
    const void* last_entry_ = nullptr;
    Symbol last_;
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
    const std::string module_name = base_name(module.path);
    const auto image = ModuleImage::open(module.path, module.build_id, options.debug_root);
    if (!image) {
        result.problem = image.error().message();
        for (const std::uint64_t address : addresses) {
            result.symbols.push_back(unnamed(module_name, address));
        }
        return result;
    }
    Dwarf_Addr bias = 0;
    Dwarf* const dwarf = image->debug_info(bias, result.problem);
    Namer namer{*image, module.path, dwarf, bias};
    result.symbols.resize(addresses.size());
    for (const std::size_t i : ascending(addresses)) {
        result.symbols[i] = namer.name(addresses[i]);
    }
    if (namer.is_damaged() && result.problem.empty()) {
        result.problem = "part of the debug information of " + module.path +
                         " does not parse: source lines may be missing; build it again";
    }
    return result;
}

}  // namespace sample::symbolize
