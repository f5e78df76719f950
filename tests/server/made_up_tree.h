// Profiles as a session has them one after the other: stacks written as names, with what was spent.
#pragma once

#include "callgraph/profile.h"
#include "callgraph/tree.h"

#include <cstdint>
#include <map>
#include <sstream>
#include <string>

namespace sample::server {

/// By "thread;outer;inner": what that stack has of its own. Functions are of one module.
using Stacks = std::map<std::string, std::uint64_t>;

inline callgraph::Profile made_up_tree(const Stacks& stacks) {
    callgraph::Profile profile;
    profile.metric.name = "cpu";
    profile.command_line = "./app";
    profile.modules.push_back({"app", "/bin/app", ""});
    profile.nodes.emplace_back();
    std::map<std::string, FunctionId> functions;
    for (const auto& [stack, self] : stacks) {
        std::istringstream names{stack};
        NodeId at{0};
        std::string name;
        for (bool is_thread = true; std::getline(names, name, ';'); is_thread = false) {
            FunctionId function;
            if (!is_thread) {
                FunctionId& known = functions[name];
                if (known.value == 0) {
                    callgraph::Function one;
                    one.name = name;
                    one.source = "app.cpp";
                    one.line = 7;
                    one.module = 1;
                    profile.functions.push_back(one);
                    known = FunctionId{static_cast<std::uint32_t>(profile.functions.size())};
                }
                function = known;
            }
            NodeId next{0};
            for (const callgraph::Category& category : profile.categories) {
                next = is_thread && category.name == name ? category.node : next;
            }
            for (const NodeId child : profile.children(at)) {
                next = !is_thread && profile.node(child).function == function ? child : next;
            }
            if (next.value == 0) {
                next = NodeId{static_cast<std::uint32_t>(profile.nodes.size())};
                callgraph::Node node;
                node.parent = at;
                node.function = function;
                profile.nodes.push_back(node);
                callgraph::link_children(profile.nodes);
                if (is_thread) {
                    profile.categories.push_back({name, next});
                    callgraph::ThreadTotals thread;
                    thread.name = name;
                    thread.process = "app";
                    thread.pid = 100;
                    thread.tid = 100 + static_cast<std::uint32_t>(profile.threads.size());
                    profile.threads.push_back(thread);
                }
            }
            at = next;
        }
        profile.nodes[at.value].self += self;
        for (;; at = profile.node(at).parent) {
            profile.nodes[at.value].total += self;
            profile.nodes[at.value].samples += 1;
            if (at.value == 0) {
                break;
            }
        }
        profile.stats.samples += 1;
        for (std::size_t i = 0; i < profile.threads.size(); ++i) {
            profile.threads[i].total = profile.node(profile.categories[i].node).total;
        }
    }
    return profile;
}

}  // namespace sample::server
