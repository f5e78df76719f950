// From nodes to the Locations of the pprof format.
//
// A Location is one place in machine code: a function at a line and, behind it, the functions that
// it was inlined into, the outermost last. So a node that was inlined at every call shares its
// Location with its callers down to the first that was really called; a node whose function was
// inlined at some of its calls only stands by itself.
#pragma once

#include "callgraph/intern_table.h"
#include "callgraph/profile.h"
#include "export/pprof_stream.h"

#include <cstdint>
#include <vector>

namespace sample::exports::pprof {

class Locations {
public:
    /// Writes every Location of `profile`, each once. Functions have their FunctionIds, mappings
    /// their indices into Profile::modules. O(nodes × inlined frames of each); no recursion.
    Locations(const callgraph::Profile& profile, Stream& out);

    /// Makes `path` the Locations of a node's stack, leaf first. Returns the category's node, or
    /// the root for a stack in no category.
    NodeId path_of(NodeId node, std::vector<std::uint64_t>& path) const {
        path.clear();
        while (frames_[node.value].location != 0) {
            path.push_back(frames_[node.value].location);
            node = frames_[node.value].caller;
        }
        return node;
    }

private:
    struct Frame {
        NodeId caller;  ///< The innermost function at work in the caller's place in code.
        std::uint32_t location = 0;  ///< 0: no function.
    };
    struct Location {
        std::uint32_t inlined_into = 0;  ///< Another Location; 0: none.
        FunctionId function;
        std::uint32_t line = 0;
    };
    struct Traits {
        static std::uint64_t hash(const Location& key) {
            return callgraph::hash_pair(
                (std::uint64_t{key.inlined_into} << 32U) | key.function.value, key.line);
        }
        static bool equal(const Location& left, const Location& right) {
            return left.inlined_into == right.inlined_into && left.function == right.function &&
                   left.line == right.line;
        }
    };

    void add(NodeId id);
    void write(std::uint32_t location);

    const callgraph::Profile& profile_;
    Stream& out_;
    std::vector<Frame> frames_;                       ///< By node.
    callgraph::InternTable<Location, Traits> known_;  ///< [location - 1]
    std::string message_;
    std::string line_;
};

}  // namespace sample::exports::pprof
