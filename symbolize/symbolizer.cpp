#include "symbolize/symbolizer.h"

#include "core/mapped_reading.h"
#include "symbolize/module_image.h"
#include "symbolize/namer.h"
#include "symbolize/symbols_builder.h"
#include "symbolize/told_files.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sample::symbolize {
namespace {

std::vector<std::size_t> ascending(std::span<const std::uint64_t> addresses) {
    std::vector<std::size_t> order(addresses.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return addresses[a] < addresses[b]; });
    return order;
}

/// Each address a function of its own.
Symbols unnamed_symbols(const std::string& path, std::span<const std::uint64_t> addresses) {
    SymbolsBuilder builder;
    std::vector<FrameRun> runs;
    for (const std::uint64_t address : addresses) {
        const SymbolFrame frame{builder.function(unnamed_function(path, address)), 0, 0};
        runs.push_back(builder.run({&frame, 1}));
    }
    Symbols symbols = builder.take();
    symbols.runs = std::move(runs);
    return symbols;
}

ModuleSymbols unread(const ModuleFile& module, std::span<const std::uint64_t> addresses,
                     std::string problem) {
    return {unnamed_symbols(module.path, addresses), std::move(problem)};
}

ModuleSymbols name_all(const ModuleImage& image, const ModuleFile& module,
                       std::span<const std::uint64_t> addresses) {
    ModuleSymbols result;
    DebugSource debug;
    debug.dwarf = image.debug_info(debug.bias, result.problem);
    const auto split = image.split_units(debug.dwarf);
    debug.split = split.get();
    Namer namer{image, module.path, debug};
    std::vector<FrameRun> runs(addresses.size());
    for (const std::size_t i : ascending(addresses)) {
        runs[i] = namer.name(addresses[i]);
    }
    result.symbols = namer.take();
    result.symbols.runs = std::move(runs);
    result.file = image.path();
    result.debug_places = image.debug_places();
    if (result.problem.empty()) {
        result.problem = image.cut_off_text();
    }
    if (result.problem.empty()) {
        result.problem = split->problem();
    }
    if (namer.is_damaged() && result.problem.empty()) {
        result.problem = "part of the debug information of " + module.path +
                         " does not parse: source lines may be missing; build it again";
    }
    return result;
}

}  // namespace

ModuleSymbols symbolize(const ModuleFile& module, std::span<const std::uint64_t> addresses,
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
    return changed.empty() ? std::move(result) : unread(module, addresses, changed);
}

}  // namespace sample::symbolize
