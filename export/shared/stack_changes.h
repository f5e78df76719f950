// From one stack to the next: the frames that end, and those that begin. What two stacks share
// stays.
//
// A frame is a node with a function. Categories are no frames; what lies at a category itself (or
// at the root) has no stack, and that node stands for one, alone.
#pragma once

#include "callgraph/profile.h"
#include "export/shared/tracks.h"
#include "export/shared/writer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sample::exports {

/// The pseudo-frame of what has no stack.
inline constexpr const char* kNoStack = "[no stack]";

/// True if something was spent at a node without a function: kNoStack is needed.
[[nodiscard]] bool has_stackless(const callgraph::Profile& profile);

class StackChanges {
public:
    /// No stack yet. The profile must outlive this; 4 bytes a node.
    explicit StackChanges(const callgraph::Profile& profile);

    /// To the stack that ends in `node`. O(frames that change).
    void move_to(NodeId node);
    /// To no stack at all.
    void close_all();

    /// What the latest move ended, innermost first, and began, outermost first.
    [[nodiscard]] std::span<const NodeId> closed() const { return closed_; }
    [[nodiscard]] std::span<const NodeId> opened() const { return opened_; }
    /// The frames that are open now, outermost first.
    [[nodiscard]] std::span<const NodeId> open() const { return open_; }

private:
    [[nodiscard]] bool is_frame(NodeId node, NodeId leaf) const;
    void close_down_to(std::size_t frames);

    const callgraph::Profile& profile_;
    std::vector<std::uint32_t> open_at_;  ///< By node: its index in open_, plus 1; 0: not open.
    std::vector<NodeId> open_;
    std::vector<NodeId> closed_;
    std::vector<NodeId> opened_;
};

/// For formats that know only where frames begin and end: moves `changes` along `slice` and those
/// that follow it in `slices`, until the last one or until `out` fails. `write(time)` is called
/// behind each move, with when it was; pauses have no stack, and there is none in the end.
/// `see(slice)` is called for each slice. Returns when the last ended.
template <class Write, class See>
std::int64_t walk_slices(SliceReader& slices, Slice slice, StackChanges& changes, const Writer& out,
                         const Write& write, const See& see) {
    std::int64_t end = slice.start;
    do {
        if (slice.start != end) {
            changes.close_all();
            write(end);
        }
        changes.move_to(slice.node);
        write(slice.start);
        see(slice);
        end = slice.end;
    } while (out.is_good() && slices.next(slice));
    changes.close_all();
    write(end);
    return end;
}

}  // namespace sample::exports
