#include "symbolize/symbolizer.h"

#include "symbolize/module_image.h"
#include "symbolize/namer.h"

#include <algorithm>
#include <numeric>

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
void leave_unnamed(const std::string& path, std::span<const std::uint64_t> addresses,
                   Symbols& symbols) {
    for (const std::uint64_t address : addresses) {
        const auto index = static_cast<std::uint32_t>(symbols.functions.size());
        symbols.functions.push_back(unnamed_function(path, address));
        symbols.frames.push_back({index, 0, 0});
        symbols.runs.push_back({index, 1});
    }
}

}  // namespace

ModuleSymbols symbolize(const ModuleFile& module, std::span<const std::uint64_t> addresses,
                        const Options& options) {
    ModuleSymbols result;
    if (addresses.empty()) {
        return result;
    }
    const auto image = ModuleImage::open(module.path, module.build_id, options.debug_root);
    if (!image) {
        result.problem = image.error().message();
        leave_unnamed(module.path, addresses, result.symbols);
        return result;
    }
    DebugSource debug;
    debug.dwarf = image->debug_info(debug.bias, result.problem);
    Namer namer{*image, module.path, debug, result.symbols};
    result.symbols.runs.resize(addresses.size());
    std::size_t previous = 0;
    bool has_previous = false;
    for (const std::size_t i : ascending(addresses)) {
        const bool again = has_previous && addresses[previous] == addresses[i];
        result.symbols.runs[i] = again ? result.symbols.runs[previous] : namer.name(addresses[i]);
        previous = i;
        has_previous = true;
    }
    if (namer.is_damaged() && result.problem.empty()) {
        result.problem = "part of the debug information of " + module.path +
                         " does not parse: source lines may be missing; build it again";
    }
    return result;
}

}  // namespace sample::symbolize
