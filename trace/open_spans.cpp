#include "trace/open_spans.h"

#include <algorithm>
#include <iterator>

namespace sample::trace {
namespace {

/// Whatever programs do: beyond, a coroutine's zones are not carried into a later part, and a
/// region's end has to come behind its begin.
constexpr std::size_t kMostSuspended = std::size_t{1} << 16;
constexpr std::size_t kMostEarlyEnds = std::size_t{1} << 16;

}  // namespace

OpenSpans::Zones& OpenSpans::zones_of(ThreadId thread) {
    if (zones_.size() <= thread.value) {
        zones_.resize(std::size_t{thread.value} + 1);
    }
    return zones_[thread.value];
}

void OpenSpans::add(ZoneNote note) {
    const ZoneNoteId id = note.id;
    notes_[id] = std::make_shared<const ZoneNote>(std::move(note));
}

void OpenSpans::add(const ZoneEdge& edge) {
    Zones& zones = zones_of(edge.thread);
    switch (edge.kind) {
        case EdgeKind::begin: {
            Zone& zone = zones.emplace_back(Zone{edge, nullptr});
            if (auto note = notes_.extract(edge.note)) {
                zone.note = std::move(note.mapped());
            }
            begin(zone);
            break;
        }
        case EdgeKind::end:
            if (!zones.empty()) {
                zones.pop_back();
            }
            out_.zone(edge);
            break;
        case EdgeKind::suspend:
            suspend(edge);
            break;
        case EdgeKind::resume:
            resume(edge);
            break;
    }
}

void OpenSpans::begin(const Zone& zone) const {
    if (zone.note != nullptr) {
        out_.say(*zone.note);
    }
    out_.zone(zone.begin);
}

void OpenSpans::suspend(const ZoneEdge& edge) {
    Zones& zones = zones_of(edge.thread);
    const auto first =
        zones.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(edge.depth, zones.size()));
    if (suspended_count_ < kMostSuspended) {
        ++suspended_count_;
        suspended_[{edge.zone, edge.depth}].push_back(
            {part_, {std::make_move_iterator(first), std::make_move_iterator(zones.end())}});
    }
    zones.erase(first, zones.end());
    out_.zone(edge);
}

void OpenSpans::resume(const ZoneEdge& edge) {
    Zones& zones = zones_of(edge.thread);
    const auto found = suspended_.find({edge.zone, edge.depth});
    if (found == suspended_.end()) {
        // Threads come in any order: it will be suspended.
        ZoneEdge begin = edge;
        begin.kind = EdgeKind::begin;
        begin.depth = 0;
        zones.insert(zones.end(), edge.depth, Zone{begin, nullptr});
        out_.zone(edge);
        return;
    }
    Coroutine coroutine = std::move(found->second.front());
    --suspended_count_;
    found->second.pop_front();
    if (found->second.empty()) {
        suspended_.erase(found);
    }
    for (Zone& zone : coroutine.zones) {
        zone.begin.thread = edge.thread;
        if (coroutine.part != part_) {
            zone.begin.time_ns = edge.time_ns;
            begin(zone);
        }
    }
    if (coroutine.part == part_) {
        out_.zone(edge);
    }
    std::move(coroutine.zones.begin(), coroutine.zones.end(), std::back_inserter(zones));
}

void OpenSpans::add(const FrameEdge& edge) {
    if (edge.is_begin) {
        frames_[{edge.thread, edge.kind}] = edge;
    } else {
        frames_.erase({edge.thread, edge.kind});
    }
    out_.say(edge);
}

void OpenSpans::add(const RegionBegin& begin) {
    out_.say(begin);
    if (auto end = early_ends_.extract(begin.region)) {
        out_.say(end.mapped());
    } else if (begin.region != 0) {
        regions_[begin.region] = begin;
    }
}

void OpenSpans::add(const RegionEnd& end) {
    const bool is_early = end.region != 0 && regions_.erase(end.region) == 0;
    if (!is_early || early_ends_.size() >= kMostEarlyEnds ||
        !early_ends_.emplace(end.region, end).second) {
        out_.say(end);
    }
}

void OpenSpans::add(const RaisedEvent& event) {
    std::vector<RaisedEvent>& scopes = scopes_[event.thread];
    if (event.scope == ScopeKind::enter) {
        scopes.push_back(event);
    } else if (!scopes.empty()) {
        scopes.pop_back();
    }
    if (scopes.empty()) {
        scopes_.erase(event.thread);
    }
    out_.say(event);
}

void OpenSpans::finish() {
    for (const auto& [region, end] : early_ends_) {
        out_.say(end);
    }
}

void OpenSpans::end_all(std::uint64_t time_ns, const std::function<bool(ThreadId)>& is_alive) {
    std::erase_if(scopes_, [&](const auto& one) { return !is_alive(one.first); });
    std::erase_if(frames_, [&](const auto& one) { return !is_alive(one.second.thread); });
    std::erase_if(regions_, [&](const auto& one) { return !is_alive(one.second.thread); });
    for (std::uint32_t id = 0; id < zones_.size(); ++id) {
        if (!zones_[id].empty() && !is_alive(ThreadId{id})) {
            zones_[id].clear();
        }
    }
    for (const auto& [thread, scopes] : scopes_) {
        for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
            RaisedEvent end;
            end.thread = thread;
            end.time_ns = scope->time_ns == 0 ? 0 : time_ns;
            end.type = scope->type;
            end.scope = ScopeKind::leave;
            out_.say(end);
        }
    }
    for (auto& [of, frame] : frames_) {
        out_.say(FrameEdge{frame.thread, time_ns, frame.kind, false});
    }
    for (const auto& [region, begin] : regions_) {
        out_.say(RegionEnd{begin.thread, time_ns, region, {}});
    }
}

void OpenSpans::begin_all(std::uint64_t time_ns) {
    ++part_;
    for (Zones& zones : zones_) {
        for (Zone& zone : zones) {
            zone.begin.time_ns = time_ns;
            begin(zone);
        }
    }
    for (auto& [thread, scopes] : scopes_) {
        for (RaisedEvent& scope : scopes) {
            scope.time_ns = scope.time_ns == 0 ? 0 : time_ns;
            out_.say(scope);
        }
    }
    for (auto& [of, frame] : frames_) {
        frame.time_ns = time_ns;
        out_.say(frame);
    }
    for (auto& [region, begin] : regions_) {
        begin.time_ns = time_ns;
        out_.say(begin);
    }
}

}  // namespace sample::trace
