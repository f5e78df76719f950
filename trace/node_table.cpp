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

std::uint32_t NodeTable::hash_of(const Key& key) {
    const std::uint64_t ids = (std::uint64_t{key.parent.value} << 32) | key.module.value;
    return hash_words(key.address, ids);
}

std::size_t NodeTable::place_of(const Key& key, std::uint32_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].id != 0 && !(slots_[at].hash == hash && keys_[slots_[at].id - 1] == key)) {
        at = (at + 1) & mask;
    }
    return at;
}

NodeId NodeTable::find(NodeId parent, ModuleId module, std::uint64_t address) const {
    const Key key{address, parent, module};
    return NodeId{slots_[place_of(key, hash_of(key))].id};
}

NodeId NodeTable::intern(NodeId parent, ModuleId module, std::uint64_t address) {
    const Key key{address, parent, module};
    const std::uint32_t hash = hash_of(key);
    Slot& slot = slots_[place_of(key, hash)];
    if (slot.id != 0) {
        return NodeId{slot.id};
    }
    keys_.push_back(key);
    slot = Slot{size(), hash};
    if (2 * keys_.size() > slots_.size()) {
        grow();
    }
    return NodeId{size()};
}

}  // namespace sample::trace
