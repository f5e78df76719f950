#include "core/symbols.h"

#include <algorithm>
#include <iterator>

namespace sample {

void merge(Symbols& symbols, Symbols&& more, std::span<const std::size_t> places) {
    const auto files = static_cast<std::uint32_t>(symbols.files.size());
    const auto functions = static_cast<std::uint32_t>(symbols.functions.size());
    const auto frames = static_cast<std::uint32_t>(symbols.frames.size());
    std::move(more.files.begin(), more.files.end(), std::back_inserter(symbols.files));
    std::move(more.functions.begin(), more.functions.end(), std::back_inserter(symbols.functions));
    symbols.frames.reserve(symbols.frames.size() + more.frames.size());
    for (const SymbolFrame& frame : more.frames) {
        symbols.frames.push_back({frame.function + functions, frame.file + files, frame.line});
    }
    const std::size_t count = std::min(places.size(), more.runs.size());
    for (std::size_t i = 0; i < count; ++i) {
        symbols.runs[places[i]] = {more.runs[i].first + frames, more.runs[i].count};
    }
    more = {};
}

}  // namespace sample
