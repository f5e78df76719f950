#include "symbolize/symbols_builder.h"

#include <algorithm>
#include <cstdio>

namespace sample::symbolize {

std::uint32_t SymbolsBuilder::function(FunctionSymbol function) {
    const auto next = static_cast<std::uint32_t>(symbols_.functions.size());
    const auto [known, is_new] = functions_.try_emplace(
        {function.start, function.name, function.source, function.origin}, next);
    if (is_new) {
        symbols_.functions.push_back(std::move(function));
    }
    return known->second;
}

std::uint32_t SymbolsBuilder::file(std::string_view name) {
    if (name.empty()) {
        return 0;
    }
    const auto [known, is_new] =
        files_.try_emplace(std::string{name}, static_cast<std::uint32_t>(symbols_.files.size()));
    if (is_new) {
        symbols_.files.emplace_back(name);
    }
    return known->second;
}

FrameRun SymbolsBuilder::run(std::span<const SymbolFrame> frames) {
    const auto is_same = [](const SymbolFrame& a, const SymbolFrame& b) {
        return a.function == b.function && a.file == b.file && a.line == b.line;
    };
    const auto last = std::span{symbols_.frames}.subspan(last_.first, last_.count);
    if (last_.count == 0 ||
        !std::equal(last.begin(), last.end(), frames.begin(), frames.end(), is_same)) {
        last_ = {static_cast<std::uint32_t>(symbols_.frames.size()),
                 static_cast<std::uint32_t>(frames.size())};
        symbols_.frames.insert(symbols_.frames.end(), frames.begin(), frames.end());
    }
    return last_;
}

FunctionSymbol unnamed_function(const std::string& module_path, std::uint64_t address) {
    const std::string module = module_path.substr(module_path.rfind('/') + 1);
    char offset[24] = {};
    std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(address));
    FunctionSymbol function;
    function.name = (module.empty() ? "[no name]" : module) + offset;
    function.start = address;
    return function;
}

}  // namespace sample::symbolize
