#include "export/sibling_names.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace sample::exports {

namespace {

using callgraph::Function;
using callgraph::Profile;

/// Source, name, line.
using Key = std::tuple<std::string, std::string, std::uint32_t>;

/// The functions that share each key, of keys that more than one function has.
std::map<Key, std::vector<std::uint32_t>> shared_keys(const Profile& profile) {
    std::map<Key, std::vector<std::uint32_t>> functions;
    for (std::uint32_t i = 0; i < profile.functions.size(); ++i) {
        const Function& function = profile.functions[i];
        functions[{function.source, function.name, function.line}].push_back(i);
    }
    std::erase_if(functions, [](const auto& entry) { return entry.second.size() < 2; });
    return functions;
}

/// By function: true where a sibling with the same key and a lower number lies beside it somewhere.
std::vector<bool> find_collisions(const Profile& profile,
                                  const std::map<Key, std::vector<std::uint32_t>>& shared) {
    std::vector<std::uint32_t> key_of(profile.functions.size());
    std::uint32_t keys = 0;
    for (const auto& [key, functions] : shared) {
        ++keys;
        for (const std::uint32_t function : functions) {
            key_of[function] = keys;
        }
    }
    std::vector<bool> collides(profile.functions.size());
    std::unordered_map<std::uint32_t, std::uint32_t> first_with_key;
    for (const auto& node : profile.nodes) {
        first_with_key.clear();
        for (const NodeId child : node.children) {
            const FunctionId id = profile.node(child).function;
            if (id.is_none() || key_of[id.value - 1] == 0) {
                continue;
            }
            const std::uint32_t function = id.value - 1;
            const auto [first, is_new] = first_with_key.try_emplace(key_of[function], function);
            if (!is_new) {
                collides[std::max(first->second, function)] = true;
                first->second = std::min(first->second, function);
            }
        }
    }
    return collides;
}

/// What tells `function` from `other`, which has the same source, name and line.
std::string difference(const Profile& profile, const Function& function, const Function& other) {
    std::string text;
    const std::uint32_t flags = function.flags & ~other.flags;
    if ((flags & callgraph::kNative) != 0) {
        text += " [native]";
    }
    if ((flags & callgraph::kPlugin) != 0) {
        text += " [plugin]";
    }
    const std::string& module = profile.module_of(function).name;
    if (text.empty() && !module.empty() && module != profile.module_of(other).name) {
        text = " [" + module + "]";
    }
    return text;
}

}  // namespace

std::vector<std::string> names_unique_among_siblings(const Profile& profile) {
    std::vector<std::string> names;
    names.reserve(profile.functions.size());
    for (const Function& function : profile.functions) {
        names.push_back(function.name);
    }
    const auto shared = shared_keys(profile);
    if (shared.empty()) {
        return names;
    }
    const std::vector<bool> collides = find_collisions(profile, shared);
    std::set<Key> used;
    for (const Function& function : profile.functions) {
        used.emplace(function.source, function.name, function.line);
    }
    for (const auto& [key, functions] : shared) {
        for (const std::uint32_t i : functions) {
            if (!collides[i]) {
                continue;
            }
            const Function& function = profile.functions[i];
            const std::string base =
                function.name + difference(profile, function, profile.functions[functions.front()]);
            std::string name = base;
            for (int copy = 2; !used.emplace(function.source, name, function.line).second; ++copy) {
                name = base + " (" + std::to_string(copy) + ")";
            }
            names[i] = name;
        }
    }
    return names;
}

}  // namespace sample::exports
