// Profiles of a handful of functions, for the tests of formats.
#pragma once

#include "callgraph/profile.h"
#include "callgraph/tree.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sample::callgraph {

/// A root with category "main" and below it one node a function.
inline Profile profile_of(std::vector<Function> functions) {
    constexpr std::uint64_t kEach = 2'500;
    Profile profile;
    profile.start_unix_ms = 1000;
    profile.end_unix_ms = 3000;
    profile.nodes.resize(2);
    profile.categories = {{"main", NodeId{1}}};
    profile.functions = std::move(functions);
    for (std::uint32_t id = 1; id <= profile.functions.size(); ++id) {
        Node node;
        node.parent = NodeId{1};
        node.function = FunctionId{id};
        node.total = node.self = kEach;
        node.samples = node.self_samples = 1;
        profile.nodes.push_back(node);
        profile.functions[id - 1].total = kEach;
    }
    link_children(profile.nodes);
    profile.nodes[0].total = profile.nodes[1].total = kEach * profile.functions.size();
    profile.nodes[0].samples = profile.nodes[1].samples = profile.functions.size();
    return profile;
}

inline Function function(std::string name, std::string source = {}, std::uint32_t line = 0) {
    Function result;
    result.name = std::move(name);
    result.source = std::move(source);
    result.line = line;
    return result;
}

}  // namespace sample::callgraph
