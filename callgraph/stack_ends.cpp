#include "callgraph/stack_ends.h"

#include <algorithm>
#include <tuple>

namespace sample::callgraph {

namespace {

/// What a node of a module says about the stacks that it is part of.
enum class NodeKind : std::uint8_t { code, no_module, incomplete, truncated, elided };

NodeKind kind_of(const trace::Module& module) {
    switch (module.kind) {
        case trace::ModuleKind::elf:
        case trace::ModuleKind::vdso:
        case trace::ModuleKind::kernel:
            return NodeKind::code;
        case trace::ModuleKind::jit:
            return NodeKind::no_module;
        case trace::ModuleKind::pseudo:
            break;
    }
    if (module.path == trace::kStackIncomplete) {
        return NodeKind::incomplete;
    }
    if (module.path == trace::kStackTruncated) {
        return NodeKind::truncated;
    }
    return module.path == trace::kFramesElided ? NodeKind::elided : NodeKind::no_module;
}

/// By id; [0] is for frames of no known module.
std::vector<NodeKind> kinds_of_modules(const Recording& recording) {
    std::vector<NodeKind> kinds{NodeKind::no_module};
    for (const trace::Module& module : recording.modules()) {
        kinds.push_back(kind_of(module));
    }
    return kinds;
}

}  // namespace

std::vector<StackEnd> stack_ends(const Recording& recording) {
    using Kind = StackEnd::Kind;
    const std::vector<NodeKind> kinds = kinds_of_modules(recording);
    std::vector<StackEnd> ends(recording.nodes().size() + 1);
    std::vector<bool> is_base(ends.size());
    for (std::uint32_t id = 1; id < ends.size(); ++id) {
        const StackFrame& frame = recording.nodes()[id - 1];
        const CodeAddress& place = recording.addresses()[frame.address];
        const bool is_known = place.module.value < kinds.size();
        const NodeKind kind = is_known ? kinds[place.module.value] : NodeKind::no_module;
        StackEnd& end = ends[id];
        end = ends[frame.parent.value];
        end.is_guessed = end.is_guessed || recording.is_guessed(NodeId{id});
        if (frame.parent.is_none() && kind == NodeKind::incomplete) {
            end.kind = Kind::incomplete;
            end.reason = stack_break_of(place.address);
            is_base[id] = true;
        } else if (frame.parent.is_none() && kind == NodeKind::truncated) {
            end.kind = Kind::truncated;
            end.reason = StackBreak::depth_limit;
            is_base[id] = true;
        } else if (is_base[frame.parent.value] && kind == NodeKind::code) {
            end.module = place.module;
        } else if (kind == NodeKind::elided && end.kind == Kind::whole) {
            end.kind = Kind::truncated;
            end.reason = StackBreak::depth_limit;
        }
    }
    return ends;
}

void BrokenStackSums::add(const StackEnd& end, const StackWeight& weight) {
    if (end.kind == StackEnd::Kind::whole || weight.samples == 0) {
        return;
    }
    const std::string_view path =
        end.module.is_none() ? std::string_view{}
                             : std::string_view{recording_.modules()[end.module.value - 1].path};
    Sum& sum = sums_[{end.reason, path}];
    sum.samples += weight.samples;
    sum.weight += weight.sampled;
}

std::vector<BrokenStacks> BrokenStackSums::list() const {
    std::vector<BrokenStacks> list;
    for (const auto& [key, sum] : sums_) {
        list.push_back({key.first, std::string{key.second}, sum.samples, sum.weight});
    }
    std::stable_sort(list.begin(), list.end(), [](const BrokenStacks& a, const BrokenStacks& b) {
        return std::tie(a.weight, a.samples) > std::tie(b.weight, b.samples);
    });
    return list;
}

}  // namespace sample::callgraph
