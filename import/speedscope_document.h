// A speedscope file as it stands: types checked, frames not looked up yet, since they may come
// last.
//
// Stacks are interned while the text is read, so that a sample costs 12 bytes, however deep.
#pragma once

#include "callgraph/intern_table.h"
#include "core/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sample::imports {

/// A stack is a frame and the stack below which it is; 0 is the empty one.
struct SpeedscopeStack {
    std::uint32_t below = 0;
    std::uint32_t frame = 0;
};

struct SpeedscopeStackTraits {
    static std::uint64_t hash(const SpeedscopeStack& stack) {
        return callgraph::hash_pair(stack.below, stack.frame);
    }
    static bool equal(const SpeedscopeStack& left, const SpeedscopeStack& right) {
        return left.below == right.below && left.frame == right.frame;
    }
};

struct SpeedscopeFrame {
    std::string name;
    std::string file;
    std::uint64_t line = 0;
};

struct SpeedscopeEvent {
    double at = 0;
    std::uint32_t frame = 0;
    bool is_open = false;
};

struct SpeedscopeProfile {
    bool is_evented = false;
    std::string name;
    std::string unit;
    double start = 0;
    double end = 0;
    std::vector<std::uint32_t> samples;  ///< Stacks.
    std::vector<double> weights;
    std::vector<SpeedscopeEvent> events;
};

struct SpeedscopeDocument {
    std::string name;
    std::uint64_t active = 0;
    std::vector<SpeedscopeFrame> frames;
    std::vector<SpeedscopeProfile> profiles;
    callgraph::InternTable<SpeedscopeStack, SpeedscopeStackTraits> stacks;
};

/// Errors: as read_speedscope(), as far as they are those of types and fields.
[[nodiscard]] Result<SpeedscopeDocument> parse_speedscope(std::string_view text);

}  // namespace sample::imports
