// What some threads of a recording said: --thread and --process.
#pragma once

#include "core/ids.h"
#include "trace/record_sink.h"

#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace sample::analysis {

/// Hands on what the chosen threads said, all definitions, and both ends of all regions, which may
/// be of different threads; no records, nodes and samples.
class ChosenThreads final : public trace::RecordSink {
public:
    /// `is_chosen` is by ThreadId; that of none is of what belongs to no thread. `sink` outlives
    /// this.
    ChosenThreads(std::vector<bool> is_chosen, trace::RecordSink& sink)
        : is_chosen_{std::move(is_chosen)}, sink_{sink} {}

    [[nodiscard]] bool has(ThreadId thread) const {
        return thread.value < is_chosen_.size() && is_chosen_[thread.value];
    }

    void record(const trace::Record& /*record*/) override {}
    void node(const trace::StackNode& /*node*/) override {}
    void sample(const trace::Sample& /*sample*/) override {}
    void zone(const trace::ZoneEdge& edge) override {
        if (has(edge.thread)) {
            sink_.zone(edge);
        }
    }
    void instrumentation(const trace::Instrumentation& said) override {
        const bool is_wanted = std::visit(
            [this](const auto& one) {
                using Said = std::decay_t<decltype(one)>;
                constexpr bool kIsRegion = std::is_same_v<Said, trace::RegionBegin> ||
                                           std::is_same_v<Said, trace::RegionEnd>;
                if constexpr (requires { one.thread; } && !kIsRegion) {
                    return has(one.thread);
                } else {
                    return true;
                }
            },
            said);
        if (is_wanted) {
            sink_.instrumentation(said);
        }
    }

private:
    std::vector<bool> is_chosen_;
    trace::RecordSink& sink_;
};

}  // namespace sample::analysis
