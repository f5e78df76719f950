// A program's own events by type: how many, how large, when, and of which threads.
//
// What is known of a type is what its file declares, so an engine's events are here, too, unless
// they mean zones, frames or the like. Most events have no time in a foreign file; in ours all have
// but Important ones.
#pragma once

#include "trace/instrumentation.h"
#include "trace/record_sink.h"

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace sample::analysis {

/// Of all events of one type.
struct OwnEventTotals {
    trace::EventTypeSpec type;
    std::uint64_t count = 0;   ///< Ends of scopes are not counted.
    std::uint64_t scopes = 0;  ///< Of those, beginnings of a scope.
    std::uint64_t bytes = 0;   ///< Of their fields, as they were before they were packed.
    std::uint64_t timed = 0;   ///< Of those counted, with a time.
    std::uint64_t first_ns = UINT64_MAX;  ///< Of those with a time.
    std::uint64_t last_ns = 0;
    std::set<ThreadId> threads;  ///< None of an Important event.

    /// From the first to the last of those with a time; 0 if that is no time.
    [[nodiscard]] double per_second() const;
};

/// A sink that makes them. Memory: of the types, and a node for each type and thread.
class OwnEvents final : public trace::RecordSink {
public:
    /// Only events of the moments that `is_inside` says, which those without a time are not; empty:
    /// all.
    explicit OwnEvents(std::function<bool(std::uint64_t time_ns)> is_inside = {})
        : is_inside_{std::move(is_inside)} {}

    void record(const trace::Record& /*record*/) override {}
    void node(const trace::StackNode& /*node*/) override {}
    void sample(const trace::Sample& /*sample*/) override {}
    [[nodiscard]] bool wants_edges() const override { return false; }
    void instrumentation(const trace::Instrumentation& said) override;

    /// Those that came, the most frequent first.
    [[nodiscard]] std::vector<OwnEventTotals> finish() &&;

private:
    void add(const trace::RaisedEvent& event);

    std::function<bool(std::uint64_t)> is_inside_;
    std::vector<OwnEventTotals> totals_;  ///< By id less one.
};

}  // namespace sample::analysis
