// How each stack of a recording ends towards its root, and how sure that is: what the counts of
// incomplete, truncated and guessed stacks come from.
#pragma once

#include "callgraph/profile.h"
#include "callgraph/recording.h"
#include "core/stack_break.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace sample::callgraph {

struct StackEnd {
    enum class Kind : std::uint8_t {
        whole,
        incomplete,  ///< Broken off before the thread's start.
        truncated,   ///< Deeper than the limit.
    };
    Kind kind = Kind::whole;
    StackBreak reason = StackBreak::unknown;  ///< Unless it is whole.
    bool is_guessed = false;                  ///< A frame was found without unwind tables.
    /// Of the outermost frame where the root is not known; none: code in no module.
    ModuleId module;
};

/// The end of each stack; [node.value]. O(nodes).
[[nodiscard]] std::vector<StackEnd> stack_ends(const Recording& recording);

/// Adds up the samples of stacks that are not whole, by reason and module.
class BrokenStackSums {
public:
    explicit BrokenStackSums(const Recording& recording) : recording_{recording} {}

    void add(const StackEnd& end, const StackWeight& weight);
    /// By time, then samples, heaviest first.
    [[nodiscard]] std::vector<BrokenStacks> list() const;

private:
    struct Sum {
        std::uint64_t samples = 0;
        std::uint64_t weight = 0;
    };
    const Recording& recording_;
    /// Paths of the recording's modules: a library that came twice is one.
    std::map<std::pair<StackBreak, std::string_view>, Sum> sums_;
};

}  // namespace sample::callgraph
