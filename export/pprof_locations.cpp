#include "export/pprof_locations.h"

#include "callgraph/tree.h"

#include <protozero/pbf_builder.hpp>

namespace sample::exports::pprof {

using callgraph::Node;

Locations::Locations(const callgraph::Profile& profile, Stream& out)
    : profile_{profile}, out_{out}, frames_(profile.nodes.size()) {
    for (const NodeId id : callgraph::preorder(profile)) {
        if (!profile.node(id).function.is_none()) {
            add(id);
        }
    }
}

void Locations::add(NodeId id) {
    const Node& node = profile_.node(id);
    const FunctionId caller = profile_.node(node.parent).function;
    const bool is_inlined =
        node.inlining == callgraph::Inlining::all && !caller.is_none() && profile_.gc != caller;
    const Frame& parent = frames_[node.parent.value];
    Frame& frame = frames_[id.value];
    frame.caller = is_inlined ? parent.caller : node.parent;
    const std::size_t known = known_.size();
    frame.location =
        1 + known_.intern({is_inlined ? parent.location : 0, node.function, node.line});
    if (known_.size() != known) {
        write(frame.location);
    }
}

void Locations::write(std::uint32_t location) {
    message_.clear();
    protozero::pbf_builder<LocationField> message{message_};
    message.add_uint64(LocationField::id, location);
    FunctionId outermost;
    for (std::uint32_t at = location; at != 0; at = known_[at - 1].inlined_into) {
        const Location& frame = known_[at - 1];
        outermost = frame.function;
        line_.clear();
        protozero::pbf_builder<LineField> line{line_};
        line.add_uint64(LineField::function_id, frame.function.value);
        if (frame.line != 0) {
            line.add_int64(LineField::line, frame.line);
        }
        message.add_message(LocationField::line, line_);
    }
    if (const std::uint32_t module = profile_.function(outermost).module; module != 0) {
        message.add_uint64(LocationField::mapping_id, module);
    }
    out_.message(ProfileField::location, message_);
}

}  // namespace sample::exports::pprof
