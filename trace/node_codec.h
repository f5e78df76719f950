// The data of a Sample.StackNodes event: definitions of stack nodes, ids counting up.
//
// Per node, varints:
//   token     bit 0: the parent is not the node defined just before;
//             the rest: 0 a new callee in the reference's module, 1 a new callee in another module,
//             2 + r the callee of rank r below the parent's address (CallPredictor)
//   distance  if bit 0: id - 1 - parent (the node just before would be 0)
//   module    if "another module": its id
//   address   if new: zigzag of the difference to the reference's address, or to 0 in another
//             module
#pragma once

#include "trace/call_predictor.h"
#include "trace/records.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace sample::trace {

/// Both directions of the code; one object serves one direction of one recording.
class NodeCodec {
public:
    /// The most bytes that one node can take.
    static constexpr std::size_t kMaxNodeBytes = 32;

    /// Appends the definition of `node`, whose id is one more than that of the call before.
    void encode(const StackNode& node, std::vector<std::byte>& out);
    /// Takes one definition off the front of `in`. nullopt: not a definition, or one whose parent
    /// or module is not defined (`modules` are).
    std::optional<StackNode> decode(std::span<const std::byte>& in, std::uint32_t modules);

    /// How many nodes are defined.
    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(places_.size() - 1);
    }

private:
    void define(PlaceId caller, PlaceId callee);

    CallPredictor predictor_;
    std::vector<PlaceId> places_{PlaceId{}};  ///< By node id.
};

}  // namespace sample::trace
