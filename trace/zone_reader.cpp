#include "trace/zone_reader.h"

#include "trace/cbor.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace sample::trace {
namespace {

constexpr std::size_t kMostOpen = 1024;     ///< Zones of a thread whose names are known.
constexpr std::uint32_t kMostResumed = 64;  ///< Zones at once: a few bytes say so.

constexpr const char* kUnknown = "[unknown]";
constexpr const char* kCoroutine = "[coroutine]";

void open(ZoneReader::OpenZones& its, std::uint32_t zone, std::uint64_t depth) {
    if (depth == 1 && its.deeper == 0 && its.known.size() < kMostOpen) {
        its.known.push_back(zone);
        return;
    }
    if (its.deeper == 0) {
        const std::uint64_t known = std::min<std::uint64_t>(depth, kMostOpen - its.known.size());
        its.known.insert(its.known.end(), known, zone);
        depth -= known;
    }
    its.deeper += depth;
}

void close(ZoneReader::OpenZones& its, std::uint64_t depth) {
    if (depth == 1 && its.deeper == 0 && !its.known.empty()) {
        its.known.pop_back();
        return;
    }
    const std::uint64_t unknown = std::min(depth, its.deeper);
    its.deeper -= unknown;
    const std::uint64_t known = std::min<std::uint64_t>(depth - unknown, its.known.size());
    its.known.resize(its.known.size() - known);
}

}  // namespace

void ZoneReader::take(const ZoneStyleEvent& event) {
    if (reading_.has_room(event.category.size(), 0)) {
        styles_[event.id] = Style{event.colour, event.category};
    }
}

void ZoneReader::take(const TimerSpecEvent& event) {
    ZoneSpec spec;
    spec.name = event.name;
    spec.file = event.file;
    spec.line = event.line;
    define(event.id, std::move(spec));
}

void ZoneReader::define(std::uint32_t number, ZoneSpec spec) {
    if (zones_.find(number) != 0 ||
        !reading_.has_room(0, sizeof spec + spec.name.size() + spec.file.size())) {
        return;
    }
    if (auto style = styles_.extract(number)) {
        spec.colour = style.mapped().colour;
        spec.category = std::move(style.mapped().category);
    }
    spec.id = ZoneId{zones_.add(number)};
    reading_.hand_on(spec);
}

void ZoneReader::take(const MetadataSpecEvent& event) {
    ZoneSpec spec;
    spec.name = event.name;
    define(event.id, std::move(spec));
    const auto bytes = std::as_bytes(std::span{event.field_names});
    // A name of a byte takes a string's size.
    if (!bytes.empty() && reading_.has_room(bytes.size() * sizeof(std::string), 0)) {
        fields_[event.id] = names_from_cbor(bytes);
    }
}

void ZoneReader::take(const MetadataEvent& event) {
    const std::uint32_t zone = zones_.find(event.spec);
    if (notes_.find(event.id) != 0 || !reading_.has_room(0, 0)) {
        return;
    }
    const auto names = fields_.find(event.spec);
    auto values = values_from_cbor(
        std::as_bytes(std::span{event.values}),
        names == fields_.end() ? std::span<const std::string>{} : std::span{names->second});
    ZoneNote note;
    note.zone = zone == 0 ? unknown_zone() : ZoneId{zone};
    note.id = ZoneNoteId{notes_.add(event.id)};
    note_zones_.push_back(note.zone);
    note.values = std::move(values).value_or(std::vector<NamedValue>{});
    reading_.hand_on(note);
}

ZoneId ZoneReader::unknown_zone() {
    if (unknown_zone_.is_none()) {
        unknown_zone_ = ZoneId{zones_.add_nameless()};
        reading_.hand_on(ZoneSpec{unknown_zone_, kUnknown});
    }
    return unknown_zone_;
}

/// An engine numbers its coroutines by themselves; what they are called it does not say.
ZoneId ZoneReader::coroutine() {
    if (coroutine_.is_none()) {
        coroutine_ = ZoneId{zones_.add_nameless()};
        reading_.hand_on(ZoneSpec{coroutine_, kCoroutine});
    }
    return coroutine_;
}

void ZoneReader::take_batch(ThreadId thread, OpenZones& its, const EventView& batch,
                            ZoneBatchVersion version) {
    ZoneBatchDecoder edges{batch.bytes("Data"), version, reading_.clock.start(), its.last_cycle};
    // The end of a foreign file is the newest time in it.
    if (reading_.is_ours && !reading_.sink->wants_edges()) {
        reading_.sink->zones(edges.count_begins());
    }
    BatchEdge edge;
    while (edges.next(edge)) {
        take_edge(thread, its, edge);
    }
    reading_.newest_ns = std::max(reading_.newest_ns, reading_.clock.nanoseconds(its.last_cycle));
    damaged_batches_ += edges.is_damaged() ? 1 : 0;
}

void ZoneReader::take_edge(ThreadId thread, OpenZones& its, const BatchEdge& edge) {
    ZoneEdge out;
    out.thread = thread;
    out.kind = edge.kind;
    out.time_ns = reading_.clock.nanoseconds(edge.cycle);
    switch (edge.kind) {
        case EdgeKind::begin:
            if (edge.is_note) {
                out.note.value = notes_.find(edge.id);
                out.zone = out.note.is_none() ? ZoneId{} : note_zones_[out.note.value - 1];
            } else {
                out.zone.value = zones_.find(edge.id);
            }
            if (out.zone.is_none()) {
                out.zone = unknown_zone();
            }
            open(its, out.zone.value, 1);
            break;
        case EdgeKind::end:
            close(its, 1);
            break;
        case EdgeKind::suspend:
        case EdgeKind::resume:
            constexpr std::uint64_t kDeepest = std::numeric_limits<std::uint32_t>::max();
            out.depth = static_cast<std::uint32_t>(std::min(edge.depth, kDeepest));
            if (!reading_.is_ours) {
                out.zone = coroutine();
            } else if (edge.kind == EdgeKind::resume) {
                out.zone.value = zones_.find(edge.id);
                out.zone = out.zone.is_none() ? unknown_zone() : out.zone;
            } else if (its.deeper == 0 && out.depth >= 1 && out.depth <= its.known.size()) {
                out.zone.value = its.known[its.known.size() - out.depth];
            }
            if (edge.kind == EdgeKind::resume) {
                open(its, out.zone.value, std::min(out.depth, kMostResumed));
            } else {
                close(its, out.depth);
            }
            break;
    }
    reading_.sink->zone(out);
}

void ZoneReader::end_thread(ThreadId thread, OpenZones& its, std::uint64_t cycle) {
    ZoneEdge edge;
    edge.thread = thread;
    edge.kind = EdgeKind::end;
    edge.time_ns = std::max(reading_.time(cycle), reading_.clock.nanoseconds(its.last_cycle));
    for (std::uint64_t left = its.known.size() + its.deeper; left > 0; --left) {
        reading_.sink->zone(edge);
    }
    its.known.clear();
    its.deeper = 0;
    its.last_cycle = 0;
}

}  // namespace sample::trace
