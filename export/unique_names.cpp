#include "export/unique_names.h"

#include "callgraph/label.h"
#include "export/source_file.h"

#include <unordered_map>
#include <utility>

namespace sample::exports {

namespace {

using callgraph::Function;
using callgraph::Profile;

std::string key(const Profile& profile, const Function& function, const std::string& name) {
    return std::string{name}.append(1, '\0').append(source_file(profile, function));
}

/// What tells `function` from `first`, which is called the same.
std::string difference(const Profile& profile, const Function& function, const Function& first) {
    const std::uint32_t flags = function.flags & ~first.flags;
    std::string text;
    if ((flags & callgraph::kNative) != 0) {
        text += " [native]";
    }
    if ((flags & callgraph::kPlugin) != 0) {
        text += " [plugin]";
    }
    const std::string& module = profile.module_of(function).name;
    if (text.empty() && !module.empty() && module != profile.module_of(first).name) {
        text = " [" + module + "]";
    }
    return text;
}

}  // namespace

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
