#include "sampler/collector/stack_nodes.h"

#include "core/stack_break.h"
#include "unwind/walk/walk.h"

#include <algorithm>
#include <span>

namespace sample::collector {
namespace {

/// What a recording calls it. The handler's word may be anything: unknown for what is no reason.
StackBreak break_of(unwind::StopReason reason) {
    switch (reason) {
        case unwind::StopReason::root:
            break;
        case unwind::StopReason::depth_limit:
            return StackBreak::depth_limit;
        case unwind::StopReason::no_module:
            return StackBreak::no_module;
        case unwind::StopReason::no_cfi:
            return StackBreak::no_cfi;
        case unwind::StopReason::unsupported_rule:
            return StackBreak::unsupported_rule;
        case unwind::StopReason::unreadable_memory:
            return StackBreak::unreadable_memory;
        case unwind::StopReason::no_progress:
            return StackBreak::no_progress;
    }
    return StackBreak::unknown;
}

bool contains_elided(std::span<const std::uint64_t> frames) {
    return std::find(frames.begin(), frames.end(), FrameAddress::elided().bits()) != frames.end();
}

bool contains_guessed(std::span<const std::uint64_t> frames) {
    return std::any_of(frames.begin(), frames.end(), [](std::uint64_t bits) {
        return FrameAddress::from_bits(bits).is_guessed();
    });
}

}  // namespace

NodeId StackNodes::base_of(const DrainedSample& sample) {
    const auto reason = static_cast<unwind::StopReason>(sample.stop & capture::kStopReasonMask);
    if (reason == unwind::StopReason::root) {
        return NodeId{};
    }
    if (reason == unwind::StopReason::depth_limit) {
        return contains_elided(sample.frames)
                   ? NodeId{}
                   : recorder_.pseudo_node(Pseudo::stack_truncated, NodeId{});
    }
    return recorder_.pseudo_node(Pseudo::stack_incomplete, NodeId{},
                                 static_cast<std::uint64_t>(break_of(reason)));
}

NodeId StackNodes::frame_node(const ThreadStack& thread, NodeId parent, FrameAddress frame,
                              std::uint64_t ticks, bool guessed) {
    const std::uint64_t mark = guessed ? trace::kGuessedFrame : 0;
    if (frame.is_elided()) {
        return recorder_.pseudo_node(Pseudo::frames_elided, parent, mark);
    }
    const Pc pc = frame.lookup_pc();
    const AddressRanges::Range* library = thread.libraries.find(pc.value);
    // What the kernel has there now may be another library than the one that was not named.
    const CodeAddress code =
        library != nullptr ? CodeAddress{library->module, pc.value - library->bias, false}
        : thread.unnamed   ? addresses_.locate_known(pc, recorder_)
                           : addresses_.locate(pc, pid_, recorder_, clock_.to_ns(ticks));
    if (code.is_agent) {
        return parent;
    }
    return recorder_.writer().node(parent, code.module,
                                   (code.address & ~trace::kGuessedFrame) | mark);
}

NodeId StackNodes::node_of(ThreadStack& thread, const DrainedSample& sample) {
    const NodeId base = base_of(sample);
    thread.unnamed = (sample.stop & capture::kStopUnnamed) != 0;
    std::size_t kept = std::min<std::size_t>(sample.kept, thread.path.size());
    if (base != thread.base) {
        kept = 0;
        thread.base = base;
    }
    const auto parent_of = [&](std::size_t frame) {
        return frame == 0 ? base : thread.path[frame - 1];
    };
    thread.path.resize(kept);
    for (std::size_t i = kept; i < sample.frames.size(); ++i) {
        const auto frame = FrameAddress::from_bits(sample.frames[i]);
        thread.path.push_back(
            frame_node(thread, parent_of(i), frame, sample.ticks, frame.is_guessed()));
    }
    if ((sample.stop & capture::kStopGuessed) != 0 && !contains_guessed(sample.frames)) {
        // The guess was elided. The mark goes to the innermost node, which is not kept in the path:
        // the next stack may share it and have no guess in it.
        for (std::size_t i = sample.frames.size(); i-- > 0;) {
            const auto frame = FrameAddress::from_bits(sample.frames[i]);
            if (const NodeId marked = frame_node(thread, parent_of(i), frame, sample.ticks, true);
                marked != parent_of(i)) {
                return marked;
            }
        }
    }
    return thread.path.empty() ? base : thread.path.back();
}

}  // namespace sample::collector
