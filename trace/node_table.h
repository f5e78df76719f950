// Interns stack nodes: (parent, module, address) to a dense id.
#pragma once

#include "trace/records.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sample::trace {

/// An open-addressing hash whose slots keep the hash beside the id, so that a lookup touches one
/// slot and one node. 24 bytes of memory a node, up to 40 before it grows. Not thread-safe.
class NodeTable {
public:
    NodeTable();

    /// The node's id, a new one (the next) if it was not known. Amortised O(1).
    NodeId intern(NodeId parent, ModuleId module, std::uint64_t address);
    /// The node's id; none if it is not known.
    [[nodiscard]] NodeId find(NodeId parent, ModuleId module, std::uint64_t address) const;

    /// How many nodes there are; the ids are 1 to size().
    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(keys_.size());
    }
    [[nodiscard]] StackNode node(NodeId id) const {
        const Key& key = keys_[id.value - 1];
        return StackNode{id, key.parent, key.module, key.address};
    }

private:
    struct Key {
        std::uint64_t address;
        NodeId parent;
        ModuleId module;
        bool operator==(const Key&) const = default;
    };
    struct Slot {
        std::uint32_t id = 0;  ///< 0: free.
        std::uint32_t hash = 0;
    };

    /// Where the key is, or the free slot that it would get.
    [[nodiscard]] std::size_t place_of(const Key& key, std::uint32_t hash) const;
    static std::uint32_t hash_of(const Key& key);
    void grow();

    std::vector<Key> keys_;
    std::vector<Slot> slots_;
};

}  // namespace sample::trace
