#include "sampler/collector/process/stack_nodes.h"

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

/// Without its two highest bits a program's address has at most 57, and the kernel's has the next
/// ones set.
bool is_kernel(Pc pc) {
    return (pc.value >> 61U) != 0;
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

CodeAddress StackNodes::code_of(const ThreadStack& thread, FrameAddress frame,
                                std::uint64_t time_ns) {
    if (frame.is_elided()) {
        return {recorder_.pseudo(Pseudo::frames_elided), 0, false};
    }
    const Pc pc = frame.lookup_pc();
    if (is_kernel(pc)) {
        return {recorder_.kernel(), pc.value, false};
    }
    if (const AddressRanges::Range* library = thread.libraries.find(pc.value)) {
        return {library->module, pc.value - library->bias, false};
    }
    return addresses_.locate(pc, pid_, recorder_, time_ns, thread.unnamed);
}

NodeId StackNodes::frame_node(const CodeAddress& code, NodeId parent, bool guessed) {
    if (code.is_agent) {
        return parent;
    }
    return recorder_.node(
        parent, code.module,
        (code.address & ~trace::kGuessedFrame) | (guessed ? trace::kGuessedFrame : 0));
}

NodeId StackNodes::without_room() {
    ++recorder_.beyond().stacks;
    return recorder_.pseudo_node(Pseudo::stack_incomplete, NodeId{},
                                 static_cast<std::uint64_t>(StackBreak::no_room));
}

std::size_t StackNodes::kept_nodes(ThreadStack& thread, const DrainedSample& sample,
                                   std::uint64_t time_ns) const {
    std::size_t kept = std::min<std::size_t>(sample.kept, thread.path.size());
    if (thread.changes != addresses_.changes() || time_ns >= thread.dated_until_ns) {
        // The same address may be another function by now.
        kept = std::min(kept, thread.first_dated);
        thread.changes = addresses_.changes();
    }
    if (kept <= thread.first_dated) {
        thread.first_dated = ThreadStack::kNoFrame;
        thread.dated_until_ns = JitHistory::kForever;
    }
    return kept;
}

bool StackNodes::extend_path(ThreadStack& thread, const DrainedSample& sample,
                             std::uint64_t time_ns) {
    for (std::size_t i = thread.path.size(); i < sample.frames.size(); ++i) {
        const auto frame = FrameAddress::from_bits(sample.frames[i]);
        const CodeAddress code = code_of(thread, frame, time_ns);
        if (code.is_dated) {
            thread.first_dated = std::min(thread.first_dated, i);
            thread.dated_until_ns = std::min(thread.dated_until_ns, code.until_ns);
        }
        const NodeId parent = thread.path.empty() ? thread.base : thread.path.back();
        const NodeId node = frame_node(code, parent, frame.is_guessed());
        if (node.is_none() && !code.is_agent) {
            return false;
        }
        thread.path.push_back(node);
    }
    return true;
}

NodeId StackNodes::node_of(ThreadStack& thread, const DrainedSample& sample) {
    const NodeId base = base_of(sample);
    const std::uint64_t time_ns = clock_.to_ns(sample.ticks);
    thread.unnamed = (sample.stop & capture::kStopUnnamed) != 0;
    std::size_t kept = kept_nodes(thread, sample, time_ns);
    if (base != thread.base) {
        kept = 0;
        thread.base = base;
    }
    thread.path.resize(kept);
    if (!extend_path(thread, sample, time_ns)) {
        return without_room();
    }
    const auto parent_of = [&](std::size_t frame) {
        return frame == 0 ? base : thread.path[frame - 1];
    };
    if ((sample.stop & capture::kStopGuessed) != 0 && !contains_guessed(sample.frames)) {
        // The guess was elided. The mark goes to the innermost node, which is not kept in the path:
        // the next stack may share it and have no guess in it.
        for (std::size_t i = sample.frames.size(); i-- > 0;) {
            const auto frame = FrameAddress::from_bits(sample.frames[i]);
            if (const NodeId marked =
                    frame_node(code_of(thread, frame, time_ns), parent_of(i), true);
                marked != parent_of(i)) {
                return marked.is_none() ? without_room() : marked;
            }
        }
    }
    return thread.path.empty() ? base : thread.path.back();
}

}  // namespace sample::collector
