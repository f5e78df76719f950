#include "export/pprof/places.h"

#include "callgraph/tree.h"
#include "export/shared/metric_view.h"

#include <algorithm>

namespace sample::exports::pprof {

using callgraph::Node;
using callgraph::Profile;

namespace {

/// Replaces each that is not 0 by the number of those up to it.
void number_marked(std::vector<std::uint32_t>& marks, std::uint32_t first = 1) {
    for (std::uint32_t& each : marks) {
        each = each == 0 ? 0 : first++;
    }
}

}  // namespace

Places::Places(const Profile& profile)
    : profile_{profile},
      frames_(profile.nodes.size()),
      functions_(profile.functions.size()),
      mappings_(profile.modules.size()) {
    for (const NodeId id : callgraph::preorder(profile)) {
        if (!profile.node(id).function.is_none()) {
            add(id);
        }
    }
    ids_.resize(known_.size());
    const std::vector<MetricView> views = views_of(profile);
    for (std::uint32_t id = 0; id < profile.nodes.size(); ++id) {
        const bool is_spent = std::any_of(views.begin(), views.end(), [id](const MetricView& view) {
            return view.self(NodeId{id}) != 0;
        });
        if (is_spent || profile.nodes[id].self_samples != 0) {
            use(NodeId{id});
        }
    }
    number();
}

void Places::add(NodeId id) {
    const Node& node = profile_.node(id);
    const FunctionId caller = profile_.node(node.parent).function;
    const bool is_inlined =
        node.inlining == callgraph::Inlining::all && !caller.is_none() && profile_.memory != caller;
    const Frame& parent = frames_[node.parent.value];
    const std::uint32_t location =
        1 + known_.intern({is_inlined ? parent.location : 0, node.function, node.line});
    frames_[id.value] = {is_inlined ? parent.caller : node.parent, location};
}

void Places::use(NodeId node) {
    for (; frames_[node.value].location != 0; node = frames_[node.value].caller) {
        ids_[frames_[node.value].location - 1] = 1;
    }
}

void Places::number() {
    for (std::uint32_t index = 0; index < ids_.size(); ++index) {
        if (ids_[index] == 0) {
            continue;
        }
        mappings_[module_of(index)] = 1;
        for (std::uint32_t at = index + 1; at != 0; at = known_[at - 1].inlined_into) {
            functions_[known_[at - 1].function.value - 1] = 1;
        }
    }
    number_marked(ids_);
    number_marked(functions_);
    mappings_[0] = 0;
    // Readers take the first mapping for the program's own file.
    const auto program = std::find_if(profile_.modules.begin(), profile_.modules.end(),
                                      [this](const callgraph::CodeModule& each) {
                                          return !profile_.processes.empty() &&
                                                 !each.path.empty() &&
                                                 each.path == profile_.processes.front().executable;
                                      });
    const auto index = static_cast<std::size_t>(program - profile_.modules.begin());
    if (program != profile_.modules.end() && mappings_[index] != 0) {
        mappings_[index] = 0;
        number_marked(mappings_, 2);
        mappings_[index] = 1;
    } else {
        number_marked(mappings_);
    }
}

std::uint32_t Places::module_of(std::uint32_t location) const {
    while (known_[location].inlined_into != 0) {
        location = known_[location].inlined_into - 1;
    }
    return profile_.function(known_[location].function).module;
}

NodeId Places::path_of(NodeId node, std::vector<std::uint64_t>& path) const {
    path.clear();
    while (frames_[node.value].location != 0) {
        path.push_back(ids_[frames_[node.value].location - 1]);
        node = frames_[node.value].caller;
    }
    return node;
}

void Places::write(Stream& out) const {
    for (std::uint32_t index = 0; index < ids_.size(); ++index) {
        if (ids_[index] == 0) {
            continue;
        }
        std::string bytes;
        protozero::pbf_builder<LocationField> message{bytes};
        message.add_uint64(LocationField::id, ids_[index]);
        for (std::uint32_t at = index + 1; at != 0; at = known_[at - 1].inlined_into) {
            const Location& frame = known_[at - 1];
            protozero::pbf_builder<LineField> line{message, LocationField::line};
            line.add_uint64(LineField::function_id, functions_[frame.function.value - 1]);
            if (frame.line != 0) {
                line.add_int64(LineField::line, frame.line);
            }
        }
        if (const std::uint32_t mapping = mappings_[module_of(index)]; mapping != 0) {
            message.add_uint64(LocationField::mapping_id, mapping);
        }
        out.message(ProfileField::location, bytes);
    }
}

}  // namespace sample::exports::pprof
