#include "analysis/diff/function_match.h"

#include "callgraph/transforms.h"
#include "core/text.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace sample::analysis {

namespace {

/// "libfoo.so" for "libfoo.so.1.2".
std::string_view without_version(std::string_view module) {
    constexpr std::string_view kShared = ".so.";
    const std::size_t at = module.find(kShared);
    return at == std::string_view::npos ? module : module.substr(0, at + kShared.size() - 1);
}

/// How many parts at the ends of two paths are alike.
std::uint32_t common_parts(std::string_view left, std::string_view right) {
    std::uint32_t parts = 0;
    while (!left.empty() && !right.empty() && file_name(left) == file_name(right)) {
        ++parts;
        const auto parent = [](std::string_view path) {
            const std::size_t slash = path.rfind('/');
            return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
        };
        left = parent(left);
        right = parent(right);
    }
    return parts;
}

/// A function of either profile by what tells it.
struct Item {
    std::uint32_t index = 0;  ///< Those of `after` follow those of `before`.
    bool is_after = false;
    std::string name;
    std::string_view module;  ///< Empty: unknown; likewise the source.
    std::string_view source;

    [[nodiscard]] auto key() const { return std::tie(name, module, source); }
};

std::string_view known_source(const callgraph::Function& function,
                              const callgraph::CodeModule& module) {
    return function.source == module.name || function.source == module.path
               ? std::string_view{}
               : std::string_view{function.source};
}

std::string own_name(const callgraph::Function& function) {
    if (!function.name.empty()) {
        return function.name;
    }
    return std::string{file_name(function.source)} + ":" + std::to_string(function.line);
}

void add_items(std::vector<Item>& items, const callgraph::Profile& profile, bool is_after) {
    constexpr std::string_view kProgram = "[program]";
    const std::string_view program = program_of(profile);
    for (const callgraph::Function& function : profile.functions) {
        const callgraph::CodeModule& module = profile.module_of(function);
        const bool is_program = !module.name.empty() && module.name == program;
        items.push_back({static_cast<std::uint32_t>(items.size()), is_after, own_name(function),
                         is_program ? kProgram : without_version(module.name),
                         known_source(function, module)});
    }
}

/// How well two functions of one name agree; 0: not at all.
std::uint32_t agreement(const Item& left, const Item& right) {
    constexpr std::uint32_t kSameModule = 1U << 16U;
    const bool modules_known = !left.module.empty() && !right.module.empty();
    if (modules_known && left.module != right.module) {
        return 0;
    }
    const std::uint32_t points = 1 + (modules_known ? kSameModule : 0);
    if (left.source.empty() || right.source.empty()) {
        return points;
    }
    const std::uint32_t parts = common_parts(left.source, right.source);
    return parts == 0 ? 0 : points + std::min(parts, kSameModule - 2);
}

/// Disjoint sets of items.
class Sets {
public:
    explicit Sets(std::size_t size) : parent_(size) {
        std::iota(parent_.begin(), parent_.end(), 0U);
    }

    std::uint32_t find(std::uint32_t item) {
        while (parent_[item] != item) {
            item = parent_[item] = parent_[parent_[item]];
        }
        return item;
    }
    void unite(const Item& left, const Item& right) {
        parent_[find(left.index)] = find(right.index);
    }

private:
    std::vector<std::uint32_t> parent_;
};

/// Matches the functions of one name.
class Namesakes {
public:
    Namesakes(std::span<const Item> items, Sets& sets) : sets_{sets} {
        for (std::size_t at = 0; at < items.size();) {
            at += take_equal(items.subspan(at));
        }
    }

    void match() {
        // Foreign files may hold any number of namesakes; real programs have a handful.
        constexpr std::size_t kMostPairs = 1'000'000;
        if (before_.size() * after_.size() <= kMostPairs) {
            unite_best();
        }
        const auto is_united = [](const Single& each) { return each.is_united; };
        std::erase_if(before_, is_united);
        std::erase_if(after_, is_united);
        if (before_.size() == 1 && after_.size() == 1 &&
            modules_agree(*before_[0].item, *after_[0].item)) {
            sets_.unite(*before_[0].item, *after_[0].item);
        }
    }

private:
    /// What only one of the profiles has.
    struct Single {
        const Item* item = nullptr;
        std::uint32_t best = 0;  ///< The best agreement with one of the other profile.
        bool is_united = false;
    };

    static bool modules_agree(const Item& left, const Item& right) {
        return left.module.empty() || right.module.empty() || left.module == right.module;
    }

    /// Unites the first with all that equal it; returns how many.
    std::size_t take_equal(std::span<const Item> items) {
        std::size_t count = 0;
        bool in_both = false;
        for (; count < items.size() && items[count].key() == items[0].key(); ++count) {
            sets_.unite(items[count], items[0]);
            in_both = in_both || items[count].is_after != items[0].is_after;
        }
        if (!in_both) {
            (items[0].is_after ? after_ : before_).push_back({&items[0]});
        }
        return count;
    }

    void unite_best() {
        for (Single& left : before_) {
            for (Single& right : after_) {
                const std::uint32_t points = agreement(*left.item, *right.item);
                left.best = std::max(left.best, points);
                right.best = std::max(right.best, points);
            }
        }
        for (Single& left : before_) {
            for (Single& right : after_) {
                const std::uint32_t points = agreement(*left.item, *right.item);
                if (points != 0 && points == left.best && points == right.best) {
                    sets_.unite(*left.item, *right.item);
                    left.is_united = right.is_united = true;
                }
            }
        }
    }

    Sets& sets_;
    std::vector<Single> before_;
    std::vector<Single> after_;
};

bool is_module(const callgraph::Profile& profile, std::string_view name) {
    return std::any_of(profile.modules.begin(), profile.modules.end(),
                       [name](const callgraph::CodeModule& module) { return module.name == name; });
}

/// The module that has the program's first function.
std::string_view module_of_main(const callgraph::Profile& profile) {
    std::string_view module;
    for (const callgraph::Function& function : profile.functions) {
        if (function.name == "_start" || (function.name == "main" && module.empty())) {
            const std::string_view name = profile.module_of(function).name;
            // The dynamic linker has a _start, too.
            module = name.starts_with("ld") ? module : name;
        }
    }
    return module;
}

/// "libfoo.so" of "libfoo.so+0x12ab"; empty for a name.
std::string_view module_in_name(std::string_view name) {
    constexpr std::string_view kMark = "+0x";
    const std::size_t at = name.rfind(kMark);
    if (at == std::string_view::npos || at == 0 || at + kMark.size() == name.size() ||
        name.find_first_not_of("0123456789abcdef", at + kMark.size()) != std::string_view::npos) {
        return {};
    }
    return name.substr(0, at);
}

}  // namespace

std::string_view program_of(const callgraph::Profile& profile) {
    std::string_view executable;
    for (const callgraph::ProcessTotals& process : profile.processes) {
        // An exec makes a new entry of the same pid: the last one is what did the work.
        if (process.pid == profile.processes.front().pid) {
            executable = process.executable;
        }
    }
    for (const callgraph::CodeModule& module : profile.modules) {
        if (!executable.empty() && module.path == executable) {
            return module.name;  // As it was typed, where that was a symbolic link's name.
        }
    }
    if (!executable.empty()) {
        return file_name(executable);
    }
    const std::string_view command = profile.command_line;
    const std::string_view word = file_name(command.substr(0, command.find(' ')));
    return !word.empty() && is_module(profile, word) ? word : module_of_main(profile);
}

FunctionMatch match_functions(Profiles before, Profiles after) {
    std::vector<Item> items;
    FunctionMatch match;
    const auto add = [&](Profiles side, bool is_after) {
        for (const callgraph::Profile* profile : side) {
            add_items(items, *profile, is_after);
            match.numbers.emplace_back(profile->functions.size());
        }
    };
    add(before, false);
    add(after, true);
    Sets sets{items.size()};
    std::sort(items.begin(), items.end(), [](const Item& left, const Item& right) {
        return std::tuple_cat(left.key(), std::tie(left.index)) <
               std::tuple_cat(right.key(), std::tie(right.index));
    });
    for (auto first = items.begin(); first != items.end();) {
        const auto last = std::find_if(first, items.end(),
                                       [&](const Item& each) { return each.name != first->name; });
        Namesakes{std::span{first, last}, sets}.match();
        first = last;
    }
    std::unordered_map<std::uint32_t, std::uint32_t> number_of_set;
    std::uint32_t index = 0;
    for (std::vector<std::uint32_t>& numbers : match.numbers) {
        for (std::uint32_t& number : numbers) {
            const auto [found, is_new] = number_of_set.try_emplace(sets.find(index++), match.count);
            match.count += is_new ? 1 : 0;
            number = found->second;
        }
    }
    return match;
}

callgraph::Profile without_addresses(callgraph::Profile profile, const callgraph::Profile& other) {
    std::unordered_map<std::string_view, std::string_view> build_ids;
    for (const callgraph::CodeModule& module : other.modules) {
        build_ids.emplace(module.name, module.build_id);
    }
    const bool knows_modules = other.modules.size() > 1;
    const auto is_same_build = [&](const callgraph::CodeModule& module) {
        const auto found = build_ids.find(module.name);
        return found == build_ids.end()
                   ? knows_modules && !module.name.empty()
                   : !module.build_id.empty() && found->second == module.build_id;
    };
    const auto is_address = [&](const callgraph::Function& function) {
        return !module_in_name(function.name).empty() &&
               !is_same_build(profile.module_of(function));
    };
    if (std::none_of(profile.functions.begin(), profile.functions.end(), is_address)) {
        return profile;
    }
    const std::vector<callgraph::CodeModule> modules = profile.modules;
    return rename(std::move(profile), [&](const callgraph::Function& function) {
        const std::string_view module = module_in_name(function.name);
        return module.empty() || is_same_build(modules[function.module])
                   ? std::string{}
                   : std::string{module} + "+[no name]";
    });
}

}  // namespace sample::analysis
