#include "trace/foreign_stacks.h"

#include "trace/text.h"

#include <algorithm>
#include <span>

namespace sample::trace {
namespace {

constexpr unsigned kMostBaseShift = 32;

}  // namespace

void ForeignStacks::take_init(const EventView& event) {
    base_shift_ = std::min(event.number<unsigned>("ModuleBaseShift"), kMostBaseShift);
}

void ForeignStacks::take_load(const EventView& event) {
    Loaded loaded;
    loaded.base = event.number<std::uint64_t>("Base");
    loaded.size = event.number<std::uint64_t>("Size");
    const auto base = event.type().field("Base");
    if (base && event.type().fields[*base].size < sizeof loaded.base) {
        loaded.base <<= base_shift_;  // What a narrower field has no room for.
    }
    loaded.size = std::min(loaded.size, UINT64_MAX - loaded.base);
    loaded.module.path = bounded_text(event.text("Name"), kMaxPathBytes);
    const std::span<const std::byte> image = event.bytes("ImageId");
    for (const std::byte byte : image.first(std::min(image.size(), kMaxBuildIdBytes))) {
        loaded.module.build_id.push_back(std::to_integer<std::uint8_t>(byte));
    }
    if (loaded.size == 0 || modules_.size() >= kMostModules ||
        !known_.emplace(loaded.base, loaded.module.path).second) {
        return;
    }
    modules_.push_back(std::move(loaded));
    modules_.back().module.id = ModuleId{static_cast<std::uint32_t>(modules_.size())};
}

void ForeignStacks::define_modules(RecordSink& sink) {
    struct Edge {
        std::uint64_t at;
        std::int64_t id;  ///< Negative where it ends.
    };
    std::vector<Edge> edges;
    for (const Loaded& loaded : modules_) {
        sink.record(loaded.module);
        const std::int64_t id = loaded.module.id.value;
        edges.push_back({loaded.base, id});
        edges.push_back({loaded.base + loaded.size, -id});
    }
    std::sort(edges.begin(), edges.end(),
              [](const Edge& left, const Edge& right) { return left.at < right.at; });
    std::int64_t ids = 0;  // Of those that are there, added up.
    std::size_t count = 0;
    for (std::size_t i = 0; i < edges.size(); ++i) {
        ids += edges[i].id;
        count = edges[i].id > 0 ? count + 1 : count - 1;
        if (i + 1 == edges.size() || edges[i + 1].at != edges[i].at) {
            stretches_.push_back({edges[i].at, count == 1 ? static_cast<std::uint32_t>(ids) : 0});
        }
    }
}

std::uint32_t ForeignStacks::module_at(std::uint64_t address) const {
    const auto next = std::upper_bound(
        stretches_.begin(), stretches_.end(), address,
        [](std::uint64_t left, const Stretch& right) { return left < right.start; });
    return next == stretches_.begin() ? 0 : std::prev(next)->module;
}

std::pair<ModuleId, std::uint64_t> ForeignStacks::place_of(std::uint64_t frame, RecordSink& sink) {
    // Where calls return to: the one that was made lies before.
    const std::uint64_t call = frame - (frame != 0 ? 1 : 0);
    if (const std::uint32_t module = module_at(call); module != 0) {
        return {ModuleId{module}, call - modules_[module - 1].base};
    }
    if (unknown_.is_none()) {
        unknown_ = ModuleId{static_cast<std::uint32_t>(modules_.size()) + 1};
        sink.record(Module{unknown_, ModuleKind::pseudo, false, kUnknownCode, {}});
    }
    return {unknown_, frame};
}

void ForeignStacks::define(CallStack stack, RecordSink& sink) {
    NodeId node;
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
        if (nodes_.size() >= kMostNodes) {
            return;
        }
        const auto [module, address] = place_of(*frame, sink);
        const std::uint32_t known = nodes_.size();
        node = nodes_.intern(node, module, address & ~kGuessedFrame);
        if (nodes_.size() != known) {
            sink.node(nodes_.node(node));
        }
    }
    nodes_of_[stack.id] = node.value;
    stack.id = node.value;
    sink.instrumentation(stack);
}

}  // namespace sample::trace
