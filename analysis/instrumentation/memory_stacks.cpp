#include "analysis/instrumentation/memory_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace sample::analysis {
namespace {

using NamedFrames = std::vector<std::string>;

void append_names(const callgraph::Recording& recording, const Symbols& symbols,
                  std::uint32_t address, NamedFrames& out) {
    const auto frames = symbols.frames_of(address);
    for (const SymbolFrame& frame : frames) {
        out.push_back(symbols.functions[frame.function].name);
    }
    if (frames.empty()) {
        const callgraph::CodeAddress place = recording.addresses()[address];
        const trace::Module* const module = recording.module_of(place);
        const bool is_code = module != nullptr && module->kind != trace::ModuleKind::pseudo;
        const bool has_address =
            module == nullptr || (!is_code && recording.read_outcome().is_foreign);
        out.push_back(has_address ? fmt::format("{:#x}", place.address)
                      : is_code   ? fmt::format("{}+{:#x}", module->path, place.address)
                                  : module->path);
    }
}

NamedFrames frames_of(const callgraph::Recording& recording, const Symbols& symbols,
                      std::uint32_t node) {
    NamedFrames frames;
    while (node >= 1 && node <= recording.nodes().size()) {
        const callgraph::StackFrame& frame = recording.nodes()[node - 1];
        append_names(recording, symbols, frame.address, frames);
        node = frame.parent.value;
    }
    return frames;
}

bool is_memory_management(const std::string& name) {
    // The loader has a malloc of its own, which calls everybody's.
    return name.starts_with("operator new") || name == "malloc" || name == "calloc" ||
           name == "realloc";
}

void add(MemoryUse& to, const MemoryUse& use) {
    to.allocations += use.allocations;
    to.allocated_bytes += use.allocated_bytes;
    to.short_lived += use.short_lived;
    to.live += use.live;
    to.live_bytes += use.live_bytes;
    // Those of stacks that share their names were not at once.
    if (use.peak_bytes > to.peak_bytes) {
        to.peak_bytes = use.peak_bytes;
        to.peak_ns = use.peak_ns;
    }
}

}  // namespace

std::vector<MemoryStack> name_stacks(const Memory& memory, const callgraph::Recording& recording,
                                     const Symbols& symbols) {
    std::map<NamedFrames, MemoryUse> by_names;
    for (const auto& [stack, use] : memory.stacks()) {
        NamedFrames frames = frames_of(recording, symbols, stack);
        const auto first = std::find_if_not(frames.begin(), frames.end(), is_memory_management);
        frames.erase(frames.begin(), first);
        add(by_names[std::move(frames)], use);
    }
    std::vector<MemoryStack> stacks;
    stacks.reserve(by_names.size());
    for (auto& [frames, use] : by_names) {
        stacks.push_back({frames, use});
    }
    std::stable_sort(stacks.begin(), stacks.end(),
                     [](const MemoryStack& left, const MemoryStack& right) {
                         return std::tuple{left.use.live_bytes, left.use.allocated_bytes} >
                                std::tuple{right.use.live_bytes, right.use.allocated_bytes};
                     });
    return stacks;
}

}  // namespace sample::analysis
