#include "export/shared/functions.h"

#include "callgraph/label.h"

#include <unordered_map>
#include <utility>

namespace sample::exports {

namespace {

using callgraph::Function;
using callgraph::Profile;

/// Of a function that is called `name`.
std::string key(const Profile& profile, const Function& function, const std::string& name) {
    return std::string{name}.append(1, '\0').append(source_file(profile, function));
}

}  // namespace

CodeKind kind_of(const Profile& profile, FunctionId id) {
    constexpr std::string_view kKernel = "[kernel]";
    if (profile.memory == id) {
        return CodeKind::memory;
    }
    const Function& function = profile.function(id);
    const std::string_view name = function.name;
    if (function.source == kKernel || profile.module_of(function).path == kKernel) {
        return CodeKind::kernel;
    }
    // Time that no code was seen for is shown as a function of no file, "[not sampled]".
    if (function.source.empty() && name.size() > 2 && name.front() == '[' && name.back() == ']') {
        return name.starts_with("[waiting")  ? CodeKind::waiting
               : name.starts_with("[kernel") ? CodeKind::kernel
                                             : CodeKind::no_stack;
    }
    if ((function.flags & callgraph::kNative) != 0) {
        return CodeKind::jit;
    }
    return (function.flags & callgraph::kPlugin) != 0 ? CodeKind::plugin : CodeKind::code;
}

std::string_view source_file(const Profile& profile, const Function& function) {
    const bool is_module = function.source == profile.module_of(function).name;
    return is_module ? std::string_view{} : std::string_view{function.source};
}

std::string difference(const Profile& profile, const Function& function, const Function& other) {
    const std::uint32_t flags = function.flags & ~other.flags;
    std::string text;
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

std::vector<std::string> unique_names(const Profile& profile) {
    struct Known {
        std::size_t first = 0;  ///< The function that has the name.
        int copies = 1;         ///< Of which all but the first have a number.
    };
    std::unordered_map<std::string, Known> known;
    std::vector<std::string> names;
    names.reserve(profile.functions.size());
    for (const Function& function : profile.functions) {
        names.push_back(callgraph::label(function));
        known.try_emplace(key(profile, function, names.back()), Known{names.size() - 1});
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        const Function& function = profile.functions[i];
        const std::size_t first = known.at(key(profile, function, names[i])).first;
        if (first == i) {
            continue;
        }
        const std::string base = names[i] + difference(profile, function, profile.functions[first]);
        names[i] = base;
        int& copies =
            known.try_emplace(key(profile, function, base), Known{i, 0}).first->second.copies;
        for (++copies; copies > 1; ++copies) {
            names[i] = base + " (" + std::to_string(copies) + ")";
            if (known.try_emplace(key(profile, function, names[i]), Known{i}).second) {
                break;
            }
        }
    }
    return names;
}

}  // namespace sample::exports
