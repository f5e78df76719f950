// Memory that programs allocated: what is live, what was at the peak, what was left at the end, and
// how much came and went, by call stack, tag and heap.
//
// A block belongs to its process, heap and address. Memory of a heap that has a parent is a part of
// what the parent has given out: totals are of the others alone. A block that is given out anew
// without having been taken back (that was lost) ends then. What is taken back and was never given
// out (before the recording began, or lost) is counted.
#pragma once

#include "trace/record_sink.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace sample::analysis {

struct MemoryUse {
    std::uint64_t allocations = 0;  ///< Reallocations are some, too.
    std::uint64_t allocated_bytes = 0;
    std::uint64_t short_lived = 0;  ///< Taken back within Memory::kShortNs.
    std::uint64_t live = 0;         ///< Blocks, at the end.
    std::uint64_t live_bytes = 0;
    std::uint64_t peak_bytes = 0;  ///< That were live at once.
    std::uint64_t peak_ns = 0;     ///< When.

    void give_out(std::uint64_t bytes, std::uint64_t time_ns);
    void take_back(std::uint64_t bytes, bool is_short_lived);
};

/// A sink that counts them. Memory: 100 bytes for each block that is live, of which it follows at
/// most kMostBlocks, and 64 for each call stack.
class Memory final : public trace::RecordSink {
public:
    static constexpr std::size_t kMostBlocks = std::size_t{1} << 23U;
    static constexpr std::uint64_t kShortNs = 1'000'000;

    struct Named {
        std::string name;  ///< Behind those of its parents: "parent/name".
        std::uint32_t parent = 0;
        MemoryUse use = {};
    };

    void record(const trace::Record& record) override;
    void node(const trace::StackNode& /*node*/) override {}
    void sample(const trace::Sample& /*sample*/) override {}
    [[nodiscard]] bool wants_edges() const override { return false; }
    void instrumentation(const trace::Instrumentation& said) override;
    void memory(const trace::MemoryEvent& event) override;

    /// Of all heaps without a parent.
    [[nodiscard]] const MemoryUse& total() const { return total_; }
    [[nodiscard]] std::uint64_t frees() const { return frees_; }
    [[nodiscard]] std::uint64_t reallocations() const { return reallocations_; }
    [[nodiscard]] std::uint64_t unknown_frees() const { return unknown_frees_; }
    /// Blocks that were not followed, as there were too many.
    [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
    /// By MemoryEvent::call_stack; of heaps without a parent.
    [[nodiscard]] const std::unordered_map<std::uint32_t, MemoryUse>& stacks() const {
        return stacks_;
    }
    /// By id; 0: malloc's heap, and what has no tag.
    [[nodiscard]] const std::map<std::uint32_t, Named>& heaps() const { return heaps_; }
    [[nodiscard]] const std::map<std::uint32_t, Named>& tags() const { return tags_; }

private:
    struct Key {
        std::uint64_t address = 0;
        std::uint32_t process = 0;
        std::uint32_t heap = 0;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const noexcept;
    };
    struct Block {
        std::uint64_t bytes = 0;
        std::uint64_t time_ns = 0;
        std::uint32_t call_stack = 0;
        std::uint32_t tag = 0;
    };
    void end(const Key& key, const Block& block, std::uint64_t time_ns);

    std::vector<std::uint32_t> processes_;  ///< By ThreadId - 1.
    std::unordered_map<Key, Block, KeyHash> blocks_;
    MemoryUse total_;
    std::uint64_t frees_ = 0;
    std::uint64_t reallocations_ = 0;
    std::uint64_t unknown_frees_ = 0;
    std::uint64_t left_out_ = 0;
    std::unordered_map<std::uint32_t, MemoryUse> stacks_;
    std::map<std::uint32_t, Named> heaps_{{0, {"malloc"}}};
    std::map<std::uint32_t, Named> tags_{{0, {""}}};
};

/// What one call stack allocated, with names.
struct MemoryStack {
    std::vector<std::string> frames;  ///< Innermost first; empty: not known.
    MemoryUse use;
};

}  // namespace sample::analysis
