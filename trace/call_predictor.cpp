#include "trace/call_predictor.h"

#include "trace/hash.h"

namespace sample::trace {

CallPredictor::CallPredictor() : places_(1), edges_(1), slots_(1024) {}

std::size_t CallPredictor::slot_of(const Place& place) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash_words(place.address, place.module.value) & mask;
    while (slots_[slot] != 0 && places_[slots_[slot]].place != place) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

void CallPredictor::grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (std::uint32_t id = 1; id < places_.size(); ++id) {
        slots_[slot_of(places_[id].place)] = id;
    }
}

PlaceId CallPredictor::intern(const Place& place) {
    std::size_t slot = slot_of(place);
    if (slots_[slot] == 0) {
        if (2 * places_.size() > slots_.size()) {
            grow();
            slot = slot_of(place);
        }
        slots_[slot] = static_cast<std::uint32_t>(places_.size());
        places_.push_back(Entry{place, 0});
    }
    return PlaceId{slots_[slot]};
}

PlaceId CallPredictor::reference(PlaceId caller) const {
    const std::uint32_t first = places_[caller.value].first_edge;
    return first == 0 ? caller : edges_[first].callee;
}

std::optional<std::uint32_t> CallPredictor::rank(PlaceId caller, PlaceId callee) const {
    std::uint32_t rank = 0;
    for (std::uint32_t edge = places_[caller.value].first_edge; edge != 0;
         edge = edges_[edge].next) {
        if (edges_[edge].callee == callee) {
            return rank;
        }
        ++rank;
    }
    return std::nullopt;
}

std::optional<PlaceId> CallPredictor::at_rank(PlaceId caller, std::uint64_t rank) const {
    std::uint64_t left = rank;
    for (std::uint32_t edge = places_[caller.value].first_edge; edge != 0;
         edge = edges_[edge].next) {
        if (left-- == 0) {
            return edges_[edge].callee;
        }
    }
    return std::nullopt;
}

void CallPredictor::saw(PlaceId caller, PlaceId callee) {
    std::uint32_t& first = places_[caller.value].first_edge;
    std::uint32_t previous = 0;
    std::uint32_t edge = first;
    std::uint32_t length = 1;
    while (edge != 0 && edges_[edge].callee != callee &&
           !(length == kRanks && edges_[edge].next == 0)) {
        previous = edge;
        edge = edges_[edge].next;
        ++length;
    }
    if (edge == 0) {
        edge = static_cast<std::uint32_t>(edges_.size());
        edges_.push_back(Edge{callee, first});
        first = edge;
        return;
    }
    // Known, or the oldest of a full list: it moves to the front.
    edges_[edge].callee = callee;
    if (previous != 0) {
        edges_[previous].next = edges_[edge].next;
        edges_[edge].next = first;
        first = edge;
    }
}

}  // namespace sample::trace
