// What a session records, in memory as well as in its file: so that the file need not be read when
// the program has ended and somebody waits for the prompt.
//
// As much as a callgraph of the session's own metric needs, and only while that is little: a copy
// that has become large, that memory is short for, or whose programs say something of themselves,
// which the file knows better how to count, is dropped. Then the file is read.
#pragma once

#include "callgraph/recording.h"
#include "trace/record_sink.h"

#include <cstddef>
#include <memory>
#include <optional>

namespace sample::cli {

/// Outlives the session that writes to it. Not thread-safe.
class MemoryCopy final : public trace::RecordSink {
public:
    /// Of stacks' frames, and of stacks that threads spent time in: some 80 MB.
    static constexpr std::size_t kMostNodes = std::size_t{1} << 20;
    /// Of processes, threads, modules.
    static constexpr std::size_t kMostRecords = std::size_t{1} << 14;

    /// What a session is to write to: `file`, and beside it this.
    [[nodiscard]] std::unique_ptr<trace::RecordSink> beside(
        std::unique_ptr<trace::RecordSink> file);
    /// No copy is kept from here on.
    void drop() { copy_.reset(); }
    /// The copy, if there is one, which is kept no longer.
    [[nodiscard]] std::optional<callgraph::Recording> take();

    void record(const trace::Record& record) override;
    void node(const trace::StackNode& node) override;
    void sample(const trace::Sample& sample) override;
    void zone(const trace::ZoneEdge& /*edge*/) override { drop(); }
    [[nodiscard]] bool wants_edges() const override { return false; }
    void zones(std::uint64_t /*begun*/) override { drop(); }
    void instrumentation(const trace::Instrumentation& /*said*/) override { drop(); }
    void memory(const trace::MemoryEvent& /*event*/) override { drop(); }

private:
    template <class Add>
    void add(Add add);

    std::optional<callgraph::Recording> copy_{std::in_place};
    std::size_t records_ = 0;
    std::unique_ptr<trace::RecordSink> file_;
};

}  // namespace sample::cli
