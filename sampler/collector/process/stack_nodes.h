// The node of the recording's tree that a stack is: frames to modules, a break to its pseudo node.
//
// Of a stack only the frames that differ from the thread's last one are looked up. Not thread-safe.
#pragma once

#include "sampler/collector/code/address_map.h"
#include "sampler/collector/process/area_sink.h"
#include "sampler/collector/process/tick_clock.h"
#include "sampler/collector/recorder.h"

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace sample::collector {

/// A thread's last stack, and what its own records have named.
struct ThreadStack {
    NodeId base;               ///< Root that the stack hangs on.
    std::vector<NodeId> path;  ///< Node of each frame of the last stack, root first.
    AddressRanges libraries;   ///< That came after the start, as this thread has met them.
    bool unnamed = false;      ///< The current sample may be in others.
    /// The first frame of `path` whose node is not so for ever, and until when it is so.
    std::size_t first_dated = kNoFrame;
    std::uint64_t dated_until_ns = JitHistory::kForever;
    std::uint64_t changes = 0;  ///< AddressMap::changes() then.

    static constexpr std::size_t kNoFrame = ~std::size_t{0};
};

class StackNodes {
public:
    StackNodes(pid_t pid, AddressMap& addresses, Recorder& recorder, const TickClock& clock)
        : pid_{pid}, addresses_{addresses}, recorder_{recorder}, clock_{clock} {}

    [[nodiscard]] NodeId node_of(ThreadStack& thread, const DrainedSample& sample);

private:
    /// What a stack hangs on: nothing if its root end is known, else a pseudo node that says why
    /// not.
    NodeId base_of(const DrainedSample& sample);
    /// What a stack is for which there is no room: a part of it would be another one's.
    NodeId without_room();
    /// The nodes of the frames behind those that the path has. False: there is no room for one.
    [[nodiscard]] bool extend_path(ThreadStack& thread, const DrainedSample& sample,
                                   std::uint64_t time_ns);
    /// The node of one frame below `parent`; `parent` itself for a frame of ours; none if there is
    /// no room for it.
    NodeId frame_node(const CodeAddress& code, NodeId parent, bool guessed);
    [[nodiscard]] CodeAddress code_of(const ThreadStack& thread, FrameAddress frame,
                                      std::uint64_t time_ns);
    /// How many of the last stack's nodes are those of this one.
    [[nodiscard]] std::size_t kept_nodes(ThreadStack& thread, const DrainedSample& sample,
                                         std::uint64_t time_ns) const;

    pid_t pid_;
    AddressMap& addresses_;
    Recorder& recorder_;
    const TickClock& clock_;
};

}  // namespace sample::collector
