// The call stacks of another program's file, whose frames are addresses, as nodes of a recording:
// by the modules that the file says were loaded.
#pragma once

#include "trace/event_view.h"
#include "trace/instrumentation.h"
#include "trace/node_table.h"
#include "trace/record_sink.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::trace {

/// Addresses of its modules count from the first byte that is mapped. An address of none is one of
/// a pseudo module, as it stands; so is one where several modules were, one after the other, as the
/// file does not say when a stack was taken.
/// Not thread-safe. Memory: of kMostModules with their names, and kMostNodes.
class ForeignStacks {
public:
    static constexpr std::size_t kMostModules = std::size_t{1} << 14;
    static constexpr std::uint32_t kMostNodes = std::uint32_t{1} << 22;

    /// Diagnostics.ModuleInit and Diagnostics.ModuleLoad.
    void take_init(const EventView& event);
    void take_load(const EventView& event);

    /// Behind the last module and before the first stack: hands the modules to `sink`.
    void define_modules(RecordSink& sink);
    /// Hands `stack` to `sink` and, before it, what nodes it needs. Its id becomes that of its
    /// leaf.
    void define(CallStack stack, RecordSink& sink);
    /// 0: it was not defined, or there was no room.
    [[nodiscard]] std::uint32_t node_of(std::uint32_t call_stack) const {
        const auto found = nodes_of_.find(call_stack);
        return found == nodes_of_.end() ? 0 : found->second;
    }

private:
    struct Loaded {
        std::uint64_t base = 0;
        std::uint64_t size = 0;
        Module module;
    };
    /// From `start` on, to the next one's.
    struct Stretch {
        std::uint64_t start = 0;
        std::uint32_t module = 0;  ///< Its id; 0: none, or more than one.
    };
    [[nodiscard]] std::uint32_t module_at(std::uint64_t address) const;
    /// Where `frame` lies, and what its address is there.
    std::pair<ModuleId, std::uint64_t> place_of(std::uint64_t frame, RecordSink& sink);

    unsigned base_shift_ = 0;
    std::vector<Loaded> modules_;  ///< By id - 1.
    std::set<std::pair<std::uint64_t, std::string>> known_;
    std::vector<Stretch> stretches_;  ///< By start.
    ModuleId unknown_;                ///< Of addresses of no module, if there were any.
    NodeTable nodes_;
    std::unordered_map<std::uint32_t, std::uint32_t> nodes_of_;  ///< By the file's numbers.
};

}  // namespace sample::trace
