#include "trace/node_table.h"

#include "trace/hash.h"

namespace sample::trace {

NodeTable::NodeTable() : slots_(4096) {}

void NodeTable::grow() {
    std::vector<Slot> bigger(2 * slots_.size());
    const std::size_t mask = bigger.size() - 1;
    for (const Slot& slot : slots_) {
        if (slot.id != 0) {
            std::size_t at = slot.hash & mask;
            while (bigger[at].id != 0) {
                at = (at + 1) & mask;
            }
            bigger[at] = slot;
        }
    }
    slots_.swap(bigger);
}

NodeId NodeTable::intern(NodeId parent, ModuleId module, std::uint64_t address) {
    const Key key{address, parent, module};
    const std::uint64_t ids = (std::uint64_t{parent.value} << 32) | module.value;
    const std::uint32_t hash = hash_words(address, ids);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].id != 0) {
        if (slots_[at].hash == hash && keys_[slots_[at].id - 1] == key) {
            return NodeId{slots_[at].id};
        }
        at = (at + 1) & mask;
    }
    keys_.push_back(key);
    slots_[at] = Slot{size(), hash};
    if (2 * keys_.size() > slots_.size()) {
        grow();
    }
    return NodeId{size()};
}

}  // namespace sample::trace
