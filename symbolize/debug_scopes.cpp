#include "symbolize/debug_scopes.h"

#include <algorithm>
#include <functional>

namespace sample::symbolize {
namespace {

constexpr std::size_t kDeepestNesting = 256;

bool is_before(const void* address, const Dwarf_Die& die) {
    return std::less<>{}(address, static_cast<const void*>(die.addr));
}

}  // namespace

std::vector<Dwarf_Die> DebugScopes::around(Dwarf_Die die) {
    Dwarf_Die scope{};
    if (dwarf_diecu(&die, &scope, nullptr, nullptr) == nullptr) {
        return {};
    }
    std::vector<Dwarf_Die> result;
    while (result.size() < kDeepestNesting) {
        // A unit's entries lie in memory as in the file: parents before children before siblings.
        const std::vector<Dwarf_Die>& inside = children(scope);
        const auto next = std::upper_bound(inside.begin(), inside.end(),
                                           static_cast<const void*>(die.addr), is_before);
        result.push_back(scope);
        if (next == inside.begin()) {
            return {};
        }
        scope = *std::prev(next);
        if (scope.addr == die.addr) {
            return result;
        }
    }
    return {};
}

const std::vector<Dwarf_Die>& DebugScopes::children(Dwarf_Die die) {
    const auto [place, is_new] = children_.try_emplace(die.addr);
    if (is_new) {
        Dwarf_Die child{};
        int status = dwarf_child(&die, &child);
        for (; status == 0; status = dwarf_siblingof(&child, &child)) {
            place->second.push_back(child);
        }
    }
    return place->second;
}

}  // namespace sample::symbolize
