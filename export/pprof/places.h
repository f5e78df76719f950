// The places in code of a profile as pprof's tables have them, and the samples in them.
//
// A Location is one place in machine code: a function at a line and, behind it, the functions that
// it was inlined into, the outermost last. So a node that was inlined at every call shares its
// Location with its callers down to the first that was really called; a node whose function was
// inlined at some of its calls only stands by itself.
//
// Strict readers want the ids of Locations, functions and mappings to count from 1 in the order of
// the file, and nothing in a table that no sample leads to.
#pragma once

#include "callgraph/intern_table.h"
#include "callgraph/profile.h"
#include "export/pprof/stream.h"

#include <cstdint>
#include <vector>

namespace sample::exports::pprof {

/// Keeps a reference to the profile. O(nodes × inlined frames of each); no recursion.
class Places {
public:
    /// Of the stacks in which something was spent, by any metric.
    explicit Places(const callgraph::Profile& profile);

    /// Makes `path` the Locations of a node's stack, leaf first. Returns the category's node, or
    /// the root for a stack in no category.
    NodeId path_of(NodeId node, std::vector<std::uint64_t>& path) const;

    /// The ids in the file; 0: it is not there. By FunctionId - 1, and by Function::module.
    [[nodiscard]] const std::vector<std::uint32_t>& functions() const { return functions_; }
    [[nodiscard]] const std::vector<std::uint32_t>& mappings() const { return mappings_; }

    /// Every Location.
    void write(Stream& out) const;

private:
    struct Frame {
        NodeId caller;  ///< The innermost function at work in the caller's place in code.
        std::uint32_t location = 0;  ///< Index into known_, plus 1; 0: no function.
    };
    struct Location {
        std::uint32_t inlined_into = 0;  ///< Another one's index, plus 1; 0: none.
        FunctionId function;
        std::uint32_t line = 0;

        bool operator==(const Location&) const = default;
    };
    struct Traits {
        static std::uint64_t hash(const Location& key) {
            return callgraph::hash_pair(
                (std::uint64_t{key.inlined_into} << 32U) | key.function.value, key.line);
        }
        static bool equal(const Location& left, const Location& right) { return left == right; }
    };

    void add(NodeId id);
    /// Marks the Locations of a node's stack in ids_.
    void use(NodeId node);
    /// Replaces marks by ids.
    void number();
    [[nodiscard]] std::uint32_t module_of(std::uint32_t location) const;

    const callgraph::Profile& profile_;
    std::vector<Frame> frames_;  ///< By node.
    callgraph::InternTable<Location, Traits> known_;
    std::vector<std::uint32_t> ids_;  ///< By index into known_; 0: not used.
    std::vector<std::uint32_t> functions_;
    std::vector<std::uint32_t> mappings_;
};

/// Writes what was spent in each stack itself, by thread where that is known. Values are the number
/// of samples and their weight, a booking being weight without a sample, and the weight of each
/// further metric. Labels say the category and, with a timeline, thread, tid, process and pid.
/// O(samples + nodes × inlined frames of each); no recursion.
void write_samples(const callgraph::Profile& profile, const Places& places, Stream& out);

}  // namespace sample::exports::pprof
