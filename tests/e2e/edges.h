// Who calls whom in an exported profile.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace sample::e2e {

/// One node below another; `caller` is empty below a category.
struct Edge {
    std::string caller;
    std::string callee;
    double total_us = 0;
};

/// Of every node, in the order of the file.
inline std::vector<Edge> edges_of(const nlohmann::json& exported) {
    const auto& nodes = exported["Nodes"];
    const auto& functions = exported["Functions"];
    std::vector<std::string> names(nodes.size());
    for (const auto& parent : nodes) {
        const auto children = parent.value("NodeIds", std::vector<std::size_t>{});
        const auto ids = parent.value("FunctionIds", std::vector<std::size_t>{});
        for (std::size_t child = 0; child < children.size(); ++child) {
            names.at(children[child] - 1) = functions.at(ids.at(child) - 1)["Name"];
        }
    }
    std::vector<Edge> edges;
    for (std::size_t parent = 0; parent < nodes.size(); ++parent) {
        for (const std::size_t child : nodes[parent].value("NodeIds", std::vector<std::size_t>{})) {
            edges.push_back({names[parent], names.at(child - 1),
                             nodes.at(child - 1)["TotalDuration"].get<double>()});
        }
    }
    return edges;
}

}  // namespace sample::e2e
