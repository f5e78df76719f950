#include "trace/node_codec.h"

#include "trace/varint_bytes.h"

#include <limits>

namespace sample::trace {
namespace {

constexpr std::uint64_t kNewHere = 0;
constexpr std::uint64_t kNewElsewhere = 1;
constexpr std::uint64_t kFirstRank = 2;

}  // namespace

void NodeCodec::define(PlaceId caller, PlaceId callee) {
    predictor_.saw(caller, callee);
    places_.push_back(callee);
}

void NodeCodec::encode(const StackNode& node, std::vector<std::byte>& out) {
    const PlaceId caller = places_[node.parent.value];
    const PlaceId callee = predictor_.intern(Place{node.module, node.address});
    const Place& reference = predictor_.place(predictor_.reference(caller));
    const bool elsewhere = reference.module != node.module;
    const std::uint32_t distance = size() - node.parent.value;

    const auto rank = predictor_.rank(caller, callee);
    const std::uint64_t kind = rank ? kFirstRank + *rank : elsewhere ? kNewElsewhere : kNewHere;
    append_varint(out, (kind << 1) | (distance != 0 ? 1U : 0U));
    if (distance != 0) {
        append_varint(out, distance);
    }
    if (!rank) {
        if (elsewhere) {
            append_varint(out, node.module.value);
        }
        const std::uint64_t base = elsewhere ? 0 : reference.address;
        append_varint(out, zigzag_encode(static_cast<std::int64_t>(node.address - base)));
    }
    define(caller, callee);
}

std::optional<StackNode> NodeCodec::decode(std::span<const std::byte>& in, std::uint32_t modules) {
    VarintReader varints{in};
    const std::uint64_t token = varints.next();
    const std::uint64_t distance = (token & 1) != 0 ? varints.next() : 0;
    if (distance > size() || size() == std::numeric_limits<std::uint32_t>::max() - 1) {
        return std::nullopt;
    }
    const NodeId parent{static_cast<std::uint32_t>(size() - distance)};
    const PlaceId caller = places_[parent.value];
    const std::uint64_t kind = token >> 1;
    Place place;
    if (kind >= kFirstRank) {
        const auto callee = predictor_.at_rank(caller, kind - kFirstRank);
        if (!callee) {
            return std::nullopt;
        }
        place = predictor_.place(*callee);
    } else {
        place = predictor_.place(predictor_.reference(caller));
        if (kind == kNewElsewhere) {
            const std::uint64_t module = varints.next();
            if (module > modules) {
                return std::nullopt;
            }
            place = Place{ModuleId{static_cast<std::uint32_t>(module)}, 0};
        }
        place.address += static_cast<std::uint64_t>(zigzag_decode(varints.next()));
        if (place.module.is_none()) {
            return std::nullopt;
        }
    }
    if (!varints.ok()) {
        return std::nullopt;
    }
    in = varints.rest();
    define(caller, predictor_.intern(place));
    return StackNode{NodeId{size()}, parent, place.module, place.address};
}

}  // namespace sample::trace
