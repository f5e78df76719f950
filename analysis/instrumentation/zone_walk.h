// Follows each thread into its zones and out of them: which are open, one inside the other.
//
// Ends belong to the zone that began last; one without a beginning is counted and left alone. A
// coroutine that is suspended takes its zones along, and they go on where it is resumed. The
// container tells coroutines of one place not apart, so those that were suspended first go on
// first; one that was not seen suspended (threads come in any order) has its own name for all its
// zones.
#pragma once

#include "analysis/instrumentation/zone_names.h"
#include "trace/instrumentation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace sample::analysis {

/// Why a zone is open on a thread no more.
enum class ZoneEnd : std::uint8_t {
    ended,
    suspended,
    never,  ///< It was open when the recording ended.
};

/// `Visitor` has
///   Thread          what it knows of a thread, with a member `open`: a std::vector of what it
///                   knows of each open zone, outermost first, the `name` (ZoneNames::Index) of it
///                   among that
///   Thread thread(ThreadId)                        asked for when it is first seen
///   void before(Thread&, std::uint64_t time_ns)    what follows is of that time
///   enter(const Thread&, name, time_ns, is_new)    what it knows of one that begins; not new:
///                                                  of a coroutine that goes on
///   resume(Zone&, const Thread&, time_ns)          of one that was suspended
///   void leave(Thread&, time_ns, ZoneEnd)          of the innermost one, which is then removed
///   void abandon(const Zone&)                      of one that was suspended for ever
/// O(1) an edge and zone; no allocation but for the deepest stack and for what is suspended.
template <class Visitor>
class ZoneWalk {
public:
    using Thread = typename Visitor::Thread;

    ZoneWalk(const ZoneNames& names, Visitor& visitor) : names_{names}, visitor_{visitor} {}

    void add(const trace::ZoneEdge& edge) {
        Thread& thread = thread_of(edge.thread);
        visitor_.before(thread, edge.time_ns);
        switch (edge.kind) {
            case trace::EdgeKind::begin:
                thread.open.push_back(
                    visitor_.enter(thread, names_.of(edge.zone), edge.time_ns, true));
                break;
            case trace::EdgeKind::end:
                if (thread.open.empty()) {
                    ++ends_without_begin_;
                } else {
                    leave(thread, edge.time_ns, ZoneEnd::ended);
                }
                break;
            case trace::EdgeKind::suspend:
                suspend(thread, edge);
                break;
            case trace::EdgeKind::resume:
                resume(thread, edge);
                break;
        }
    }

    /// What is open, and what is suspended, will never end.
    void finish(std::uint64_t time_ns) {
        for (Thread& thread : threads_) {
            visitor_.before(thread, time_ns);
            while (!thread.open.empty()) {
                leave(thread, time_ns, ZoneEnd::never);
            }
        }
        for (const auto& [of, coroutines] : suspended_) {
            for (const Zones& zones : coroutines) {
                for (const auto& zone : zones) {
                    visitor_.abandon(zone);
                }
            }
        }
    }

    [[nodiscard]] std::uint64_t ends_without_begin() const noexcept { return ends_without_begin_; }

private:
    using Zones = decltype(Thread::open);

    Thread& thread_of(ThreadId id) {
        while (threads_.size() <= id.value) {
            const ThreadId next{static_cast<std::uint32_t>(threads_.size())};
            threads_.push_back(visitor_.thread(next));
        }
        return threads_[id.value];
    }

    void leave(Thread& thread, std::uint64_t time_ns, ZoneEnd how) {
        visitor_.leave(thread, time_ns, how);
        thread.open.pop_back();
    }

    void suspend(Thread& thread, const trace::ZoneEdge& edge) {
        Zones taken;
        for (std::size_t left = std::min<std::size_t>(edge.depth, thread.open.size()); left > 0;
             --left) {
            visitor_.leave(thread, edge.time_ns, ZoneEnd::suspended);
            taken.push_back(std::move(thread.open.back()));
            thread.open.pop_back();
        }
        if (!taken.empty()) {
            suspended_[{names_.of(edge.zone), edge.depth}].push_back(std::move(taken));
        }
    }

    void resume(Thread& thread, const trace::ZoneEdge& edge) {
        const auto found = suspended_.find({names_.of(edge.zone), edge.depth});
        if (found == suspended_.end()) {
            // A depth that no stack has is not believed.
            constexpr std::uint32_t kDeepest = 1024;
            for (std::uint32_t left = std::min(edge.depth, kDeepest); left > 0; --left) {
                thread.open.push_back(
                    visitor_.enter(thread, names_.of(edge.zone), edge.time_ns, false));
            }
            return;
        }
        Zones& zones = found->second.front();
        for (; !zones.empty(); zones.pop_back()) {
            visitor_.resume(zones.back(), thread, edge.time_ns);
            thread.open.push_back(std::move(zones.back()));
        }
        found->second.pop_front();
        if (found->second.empty()) {
            suspended_.erase(found);
        }
    }

    const ZoneNames& names_;
    Visitor& visitor_;
    std::vector<Thread> threads_;  ///< By id.
    /// By the coroutine's name and depth, in the order that they were suspended; of each its zones,
    /// innermost first.
    std::map<std::pair<ZoneNames::Index, std::uint32_t>, std::deque<Zones>> suspended_;
    std::uint64_t ends_without_begin_ = 0;
};

}  // namespace sample::analysis
