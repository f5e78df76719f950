#include "callgraph/rename.h"

#include "callgraph/tree.h"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample::callgraph {

namespace {

using Index = TreeBuilder::Index;

/// The functions of a profile by their new names, equal ones as one.
class NewFunctions {
public:
    explicit NewFunctions(const Profile& profile)
        : gc_{profile.gc.value_or(FunctionId{})}, id_of_(profile.functions.size() + 1) {}

    void add(FunctionId old, Function function) {
        FunctionId& id = id_of_[old.value];
        if (old != gc_) {
            id = known_.try_emplace(key(function), FunctionId{next()}).first->second;
        } else {
            id = FunctionId{next()};
        }
        if (id.value == next()) {
            functions_.push_back(std::move(function));
            return;
        }
        std::uint32_t& line = functions_[id.value - 1].line;
        if (line == 0 || (function.line != 0 && function.line < line)) {
            line = function.line;
        }
    }

    [[nodiscard]] FunctionId id_of(FunctionId old) const { return id_of_[old.value]; }
    std::vector<Function> take() && { return std::move(functions_); }

private:
    [[nodiscard]] std::uint32_t next() const {
        return static_cast<std::uint32_t>(functions_.size() + 1);
    }

    static std::string key(const Function& function) {
        std::string key = function.name;
        key.append(1, '\0').append(function.source);
        for (const std::uint32_t part : {function.module, function.flags}) {
            key.append(1, '\0').append(std::to_string(part));
        }
        return key;
    }

    FunctionId gc_;
    std::vector<FunctionId> id_of_;
    std::vector<Function> functions_;
    std::unordered_map<std::string, FunctionId> known_;
};

/// The same tree with other functions, grown node by node in preorder.
class Regrowth {
public:
    Regrowth(const Profile& profile, const NewFunctions& functions,
             const std::vector<bool>& is_called_part)
        : profile_{profile},
          functions_{functions},
          is_called_part_{is_called_part},
          places_(profile.nodes.size()),
          category_of_(profile.nodes.size()) {
        for (const Category& category : profile.categories) {
            category_of_[category.node.value] = &category.name;
        }
    }

    void add(NodeId id) {
        const Node& node = profile_.node(id);
        Place& place = places_[id.value];
        const std::string* category = category_of_[id.value];
        if (category != nullptr) {
            place.index = tree_.add_category(*category);
        } else if (id != NodeId{}) {
            place = place_of(node);
            place.index = tree_.child(place.parent, functions_.id_of(node.function), place.site);
        }
        tree_.move_self(profile_, id, place.index);
    }

    TreeBuilder take() && { return std::move(tree_); }

private:
    struct Place {
        Index index = TreeBuilder::kRoot;
        Index parent = TreeBuilder::kRoot;
        CallSite site;
    };

    [[nodiscard]] Place place_of(const Node& node) const {
        const Place& parent = places_[node.parent.value];
        if (!is_part_of_caller(node)) {
            return {TreeBuilder::kRoot, parent.index, call_site(node)};
        }
        return {
            TreeBuilder::kRoot, parent.parent, {node.line, parent.site.call_line, node.inlining}};
    }

    [[nodiscard]] bool is_part_of_caller(const Node& node) const {
        const FunctionId caller = profile_.node(node.parent).function;
        return is_called_part_[node.function.value] && caller != node.function &&
               functions_.id_of(caller) == functions_.id_of(node.function);
    }

    const Profile& profile_;
    const NewFunctions& functions_;
    const std::vector<bool>& is_called_part_;
    std::vector<Place> places_;
    std::vector<const std::string*> category_of_;
    TreeBuilder tree_;
};

}  // namespace

Profile rename(Profile profile, const std::function<std::string(const Function&)>& new_name) {
    return fold_parts(std::move(profile), [&new_name](const Function& function) {
        return Whole{new_name(function), false};
    });
}

Profile fold_parts(Profile profile, const std::function<Whole(const Function&)>& whole_of) {
    NewFunctions functions{profile};
    std::vector<bool> is_called_part(profile.functions.size() + 1);
    for (std::uint32_t value = 1; value <= profile.functions.size(); ++value) {
        const FunctionId id{value};
        Function function = profile.function(id);
        if (id != profile.gc) {
            Whole whole = whole_of(function);
            is_called_part[value] = whole.calls_its_part;
            if (!whole.name.empty()) {
                function.name = std::move(whole.name);
            }
        }
        functions.add(id, std::move(function));
    }
    Regrowth regrowth{profile, functions, is_called_part};
    for (const NodeId id : preorder(profile)) {
        regrowth.add(id);
    }
    TreeBuilder tree = std::move(regrowth).take();
    if (profile.gc) {
        profile.gc = functions.id_of(*profile.gc);
    }
    profile.functions = std::move(functions).take();
    std::move(tree).finish(profile);
    return profile;
}

}  // namespace sample::callgraph
